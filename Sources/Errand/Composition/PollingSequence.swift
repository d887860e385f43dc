internal import Foundation

/// The responses to a request that is sent repeatedly, created by `poll(_:every:until:)` of ``Agent``.
public struct PollingSequence<R: Request>: AsyncSequence {
    /// A model with the response that it was created from.
    public typealias Element = Response<R.Model>
    /// The error of a send or of `until`.
    public typealias Failure = any Error

    let agent: Agent
    let interval: Duration
    let isOver: (Response<R.Model>) throws -> Bool
    let send: nonisolated(nonsending) (SendSequence) async throws -> Response<R.Model>

    /// Returns an iterator, which sends the first request without a delay.
    public func makeAsyncIterator() -> Iterator { Iterator(polling: self) }

    /// Sends the request until the condition holds, and returns the last response.
    ///
    /// - Throws: The error of a send or of the condition; `CancellationError`, also during an interval.
    public func last() async throws -> Response<R.Model> {
        var iterator = makeAsyncIterator()
        while let response = try await iterator.next(isolation: #isolation) { if iterator.isOver { return response } }
        throw CancellationError()
    }

    /// An iterator that sends the request, and waits in between.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let polling: PollingSequence
        /// When the next request is sent, on the agent's clock, or `nil` before the first.
        private var due: Duration?
        fileprivate private(set) var isOver = false
        /// The sends, or `nil` after the last.
        private var sequence: SendSequence?

        fileprivate init(polling: PollingSequence) {
            self.polling = polling
            sequence = SendSequence("PollingSequence", polling.agent.pipeline.sends)
        }

        /// Waits for the interval, sends the request and returns the response, or `nil` if `until` returned `true` for
        /// the last one.
        ///
        /// - Throws: The error of the send, which ends the sequence; `CancellationError`, also during the interval.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            guard let sequence else { return nil }
            // Any error from here on ends the sequence.
            (self.sequence, isOver) = (nil, true)
            let timeline = polling.agent.pipeline.timeline
            if let due { try await sequence.wait(until: due, on: timeline) }
            let response = try await polling.send(sequence)
            due = timeline.now() + Swift.max(polling.interval.clamped, response.pause(at: timeline.date()))
            isOver = try polling.isOver(response)
            if !isOver { self.sequence = sequence }
            return response
        }
    }
}

extension Response {
    /// How long the server of work that is not done yet asks to wait, at most an hour (RFC 9110, sections 10.2.3 and 15.3.3).
    fileprivate func pause(at now: Date) -> Duration {
        guard statusCode == 202, let pause = RetryAfter.pause(statusCode: 202, headers: headers, now: now) else {
            return .zero
        }
        return min(pause, .seconds(3600))
    }
}

extension Agent {
    /// Sends a request repeatedly until a condition holds for its response.
    ///
    /// - Parameters:
    ///   - request: The request to send. Its deadline applies to each send. An error after all retries of its
    ///     ``RetryPolicy`` ends the polling.
    ///   - interval: The time from a response to the next request, on the agent's clock; zero or less is none. After a
    ///     202 with `Retry-After` it is not shorter than that, up to an hour.
    ///   - isOver: Returns whether a response is the last; called on the caller. By default, no response is the last.
    /// - Returns: Every response, including the last.
    public func poll<R: Request & Sendable>(
        _ request: R,
        every interval: Duration,
        until isOver: @escaping (Response<R.Model>) throws -> Bool = { _ in false }
    ) -> PollingSequence<R> where R.Model: Sendable, R.Formatter: Sendable {
        PollingSequence(agent: self, interval: interval, isOver: isOver) {
            try await self.response(for: request, step: .whole, in: $0)
        }
    }

    /// Sends a request repeatedly until a condition holds for its response; models are created on the caller's actor.
    ///
    /// - Parameters:
    ///   - request: The request to send. Its deadline applies to each send. An error after all retries of its
    ///     ``RetryPolicy`` ends the polling.
    ///   - interval: The time from a response to the next request, on the agent's clock; zero or less is none. After a
    ///     202 with `Retry-After` it is not shorter than that, up to an hour.
    ///   - isOver: Returns whether a response is the last; called on the caller. By default, no response is the last.
    /// - Returns: Every response, including the last.
    public func poll<R: Request>(
        _ request: R,
        every interval: Duration,
        until isOver: @escaping (Response<R.Model>) throws -> Bool = { _ in false }
    ) -> PollingSequence<R> {
        PollingSequence(agent: self, interval: interval, isOver: isOver) {
            try await self.response(for: request, step: .whole, in: $0)
        }
    }
}
