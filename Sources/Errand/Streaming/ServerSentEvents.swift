internal import Foundation

/// The events that a server sends, across reconnections; see `events(for:)` of ``Agent``.
///
/// Each iteration begins with a connection of its own.
public struct ServerSentEvents: AsyncSequence {
    /// Opens a connection.
    typealias Open = (StreamReceiver) async throws -> ResponseStream

    let lastEventID: String
    let reconnection: ReconnectionPolicy
    let maximumEventSize: Int
    let timeline: Timeline
    let sends: RunningSends
    /// Makes random numbers in 0..<1.
    var unit: () -> Double = { .random(in: 0..<1) }
    let open: Open

    /// Returns an iterator; the request is sent when the first event is requested.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        private let events: ServerSentEvents
        private var parser: ServerSentEventParser
        private var connection: (stream: ResponseStream, chunks: ResponseStream.Iterator, mayBeSentTwice: Bool)?
        /// The number of connections in succession that failed before an accepted header section.
        private var failures = 0
        private var isReconnection = false
        private var isFinished = false { didSet { if isFinished { sequence = nil } } }
        private var sequence: SendSequence?

        fileprivate init(_ events: ServerSentEvents) {
            self.events = events
            sequence = SendSequence(events.sends)
            parser = ServerSentEventParser(lastEventID: events.lastEventID, limit: events.maximumEventSize)
        }

        /// Returns the next event, or `nil` after the last one.
        ///
        /// - Throws: ``NetworkError`` for a failure after which the stream does not reconnect, or `CancellationError`. Either
        ///   ends the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            while !isFinished {
                do {
                    if let event = try parser.next() { return event }
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
                if let chunk = try await connection?.chunks.next(isolation: actor) { return parser.append(chunk) }
            } catch {
                failure = error
            }
            let mayBeSentTwice = connection?.mayBeSentTwice == true
            connection = nil
            guard mayBeSentTwice, events.reconnection.maximumFailures > 0,
                failure.map({ events.reconnection.isTemporary($0) }) ?? true
            else {
                isFinished = true
                if let failure { throw failure }
                return
            }
            try await wait(retryAfter: nil, isolation: actor)
        }

        private mutating func connect(isolation actor: isolated (any Actor)?) async throws {
            let receiver = StreamReceiver(events: EventConnection(lastEventID: parser.lastEventID), in: sequence)
            defer { isReconnection = true }
            do {
                let stream = try await events.open(receiver)
                try sequence?.check()
                failures = 0
                if stream.statusCode == 204 {
                    isFinished = true
                } else {
                    connection = (stream, stream.makeAsyncIterator(), receiver.mayBeSentTwice)
                    parser = parser.afterReconnection
                }
            } catch {
                failures += 1
                guard receiver.mayBeSentTwice, failures < events.reconnection.maximumFailures,
                    events.reconnection.isTemporary(error, isReconnection: isReconnection)
                else { throw error }
                let retryAfter = events.reconnection.retryAfter(error, now: events.timeline.date())
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
            let end = events.timeline.now() + pause
            try await sequence?.wait(until: end, on: events.timeline)
        }
    }
}

extension Agent {
    /// Returns the server-sent events of a response of the type `text/event-stream`, across reconnections.
    ///
    /// ```swift
    /// for try await event in agent.events(for: GeneralRequest("/updates")) {
    ///     print(event.event, event.data)
    /// }
    /// ```
    ///
    /// The request is sent with `Accept: text/event-stream` and `Cache-Control: no-cache`, unless it has these fields itself. When
    /// the response ends or its connection is lost, the request is sent again after a delay, with the ID of the last event in
    /// `Last-Event-ID`; see ``ReconnectionPolicy``. A 204 ends the sequence. A response that is not a 200 with the right content type
    /// fails, whatever the request's own ``Acceptance``, with what arrives of its body within a second, up to 64 KiB.
    ///
    /// A request that may not be sent twice, such as a POST without an `Idempotency-Key`, is sent once: the sequence ends with its
    /// response, and a lost connection is an error.
    ///
    /// Each connection is a send like that of `bytes(for:)`, for which the reconnection policy takes the place of the
    /// request's ``RetryPolicy``. Its ``Limits/timeout`` is the maximum time without an event or comment before the stream
    /// reconnects. A ``Limits/deadline`` is that of one connection, and ends the sequence with an error.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - lastEventID: The ID to begin after, such as one that was stored, or an empty string. One that a header field cannot
    ///     contain, such as one with a line break, fails with ``NetworkError/Kind/invalidRequest``.
    ///   - reconnection: The rules for reconnecting.
    ///   - maximumEventSize: The maximum number of bytes of an event as it is sent, and of a comment. The default is 1 MiB. A larger
    ///     one fails with ``NetworkError/Reason/eventTooLarge(limit:)``.
    /// - Returns: The events. Nothing is sent before the first one is requested.
    public func events<R: Request & Sendable>(
        for request: R,
        lastEventID: String = "",
        reconnection: ReconnectionPolicy = .standard,
        maximumEventSize: Int = 1 << 20
    ) -> ServerSentEvents {
        events(after: lastEventID, reconnection, maximumEventSize) { receiver in
            if request.formattingContext == .caller { return try await self.open(request, receivedBy: receiver) }
            return try await self.openInBackground(request, receivedBy: receiver)
        }
    }

    /// Returns the server-sent events of a response, whose request is prepared on the actor that iterates.
    ///
    /// It is the same function for requests that are not `Sendable`.
    public func events<R: Request>(
        for request: R,
        lastEventID: String = "",
        reconnection: ReconnectionPolicy = .standard,
        maximumEventSize: Int = 1 << 20
    ) -> ServerSentEvents {
        events(after: lastEventID, reconnection, maximumEventSize) { receiver in
            try await self.open(request, receivedBy: receiver)
        }
    }

    private func events(
        after lastEventID: String,
        _ reconnection: ReconnectionPolicy,
        _ maximumEventSize: Int,
        _ open: @escaping ServerSentEvents.Open
    ) -> ServerSentEvents {
        ServerSentEvents(
            lastEventID: lastEventID,
            reconnection: reconnection,
            maximumEventSize: maximumEventSize,
            timeline: pipeline.timeline,
            sends: pipeline.sends,
            open: open
        )
    }
}
