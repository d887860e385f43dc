public import Foundation

/// What follows from a failed attempt.
public enum RetryDecision: Sendable, Hashable {
    /// Another attempt after a pause, if the ``RetryBudget`` of the host has room for it or the server set the pause.
    case retry(after: Duration, because: Cause)
    /// No other attempt; the send fails with this failure.
    case stop(Stop)

    /// What is worth another attempt.
    public enum Cause: Sendable, Hashable {
        /// The answer was refused for its status.
        case status(Int)
        /// There was no connection, or it broke before the answer was whole.
        case connection
        /// Nothing was sent or received for too long.
        case timeout
        /// The closure of ``RetryPolicy/retrying(if:)`` says so.
        case closure
    }

    /// Why there is no other attempt.
    public enum Stop: Sendable, Hashable {
        /// The send was cancelled.
        case cancelled
        /// Another attempt would fail in the same way, as far as the policy knows.
        case finalFailure
        /// There were as many attempts as the policy allows.
        case lastAttempt
        /// The method may do something twice, and the request has no `Idempotency-Key`.
        case notIdempotent
        /// The body can be read only once.
        case notReplayable
        /// The answer is a 413 that does not say when to come back.
        case noServerTiming
        /// The server asks for a pause that is longer than the policy allows.
        case serverTiming(Duration)
        /// The pause would not end before the deadline of the send.
        case deadline
    }
}

extension RetryPolicy {
    /// A failed attempt, with all that decides what follows from it.
    public struct Failure: Sendable {
        /// What the attempt threw.
        public var error: any Error
        /// The number of the attempt that failed, from 1.
        public var attempt: Int
        /// The request that was sent in the attempt, after adapters, credential, interceptors and redirects.
        ///
        /// If there were several, it is the one that must not be sent twice, or else the last one. If nothing was sent,
        /// it is the request before adapters.
        public var request: OutgoingRequest
        /// Which send it is.
        public var context: RequestContext
        /// The time that is left of the send; `nil` when it has no deadline.
        public var remaining: Duration?
        /// The present, where the answer has no `Date`.
        public var now: Date
        /// A random number in 0..<1.
        public var unit: Double

        /// A failure made by hand, for tests of policies.
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

    /// Says what follows from a failure: the same for the same failure, always.
    public func decision(for failure: Failure) -> RetryDecision {
        decision(for: failure, retryAfter: failure.retryAfter)
    }

    /// The same, where the delay that the server asked for was read already.
    func decision(for failure: Failure, retryAfter: Duration?) -> RetryDecision {
        if failure.error is CancellationError { return .stop(.cancelled) }
        guard let cause = cause(of: failure) else { return .stop(.finalFailure) }
        guard failure.attempt < maximumAttempts ?? 1 else { return .stop(.lastAttempt) }
        guard failure.request.mayBeSentTwice else { return .stop(.notIdempotent) }
        guard failure.request.body.isReplayable else { return .stop(.notReplayable) }
        if cause == .status(413), retryAfter == nil { return .stop(.noServerTiming) }
        guard let pause = delay(afterAttempt: failure.attempt, retryAfter: retryAfter, unit: failure.unit) else {
            return .stop(.serverTiming(retryAfter ?? .zero))
        }
        if let remaining = failure.remaining, pause >= remaining { return .stop(.deadline) }
        return .retry(after: pause, because: cause)
    }

    private func cause(of failure: Failure) -> RetryDecision.Cause? {
        guard let error = failure.error as? NetworkError else {
            // What a service has to say of a refused status does not make it another status.
            if let code = (failure.error as? ServiceError)?.refusedStatus, statusCodes.contains(code) {
                return .status(code)
            }
            return wants(failure.error, failure.context) ? .closure : nil
        }
        switch error.reason {
        case .deadlineExceeded: return nil
        case .status(let code) where statusCodes.contains(code): return .status(code)
        case .idleTimeout where retriesTimeouts: return .timeout
        case .bodyUnreadable: break
        default:
            switch error.kind {
            case .invalidRequest: return nil
            case .unreachable, .connectionLost: return .connection
            default: break
            }
        }
        return wants(error, failure.context) ? .closure : nil
    }
}

extension RetryPolicy.Failure {
    /// The answer that the failure is about; `nil` when none arrived.
    private var answer: RawResponse? { (error as? NetworkError)?.response ?? (error as? ServiceError)?.response }

    /// The delay that the server asked for; `nil` if it asked for none.
    var retryAfter: Duration? {
        answer.flatMap { ServerTiming.pause(statusCode: $0.statusCode, headers: $0.headers, now: now) }
    }
}

extension ServiceError {
    /// The status of an answer that was refused for it; `nil` for any other.
    fileprivate var refusedStatus: Int? {
        guard case .status(let code)? = (response.failure as? NetworkError)?.reason else { return nil }
        return code
    }
}

extension OutgoingRequest {
    /// Whether sending it twice means the same as sending it once: by its method, or because a server knows it again
    /// by its `Idempotency-Key`.
    var mayBeSentTwice: Bool {
        method.isIdempotent || headers.contains { $0.name.isSameFieldName(as: "Idempotency-Key") && !$0.value.isEmpty }
    }
}
