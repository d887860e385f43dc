/// The responses to one request that is sent again after each pause, made by `poll(_:every:until:)` of ``Agent``.
public struct Polling<R: Request>: AsyncSequence {
    /// A model with the answer that it came from.
    public typealias Element = Response<R.Model>
    /// What the send throws, or `until`.
    public typealias Failure = any Error

    let agent: Agent
    let interval: Duration
    let isOver: (Response<R.Model>) throws -> Bool
    let send: nonisolated(nonsending) () async throws -> Response<R.Model>

    /// Starts over; the first request is sent at once.
    public func makeAsyncIterator() -> Iterator { Iterator(polling: self) }

    /// Sends, and waits between.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let polling: Polling
        private var isFirst = true
        private var isOver = false

        fileprivate init(polling: Polling) { self.polling = polling }

        /// Waits for the pause to pass and sends the request; `nil` once `until` held.
        ///
        /// - Throws: What the send throws, which ends the sequence; `CancellationError`, in a pause too.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Response<R.Model>? {
            guard !isOver else { return nil }
            // Whatever is thrown from here on is the end.
            isOver = true
            if !isFirst {
                let timeline = polling.agent.pipeline.timeline
                try await timeline.sleep(timeline.now() + polling.interval.clamped)
            }
            try Task.checkCancellation()
            isFirst = false
            let response = try await polling.send()
            isOver = try polling.isOver(response)
            return response
        }
    }
}

extension Agent {
    /// Sends a request again and again until its response is the one waited for.
    ///
    /// - Parameters:
    ///   - request: What to send; a failure that its ``RetryPolicy`` does not mend ends the polling.
    ///   - interval: The pause from a response to the next request, on the agent's clock; none for zero or less.
    ///   - isOver: Whether a response is the last; called on the caller.
    /// - Returns: Every response, the last one included.
    public func poll<R: Request & Sendable>(
        _ request: R,
        every interval: Duration,
        until isOver: @escaping (Response<R.Model>) throws -> Bool = { _ in false }
    ) -> Polling<R> where R.Model: Sendable, R.Formatter: Sendable {
        Polling(agent: self, interval: interval, isOver: isOver) { try await self.response(for: request) }
    }

    /// Sends a request again and again until its response is the one waited for; models are made on the caller's actor.
    ///
    /// - Parameters:
    ///   - request: What to send; a failure that its ``RetryPolicy`` does not mend ends the polling.
    ///   - interval: The pause from a response to the next request, on the agent's clock; none for zero or less.
    ///   - isOver: Whether a response is the last; called on the caller.
    /// - Returns: Every response, the last one included.
    public func poll<R: Request>(
        _ request: R,
        every interval: Duration,
        until isOver: @escaping (Response<R.Model>) throws -> Bool = { _ in false }
    ) -> Polling<R> {
        Polling(agent: self, interval: interval, isOver: isOver) { try await self.response(for: request) }
    }
}
