public import Foundation

/// One exchange of a send: a request as it was handed to the transport, and what came back.
///
/// A send has as many as it has attempts, redirects, refreshes and revalidations; none if its response comes from the cache. An
/// accessory receives them by ``Accessory/request(_:exchanged:)``. An exchange contains secrets, which its description omits.
public struct Exchange: Sendable {
    /// The reason for an exchange.
    public enum Purpose: String, Sendable, Hashable {
        /// An attempt of the send, the first or a later one.
        case attempt
        /// The request that follows a redirect.
        case redirect
        /// A request with which a session refreshes its credential.
        case refresh
        /// An attempt that validates a stored response, or asks for the rest of a partial one.
        case revalidation
        /// A revalidation in the background, after the send has used the stored response.
        case background
    }

    /// A body, or its beginning.
    public struct Body: Sendable, Hashable {
        /// The first bytes, as many as the accessory asked for; empty for a body that is read or written while it is sent.
        public let bytes: Data
        /// The number of all bytes, of a response after content decoding and until its failure; `nil` if it is not known.
        public let byteCount: Int64?

        /// Whether ``bytes`` are the complete body.
        public var isComplete: Bool { byteCount == Int64(bytes.count) }

        static let empty = Body(Data(), of: 0, upTo: 0)

        init(_ bytes: Data, of byteCount: Int64?, upTo limit: Int) {
            self.bytes = bytes.count > limit ? Data(bytes.prefix(max(0, limit))) : bytes
            self.byteCount = byteCount
        }
    }

    /// The times that the phases of an exchange took; a phase that did not occur or that the transport does not know is `nil`.
    public struct Phases: Sendable, Hashable {
        /// Waiting in the transport before the request was begun, for a connection for example.
        public var queue: Duration?
        /// Resolving the name of the host.
        public var nameLookup: Duration?
        /// Making the connection, without TLS.
        public var connect: Duration?
        /// The TLS handshake.
        public var tls: Duration?
        /// From then until the final header section: sending the request, and waiting.
        public var firstByte: Duration?
        /// From the final header section until the last byte.
        public var receive: Duration?
    }

    /// The number of the attempt of the send, from 1.
    public let attempt: Int
    /// The reason for the exchange.
    public let purpose: Purpose
    /// The request, whose body is ``requestBody``, as the transport was handed it.
    let request: OutgoingRequest
    /// Whether ``requestHeaders`` are all fields that are sent, except those for a proxy; otherwise, the system adds some.
    ///
    /// It is `true` with `ErrandCurl`, and `false` with ``URLSessionTransport`` and transports of your own.
    public let isExact: Bool
    /// The body of the request.
    public let requestBody: Body
    /// The status of the response, or `nil` if there was none.
    public internal(set) var statusCode: Int?
    /// The header fields of the response, as received.
    public internal(set) var responseHeaders: HTTPHeaders = [:]
    /// The body of the response; that of a redirect is its beginning.
    public internal(set) var responseBody = Body.empty
    /// The time when the request was handed to the transport, by the system's clock.
    public let start: Date
    /// The time from then until the last byte or the failure.
    public internal(set) var duration = Duration.zero
    /// The phases of this time.
    public internal(set) var phases = Phases()
    /// The connection, or `nil` if the transport does not know it or there was no response.
    public internal(set) var connection: ConnectionMetrics?
    /// Why there is no complete response, or `nil` if there is one, whatever its status.
    public internal(set) var failure: (any Error)?

    /// The method of the request.
    public var method: HTTPMethod { request.method }
    /// The URL of the request.
    public var url: URL { request.url }
    /// The header fields of the request.
    public var requestHeaders: HTTPHeaders { request.headers }

    /// Returns the URL as logs show it: the path as the request declares it, a mask for that of a redirect, and the query with
    /// its values masked.
    public func shownURL(by secrets: Secrets) -> String { request.shownURL(by: secrets) }

    /// Returns the request as a curl command line; see ``OutgoingRequest/curl(hiding:)``.
    ///
    /// - Parameter secrets: The names whose values are shown, or `nil` to show every value, so that the line can be run.
    /// - Returns: The command line.
    public func curl(hiding secrets: Secrets?) -> String { request.curl(hiding: secrets) }
}

extension OutgoingRequest {
    /// The host, and the port unless it is the scheme's.
    package var authority: String { url.origin.authority }

    /// The host and the path as the request declares it.
    var place: String { authority + (notes.declared?.shown ?? "") }

    func shownURL(by secrets: Secrets) -> String {
        notes.declared.map { secrets.redacted(url, path: $0.shown) } ?? secrets.redacted(url)
    }
}
