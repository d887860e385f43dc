internal import Foundation

extension ResponseStream {
    /// The lines of the body, as text in UTF-8; each has at most 1 MiB.
    ///
    /// A line ends with LF or CRLF, which is not part of it. Empty lines are included. The last line need not have an end.
    public var lines: ResponseLines { lines() }

    /// Returns the lines of the body, as text in UTF-8.
    ///
    /// - Parameter maximumByteCount: The maximum size of a line without its end. A longer one fails with
    ///   ``NetworkError/Reason/lineTooLong(limit:)``, without being read further. The default is 1 MiB.
    /// - Returns: The lines. A line ends with LF or CRLF, and the last one need not have an end.
    public func lines(maximumByteCount: Int = 1 << 20) -> ResponseLines {
        ResponseLines(reader: LineReader(self, maximumByteCount: maximumByteCount))
    }
}

/// The lines of a ``ResponseStream``, as text in UTF-8.
///
/// They are read once; an iterator keeps the bytes of the chunk that it has not returned yet.
public struct ResponseLines: AsyncSequence, Sendable {
    fileprivate let reader: LineReader

    /// Returns an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    /// The iterator of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: LineReader

        /// Returns the next line without its end, or `nil` after the last one.
        ///
        /// - Throws: ``NetworkError`` if the exchange failed, if the line is too long, or if it is not valid UTF-8; or
        ///   `CancellationError`. Each ends the sequence, after the lines before it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            guard let line = try await reader.next(isolation: actor) else { return nil }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw reader.fail(NetworkError(.model(type: "String", detail: "line \(reader.count) is not UTF-8")))
            }
            return text
        }

        /// Returns the next line without its end, or `nil` after the last one.
        ///
        /// - Throws: What ``next(isolation:)`` throws.
        public mutating func next() async throws -> String? { try await next(isolation: #isolation) }
    }
}

/// Reads a stream line by line.
struct LineReader: Sendable {
    let stream: ResponseStream
    private var chunks: ResponseStream.Iterator
    private var splitter: LineSplitter
    private var isEnded = false

    init(_ stream: ResponseStream, maximumByteCount: Int) {
        self.stream = stream
        chunks = stream.makeAsyncIterator()
        splitter = LineSplitter(at: .lineFeed, limit: maximumByteCount)
    }

    /// The number of the last line, starting at 1.
    var count: Int { splitter.count }

    /// Returns the next line, or `nil` after the last one and after an error.
    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
        while !isEnded {
            let line: Data?
            do { line = try splitter.next() } catch { throw fail(error) }
            if let line { return line }
            guard let chunk = try await chunks.next(isolation: actor) else {
                isEnded = true
                return splitter.last()
            }
            splitter.append(chunk)
        }
        return nil
    }

    /// Ends the exchange and the lines.
    mutating func end() {
        isEnded = true
        stream.cancel()
    }

    /// Ends the exchange and the lines, and returns an error with its place.
    mutating func fail(_ error: NetworkError) -> NetworkError {
        end()
        return error.with(response: stream.response).with(url: stream.response.url, method: stream.method)
    }
}
