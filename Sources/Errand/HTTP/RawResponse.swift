public import Foundation

/// A head and a body as received: what filters, errors and interceptors see.
public struct RawResponse: Sendable {
    /// The status code as received.
    public var statusCode: Int
    /// The fields of the head; `Content-Length` and `Content-Encoding` are those before decoding.
    public var headers: HTTPHeaders
    /// The bytes after content decoding; empty when there were none.
    public var body: Data { didSet { (isGuarded, wholeByteCount) = (false, nil) } }
    /// Where the answer came from, after redirects.
    public var url: URL

    /// The redirects that led to this answer, in order.
    public internal(set) var redirects: [Redirect] = []

    /// When its bytes came.
    var timing: ExchangeTiming?

    /// Why ``Acceptance`` refuses this answer; `nil` when it accepts it.
    ///
    /// A filter that finds nothing better to say throws it.
    public internal(set) var failure: (any Error)?

    /// Which credential of a login the request showed; `nil` when none.
    var credentialVersion: Int?

    /// What a stage noted of the exchange for a later one; `nil` when none did.
    var note: (any ExchangeNote)?

    /// Whether the JSON guard has read the body already; a change of the body ends that.
    var isGuarded = false

    /// The size of a body of which only the beginning is kept; `nil` when the body is whole.
    private var wholeByteCount: Int?

    /// The size of the body as it was received.
    var bodyByteCount: Int { wholeByteCount ?? body.count }

    /// An answer made by hand, for tests and for interceptors that answer by themselves.
    public init(statusCode: Int = 200, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
        self.statusCode = statusCode
        self.headers = headers
        self.body = body
        self.url = url
    }

    /// The type and parameters of the `Content-Type` field; `nil` when there is none.
    public var mediaType: MediaType? { headers["Content-Type"].flatMap(MediaType.init) }

    /// Returns this answer with at most so many bytes of its body.
    func bounded(to limit: Int) -> RawResponse {
        guard body.count > limit else { return self }
        var copy = self
        copy.body = Data(body.prefix(limit))
        copy.wholeByteCount = bodyByteCount
        return copy
    }
}

/// What one stage notes of an exchange for another; it passes unseen through the code of interceptors.
protocol ExchangeNote: AnyObject, Sendable {}

/// When the bytes of a response came.
struct ExchangeTiming: Sendable, Hashable {
    /// From the request to the final head; `nil` when none came, or the transport cannot tell.
    var firstByte: Duration?
    /// From the final head to the last byte; `nil` when the body did not come whole.
    var transfer: Duration?
    /// From the request to the last byte.
    var total: Duration

    /// Takes in what went before it on the wire, since `start`.
    mutating func begin(at start: Duration, ended end: Duration) {
        let before = (end - start) - total
        firstByte = firstByte.map { $0 + before }
        total += before
    }
}
