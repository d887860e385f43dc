public import Foundation

/// A response whose body is read while it arrives, as a sequence of chunks; see `bytes(for:)` of ``Agent``.
///
/// A chunk is a `Data` of at least one byte, as it arrived; its size has no meaning. Chunks are much faster than the
/// single bytes that `bytes(for:)` of URLSession returns. Iterate ``lines`` or `jsonLines(of:)` for a body of lines,
/// and ``events`` for a body of server-sent events.
///
/// The body is read once, by one task at a time; a second loop continues where the first one ended. If the reader is slow,
/// the server has to wait: at most 1 MiB is kept in memory. The exchange ends with the body, with ``cancel()``, with
/// the task that reads, and when the stream and its iterators are deallocated, such as after a `break`; for the send,
/// leaving the loop is a success.
public struct ResponseStream: AsyncSequence, Sendable {
    /// The status, the header fields and the URL, after redirects, as received.
    ///
    /// Its body is empty. Interceptors have not processed it, because they receive a response when its body is complete.
    public let response: RawResponse

    let method: HTTPMethod
    let decoder: any DataDecoder
    private let body: StreamBody

    init(_ opening: StreamReceiver.Opening, of prepared: PreparedRequest, body: StreamBody) {
        response = opening.response
        method = opening.method
        decoder = prepared.decoder
        self.body = body
    }

    /// The status code of the response.
    public var statusCode: Int { response.statusCode }
    /// The header fields of the response.
    public var headers: HTTPHeaders { response.headers }

    /// Ends the exchange as cancelled; a task that reads receives `CancellationError`.
    ///
    /// Returns at once. Has no effect after the end.
    public func cancel() { body.cancel() }

    /// Ends the exchange because its content is not usable; returns the error, with its place unless it has one.
    func end(throwing error: any Error) -> any Error {
        var error = error
        if let failure = error as? NetworkError, failure.host == nil {
            error = failure.with(response: response).with(exchangeOf: response, method: method)
        }
        body.end(throwing: error)
        return error
    }

    /// Returns an iterator, which shares the body with all others.
    public func makeAsyncIterator() -> Iterator { Iterator(body: body) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let body: StreamBody

        /// Whether `next` throws because of a cancellation or a deadline, whatever has been received.
        ///
        /// Readers that take several elements out of one chunk then return none of them any more.
        var isStopped: Bool { body.isStopped }

        /// Records whether the end of the body, if it is next, would drop an event.
        func note(isWithinEvent: Bool) { body.receiver.note(isWithinEvent: isWithinEvent) }

        /// Returns the next bytes, or `nil` after the last ones.
        ///
        /// - Throws: ``NetworkError`` if the exchange failed, after all bytes that were received before, or
        ///   `CancellationError`. Either ends the sequence.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
            try await body.next()
        }

        /// Returns the next bytes, or `nil` after the last ones.
        ///
        /// - Throws: ``NetworkError`` if the exchange failed, after all bytes that were received before, or
        ///   `CancellationError`. Either ends the sequence.
        public mutating func next() async throws -> Data? { try await next(isolation: #isolation) }
    }
}

extension ResponseStream: SafeDescription {
    /// The description of the response.
    public var description: String { "stream of \(response)" }
}
