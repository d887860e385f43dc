internal import Foundation

/// An error that the framework itself reports.
///
/// An error thrown by your own code reaches you unchanged, and a cancelled send throws `CancellationError`; every other
/// failure is a network error. Use ``kind`` to decide what to do, and ``reason`` for the details. The description
/// contains the method, the host and the path, but no query, no header value except a media type or a range, and of a body only
/// names of members and a number that does not fit its type; see ``description``.
public struct NetworkError: Error, Sendable {
    /// The detailed reason.
    public let reason: Reason

    /// The method of the request, or `nil` if it was not known yet.
    public internal(set) var method: HTTPMethod?

    /// The host, with the port if the URL has one, or `nil` if there was no URL yet.
    public internal(set) var host: String?

    /// The path without the query, with `…` in place of what a session has added to it, or `nil` if there was no URL yet.
    public internal(set) var path: String?

    /// The name of the request's type, or `nil` if it was not sent by an agent.
    public internal(set) var requestName: String?

    /// The response, with at most ``maximumBodyByteCount`` bytes of its body, or `nil` if none was received.
    public internal(set) var response: RawResponse?

    /// The error that caused this one, such as the system's, a decoder's or a refresh's, or `nil` if there is none.
    public internal(set) var underlying: (any Error)?

    /// The number of times that the request was sent, including those after an authentication refresh.
    public internal(set) var attempts: Int {
        get { attemptCount + repetitionCount }
        set { attemptCount = newValue }
    }

    /// A Boolean value that indicates whether the send was not retried, although its policy allows it, because the
    /// ``RetryBudget`` of the host was exhausted.
    public internal(set) var isRetryBudgetExhausted = false

    /// What the reason alone doesn't contain: the path into the body that was looked for, or what else is known.
    var note: String?

    /// Why the send was not retried although its policy allows it, or `nil` if it was or the policy doesn't.
    var retryObstacle: String?

    private var attemptCount = 0

    /// The number of attempts that were repeated after an authentication refresh.
    var repetitionCount = 0

    /// The maximum number of bytes of a body that an error keeps.
    public static let maximumBodyByteCount = 64 << 10

    /// Creates an error, for a transport, an interceptor or a filter; the agent adds the method and the URL.
    @inline(never)
    public init(_ reason: Reason, response: RawResponse? = nil, underlying: (any Error)? = nil) {
        self.reason = reason
        self.response = response?.bounded(to: Self.maximumBodyByteCount)
        self.underlying = underlying
    }

    /// What a caller can do about the error.
    ///
    /// It is the kind of the ``reason-swift.property``, or, if the refresh of a credential failed for a reason that may pass,
    /// the kind of that failure.
    public var kind: Kind { failureOfRefresh?.kind ?? reason.kind }

    /// The failure because of which a credential could not be refreshed, if another refresh may succeed, or `nil`.
    var failureOfRefresh: NetworkError? {
        guard case .refreshFailed = reason, let error = underlying as? NetworkError, error.facts.isTransient else {
            return nil
        }
        return error
    }

    /// The status code of the response, or `nil` if none was received.
    public var statusCode: Int? {
        // If it is inlined into a caller's string interpolation, the optimizer of Swift 6.3.1 crashes.
        @inline(never) get { response?.statusCode }
    }

    /// What a caller can do about an error, with one case for each decision.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Nothing was sent; fix the call.
        case invalidRequest
        /// The request was rejected by a client-side policy, such as a gate, an interval, a duplicate policy or a
        /// circuit breaker.
        case rejected
        /// The credential is no longer accepted and could not be refreshed; ask the user to log in again.
        case unauthenticated
        /// No connection could be made; a later attempt may succeed.
        case unreachable
        /// The connection was lost before the response was complete.
        case connectionLost
        /// A time limit was exceeded.
        case timedOut
        /// TLS could not validate the server.
        case insecureConnection
        /// The server's response is not valid HTTP.
        case invalidResponse
        /// A redirect was not followed.
        case redirectRefused
        /// The status of the response is not accepted by the request.
        case unacceptableStatus
        /// The content of the response is not accepted by the request.
        case unacceptableContent
        /// The response is larger than allowed.
        case tooLarge
        /// The payload cannot be decoded as the model.
        case undecodable
        /// Only a cached response was allowed, and there is none.
        case cacheMiss
        /// A file or folder cannot be read or written, or was changed by something else; check that it exists, its
        /// permissions, and the free space.
        case unusableFile
        /// The system failed for a reason that no other case describes.
        case unknown
    }
}

extension NetworkError {
    /// Returns this error with the response that caused it, unless it has one.
    func with(response: RawResponse) -> NetworkError {
        guard self.response == nil else { return self }
        var copy = self
        copy.response = response.bounded(to: Self.maximumBodyByteCount)
        return copy
    }

    /// Returns this error with the method, host and path of its request, unless it has them.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - method: The method.
    ///   - credential: What is masked in the path.
    /// - Returns: The error.
    func with(
        url: URL,
        method: HTTPMethod,
        hiding credential: AppliedCredential = AppliedCredential()
    ) -> NetworkError {
        guard host == nil else { return self }
        var copy = self
        copy.method = method
        copy.host = url.authority
        copy.path = credential.masking(path: url.path())
        return copy
    }

    /// Returns this error with the place of the exchange that a response ended, unless it has one.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - method: The method if the response was not received, such as a stored one.
    /// - Returns: The error with method, host and path.
    func with(exchangeOf response: RawResponse, method: HTTPMethod) -> NetworkError {
        with(url: response.url, method: response.method ?? method, hiding: response.credential)
    }

    /// Whether the error has the host and the path of a URL, or no host.
    func isAbout(_ url: URL) -> Bool { host == nil || host == url.authority && path == url.path() }

    /// Returns this error with a note, unless it has one.
    package func with(note: String?) -> NetworkError {
        var copy = self
        copy.note = self.note ?? note
        return copy
    }

    /// Returns this error with the number of attempts that were sent.
    func with(attempts: Int) -> NetworkError {
        guard kind != .invalidRequest else { return self }
        var copy = self
        copy.attempts = attempts
        return copy
    }
}
