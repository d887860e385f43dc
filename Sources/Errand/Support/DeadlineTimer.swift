/// Ends sends whose deadline passes, on a clock of the system.
///
/// A task that sleeps occupies memory until the end of its sleep, even if it is cancelled before. So sends share the tasks
/// that wait for their deadlines.
final class DeadlineTimer: Sendable {
    private struct Entry: Comparable, Sendable {
        let time: Duration
        let id: Int

        static func < (one: Entry, other: Entry) -> Bool { (one.time, one.id) < (other.time, other.id) }
    }

    private struct Sleeper {
        let time: Duration
        var task: Task<Void, Never>?
    }

    private struct State {
        /// The deadlines; a deadline is valid only if its signal is in ``signals``.
        var deadlines = Heap<Entry>()
        var signals = Table<Int, StopSignal>()
        var lastID = 0
        /// The tasks that wait, the earliest last; none is replaced by a later one.
        var sleepers: [Sleeper] = []

        /// Returns the time for which another task has to wait, if any, and records it.
        mutating func claimSleep() -> Duration? {
            let signals = signals
            deadlines.removeFirst { signals[$0.id] == nil }
            guard let next = deadlines.first?.time else { return nil }
            if let earliest = sleepers.last, earliest.time <= next { return nil }
            sleepers.append(Sleeper(time: next))
            return next
        }

        mutating func removeDue(at now: Duration) -> [StopSignal] {
            var due: [StopSignal] = []
            while let first = deadlines.first, first.time <= now {
                deadlines.removeFirst()
                if let signal = signals.removeValue(forKey: first.id) { due.append(signal) }
            }
            return due
        }
    }

    private let state = Lock(State())
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (_ until: Duration) async throws -> Void

    init(now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (_ until: Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }

    deinit {
        for sleeper in state.withLock({ $0.sleepers }) { sleeper.task?.cancel() }
    }

    /// The number of tasks that wait.
    var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Signals when a time has passed.
    ///
    /// - Returns: The number to pass to ``remove(_:)``.
    func add(_ stop: StopSignal, at time: Duration) -> Int {
        let (id, next) = state.withLock { state in
            state.lastID += 1
            let id = state.lastID
            state.signals[id] = stop
            let signals = state.signals
            state.deadlines.insert(Entry(time: time, id: id), limit: 2 * signals.count + 32) { signals[$0.id] != nil }
            return (id, state.claimSleep())
        }
        if let next { wait(until: next) }
        return id
    }

    func remove(_ id: Int) {
        // It is released outside of the lock.
        _ = state.withLock { $0.signals.removeValue(forKey: id) }
    }

    private func wait(until time: Duration) {
        // Detached, because it outlives the send that happens to start it, and so must not keep its task-local values.
        let task = Task.detached { [weak self, sleep] in
            try? await sleep(time)
            guard let due = self?.takeDue(at: time) else { return }
            await Self.stop(due)
        }
        state.withLock { state in
            // From the end, where it was added: there may be many if each deadline is earlier than those before.
            guard let place = state.sleepers.lastIndex(where: { $0.time == time }) else { return }
            state.sleepers[place].task = task
        }
    }

    /// Removes the deadlines that are due after the sleep until a time, and waits for the next one.
    private func takeDue(at time: Duration) -> [StopSignal] {
        let now = max(now(), time)
        let (due, next) = state.withLock { state in
            // The earliest is the last.
            if let place = state.sleepers.lastIndex(where: { $0.time == time }) { state.sleepers.remove(at: place) }
            return (state.removeDue(at: now), state.claimSleep())
        }
        if let next { wait(until: next) }
        return due
    }

    /// Stops sends, each in a task of its own if there are several: that runs cancellation handlers, which may block.
    ///
    /// The tasks are children of the one that has slept, which owns them and ends with the last.
    private static func stop(_ due: [StopSignal]) async {
        guard due.count > 1 else {
            due.first?.stop(.deadline)
            return
        }
        await withDiscardingTaskGroup { group in
            for stop in due { group.addTask { stop.stop(.deadline) } }
        }
    }
}
