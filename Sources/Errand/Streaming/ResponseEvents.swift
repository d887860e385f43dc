internal import Foundation

extension ResponseStream {
    /// The server-sent events of the body, each of at most 16 MiB.
    public var events: ResponseEvents { events() }

    /// Returns the server-sent events of the body, which must have the type `text/event-stream`.
    ///
    /// ```swift
    /// let stream = try await agent.bytes(for: GeneralRequest("/completions").method(.post))
    /// print(stream.headers["X-RateLimit-Remaining-Requests"] ?? "")
    /// for try await event in stream.events { print(event.data) }
    /// ```
    ///
    /// They end with the response; `events(for:)` of ``Agent`` reconnects. An event that no empty line ends is dropped, as the
    /// HTML standard requires, and reported as ``Diagnostic/unfinishedEvent``.
    ///
    /// - Parameter maximumEventSize: The maximum number of bytes, as sent, of an event or a comment. The default is 16
    ///   MiB. A larger one fails with ``NetworkError/Reason/tooLarge(_:)``.
    /// - Returns: The events.
    public func events(maximumEventSize: Int = 16 << 20) -> ResponseEvents {
        ResponseEvents(stream: self, maximumEventSize: maximumEventSize)
    }
}

/// The server-sent events of a ``ResponseStream``.
///
/// They are read once; an iterator keeps the bytes of the chunk that it has not returned yet.
public struct ResponseEvents: AsyncSequence, Sendable {
    fileprivate let stream: ResponseStream
    fileprivate let maximumEventSize: Int

    /// Returns an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        private let stream: ResponseStream
        private var chunks: ResponseStream.Iterator
        private var parser: ServerSentEventParser
        private var isAccepted = false
        private var isEnded = false

        fileprivate init(_ events: ResponseEvents) {
            stream = events.stream
            chunks = stream.makeAsyncIterator()
            parser = ServerSentEventParser(limit: events.maximumEventSize)
        }

        /// Returns the next event, or `nil` after the last one.
        ///
        /// - Throws: ``NetworkError`` if the exchange failed, if the response has another content type, or if the event
        ///   is too large, each after the events before it; or `CancellationError`. A cancellation and an expired
        ///   deadline are thrown at once. Each ends the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
            do {
                while !isEnded {
                    if !chunks.isStopped, let event = try parser.next() { return event }
                    chunks.note(isWithinEvent: parser.isWithinEvent)
                    if let chunk = try await chunks.next(isolation: actor) {
                        try check()
                        parser.append(chunk)
                    } else {
                        isEnded = true
                    }
                }
            } catch {
                isEnded = true
                throw stream.end(throwing: error)
            }
            return nil
        }

        /// Returns the next event, or `nil` after the last one.
        ///
        /// - Throws: What ``next(isolation:)`` throws.
        public mutating func next() async throws -> ServerSentEvent? { try await next(isolation: #isolation) }

        /// Rejects content of another type; a response without content has no events.
        private mutating func check() throws(NetworkError) {
            guard !isAccepted else { return }
            if let failure = EventConnection.content.failure(of: stream.response, hasBody: true) { throw failure }
            isAccepted = true
        }
    }
}
