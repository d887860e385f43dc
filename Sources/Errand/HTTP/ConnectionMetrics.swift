/// The connection of one exchange: the times to establish it, and the bytes that it transferred.
public struct ConnectionMetrics: Sendable, Hashable {
    /// Whether the connection was made for an earlier exchange; ``nameLookup``, ``connect`` and ``tls`` are `nil` then.
    public var isReused: Bool
    /// The time until the host name was resolved, or `nil` if it did not have to be.
    public var nameLookup: Duration?
    /// The time from there until the connection was made, or `nil` if it was not.
    public var connect: Duration?
    /// The time of the TLS handshake, or `nil` if there was none.
    public var tls: Duration?
    /// The protocol of the response, by its ALPN name: `http/1.0`, `http/1.1`, `h2`, `h2c` (HTTP/2 without TLS) or `h3`; `nil` if
    /// it is not known.
    public var protocolName: String?
    /// The address and port of the server or of the proxy, such as `203.0.113.7:443`; `nil` if it is not known.
    public var remoteAddress: String?
    /// The number of bytes sent as header section and body, before TLS.
    public var sentByteCount: Int64
    /// The number of bytes received as header sections and body, before content decoding; so far, for a body that is still
    /// being received.
    public var receivedByteCount: Int64

    /// Creates the metrics of a connection; `nil` for what did not happen or is not known.
    public init(
        isReused: Bool,
        nameLookup: Duration? = nil,
        connect: Duration? = nil,
        tls: Duration? = nil,
        protocolName: String? = nil,
        remoteAddress: String? = nil,
        sentByteCount: Int64 = 0,
        receivedByteCount: Int64 = 0
    ) {
        self.isReused = isReused
        self.nameLookup = nameLookup
        self.connect = connect
        self.tls = tls
        self.protocolName = protocolName
        self.remoteAddress = remoteAddress
        self.sentByteCount = sentByteCount
        self.receivedByteCount = receivedByteCount
    }
}
