public import Foundation

/// A response as received, for filters, errors and interceptors.
public struct RawResponse: Sendable {
    /// The status code.
    public var statusCode: Int
    /// The header fields; `Content-Length` and `Content-Encoding` describe the body before content decoding.
    public var headers: HTTPHeaders
    /// The body after content decoding, which is empty if there was none.
    public var body: Data { didSet { (isGuarded, indexed, wholeByteCount) = (false, nil, nil) } }
    /// The URL of the response, after redirects, with the fragment of the last redirect that had one.
    public var url: URL

    /// The redirects that led to the response, in order.
    public var redirects: [Redirect] { notes.value.redirects }

    /// The method of the request that was sent last, after redirects, or `nil` if none was sent.
    var method: HTTPMethod? { notes.value.method }

    /// The credential that a session has added to the last request, which may be a part of ``url``.
    var credential: AppliedCredential { notes.value.credential }

    /// The URL to write to disk, without its fragment and the credential of a session; after a redirect, whose URL may contain
    /// it anywhere, only the origin.
    var storedURL: URL {
        guard credential.isInURL, !redirects.isEmpty else { return credential.removed(from: url) }
        return URL(string: url.origin.description + "/") ?? url
    }

    /// The path as the request declares it, which is shown in place of the URL's path; `nil` after a redirect.
    var declared: DeclaredPath? { notes.value.declared }

    /// The timing of the exchange.
    var timing: ExchangeTiming? { notes.value.timing }

    /// The reason why ``Acceptance`` rejects the response, or `nil` if it is accepted.
    ///
    /// A filter that finds no more specific error throws it.
    public internal(set) var failure: (any Error)?

    /// The notes of stages, behind one reference, because a response is copied often.
    struct Notes {
        var redirects: [Redirect] = []
        var method: HTTPMethod?
        var credential = AppliedCredential()
        var declared: DeclaredPath?
        /// Why the credential of the request was not accepted, or `nil` if the reason is not known.
        var rejection: String?
        var timing: ExchangeTiming?
        /// Why the body is not complete or not decoded, or `nil` if it is: that of a rejected response need not be.
        var bodyFailure: (any Error)?
        var credentialVersion: Int?
        var note: (any ExchangeNote)?
    }

    var notes = Shared(Notes())

    /// Whether the JSON guard has checked the body; changing the body resets it.
    var isGuarded = false

    /// The index that the guard made, until the response is complete.
    var indexed: JSONIndexed?

    /// The size of the body before it was truncated, or `nil` if it is complete.
    private var wholeByteCount: Int?

    /// The size of the body as received.
    var bodyByteCount: Int { wholeByteCount ?? body.count }

    /// Creates a response, for tests and for interceptors that return one without sending the request.
    public init(statusCode: Int = 200, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.url = url
    }

    /// The media type in the `Content-Type` field, or `nil` if there is none.
    public var mediaType: MediaType? { headers["Content-Type"].flatMap(MediaType.init) }

    /// Returns this response with its body truncated to a number of bytes.
    func bounded(to limit: Int) -> RawResponse {
        guard body.count > limit else { return self }
        var copy = self
        copy.body = Data(body.prefix(limit))
        copy.wholeByteCount = bodyByteCount
        return copy
    }
}

/// A note on an exchange from one stage for another, which interceptors don't see.
protocol ExchangeNote: AnyObject, Sendable {}

/// The timing of an exchange.
struct ExchangeTiming: Sendable, Hashable {
    /// The time from the request to the final header section, or `nil` if none was received or the transport cannot
    /// report it.
    var firstByte: Duration?
    /// The time from the final header section to the last byte, or `nil` if the body is incomplete.
    var transfer: Duration?
    /// The time from the request to the last byte.
    var total: Duration
    /// The status of the response, which validation may replace.
    let statusCode: Int
    /// The connection of the last exchange, or `nil` if the transport does not know it.
    let connection: Shared<ConnectionMetrics>?

    /// The time of the request.
    var start: Date

    /// Adds the time that earlier exchanges took since `start`.
    mutating func begin(at start: Duration, ended end: Duration) {
        let before = (end - start) - total
        self.start -= before.timeInterval
        firstByte = firstByte.map { $0 + before }
        total += before
    }
}

/// A redirect from one URL to another.
public struct Redirect: Sendable, Hashable {
    /// The status code: 301, 302, 303, 307 or 308.
    public let statusCode: Int
    /// The URL of the response that redirected.
    public let from: URL
    /// The URL of the next request, with the fragment of the target or else of the URL before, which is not sent.
    public let to: URL
    /// The header fields of the response that redirected, including `Set-Cookie`.
    ///
    /// They may contain secrets, which the description of the redirect omits.
    public let headers: HTTPHeaders
    /// Whether scheme, host or port differ, so that credentials are removed.
    public var leavesOrigin: Bool { from.origin != to.origin }
}

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
