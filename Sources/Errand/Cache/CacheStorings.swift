/// The responses that a cache stores once it has read what they replace, without delaying their sends.
final class CacheStorings: Sendable {
    private struct State {
        var running: [Int: Task<Void, Never>] = [:]
        var lastID = 0
    }

    /// The maximum number, because a response is in memory for as long as a slow disk is read.
    private static let maximumCount = 64
    private let state = Lock(State())

    /// Starts to store a response.
    ///
    /// - Returns: Whether it was started: not if too many are running.
    func start(_ work: @escaping @Sendable () async -> Void) -> Bool {
        state.withLock { state in
            guard state.running.count < Self.maximumCount else { return false }
            state.lastID += 1
            let id = state.lastID
            state.running[id] = Task { [self] in
                await work()
                self.state.withLock { $0.running[id] = nil }
            }
            return true
        }
    }

    /// Waits for all that have been started, unless the task is cancelled.
    func wait() async {
        for task in state.withLock({ Array($0.running.values) }) where !Task.isCancelled { await task.value }
    }
}
