internal import Foundation

extension ResponseStream {
    /// The lines of the body, as text in the response's charset, or UTF-8 if it has none; each has at most 16 MiB.
    ///
    /// A line ends with LF or CRLF, which is not part of it, and neither is a byte order mark before the first. Empty lines are
    /// included. The last line need not have an end.
    public var lines: ResponseLines { lines() }

    /// Returns the lines of the body, as text in the response's charset, or UTF-8 if it has none.
    ///
    /// - Parameter maximumByteCount: The maximum size of a line without its end. A longer one fails with
    ///   ``NetworkError/Reason/tooLarge(_:)``, without being read further. The default is 16 MiB.
    /// - Returns: The lines. A line ends with LF or CRLF, and the last one need not have an end.
    public func lines(maximumByteCount: Int = 16 << 20) -> ResponseLines {
        ResponseLines(reader: LineReader(self, maximumByteCount: maximumByteCount))
    }
}

/// The lines of a ``ResponseStream``, as text in the response's charset, or UTF-8 if it has none.
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
        /// - Throws: ``NetworkError`` if the exchange failed, if the line is too long, or if it is not valid in the charset, which
        ///   may be neither unknown nor UTF-16 or UTF-32; or `CancellationError`. Each ends the sequence, after the lines before it.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
            guard let line = try await reader.next(isolation: actor) else { return nil }
            do {
                return try reader.text(of: line)
            } catch {
                throw reader.fail(error)
            }
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
    private let charset: String?

    init(_ stream: ResponseStream, maximumByteCount: Int) {
        self.stream = stream
        chunks = stream.makeAsyncIterator()
        splitter = LineSplitter(at: .lineFeed, limit: maximumByteCount)
        charset = stream.headers["Content-Type"].flatMap { MediaType($0) }?.charset
    }

    /// The number of the last line, starting at 1.
    var count: Int { splitter.count }

    /// Returns the last line as text in the response's charset.
    func text(of line: Data) throws(NetworkError) -> String {
        if let charset, !Charset.hasLineFeed(charset) {
            throw NetworkError(.model(type: "String", detail: "lines of \(charset) cannot be read; collect the body"))
        }
        return try Charset.text(of: line, in: charset, isBeginning: count == 1, "line \(count) is")
    }

    /// Returns the next line, or `nil` after the last one and after an error.
    mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
        while !isEnded {
            let line: Data?
            do { line = chunks.isStopped ? nil : try splitter.next() } catch { throw fail(error) }
            if let line { return line }
            let chunk: Data?
            do {
                chunk = try await chunks.next(isolation: actor)
            } catch {
                // An incomplete line is not the last one.
                throw fail(error)
            }
            guard let chunk else {
                isEnded = true
                do { return try splitter.last() } catch { throw fail(error) }
            }
            splitter.append(chunk)
        }
        return nil
    }

    /// Ends the exchange and the lines; returns the error with its place.
    mutating func fail(_ error: any Error) -> any Error {
        isEnded = true
        return stream.end(throwing: error)
    }
}
