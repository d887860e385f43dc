internal import Dispatch
internal import Errand
internal import Foundation

/// A clock that runs while the pool of Swift concurrency has a thread for a new task, and stands still while it has none.
///
/// A test that takes milliseconds waits in line for as long as others occupy the pool. Wall time does not measure such a test;
/// the time on this clock is time in which it could have run. A thread enqueues an empty task ten times a second and measures
/// how long the task waits: up to 20 ms count as none, and of a longer wait only that share of the tenth of a second passes.
/// Time in which this process is stopped, or gets no processor, does not pass either.
final class PoolClock: Sendable {
    static let shared = PoolClock()

    /// A test that is watched.
    struct Watch {
        let name: String
        let limit: Duration
        /// The task that runs the test, which is alive as long as it is watched.
        let task: UnsafeCurrentTask
        let began: Duration
        var isOver = false
    }

    private struct State {
        var now = Duration.zero
        var watches: [Int: Watch] = [:]
        var nextID = 0
        var isRunning = false
    }

    private static let period = Duration.milliseconds(100)
    private static let tolerance = Duration.milliseconds(20)
    /// How long a test that is over may take to end after it was cancelled.
    private static let grace = Duration.seconds(60)
    private static let patience = 300

    private let state = LockedState(State())

    /// Watches the task that calls.
    func watch(_ name: String, limit: Duration, task: UnsafeCurrentTask, priority: TaskPriority) -> Int {
        state.withLock { state in
            if !state.isRunning {
                state.isRunning = true
                Thread.detachNewThread { [self] in run(priority) }
            }
            state.nextID += 1
            state.watches[state.nextID] = Watch(name: name, limit: limit, task: task, began: state.now)
            return state.nextID
        }
    }

    /// Ends a watch before its task ends.
    ///
    /// - Returns: Whether the limit was exceeded.
    func end(_ id: Int) -> Bool { state.withLock { $0.watches.removeValue(forKey: id)?.isOver ?? false } }

    private func run(_ priority: TaskPriority) {
        while true {
            let began = ContinuousClock.now
            let isDone = DispatchSemaphore(value: 0)
            Task.detached(priority: priority) { isDone.signal() }
            guard isDone.wait(timeout: .now() + .seconds(Self.patience)) == .success else {
                let names = state.withLock { $0.watches.values.map(\.name).sorted().joined(separator: ", ") }
                fail("no thread of the pool was free for \(Self.patience) s; running: \(names)")
            }
            let wait = ContinuousClock.now - began
            let share = min(1, Self.tolerance / wait)
            Thread.sleep(forTimeInterval: Self.period / .seconds(1))
            check(after: Self.period * share)
        }
    }

    private func check(after time: Duration) {
        state.withLock { state in
            state.now += time
            for (id, watch) in state.watches {
                let used = state.now - watch.began
                if used > watch.limit + Self.grace { fail("\(watch.name) hangs: it did not end when it was cancelled") }
                guard used > watch.limit, !watch.isOver else { continue }
                state.watches[id]?.isOver = true
                // Cancels under the lock, because the task may end as soon as it is left.
                watch.task.cancel()
            }
        }
    }

    private func fail(_ text: String) -> Never {
        try? FileHandle.standardError.write(contentsOf: Data("error: \(text)\n".utf8))  // Nothing else can be done.
        exit(EXIT_FAILURE)
    }
}

/// A value behind a lock.
///
/// Not ``Lock``, because a task handle is not `Sendable`: it is used only inside of the lock, while its task is alive.
private final class LockedState<State>: @unchecked Sendable {
    private let lock = NSLock()
    private var state: State

    init(_ state: State) { self.state = state }

    func withLock<Value>(_ body: (inout State) -> Value) -> Value { lock.withLock { body(&state) } }
}
