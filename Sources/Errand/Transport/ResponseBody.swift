public import Foundation

/// The body of an answer, as chunks in order, read once.
///
/// It is read at the reader's pace: a transport must bound what it holds in memory for a slow reader.
public struct ResponseBody: Sendable {
    private enum Source: Sendable {
        case whole(Data)
        case chunks(any ResponseChunks)
    }

    private let source: Source

    /// A body that is there already.
    public init(_ data: Data) { source = .whole(data) }

    /// A body that is still on its way.
    public init(chunks: any ResponseChunks) { source = .chunks(chunks) }

    /// The bytes, when all of them are there already.
    public var whole: Data? {
        if case .whole(let data) = source { data } else { nil }
    }

    /// Reads the rest into memory.
    ///
    /// - Parameter limit: The most bytes; one more ends the exchange.
    /// - Returns: The bytes that were not read before.
    /// - Throws: ``NetworkError``, also for a body over the limit, or `CancellationError`.
    public func collect(upTo limit: Int) async throws -> Data { try await collect(upTo: limit, didRead: { _ in }) }

    /// The same, telling after each chunk how many bytes were read.
    func collect(
        upTo limit: Int,
        didRead: nonisolated(nonsending) (_ count: Int) async -> Void
    ) async throws -> Data {
        if let whole = try whole(upTo: limit) { return whole }
        var collected = Data()
        while let chunk = try await chunks.next() {
            guard chunk.count <= limit - collected.count else {
                chunks.cancel()
                throw NetworkError(.bodyTooLarge(limit: limit))
            }
            collected.append(chunk)
            await didRead(collected.count)
        }
        return collected
    }

    /// The bytes, when all of them are there already.
    ///
    /// - Throws: ``NetworkError`` when they are too many.
    func whole(upTo limit: Int) throws(NetworkError) -> Data? {
        guard case .whole(let data) = source else { return nil }
        guard data.count <= limit else { throw NetworkError(.bodyTooLarge(limit: limit)) }
        return data
    }

    /// The chunks, for a reader that wants them one by one.
    public var chunks: any ResponseChunks {
        switch source {
        case .whole(let data): WholeBody(data)
        case .chunks(let chunks): chunks
        }
    }
}

/// Chunks of a body, in order.
public protocol ResponseChunks: Sendable {
    /// Returns the next bytes, or `nil` at the end; waits until there are some.
    ///
    /// One caller at a time.
    ///
    /// - Returns: At least one byte, or `nil` at the end.
    /// - Throws: ``NetworkError`` when the exchange broke, `CancellationError` when the reader was cancelled.
    func next() async throws -> Data?

    /// Ends the exchange; nobody wants the rest. Returns at once.
    func cancel()
}

/// A body that is in memory, given out as one chunk.
private final class WholeBody: ResponseChunks {
    private let rest: Lock<Data?>

    init(_ data: Data) { rest = Lock(data.isEmpty ? nil : data) }

    func next() async throws -> Data? {
        rest.withLock { rest in
            defer { rest = nil }
            return rest
        }
    }

    func cancel() { rest.withLock { $0 = nil } }
}
