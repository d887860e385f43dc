internal import Foundation

/// The events that a server sends, across reconnections; see `events(for:)` of ``Agent``.
///
/// Each iteration begins with a connection of its own. A sequence whose request is `Sendable` may be iterated in any task.
public struct ServerSentEvents<R: Request>: AsyncSequence {
    /// Opens a connection for a request that may leave its caller.

    let agent: Agent
    let request: R
    let lastEventID: String
    let reconnection: ReconnectionPolicy
    let maximumEventSize: Int
    /// Makes random numbers in 0..<1.
    var unit: @Sendable () -> Double = { .random(in: 0..<1) }

    /// Returns an iterator; the request is sent when the first event is requested.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: ServerSentEvents
        private var parser: ServerSentEventParser
        private var connection: (stream: ResponseStream, chunks: ResponseStream.Iterator, receiver: StreamReceiver)?
        /// The number of connections with an accepted header section.
        private var connectionCount = 0
        /// The number of connections in succession that failed before an accepted header section.
        private var failures = 0
        /// The automatic key of every connection: without the same key, the request must not be sent again.
        private let idempotencyKey = UUID().uuidString
        private var isFinished = false { didSet { if isFinished { sequence = nil } } }
        private var sequence: SendSequence?

        fileprivate init(_ events: ServerSentEvents) {
            self.events = events
            sequence = SendSequence("ServerSentEvents", events.agent.pipeline.sends)
            parser = ServerSentEventParser(lastEventID: events.lastEventID, limit: events.maximumEventSize)
        }

        /// Returns the next event, or `nil` after the last one.
        ///
        /// - Throws: ``NetworkError`` for a failure after which the stream does not reconnect, or `CancellationError`. Either
        ///   ends the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            while !isFinished {
                do {
                    if connection?.chunks.isStopped != true, var event = try parser.next() {
                        event.connection = connectionCount
                        return event
                    }
                    try await advance(isolation: actor)
                } catch {
                    isFinished = true
                    defer { connection = nil }
                    throw connection?.stream.end(throwing: error) ?? error
                }
            }
            return nil
        }

        /// Returns the next event, or `nil` after the last one.
        ///
        /// - Throws: What ``next(isolation:)`` throws.
        public mutating func next() async throws -> ServerSentEvent? { try await next(isolation: #isolation) }

        /// Receives the next bytes, connecting for them if necessary.
        private mutating func advance(isolation actor: isolated (any Actor)?) async throws {
            guard connection != nil else { return try await connect(isolation: actor) }
            var failure: (any Error)?
            do {
                connection?.chunks.note(isWithinEvent: parser.isWithinEvent)
                if let chunk = try await connection?.chunks.next(isolation: actor) { return parser.append(chunk) }
            } catch {
                failure = error
            }
            let ended = connection
            connection = nil
            guard let ended, events.reconnection.maximumFailures > 0,
                failure.map({ events.reconnection.isTemporary($0) }) ?? ended.receiver.mayRepeatComplete(ended.stream)
            else {
                isFinished = true
                if let failure { throw failure }
                return
            }
            if let failure, let obstacle = ended.receiver.retryObstacle { throw failure.with(retryObstacle: obstacle) }
            try await wait(retryAfter: nil, isolation: actor)
        }

        private mutating func connect(isolation actor: isolated (any Actor)?) async throws {
            let next = EventConnection(
                lastEventID: parser.lastEventID,
                idempotencyKey: idempotencyKey,
                isReconnection: connectionCount > 0
            )
            let receiver = StreamReceiver(events: next, in: sequence)
            do {
                let stream = try await events.agent.open(events.request, receivedBy: receiver)
                // It succeeded, but the sequence was ended meanwhile.
                if sequence?.mustEnd == true { stream.cancel() }
                try sequence?.check()
                failures = 0
                if stream.statusCode == 204 {
                    isFinished = true
                } else {
                    connectionCount += 1
                    connection = (stream, stream.makeAsyncIterator(), receiver)
                    parser = parser.afterReconnection
                }
            } catch {
                failures += 1
                let reconnection = events.reconnection
                guard next.isReconnection, receiver.retryObstacle == nil, failures < reconnection.maximumFailures,
                    reconnection.isTemporary(error)
                else { throw error }
                let retryAfter = reconnection.retryAfter(error, now: events.agent.pipeline.timeline.date())
                try await wait(retryAfter: retryAfter, isolation: actor)
            }
        }

        private func wait(retryAfter: Duration?, isolation actor: isolated (any Actor)?) async throws {
            let pause = events.reconnection.delay(
                afterFailures: failures,
                reconnectionTime: parser.reconnectionTime,
                retryAfter: retryAfter,
                unit: events.unit()
            )
            let timeline = events.agent.pipeline.timeline
            try await sequence?.wait(until: timeline.now() + pause, on: timeline)
        }
    }
}

extension ServerSentEvents: Sendable where R: Sendable {}

extension Agent {
    /// Returns the server-sent events of a response of the type `text/event-stream`, across reconnections.
    ///
    /// ```swift
    /// for try await event in agent.events(for: GeneralRequest("/updates")) {
    ///     print(event.event, event.data)
    /// }
    /// ```
    ///
    /// When the response ends or its connection is lost, the request is sent again after a delay, with the ID of the
    /// last event in `Last-Event-ID`; see ``ReconnectionPolicy``. It is sent with `Accept: text/event-stream` and
    /// `Cache-Control: no-cache`, unless it has these fields itself. A 204 ends the sequence. Any other response than a
    /// 200 with the right content type fails, whatever the request's own ``Acceptance``. The error has what arrives of
    /// the body within a second, up to 64 KiB.
    ///
    /// The complete response to a request whose method is not safe, such as a POST, ends the sequence. If its
    /// connection is lost, it is sent again only if it may be sent twice, such as with an `Idempotency-Key`, which is
    /// then the same for every connection; otherwise the loss is an error. A server that ignores `Last-Event-ID` sends
    /// all events again; ``ServerSentEvent/connection`` distinguishes them.
    ///
    /// Each connection is a send, as with `bytes(for:)`. The request's ``RetryPolicy`` applies until the first accepted
    /// header section, and the reconnection policy after it. Its ``Limits/timeout`` is the maximum time without an
    /// event or comment before the stream reconnects. A ``Limits/deadline`` applies to each connection, and ends the
    /// sequence with an error. For the header fields of the response, use ``ResponseStream/events`` of `bytes(for:)`.
    ///
    /// - Parameters:
    ///   - request: The request to send, which is prepared on the actor that iterates.
    ///   - lastEventID: The ID to begin after, such as a stored one, or an empty string. An ID that a header field
    ///     cannot contain fails with ``NetworkError/Kind/invalidRequest``.
    ///   - reconnection: The rules for reconnecting.
    ///   - maximumEventSize: The maximum number of bytes, as sent, of an event or a comment. The default is 16 MiB. A
    ///     larger one fails with ``NetworkError/Reason/tooLarge(_:)``.
    /// - Returns: The events. Nothing is sent before the first one is requested.
    public func events<R: Request>(
        for request: R,
        lastEventID: String = "",
        reconnection: ReconnectionPolicy = .standard,
        maximumEventSize: Int = 16 << 20
    ) -> ServerSentEvents<R> {
        ServerSentEvents(
            agent: self,
            request: request,
            lastEventID: lastEventID,
            reconnection: reconnection,
            maximumEventSize: maximumEventSize
        )
    }
}
