internal import Foundation
internal import Synchronization

/// The loop around an attempt: consults the policy, then the budget, waits, and tries again.
///
/// The request is not read again. Adapters run for each attempt, so that a signature is fresh.
struct RetryLoop: Sendable {
    private let timeline: Timeline
    private let counts = RetryCounts()
    private let unit: @Sendable () -> Double
    private let date: @Sendable () -> Date

    /// - Parameters:
    ///   - timeline: Measures delays and the window of the budget.
    ///   - unit: Makes random numbers in 0..<1.
    ///   - date: Returns the current date, to compare a `Retry-After` date with if a response has no `Date` field. `nil` uses
    ///     the timeline's.
    init(
        timeline: Timeline,
        unit: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        date: (@Sendable () -> Date)? = nil
    ) {
        self.timeline = timeline
        self.unit = unit
        self.date = date ?? timeline.date
    }

    /// Runs attempts until one succeeds or a failure is final.
    ///
    /// If an attempt fails because of its server, the next URL of the CDN is tried, if there is one. Only failures at
    /// the last URL are retried.
    ///
    /// - Throws: The failure of the last attempt, or `CancellationError`, also during a delay.
    func run(
        _ prepared: PreparedRequest,
        _ attempt: (PreparedRequest, Int, AttemptRecord?) async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        var attempts = RetryAttempts(of: prepared, at: timeline.now())
        while true {
            do {
                var accepted = try await attempt(attempts.prepared, attempts.number, attempts.record)
                noteResponse(to: attempts)
                attempts.complete(&accepted)
                return accepted
            } catch {
                try await beginNext(&attempts, after: error)
            }
        }
    }

    /// Records for the budget that the host of an attempt has responded.
    private func noteResponse(to attempts: RetryAttempts) {
        let prepared = attempts.prepared
        guard prepared.retries, !prepared.retryBudget.isUnlimited else { return }
        counts.noteResponse(from: attempts.record?.host ?? prepared.origin, within: prepared.retryBudget)
    }

    /// Waits until the next attempt may begin, or throws the failure if it is final.
    ///
    /// Not inlined: otherwise every request that waits for its response would have the state that only a failed one needs.
    @inline(never)
    private func beginNext(_ attempts: inout RetryAttempts, after error: any Error) async throws {
        attempts.addRepetition()
        let prepared = attempts.prepared
        if error.rawResponse != nil { noteResponse(to: attempts) }
        if var mismatch = error as? CacheValidation.Mismatch {
            // The request is sent again without its conditions, which is no retry.
            if let timing = mismatch.timing { attempts.addFailure(timing, at: timeline.now()) }
            (mismatch.attempts, mismatch.authentication) = (attempts.failed, attempts.waiting)
            throw mismatch
        }
        let error = final(error, of: attempts)
        // A response that a reader has received cannot be replaced by another server's.
        guard prepared.receiver?.allowsRetry ?? true else { throw error }
        if let next = attempts.fallbacks.first, isFailureOfServer(error),
            // A body that can be read once is not read again.
            next.outgoing.body.isReplayable || !prepared.hasSentSingleUseBody.load(ordering: .relaxed)
        {
            attempts.addFailure(error.rawResponse?.timing, at: timeline.now())
            try await wait(.zero, after: error, of: attempts)
            return attempts.beginAtNextURL(at: timeline.now())
        }
        guard prepared.retries else { throw error }
        switch try next(after: error, of: attempts) {
        case .none(let obstacle): throw error.with(retryObstacle: obstacle)
        case .exhausted: throw await exhausted(error, of: attempts)
        case .retry(let pause, let isPaid):
            attempts.addFailure(error.rawResponse?.timing, at: timeline.now())
            try await wait(pause, after: error, of: attempts)
            let record = attempts.record
            let key = record?.idempotencyKey ?? (record?.judged ?? prepared.outgoing).neededIdempotencyKey
            let next = AttemptRecord(number: attempts.number + 1, isPaid: isPaid, idempotencyKey: key)
            attempts.begin(next, at: timeline.now())
        }
    }

    /// Returns a failure as the caller receives it if it is the last: with its place and the number of attempts, and with
    /// the deadline as its reason if that cancelled the send.
    private func final(_ error: any Error, of attempts: RetryAttempts) -> any Error {
        let prepared = attempts.prepared
        var error = error
        if error is CancellationError, let deadline = prepared.deadline, timeline.now() >= deadline.time {
            error = deadline.error
        }
        guard var error = error as? NetworkError else { return error }
        error.details.value.repetitionCount = attempts.repetitionCount
        // An interceptor's error has no place yet, but may have the response to the last request.
        if let response = error.response {
            error = error.with(exchangeOf: response, method: prepared.outgoing.method)
        }
        return error.with(request: prepared.outgoing).with(attempts: attempts.number)
    }

    /// Records a request that is about to be sent, and counts it for the budget.
    ///
    /// - Throws: ``NetworkError/Reason/invalidRequest(_:)``.
    @inline(never)
    func willSend(
        _ request: OutgoingRequest,
        of prepared: PreparedRequest,
        in record: AttemptRecord?,
        isRedirected: Bool,
        at now: Duration
    ) throws(NetworkError) {
        if !isRedirected, !request.body.isReplayable {
            // A hook may make a new body from the same source, and only the hook knows what it reads.
            guard !prepared.hasSentSingleUseBody.exchange(true, ordering: .relaxed) else {
                throw NetworkError(.bodyAlreadySent)
            }
        }
        let isFirst = record?.willSend(request, of: prepared, isRedirected: isRedirected) ?? !isRedirected
        guard isFirst, prepared.retries, !prepared.retryBudget.isUnlimited, record?.isPaid != true else { return }
        counts.countRequest(to: record?.host ?? prepared.origin, within: prepared.retryBudget, at: now)
    }

    /// The step after a failed attempt.
    private enum Next {
        case none(because: String?)
        case exhausted
        case retry(after: Duration, isPaid: Bool)
    }

    private func next(after error: any Error, of attempts: RetryAttempts) throws -> Next {
        let (prepared, record) = (attempts.prepared, attempts.record)
        let failure = RetryPolicy.Failure(
            error,
            attempt: attempts.number,
            request: record?.judged ?? prepared.outgoing,
            context: prepared.context,
            remaining: prepared.deadline.map { $0.time - timeline.now() },
            now: date(),
            unit: unit()
        )
        let retryAfter = failure.retryAfter
        let decision = prepared.settings.retryPolicy.value.decision(for: failure, retryAfter: retryAfter)
        let pause: Duration
        switch decision {
        case .retry(let delay, _): pause = delay
        case .stop(.serverTiming(let delay)):
            return .none(because: "the server requires \(delay.words), more than maximumServerDelay of the policy")
        case .stop(.deadline): return .none(because: "the delay would not end before the deadline")
        case .stop(.notIdempotent), .stop(.notReplayable): return .none(because: failure.request.retryObstacle)
        case .stop: return .none(because: nil)
        }
        try prepared.stop.check()
        let budget = prepared.retryBudget
        // A shorter delay would let every attempt at a host that is down be repeated at once.
        let isPaused = retryAfter.map { $0 >= .milliseconds(100) } ?? false
        if budget.isUnlimited || isPaused { return .retry(after: pause, isPaid: false) }
        let host = record?.host ?? prepared.origin
        let began = (error as? NetworkError)?.kind == .connectionLost ? attempts.began : nil
        guard counts.takeRetry(to: host, within: budget, at: timeline.now(), afterLossSince: began) else {
            return .exhausted
        }
        return .retry(after: pause, isPaid: true)
    }

    /// Notifies the accessories that the budget of the host is exhausted; returns the error, marked accordingly.
    private func exhausted(_ error: any Error, of attempts: RetryAttempts) async -> any Error {
        let accessories = attempts.prepared.accessories
        if !accessories.isEmpty {
            await accessories.notify(.didExhaustRetryBudget(because: error), of: attempts.context)
        }
        guard var error = error as? NetworkError else { return error }
        error.details.value.isRetryBudgetExhausted = true
        return error
    }

    private func wait(_ pause: Duration, after error: any Error, of attempts: RetryAttempts) async throws {
        let prepared = attempts.prepared
        let end = timeline.now() + pause
        if !prepared.accessories.isEmpty {
            await prepared.accessories.notify(.willRetry(after: pause, because: error), of: attempts.context)
        }
        do {
            try prepared.stop.check()
            if timeline.now() < end { try await prepared.stop.run { [timeline] in try await timeline.sleep(end) } }
        } catch {
            throw final(error, of: attempts)
        }
    }
}

extension OutgoingRequest {
    /// Why the request must not be sent once more after a failure, or `nil` if it may be.
    var retryObstacle: String? {
        // Whether the server has processed it is not known, but with HTTP/2 it may have stated that it has not.
        guard mayBeSentTwice else { return "a retry of a \(method) needs an idempotencyKey" }
        return body.isReplayable ? nil : "the body can be read only once"
    }
}

extension Error {
    /// Returns this error, if it is the library's with the reason why the send was not retried.
    func with(retryObstacle: String?) -> any Error {
        guard let retryObstacle, var error = self as? NetworkError else { return self }
        error.details.value.retryObstacle = retryObstacle
        return error
    }
}

/// Whether another server may respond where this one failed, also if a filter has turned the response into its own error.
private func isFailureOfServer(_ error: any Error) -> Bool {
    guard let error = error as? NetworkError else {
        return error.rawResponse.map { FailureFacts.ofStatus($0.statusCode).isOfHost } ?? false
    }
    if case .deadlineExceeded = error.reason { return false }
    return error.facts.isOfHost
}

extension PreparedRequest {
    /// Whether its policy allows more than one attempt.
    fileprivate var retries: Bool { settings.retryPolicy.value.maximumAttempts ?? 1 > 1 }
}
