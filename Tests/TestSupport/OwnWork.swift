internal import Dispatch
internal import Errand

/// Runs tests so that long ones do not hold up the others, and ends those that hang.
public enum OwnWork {
    @TaskLocal private static var isInside = false

    /// How many of the tests that do much run at once.
    private static let slots = Slots(4)

    /// Runs the body of a test when one of a few slots is free, and cancels it after its limit.
    ///
    /// - Parameters:
    ///   - name: What a message calls the test.
    ///   - limit: The time that the test may take, without the time in which it waits for a slot or for the pool.
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
            task.map { PoolClock.shared.watch(name, limit: limit, task: $0, priority: $0.priority) }
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
        try await withTaskExecutorPreference(hasOwnThread ? OwnThread() : nil) { try await body() }
    }
}

/// Runs jobs one after the other on a queue of its own, so that they may compute and block as long as they like.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "test")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
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
