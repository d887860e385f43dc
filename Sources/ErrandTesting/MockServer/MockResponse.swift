public import Errand
public import Foundation

/// A response of a ``MockServer``, and how it is sent.
///
/// It is a value: create it with ``json(_:status:headers:)`` or a similar function, then change how it is sent.
///
/// ```swift
/// server.on(.get, "/slow", .json("[]").delayed(by: .milliseconds(50)))
/// server.on(.get, "/cut", .json("[1, 2, 3]").faulted(.closeInBody(after: 4)))
/// ```
///
/// The server adds `Content-Length` or `Transfer-Encoding` unless ``headers`` contains either, and `Connection: close`
/// if it closes the connection. It never sends a body in response to HEAD or with the status 204 or 304.
public struct MockResponse: Sendable {
    /// The pieces in which a body is sent, with a pause between them.
    public struct Drip: Sendable, Hashable {
        /// The size of a piece, at least 1.
        public var byteCount: Int
        /// The pause after each piece but the last.
        public var interval: Duration

        /// Creates pieces and pauses.
        public init(byteCount: Int, interval: Duration) {
            self.byteCount = byteCount
            self.interval = interval
        }
    }

    /// The status code, 100 to 999.
    public var status: Int
    /// The reason phrase of the status line.
    public var reason: String
    /// The header fields, without those that the server adds.
    public var headers: HTTPHeaders
    /// The body that is sent, before a transfer coding.
    public var body: Data

    /// The delay before the first byte of the response.
    public var delay: Duration = .zero
    /// The pieces in which the body is sent, or `nil` to send it at once.
    public var drip: Drip?
    /// Whether the body is sent with `Transfer-Encoding: chunked`.
    public var isChunked = false
    /// The size of a chunk in bytes, at least 1, or `nil` for one chunk for all that is sent at once.
    public var chunkByteCount: Int?
    /// Whether the server sends `Connection: close` and closes the connection after the response.
    public var closesConnection = false
    /// The body that the test sends in place of ``body``, or `nil` for none.
    public var stream: MockStream?
    /// The fault of the response, or `nil` for a correct one.
    public var fault: MockFault?

    /// Creates a response from its parts.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - reason: The reason phrase, or `nil` for the status's usual one.
    ///   - headers: The header fields.
    ///   - body: The body that is sent.
    public init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.status = status
        self.reason = reason ?? MockResponse.reason(of: status)
        self.headers = headers
        self.body = body
    }

    /// Whether it is always sent as the same bytes, so that they can be prepared once.
    var isPlain: Bool {
        fault == nil && stream == nil && drip == nil && delay == .zero && !isChunked && !closesConnection
    }

    /// Whether the response may have a body at all (RFC 9110, sections 15.2, 15.3.5 and 15.4.5).
    var mayHaveBody: Bool { status >= 200 && status != 204 && status != 304 }

    private static func reason(of status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 416: "Range Not Satisfiable"
        case 418: "I'm a teapot"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        // Not empty: up to Swift 6.3 on Linux URLSession fails on a status line without a reason.
        default: "Status \(status)"
        }
    }
}
