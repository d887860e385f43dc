public import Foundation

/// The consequence of a failed attempt.
public enum RetryDecision: Sendable, Hashable {
    /// Another attempt after a delay, if the ``RetryBudget`` of the host allows it or the server set the delay.
    case retry(after: Duration, because: Cause)
    /// No further attempt; the send fails with this failure.
    case stop(Stop)

    /// A reason for another attempt.
    @nonexhaustive
    public enum Cause: Sendable, Hashable {
        /// The response was rejected for its status.
        case status(Int)
        /// There was no connection, or it was lost before the response was complete.
        case connection
        /// The idle timeout was exceeded.
        case timeout
        /// The closure of ``RetryPolicy/retrying(if:)`` returned `true`.
        case closure
    }

    /// A reason why there is no further attempt.
    @nonexhaustive
    public enum Stop: Sendable, Hashable {
        /// The send was cancelled.
        case cancelled
        /// Another attempt would fail in the same way, according to the policy.
        case finalFailure
        /// The maximum number of attempts was reached.
        case lastAttempt
        /// The method is not idempotent, and the request has no `Idempotency-Key`.
        case notIdempotent
        /// The body can be read only once.
        case notReplayable
        /// The response is a 413 without a delay set by the server.
        case noServerDelay
        /// The server specifies a longer delay than the policy allows.
        case serverTiming(Duration)
        /// The delay would not end before the deadline of the send.
        case deadline
    }
}

extension RetryPolicy {
    /// A failed attempt, with everything that the decision depends on.
    public struct Failure: Sendable {
        /// The error that the attempt threw.
        public var error: any Error
        /// The number of the attempt that failed, starting at 1.
        public var attempt: Int
        /// The request that was sent in the attempt, after adapters, credential, interceptors and redirects.
        ///
        /// If several were sent, it is the one that must not be sent twice, or else the last one. If none was sent, it
        /// is the request before adapters.
        public var request: OutgoingRequest
        /// The send.
        public var context: RequestContext
        /// The remaining time of the send, or `nil` if it has no deadline.
        public var remaining: Duration?
        /// The current date, used if the response has no `Date` field.
        public var now: Date
        /// A random number in 0..<1.
        public var unit: Double

        /// Creates a failure, such as for a test of a policy.
        public init(
            _ error: any Error,
            attempt: Int,
            request: OutgoingRequest,
            context: RequestContext,
            remaining: Duration? = nil,
            now: Date,
            unit: Double
        ) {
            self.error = error
            self.attempt = attempt
            self.request = request
            self.context = context
            self.remaining = remaining
            self.now = now
            self.unit = unit
        }
    }

    /// Returns the decision for a failure.
    ///
    /// It depends on the failure only.
    public func decision(for failure: Failure) -> RetryDecision {
        decision(for: failure, retryAfter: failure.retryAfter)
    }

    /// Returns the decision for a failure, given the delay that the server specified.
    func decision(for failure: Failure, retryAfter: Duration?) -> RetryDecision {
        if failure.error is CancellationError { return .stop(.cancelled) }
        guard let cause = cause(of: failure) else { return .stop(.finalFailure) }
        guard failure.attempt < maximumAttempts ?? 1 else { return .stop(.lastAttempt) }
        guard failure.request.mayBeSentTwice else { return .stop(.notIdempotent) }
        guard failure.request.body.isReplayable else { return .stop(.notReplayable) }
        if cause == .status(413), retryAfter == nil { return .stop(.noServerDelay) }
        guard let pause = delay(afterAttempt: failure.attempt, retryAfter: retryAfter, unit: failure.unit) else {
            return .stop(.serverTiming(retryAfter ?? .zero))
        }
        if let remaining = failure.remaining, pause >= remaining {
            // Spreading a delay does not make it too long.
            guard let retryAfter, retryAfter < remaining else { return .stop(.deadline) }
            return .retry(after: retryAfter, because: cause)
        }
        return .retry(after: pause, because: cause)
    }

    private func cause(of failure: Failure) -> RetryDecision.Cause? {
        let error = failure.error.networkError
        switch error?.reason {
        case .status(let code)? where statusCodes.contains(code): return .status(code)
        case .status(403)? where statusCodes.contains(429) && failure.retryAfter != nil: return .status(403)
        case .idleTimeout? where retriesTimeouts: return .timeout
        case .deadlineExceeded?: return nil
        case .some where error?.facts.isRepeatable == true: return .connection
        default: return error?.kind != .invalidRequest && wants(failure.error, failure.context) ? .closure : nil
        }
    }
}

extension RetryPolicy.Failure {
    /// The delay that the server specified, or `nil` if it specified none.
    var retryAfter: Duration? {
        error.rawResponse.flatMap { RetryAfter.pause(statusCode: $0.statusCode, headers: $0.headers, now: now) }
    }
}
