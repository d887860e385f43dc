internal import Foundation

/// An error that the framework itself reports.
///
/// An error thrown by your own code reaches you unchanged, and a cancelled send throws `CancellationError`; every other failure
/// is a network error. Use ``kind`` to decide what to do, and ``reason`` for the details. The description contains the method,
/// the host and the path as the request declares it, but no query, no header value except a media type or a range, and from a
/// body only names of members; see ``description``.
public struct NetworkError: Error, Sendable {
    /// The facts about the failure.
    struct Details: Sendable {
        let reason: Reason
        var method: HTTPMethod?
        var host: String?
        var path: String?
        var requestName: String?
        var response: RawResponse?
        /// The decoder of the send.
        var decoder: (any DataDecoder)?
        var underlying: (any Error)?
        var isRetryBudgetExhausted = false
        /// Details that the reason doesn't contain, such as the path into the body.
        var note: String?
        /// Why the send was not retried although its policy allows it, or `nil` if it was or the policy doesn't.
        var retryObstacle: String?
        var attemptCount = 0
        /// The number of attempts that were repeated after an authentication refresh.
        var repetitionCount = 0
    }

    /// One reference, because an error is passed around often.
    var details: Shared<Details>

    /// The detailed reason.
    public var reason: Reason { details.value.reason }

    /// The method of the request, or `nil` if it was not known yet.
    public var method: HTTPMethod? { details.value.method }

    /// The host, with the port if the URL has one, or `nil` if there was no URL yet.
    public var host: String? { details.value.host }

    /// The path as the request declares it, without the query and with `•••` in place of secrets, or `nil` if there was no URL
    /// yet, and after a redirect.
    public var path: String? { details.value.path }

    /// The name of the request's type, or `nil` if it was not sent by an agent.
    public var requestName: String? { details.value.requestName }

    /// The response, with at most ``maximumBodyByteCount`` bytes of its body, or `nil` if none was received.
    public var response: RawResponse? { details.value.response }

    /// The error that caused this one, such as the system's, a decoder's or a refresh's, or `nil` if there is none.
    public var underlying: (any Error)? { details.value.underlying }

    /// The number of times that the request was sent, including those after an authentication refresh.
    public var attempts: Int { details.value.attemptCount + details.value.repetitionCount }

    /// A Boolean value that indicates whether the send was not retried, although its policy allows it, because the
    /// ``RetryBudget`` of the host was exhausted.
    public var isRetryBudgetExhausted: Bool { details.value.isRetryBudgetExhausted }

    /// The maximum number of bytes of a body that an error keeps.
    public static let maximumBodyByteCount = 64 << 10

    /// Creates an error, for a transport, an interceptor or a filter; the agent adds the method and the URL.
    @inline(never)
    public init(_ reason: Reason, response: RawResponse? = nil, underlying: (any Error)? = nil) {
        let response = response?.bounded(to: Self.maximumBodyByteCount)
        details = Shared(Details(reason: reason, response: response, underlying: underlying))
    }

    /// What a caller can do about the error.
    ///
    /// It is the kind of the ``reason-swift.property``, or, if the network failed during the refresh of a credential, the kind
    /// of that failure.
    public var kind: Kind { failureOfRefresh?.kind ?? reason.kind }

    /// The failure of the network that prevented the refresh of a credential, or `nil` if there is none.
    var failureOfRefresh: NetworkError? {
        guard case .refreshFailed = reason, let error = underlying as? NetworkError, error.isOfNetwork else {
            return nil
        }
        return error
    }

    /// Whether no server has responded completely: there was no connection, it was lost, or a time limit was exceeded.
    var isOfNetwork: Bool { (failureOfRefresh?.reason ?? reason).facts.isRepeatable || kind == .timedOut }

    /// The status code of the response, or `nil` if none was received.
    public var statusCode: Int? {
        // If it is inlined into a caller's string interpolation, the optimizer of Swift 6.3.1 crashes.
        @inline(never) get { response?.statusCode }
    }

    /// What a caller can do about an error, with one case for each decision.
    ///
    /// Cases may be added, so a `switch` needs a `default`.
    @nonexhaustive
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
        copy.details.value.response = response.bounded(to: Self.maximumBodyByteCount)
        return copy
    }

    /// Returns this error with the method, host and path of its request, unless it has them.
    func with(url: URL, method: HTTPMethod, path: DeclaredPath?) -> NetworkError {
        guard host == nil else { return self }
        var copy = self
        copy.details.value.method = method
        copy.details.value.host = url.origin.authority
        copy.details.value.path = path?.shown
        return copy
    }

    /// Returns this error with the place of the exchange that a response ended, unless it has one.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - method: The method if the response was not received, such as a stored one.
    /// - Returns: The error with method, host and path.
    func with(exchangeOf response: RawResponse, method: HTTPMethod) -> NetworkError {
        with(url: response.url, method: response.method ?? method, path: response.declared)
    }

    /// Returns this error with a note, unless it has one.
    package func with(note: String?) -> NetworkError {
        var copy = self
        copy.details.value.note = details.value.note ?? note
        return copy
    }

    /// Returns this error with the number of attempts that were sent.
    func with(attempts: Int) -> NetworkError {
        guard kind != .invalidRequest else { return self }
        var copy = self
        copy.details.value.attemptCount = attempts
        return copy
    }
}
