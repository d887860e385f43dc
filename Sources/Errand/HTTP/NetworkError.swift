/// Every failure that the framework itself reports.
///
/// What your own code throws reaches you unchanged, and a cancelled send throws `CancellationError`; all else is this.
/// ``kind`` says what a caller can do about it, ``reason`` what happened. The description names method, host and path
/// and never holds a header value, a query or a body.
public struct NetworkError: Error, Sendable {
    /// What happened, in detail.
    public let reason: Reason

    /// The method of the request; `nil` when the failure came before there was one.
    public internal(set) var method: HTTPMethod?

    /// The host, with its port where the URL names one; `nil` when there was no URL yet.
    public internal(set) var host: String?

    /// The path without query; `nil` when there was no URL yet.
    public internal(set) var path: String?

    /// The name of the request's type; `nil` when it was not sent by an agent.
    public internal(set) var requestName: String?

    /// The answer, when one arrived: status, headers and the body up to ``maximumBodyByteCount``.
    public internal(set) var response: RawResponse?

    /// The error below, where there was one: the system's, a decoder's, a refresh's.
    public internal(set) var underlying: (any Error)?

    /// How many times the request was put on the wire, repetitions under a refreshed login included.
    public internal(set) var attempts: Int {
        get { attemptCount + repetitionCount }
        set { attemptCount = newValue }
    }

    /// A Boolean value that indicates whether the send was not retried, although its policy allows it, because the
    /// ``RetryBudget`` of the host was exhausted.
    public internal(set) var isRetryBudgetExhausted = false

    private var attemptCount = 0

    /// How many times the last attempt was repeated.
    var repetitionCount = 0

    /// The most bytes of a body that an error keeps.
    public static let maximumBodyByteCount = 64 << 10

    /// A failure of a transport, an interceptor or a filter; the agent adds where it happened.
    @inline(never)
    public init(_ reason: Reason, response: RawResponse? = nil, underlying: (any Error)? = nil) {
        self.reason = reason
        self.response = response?.bounded(to: Self.maximumBodyByteCount)
        self.underlying = underlying
    }

    /// What a caller can do about it.
    public var kind: Kind { reason.kind }

    /// The status of the answer, or `nil` when none arrived.
    public var statusCode: Int? {
        // Inlined into a caller's string interpolation, it makes the optimizer of Swift 6.3.1 crash.
        @inline(never) get { response?.statusCode }
    }

    /// What a caller can do: one case for each decision.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Nothing was sent; the call itself must be mended.
        case invalidRequest
        /// Nothing was sent; a policy of this side said no: a gate, an interval, a duplicate, a circuit breaker.
        case rejected
        /// The login is not taken any more and could not be renewed: log in again.
        case unauthenticated
        /// No connection could be made; later it may.
        case unreachable
        /// The connection broke before the answer was whole.
        case connectionLost
        /// It took too long.
        case timedOut
        /// TLS could not vouch for the server.
        case insecureConnection
        /// What the server sent cannot be read as HTTP.
        case invalidResponse
        /// A redirect leads where none is followed.
        case redirectRefused
        /// The server answered with a status that the request does not accept.
        case unacceptableStatus
        /// The answer's content is not what the request accepts.
        case unacceptableContent
        /// The answer is larger than allowed.
        case tooLarge
        /// The payload does not fit the model.
        case undecodable
        /// Only a stored answer was wanted, and there is none.
        case cacheMiss
        /// The system failed in a way that fits nowhere else.
        case unknown
    }
}
