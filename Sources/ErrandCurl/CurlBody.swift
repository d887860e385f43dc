#if os(Linux)
internal import Errand
internal import Foundation

/// A body that is still being received: chunks as they arrived, decoded when they are read.
///
/// The event loop writes, and pauses the transfer while its reader is slow, so that at most ``pauseLevel`` and one read
/// from the connection are held.
final class CurlBody: Sendable {
    private typealias Reader = Delivery<Result<Data?, any Error>>

    private struct State {
        var chunks: [Data] = []
        /// The number of chunks at the front that were read.
        var readCount = 0
        var unreadByteCount = 0
        var end: Result<Void, any Error>?
        var reader: Reader?
        var isPaused = false
        /// Whether the rest is not needed, even if all of it has arrived.
        var isCancelled = false
    }

    /// The state of the reader, which is one task at a time.
    private struct Decoding {
        /// The bytes that were decoded before there was a reader.
        var beginning: Data
        /// Created with the first byte, because empty content has no coding.
        var decoder: ContentDecoder?
        let codings: [String]
        let marksEnd: Bool
        let isOfError: Bool
        var decodedByteCount: Int
        var receivedByteCount: Int
    }

    /// The number of unread bytes at which the transfer is paused.
    static let pauseLevel = 768 << 10
    /// The size in bytes up to which chunks are joined while they wait.
    private static let joinedSize = 16 << 10

    /// The number of unread bytes at which a paused transfer continues.
    static let resumeLevel = 256 << 10

    private static let decodedChunkSize = 64 << 10

    private let state = Lock(State())
    private let decoding: Lock<Decoding>
    private let limits: BodyLimits
    private let onResume: @Sendable () -> Void
    private let onCancel: @Sendable () -> Void

    /// Creates a body from which nothing was read.
    ///
    /// - Parameters:
    ///   - beginning: The decoded bytes that were received before.
    ///   - decoder: The decoder that returned them, or `nil` if there was none yet.
    ///   - codings: The codings of the content.
    ///   - marksEnd: Whether the content has an end of its own, before the end of the connection.
    ///   - isOfError: Whether the content is that of an error response.
    ///   - receivedByteCount: The number of bytes received before.
    ///   - limits: The limits of the decoded bytes.
    ///   - onResume: Called when a paused transfer has to continue.
    ///   - onCancel: Called when the rest is not needed.
    init(
        beginning: Data,
        decoder: sending ContentDecoder?,
        codings: [String],
        marksEnd: Bool,
        isOfError: Bool = false,
        receivedByteCount: Int,
        limits: BodyLimits,
        onResume: @escaping @Sendable () -> Void,
        onCancel: @escaping @Sendable () -> Void
    ) {
        decoding = Lock(
            Decoding(
                beginning: beginning,
                decoder: decoder,
                codings: codings,
                marksEnd: marksEnd,
                isOfError: isOfError,
                decodedByteCount: beginning.count,
                receivedByteCount: receivedByteCount
            )
        )
        self.limits = limits
        self.onResume = onResume
        self.onCancel = onCancel
    }

    /// Adds bytes; returns whether the transfer has to be paused.
    func append(_ data: Data) -> Bool {
        let (reader, isFull) = state.withLock { state -> (Reader?, Bool) in
            guard state.end == nil else { return (nil, true) }
            if let reader = state.reader {
                state.reader = nil
                return (reader, false)
            }
            // A server may send its body in chunks of one byte.
            if let last = state.chunks.indices.last, last >= state.readCount,
                state.chunks[last].count + data.count <= Self.joinedSize
            {
                state.chunks[last].append(data)
            } else {
                state.chunks.append(data)
            }
            state.unreadByteCount += data.count
            // What libcurl has read already still arrives after the pause, which only the reader ends.
            if state.unreadByteCount >= Self.pauseLevel { state.isPaused = true }
            return (nil, state.isPaused)
        }
        reader?.deliver(.success(data))
        return isFull
    }

    /// Ends the body; only the first end counts, except that a cancellation drops what is not read yet.
    func finish(throwing error: (any Error)?) {
        let end: Result<Void, any Error> = error.map(Result.failure) ?? .success(())
        let isCancelled = error is CancellationError
        let reader = state.withLock { state -> Reader? in
            state.end = state.end ?? end
            if isCancelled {
                state.isCancelled = true
                (state.chunks, state.readCount, state.unreadByteCount) = ([], 0, 0)
            }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.deliver(end.map { nil })
        if isCancelled { decoding.withLock { ($0.beginning, $0.decoder) = (Data(), nil) } }
    }

    /// Returns the next decoded bytes, or `nil` at the end.
    func next() async throws -> Data? {
        while true {
            try checkCancellation()
            if let decoded = try stopping({ try decoding.withLock { try decode(&$0) } }) { return decoded }
            let received = try await nextReceived()
            guard let received else {
                try checkCancellation()
                try stopping {
                    if let failure = decoding.withLock({ $0.decoder?.failure(marksEnd: $0.marksEnd) }) { throw failure }
                }
                return nil
            }
            let isDecoded = try stopping { try decoding.withLock { try accept(received, &$0) } }
            if isDecoded { return received }
        }
    }

    private func checkCancellation() throws {
        if Task.isCancelled { cancel() }
        if state.withLock({ $0.isCancelled }) { throw CancellationError() }
    }

    /// Ends the exchange if a step fails.
    private func stopping<Value>(_ step: () throws -> Value) throws -> Value {
        do {
            return try step()
        } catch {
            finish(throwing: error)
            onCancel()
            throw error
        }
    }

    /// Takes bytes as they were received; returns whether they need no decoding.
    private func accept(_ received: Data, _ decoding: inout Decoding) throws -> Bool {
        decoding.receivedByteCount += received.count
        guard decoding.codings.isEmpty else {
            let (codings, isOfError) = (decoding.codings, decoding.isOfError)
            let decoder = try decoding.decoder ?? ContentDecoder(codings, limits, isOfError: isOfError)
            decoding.decoder = decoder
            decoder.feed(received)
            return false
        }
        decoding.decodedByteCount += received.count
        try limits.check(decoding.decodedByteCount, received: nil)
        return true
    }

    /// Returns decoded bytes that need no further input, or `nil` if there are none.
    private func decode(_ decoding: inout Decoding) throws -> Data? {
        if !decoding.beginning.isEmpty {
            defer { decoding.beginning = Data() }
            return decoding.beginning
        }
        guard let decoder = decoding.decoder else { return nil }
        var data = Data(count: Self.decodedChunkSize)
        let count = try data.withUnsafeMutableBytes { try decoder.read(into: $0) }
        guard count > 0 else { return nil }
        decoding.decodedByteCount += count
        try limits.check(decoding.decodedByteCount, received: decoding.receivedByteCount)
        return data.prefix(count)
    }

    private func nextReceived() async throws -> Data? {
        try await withTaskCancellationHandler {
            let reader = Reader()
            if let now = read(by: reader) { return try now.get() }
            return try await reader.value().get()
        } onCancel: {
            finish(throwing: CancellationError())
            onCancel()
        }
    }

    /// Returns the next chunk or the end if there is one, or `nil` after registering the reader to wait.
    private func read(by reader: Reader) -> Result<Data?, any Error>? {
        var isResumed = false
        defer { if isResumed { onResume() } }
        return state.withLock { state in
            guard state.readCount < state.chunks.count else {
                if let end = state.end { return end.map { nil } }
                state.reader = reader
                return nil
            }
            let data = state.chunks[state.readCount]
            state.chunks[state.readCount] = Data()
            state.readCount += 1
            state.unreadByteCount -= data.count
            if state.readCount == state.chunks.count || state.readCount >= 256 {
                state.chunks.removeFirst(state.readCount)
                state.readCount = 0
            }
            if state.isPaused, state.unreadByteCount <= Self.resumeLevel {
                state.isPaused = false
                isResumed = true
            }
            return .success(data)
        }
    }

    /// Ends the exchange and drops what has arrived.
    func cancel() {
        finish(throwing: CancellationError())
        onCancel()
    }
}

/// The reader's reference to a body that the event loop continues to write; the exchange ends with it.
final class CurlBodyReader: ResponseChunks {
    private let body: CurlBody

    init(_ body: CurlBody) { self.body = body }

    deinit { body.cancel() }

    func next() async throws -> Data? { try await body.next() }

    func cancel() { body.cancel() }
}

/// The limits of a decoded body.
struct BodyLimits: Sendable {
    let maximumSize: Int
    let maximumExpansion: Int

    init(_ options: TransportOptions) {
        (maximumSize, maximumExpansion) = (options.maximumBodySize, options.maximumExpansion)
    }

    /// Checks that a body exceeds no limit.
    ///
    /// - Parameters:
    ///   - decoded: The number of decoded bytes so far.
    ///   - received: The number of encoded bytes, or `nil` if the content has no coding.
    /// - Throws: `NetworkError`.
    func check(_ decoded: Int, received: Int?) throws(NetworkError) {
        guard decoded <= maximumSize else { throw NetworkError(.bodyTooLarge(limit: maximumSize)) }
        if let received { try checkExpansion(to: decoded, of: received) }
    }

    /// Checks that decoding has not expanded the received bytes too much.
    ///
    /// - Throws: `NetworkError`.
    func checkExpansion(to decoded: Int, of received: Int) throws(NetworkError) {
        guard decoded > TransportOptions.expansionFloor, decoded / max(1, received) >= maximumExpansion else { return }
        throw NetworkError(.decompressionRatio(limit: maximumExpansion))
    }
}
#endif
