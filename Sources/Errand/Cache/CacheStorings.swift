internal import Dispatch

/// The responses that a cache stores once it has read what they replace, without delaying their sends.
final class CacheStorings: Sendable {
    private struct Storing {
        let key: CacheKey?
        let cost: Int
        /// Those that wait for it.
        var waits: [CacheWait<Void>] = []
    }

    private struct State {
        var running: [Int: Storing] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        var cost = 0
        var lastID = 0
    }

    /// The maximum number, because a slow disk is read for each.
    private static let maximumCount = 4096
    /// The maximum number of bytes, because a response is in memory for as long as a slow disk is read.
    private static let maximumCost = 64 << 20
    private let state = Lock(State())

    /// Starts to store a response.
    ///
    /// - Parameters:
    ///   - key: The cache key, without a variant, if lookups wait for it; `nil` if the response is stored already, and only
    ///     what it replaces is read.
    ///   - cost: The number of bytes that are kept until then.
    ///   - work: Stores it.
    /// - Returns: Whether it was started: not if too many are running.
    func start(_ key: CacheKey?, cost: Int, _ work: @escaping @Sendable () async -> Void) -> Bool {
        state.withLock { state in
            guard state.running.count < Self.maximumCount, state.cost < Self.maximumCost else { return false }
            state.lastID += 1
            let id = state.lastID
            state.running[id] = Storing(key: key, cost: cost)
            state.cost += cost
            state.tasks[id] = Task { [self] in
                await work()
                end(id)
            }
            return true
        }
    }

    private func end(_ id: Int) {
        let ended = state.withLock { state in
            state.tasks[id] = nil
            let ended = state.running.removeValue(forKey: id)
            state.cost -= ended?.cost ?? 0
            return ended
        }
        for wait in ended?.waits ?? [] { wait.finish(with: .success(())) }
    }

    /// Waits for all that have been started, unless the task is cancelled.
    func wait() async {
        for id in state.withLock({ Array($0.running.keys) }) {
            guard let wait = join(id) else { continue }
            do {
                try await wait.value()
            } catch {
                // The only error is that of a cancelled task.
                return
            }
        }
    }

    /// Waits for what is being stored for a cache key, like a read of the store.
    ///
    /// - Throws: ``CacheMiss/tooSlow``, or `CancellationError`.
    func wait(
        for key: CacheKey,
        endedBy stop: StopSignal?,
        _ patience: CachePatience?,
        timers: DispatchQueue
    ) async throws {
        let ids = state.withLock { state in
            state.running.isEmpty ? [] : state.running.filter { $0.value.key == key }.map(\.key)
        }
        guard !ids.isEmpty else { return }
        let began = DispatchTime.now()
        defer { patience?.spend(since: began) }
        let deadline = patience?.deadline
        if patience != nil, deadline == nil { throw CacheMiss.tooSlow }
        for id in ids {
            guard let wait = join(id) else { continue }
            if let deadline {
                timers.asyncAfter(deadline: deadline) { wait.finish(with: .failure(CacheMiss.tooSlow)) }
            }
            if let stop {
                try await wait.value(endedBy: stop, timers: timers) {}
            } else {
                try await wait.value()
            }
        }
    }

    /// Returns a wait for the end of one, or `nil` if it has ended.
    private func join(_ id: Int) -> CacheWait<Void>? {
        let wait = CacheWait<Void>()
        return state.withLock { state in
            guard state.running[id] != nil else { return nil }
            state.running[id]?.waits.append(wait)
            return wait
        }
    }
}
