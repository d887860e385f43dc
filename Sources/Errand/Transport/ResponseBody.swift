public import Foundation

/// The body of a response, as a sequence of chunks that is read once.
///
/// It is read at the reader's pace: a transport must bound what it holds in memory for a slow reader.
public struct ResponseBody: Sendable {
    private enum Source: Sendable {
        case whole(Data)
        case chunks(any ResponseChunks)
    }

    private let source: Source

    /// Creates a body from bytes that have been received.
    public init(_ data: Data) { source = .whole(data) }

    /// Creates a body from chunks that are still being received.
    public init(chunks: any ResponseChunks) { source = .chunks(chunks) }

    /// Creates the beginning of a body whose rest cannot be received or decoded.
    ///
    /// - Parameters:
    ///   - beginning: The bytes before the failure, of which at most ``NetworkError/maximumBodyByteCount`` are kept.
    ///   - failure: The error after the last byte.
    ///   - limit: The maximum size of the body.
    package init(_ beginning: Data, failing failure: any Error, upTo limit: Int) {
        let count = max(0, min(limit, NetworkError.maximumBodyByteCount))
        source = .chunks(WholeBody(Data(beginning.prefix(count)), failing: failure))
    }

    /// The bytes if all of them have been received, or `nil`.
    public var whole: Data? {
        if case .whole(let data) = source { data } else { nil }
    }

    /// Reads the rest of the body into memory.
    ///
    /// - Parameter limit: The maximum number of bytes. If there are more, the exchange is ended.
    /// - Returns: The bytes that were not read before.
    /// - Throws: ``NetworkError``, also for a body that exceeds the limit, or `CancellationError`.
    public func collect(upTo limit: Int) async throws -> Data { try await collect(upTo: limit, didRead: { _ in }) }

    /// Reads the rest of the body, and reports the number of bytes read after each chunk.
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

    /// Reads the first bytes of a body that need not be complete, and ends the exchange if there are more or they take longer.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of bytes.
    ///   - time: The maximum time, or `nil` if only the limits of the exchange apply.
    ///   - timeline: The clock of the time.
    /// - Returns: The bytes that were received, and why they are not all, or `nil` if they are.
    /// - Throws: `CancellationError`.
    func beginning(
        upTo limit: Int = NetworkError.maximumBodyByteCount,
        within time: Duration? = .seconds(1),
        on timeline: Timeline
    ) async throws -> (bytes: Data, failure: (any Error)?) {
        let (chunks, isLate) = (chunks, Lock(false))
        let end = time.map { timeline.now() + $0 }
        let timer = end.map { end in
            Task {
                try await timeline.sleep(end)
                isLate.withLock { $0 = true }
                chunks.cancel()
            }
        }
        defer { timer?.cancel() }
        var bytes = Data()
        do {
            while let chunk = try await chunks.next() {
                let rest = limit - bytes.count
                bytes.append(chunk.prefix(rest))
                guard chunk.count <= rest else {
                    chunks.cancel()
                    return (bytes, NetworkError(.bodyTooLarge(limit: limit)))
                }
            }
            return (bytes, nil)
        } catch {
            if isLate.withLock({ $0 }) { return (bytes, NetworkError(.closedInBody)) }
            if error is CancellationError { throw error }
            return (bytes, error)
        }
    }

    /// Returns the bytes if all of them have been received, or `nil`.
    ///
    /// - Throws: ``NetworkError`` if they exceed the limit.
    func whole(upTo limit: Int) throws(NetworkError) -> Data? {
        guard case .whole(let data) = source else { return nil }
        guard data.count <= limit else { throw NetworkError(.bodyTooLarge(limit: limit)) }
        return data
    }

    /// The chunks, for a reader that processes them one by one.
    public var chunks: any ResponseChunks {
        switch source {
        case .whole(let data): WholeBody(data)
        case .chunks(let chunks): chunks
        }
    }
}

/// Chunks of a body, in order.
public protocol ResponseChunks: Sendable {
    /// Returns the next bytes, or `nil` at the end. Suspends until there are some.
    ///
    /// Must not be called concurrently.
    ///
    /// - Returns: At least one byte, or `nil` at the end.
    /// - Throws: ``NetworkError`` if the exchange failed, or `CancellationError` if the reader was cancelled.
    func next() async throws -> Data?

    /// Ends the exchange because the rest is not needed. Returns at once.
    func cancel()
}

/// A body in memory, or the beginning of one that has failed, returned as one chunk.
private final class WholeBody: ResponseChunks {
    private let rest: Lock<Data?>
    private let failure: (any Error)?

    init(_ data: Data, failing failure: (any Error)? = nil) {
        rest = Lock(data.isEmpty ? nil : data)
        self.failure = failure
    }

    func next() async throws -> Data? {
        let rest = rest.withLock { rest in
            defer { rest = nil }
            return rest
        }
        if rest == nil, let failure { throw failure }
        return rest
    }

    func cancel() { rest.withLock { $0 = nil } }
}
