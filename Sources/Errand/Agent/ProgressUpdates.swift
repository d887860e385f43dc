/// The latest progress of a send, and the sequences that follow it.
struct ProgressUpdates: Sendable {
    private typealias Observer = AsyncStream<TransferProgress>.Continuation

    private struct State {
        var latest: TransferProgress?
        var observers = Table<Int, Observer>()
        /// The number of the last observer.
        var lastNumber = 0
        var isFinished = false
    }

    private let state = Lock(State())

    var latest: TransferProgress? { state.withLock { $0.latest } }

    /// Returns a sequence for one reader, which begins with the latest progress.
    ///
    /// It keeps more than the latest, because a reader that filters by direction needs the end of the upload, which the
    /// response follows at once. A body of known length has about a hundred updates.
    func makeStream() -> AsyncStream<TransferProgress> {
        let (stream, observer) = AsyncStream.makeStream(
            of: TransferProgress.self,
            bufferingPolicy: .bufferingNewest(256)
        )
        let id = state.withLock { state -> Int? in
            // There is no reader yet, so this runs only the stream's own code.
            if let latest = state.latest { observer.yield(latest) }
            guard !state.isFinished else { return nil }
            state.lastNumber &+= 1
            state.observers[state.lastNumber] = observer
            return state.lastNumber
        }
        guard let id else {
            observer.finish()
            return stream
        }
        observer.onTermination = { [state] _ in _ = state.withLock { $0.observers.removeValue(forKey: id) } }
        return stream
    }

    func note(_ progress: TransferProgress) {
        let observers = state.withLock { state in
            state.latest = progress
            return state.observers
        }
        if !observers.isEmpty { for observer in observers.values { observer.yield(progress) } }
    }

    /// Ends all sequences, also those that begin later.
    func finish() {
        let observers = state.withLock { state in
            defer { (state.observers, state.isFinished) = (Table(), true) }
            return state.observers
        }
        if !observers.isEmpty { for observer in observers.values { observer.finish() } }
    }
}
