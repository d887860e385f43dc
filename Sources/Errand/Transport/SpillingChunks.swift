internal import Foundation

/// A buffer of chunks for a reader that may be slower than the network.
///
/// The writer must never wait, because it runs on the queue that all transfers share. So unread chunks are kept in
/// memory up to a bound; then the reception is paused until the reader has caught up. What arrives nevertheless is kept
/// in an unnamed temporary file, which is deleted with the buffer.
final class SpillingChunks: Sendable {
    private typealias Reader = Delivery<Result<Data?, any Error>>

    private struct State {
        var memory: [Data] = []
        var memoryByteCount = 0
        var file: SpillFile?
        var end: Result<Void, any Error>?
        var reader: Reader?
        /// Whether the reception is paused, or about to be.
        var isPaused = false
        /// The time when the reception was last resumed.
        var resumed: Moment?

        var unreadByteCount: Int { memoryByteCount + (file?.unreadByteCount ?? 0) }

        mutating func append(_ data: Data) {
            memoryByteCount += data.count
            if let last = memory.last, last.count + data.count <= SpillingChunks.joinedChunkSize {
                memory[memory.count - 1].append(data)
            } else {
                memory.append(data)
            }
        }

        /// Removes and returns the next bytes, or `nil` if there are none.
        mutating func removeFirst() throws -> Data? {
            if !memory.isEmpty {
                let data = memory.removeFirst()
                memoryByteCount -= data.count
                return data
            }
            if let data = try file?.read() { return data }
            // A reader that keeps up from here is served from memory again.
            file = nil
            return nil
        }

        /// Records that the reader has caught up; returns whether the reception has to be resumed.
        mutating func resumeIfRead() throws -> Bool {
            guard isPaused, unreadByteCount <= SpillingChunks.resumeLevel else { return false }
            // What was read keeps its place in the file, so a reader that is always a little behind would fill it.
            while let data = try file?.read() { append(data) }
            file = nil
            (isPaused, resumed) = (false, .now)
            return true
        }
    }

    /// The maximum number of bytes held in memory for a slow reader.
    static let memoryLimit = 1 << 20

    /// The number of unread bytes at which the reception is paused.
    static let pauseLevel = 768 << 10

    /// The number of unread bytes at which a paused reception continues.
    static let resumeLevel = 256 << 10

    /// The maximum size of the file.
    ///
    /// With a reception that can be paused, it is what libcurl decodes at once: up to 17 MiB from a compressed body.
    private let fileLimit: Int

    /// The size up to which small chunks are joined, because each costs memory: a server may send single bytes.
    private static let joinedChunkSize = 16 << 10

    private let state = Lock(State())
    /// Pauses the writer, or `nil` if that is impossible.
    private let reception: (any PausableReception)?
    private let onCancel: @Sendable () -> Void

    init(
        pausing reception: (any PausableReception)? = nil,
        fileLimit: Int = 1 << 30,
        onCancel: @escaping @Sendable () -> Void
    ) {
        self.reception = reception
        self.fileLimit = fileLimit
        self.onCancel = onCancel
    }

    /// The end of the last pause of the writer for the reader, which is now during a pause; `nil` if there was none.
    var pausedUntil: Moment? { state.withLock { $0.isPaused ? .now : $0.resumed } }

    /// Whether the writer is paused for the reader, or about to be.
    var isPaused: Bool { state.withLock { $0.isPaused } }

    func append(_ data: Data) {
        guard !data.isEmpty else { return }
        var (isBroken, isFull) = (false, false)
        let reader = state.withLock { state -> Reader? in
            guard state.end == nil else {
                // The exchange is about to be cancelled, which waits for the queue that its bytes occupy.
                isFull = true
                return nil
            }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            isFull = reception != nil && state.unreadByteCount + data.count >= Self.pauseLevel
            if isFull { state.isPaused = true }
            if state.file == nil, state.memoryByteCount + data.count <= Self.memoryLimit {
                state.append(data)
                return nil
            }
            do {
                let file = try state.file ?? SpillFile(maximumByteCount: fileLimit)
                state.file = file
                try file.append(data)
            } catch {
                state.end = .failure(
                    NetworkError(.other("a slow reader's body could not be kept aside"), underlying: error)
                )
                isBroken = true
            }
            return nil
        }
        reader?.deliver(.success(data))
        if isBroken { return onCancel() }
        guard isFull, let reception else { return }
        reception.pause()
        // The reader may have caught up before that.
        if state.withLock({ !$0.isPaused && $0.end == nil }) { resume() }
    }

    private func resume() {
        reception?.resume { [weak self] in
            self?.state.withLock { $0.end == nil && !$0.isPaused } ?? false
        }
    }

    func finish(throwing error: (any Error)?) {
        let reader = state.withLock { state -> Reader? in
            if state.end == nil { state.end = error.map(Result.failure) ?? .success(()) }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.deliver(error.map(Result.failure) ?? .success(nil))
    }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            let reader = Reader()
            if let now = read(by: reader) { return try now.get() }
            return try await reader.value().get()
        } onCancel: {
            finish(throwing: CancellationError())
            onCancel()
        }
    }

    /// Returns the next bytes or the end if there are any, or `nil` after registering the reader to wait.
    private func read(by reader: Reader) -> Result<Data?, any Error>? {
        var isResumed = false
        defer { if isResumed { resume() } }
        return state.withLock { state in
            do {
                let data = try state.removeFirst()
                isResumed = try state.resumeIfRead()
                if let data { return .success(data) }
            } catch {
                return .failure(error)
            }
            if let end = state.end { return end.map { nil } }
            state.reader = reader
            return nil
        }
    }

    func cancel() {
        finish(throwing: CancellationError())
        state.withLock { state in
            // Without the rest, the body is incomplete when the exchange ends.
            if state.unreadByteCount > 0 { state.end = .failure(CancellationError()) }
            (state.memory, state.memoryByteCount, state.file) = ([], 0, nil)
        }
        onCancel()
    }
}

/// The reader's reference to chunks that the exchange continues to write.
///
/// Once it is deallocated, the rest cannot be read, so the exchange ends.
final class SpillingChunksReader: ResponseChunks {
    private let chunks: SpillingChunks

    init(_ chunks: SpillingChunks) { self.chunks = chunks }

    func next() async throws -> Data? { try await chunks.next() }

    func cancel() { chunks.cancel() }

    // An exchange that has ended is not affected.
    deinit { chunks.cancel() }
}

/// The reception of a body, which pauses while its reader is slow.
protocol PausableReception: Sendable {
    /// Stops reading from the connection, so that the sender has to wait.
    ///
    /// Called in a callback of the exchange. Has no effect if the reception is paused already.
    func pause()

    /// Continues to read soon, unless `isWanted` returns `false` by then. Returns at once.
    func resume(if isWanted: @escaping @Sendable () -> Bool)
}
