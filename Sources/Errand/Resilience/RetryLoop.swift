internal import Foundation

/// The loop around an attempt: asks the policy, then the budget, pauses, and tries again.
///
/// Nothing of the request is read anew; adapters run for each attempt, so that a signature is fresh.
struct RetryLoop: Sendable {
    private let timeline: Timeline
    private let budget = RetryBudget()
    private let unit: @Sendable () -> Double
    private let date: @Sendable () -> Date

    /// - Parameters:
    ///   - timeline: Measures pauses and the window of the budget.
    ///   - unit: Makes random numbers in 0..<1.
    ///   - date: Tells the present to compare a `Retry-After` date with, where an answer has no `Date`.
    init(
        timeline: Timeline,
        unit: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        date: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.timeline = timeline
        self.unit = unit
        self.date = date
    }

    /// Runs attempts until one succeeds or fails for good.
    ///
    /// - Throws: The failure of the last attempt, or `CancellationError`; while the send pauses, too.
    func run(_ prepared: PreparedRequest, _ attempt: (Int) async throws -> Answer) async throws -> Answer {
        let retries = prepared.choices.retryPolicy.value.maximumAttempts ?? 1 > 1
        var began = timeline.now()
        if retries { budget.countRequest(to: prepared.origin, at: began) }
        var number = 1
        var failed: [Metrics.Attempt] = []
        while true {
            do {
                var answer = try await attempt(number)
                if !failed.isEmpty { answer.metrics.attempts.insert(contentsOf: failed, at: 0) }
                return answer
            } catch {
                let error = final(error, of: prepared, attempt: number)
                guard retries, let pause = try pause(after: error, of: prepared, attempt: number) else { throw error }
                failed.append(error.attempt ?? Metrics.Attempt(total: timeline.now() - began))
                try await wait(pause, after: error, of: prepared, attempt: number)
            }
            number += 1
            began = timeline.now()
        }
    }

    /// A failure as the caller gets it if it is the last: with its place, the attempts, and for a send that its
    /// deadline cancelled that reason.
    private func final(_ error: any Error, of prepared: PreparedRequest, attempt: Int) -> any Error {
        var error = error
        if error is CancellationError, let deadline = prepared.deadline, timeline.now() >= deadline.time {
            error = NetworkError(.deadlineExceeded(deadline.limit))
        }
        guard let error = error as? NetworkError else { return error }
        return error.placed(at: prepared.outgoing.url, method: prepared.outgoing.method).tried(attempt)
    }

    /// The pause before the next attempt, or `nil` when there is none.
    private func pause(after error: any Error, of prepared: PreparedRequest, attempt: Int) throws -> Duration? {
        let failure = RetryPolicy.Failure(
            error,
            attempt: attempt,
            request: prepared.outgoing,
            context: prepared.context,
            remaining: prepared.deadline.map { $0.time - timeline.now() },
            now: date(),
            unit: unit()
        )
        guard case .retry(let pause, _) = prepared.choices.retryPolicy.value.decision(for: failure) else { return nil }
        try prepared.stop.check()
        return budget.takeRetry(to: prepared.origin, at: timeline.now()) ? pause : nil
    }

    private func wait(
        _ pause: Duration,
        after error: any Error,
        of prepared: PreparedRequest,
        attempt: Int
    ) async throws {
        var context = prepared.context
        context.attempt = attempt
        let end = timeline.now() + pause
        if !prepared.accessories.isEmpty {
            await prepared.accessories.tell(.willRetry(after: pause, because: error), of: context)
        }
        do {
            try prepared.stop.check()
            if timeline.now() < end { try await prepared.stop.run { [timeline] in try await timeline.sleep(end) } }
        } catch {
            throw final(error, of: prepared, attempt: attempt)
        }
    }
}

extension NetworkError {
    /// This error with the number of attempts that reached the wire.
    func tried(_ count: Int) -> NetworkError {
        guard kind != .invalidRequest else { return self }
        var copy = self
        copy.attempts = count
        return copy
    }
}

extension Error {
    /// When the bytes of the answer came that an error is about.
    fileprivate var attempt: Metrics.Attempt? {
        ((self as? NetworkError)?.response ?? (self as? ServiceError)?.response)?.timing
    }
}
