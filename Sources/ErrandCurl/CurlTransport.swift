#if os(Linux)
internal import CErrandCurl
public import Errand
internal import Foundation

/// A `Transport` on the libcurl of the system, without URLSession.
///
/// ```swift
/// import ErrandCurl
///
/// let agent = Agent(config: config, transport: CurlTransport())
/// ```
///
/// No response can end the process, requests do not wait for each other in one queue, and header fields keep their
/// order. ``Configuration`` has what URLSession on Linux lacks: the certificates to trust, pinned keys, a client
/// certificate, a proxy, addresses, a Unix socket.
///
/// A transport has one thread, which is started by the first request and ends two seconds after the last one. libcurl is opened
/// when the first transport of the process is created; version 7.80 or newer is required.
public final class CurlTransport: StoppableTransport {
    /// The version of the libcurl of this system, such as `7.88.1`, or `nil` if there is none.
    public static var libraryVersion: String? {
        errand_curl_version_number() == 0 ? nil : String(cString: errand_curl_version())
    }

    /// The reason why libcurl cannot be used, and what to install; `nil` if it can.
    ///
    /// If it is not `nil`, every send fails with it as the text of `NetworkError.Reason.other(_:)`.
    public static var unavailability: String? { errand_curl_missing().map { String(cString: $0) } }

    private struct Loops {
        let requests: CurlEventLoop
        /// For exchanges with their own connection, which must not count among the connections to a host.
        let streams: CurlEventLoop
    }

    /// `nil` if libcurl cannot be used.
    private let loops: Loops?

    /// The client certificate, the user of the proxy, the Unix socket and the addresses of hosts, without keys and passwords.
    public let identity: String
    private let userAgent: String?

    /// Creates a transport with the default configuration, which keeps its connections as long as it lives.
    public convenience init() { self.init(valid: Configuration()) }

    /// Creates a transport, which keeps its connections as long as it lives.
    ///
    /// - Parameter configuration: The configuration of its connections.
    /// - Throws: ``CurlTransport/Configuration/Invalid`` if the configuration cannot be used.
    public convenience init(configuration: Configuration) throws {
        try configuration.validate()
        self.init(valid: configuration)
    }

    private init(valid configuration: Configuration) {
        (identity, userAgent) = (configuration.identity, configuration.userAgent)
        let limit = max(1, configuration.maximumConnectionsPerHost)
        guard errand_curl_missing() == nil, let tls = CurlTLS(configuration) else {
            loops = nil
            return
        }
        loops = Loops(
            requests: CurlEventLoop(configuration, tls, maximumConnectionsPerHost: limit),
            streams: CurlEventLoop(configuration, tls, maximumConnectionsPerHost: 0)
        )
    }

    deinit {
        loops?.requests.close()
        loops?.streams.close()
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: The validated request.
    ///   - options: The limits of this exchange.
    /// - Returns: The final header section, with a body that is complete or still in transit.
    /// - Throws: `NetworkError`, or `CancellationError` if the task was cancelled.
    public func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try await send(request, options: options, stop: nil)
    }

    /// Sends a request, and ends the exchange when the slot is stopped.
    ///
    /// - Parameters:
    ///   - request: The validated request.
    ///   - options: The limits of this exchange.
    ///   - stop: The place for the exchange, or `nil` if only the cancellation of the task ends it.
    /// - Returns: The final header section, with a body that is complete or still in transit.
    /// - Throws: `NetworkError`, or `CancellationError` if the exchange was stopped or its task cancelled.
    package func send(
        _ request: OutgoingRequest,
        options: TransportOptions,
        stop: StopSlot?
    ) async throws -> TransportResponse {
        var request = request
        if case .source = request.body { request.body = request.body.measured }
        guard let loops else {
            throw NetworkError(.other(Self.unavailability ?? "libcurl cannot be used"))
        }
        let loop = options.isStream ? loops.streams : loops.requests
        let exchange = CurlExchange(request, options, on: loop)
        return try await withTaskCancellationHandler {
            // Before it starts, so that a send that has ended sends nothing.
            stop?.fill(with: exchange)
            loop.start(exchange)
            return try await exchange.response()
        } onCancel: {
            exchange.stop()
        }
    }

    /// Returns the header fields of a request with those that libcurl and the transport add.
    package func sentFields(of request: OutgoingRequest) -> HTTPHeaders? { request.allFields(userAgent: userAgent) }
}

extension CurlTransport.Configuration {
    /// The configuration that distinguishes users and servers, without keys and passwords; empty if nothing does.
    fileprivate var identity: String {
        var parts: [String] = []
        if let clientCertificate {
            parts.append("certificate \(clientCertificate.certificate.base64EncodedString())")
        }
        if case .url(let url, let user?, _, _) = proxy { parts.append("proxy \(url) \(user)") }
        if let unixSocket { parts.append("socket \(unixSocket)") }
        for (host, list) in addresses.sorted(by: { $0.key < $1.key }) {
            parts.append("address \(host) \(list.joined(separator: " "))")
        }
        return parts.joined(separator: "\n")
    }
}
#endif
