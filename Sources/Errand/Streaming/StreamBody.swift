internal import Foundation

/// The body of a stream, and the task of its send, which ends with the last reference.
final class StreamBody: Sendable {
    private enum State {
        case idle
        case reading
        case ended
    }

    let receiver: StreamReceiver
    private let chunks: any ResponseChunks
    private let task: Task<Void, any Error>
    private let state = Lock(State.idle)

    init(_ chunks: any ResponseChunks, of receiver: StreamReceiver, task: Task<Void, any Error>) {
        self.receiver = receiver
        self.chunks = chunks
        self.task = task
    }

    deinit {
        // Leaving the loop early is a success, unless the task was cancelled.
        if Task.isCancelled { task.cancel() } else { receiver.finish(.success(()), isComplete: false) }
    }

    func cancel() { task.cancel() }

    /// Ends the exchange because its content is not usable.
    func end(throwing error: any Error) { receiver.finish(.failure(error)) }

    /// Whether ``next()`` throws because of a cancellation or a deadline, whatever has been received.
    var isStopped: Bool { Task.isCancelled || receiver.isStopped }

    /// Returns the next bytes, or `nil` after the last ones and after an error.
    func next() async throws -> Data? {
        let before = state.withLock { state in
            defer { if state == .idle { state = .reading } }
            return state
        }
        switch before {
        case .ended: return nil
        case .reading: throw NetworkError(.other("two tasks read a stream at the same time; read it in one"))
        case .idle: break
        }
        let end: Result<Void, any Error>
        do {
            if let chunk = try await nextChunk() {
                receiver.didRead(chunk.count)
                state.withLock { $0 = .idle }
                return chunk
            }
            end = .success(())
        } catch {
            end = .failure(error)
        }
        state.withLock { $0 = .ended }
        receiver.finish(end)
        // The send ends after that, with the error as every caller receives it.
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
        try end.get()
        return nil
    }

    private func nextChunk() async throws -> Data? {
        try await withTaskCancellationHandler {
            // The end of the send then has the reason.
            if isStopped { throw CancellationError() }
            return try await chunks.next()
        } onCancel: {
            task.cancel()
        }
    }
}
