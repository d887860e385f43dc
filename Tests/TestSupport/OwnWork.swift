internal import Dispatch
internal import Errand
internal import Foundation

/// Runs tests so that long ones do not hold up the others, and ends those that hang.
public enum OwnWork {
    @TaskLocal private static var isInside = false

    /// How many of the tests that do much run at once.
    private static let slots = Slots(4)

    /// Runs the body of a test when one of a few slots is free, and cancels it if it hangs.
    ///
    /// - Parameters:
    ///   - name: What a message calls the test.
    ///   - limit: The time that the test takes at most, without the time in which it waits for a slot or for the pool. It is
    ///     cancelled after three times as long, because hosts of CI are as slow at times.
    ///   - hasOwnThread: Whether the body runs on a thread of its own, and its child tasks with it, one at a time.
    ///   - body: The test.
    /// - Returns: Whether the test ended within its limit.
    /// - Throws: What the test throws.
    public static func run(
        _ name: String,
        limit: Duration,
        hasOwnThread: Bool,
        _ body: @Sendable () async throws -> Void
    ) async throws -> Bool {
        guard !isInside else {
            try await run(hasOwnThread: hasOwnThread, body)
            return true
        }
        await slots.take()
        defer { slots.give() }
        let id = withUnsafeCurrentTask { task in
            task.map { PoolClock.shared.watch(name, limit: limit * 3, task: $0, priority: $0.priority) }
        }
        var isOver = false
        do {
            // The watch ends here on every path, before the task can end.
            defer { isOver = id.map { PoolClock.shared.end($0) } ?? false }
            try await $isInside.withValue(true) { try await run(hasOwnThread: hasOwnThread, body) }
        } catch is CancellationError where isOver {
            return false
        }
        return !isOver
    }

    private static func run(hasOwnThread: Bool, _ body: @Sendable () async throws -> Void) async throws {
        guard hasOwnThread else { return try await body() }
        let thread = OwnThread()
        defer { thread.stop() }
        try await withoutActuallyEscaping(body) { body in
            try await withThrowingTaskGroup { group in
                group.addTask(executorPreference: thread) { try await leavingCaller(body) }
                try await group.waitForAll()
            }
        }
    }

    /// Moves to the preferred executor, which a function that runs on its caller does not.
    @concurrent private static func leavingCaller(_ body: @Sendable () async throws -> Void) async throws {
        try await body()
    }
}

/// Runs jobs one after the other on a thread of its own, so that they may compute and block as long as they like.
///
/// Not on a queue of Dispatch: threads of its queues come from the pool on which tasks run.
private final class OwnThread: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isStopped = false
    }

    private let state = Lock(State())
    private let signal = DispatchSemaphore(value: 0)

    init() {
        Thread.detachNewThread { [self] in
            while true {
                signal.wait()
                let (job, isStopped) = state.withLock { state in
                    (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isStopped)
                }
                if let job { job.runSynchronously(on: asUnownedTaskExecutor()) } else if isStopped { return }
            }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        signal.signal()
    }

    /// Ends the thread after the jobs that it has.
    func stop() {
        state.withLock { $0.isStopped = true }
        signal.signal()
    }
}

/// A number of slots, taken in the order of arrival.
private final class Slots: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Lock<State>

    init(_ count: Int) { state = Lock(State(free: count)) }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
