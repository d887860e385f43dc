import Errand

/// Tasks that wait until a count reaches a number.
///
/// A plain value for use inside a ``Lock``: it returns the continuations, and the caller resumes them after leaving the
/// lock.
struct CountWaiters: Sendable {
    private struct Waiter {
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private var waiters: [Int: Waiter] = [:]
    private var nextID = 0

    /// Returns a number to add and remove one wait by.
    mutating func makeID() -> Int {
        nextID += 1
        return nextID
    }

    mutating func add(_ continuation: CheckedContinuation<Void, Never>, id: Int, until count: Int) {
        waiters[id] = Waiter(count: count, continuation: continuation)
    }

    /// Removes and returns a waiter, or returns `nil` if it has been resumed already.
    mutating func remove(_ id: Int) -> CheckedContinuation<Void, Never>? {
        waiters.removeValue(forKey: id)?.continuation
    }

    /// Removes and returns all waiters for at most `count`.
    mutating func removeReached(_ count: Int) -> [CheckedContinuation<Void, Never>] {
        guard !waiters.isEmpty else { return [] }
        let reached = waiters.filter { $0.value.count <= count }
        for id in reached.keys { waiters[id] = nil }
        return reached.sorted { $0.key < $1.key }.map(\.value.continuation)
    }
}

extension Lock where State: Sendable {
    /// Waits until a count in the guarded value is at least `count`; ends early if the task is cancelled.
    func wait(
        until count: Int,
        reached: @Sendable (State) -> Bool,
        _ waiters: any WritableKeyPath<State, CountWaiters> & Sendable
    ) async {
        let id = withLock { $0[keyPath: waiters].makeID() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = withLock { state in
                    // The flag is set before the handler below runs, and the handler needs this lock: either it is
                    // seen here, or the handler finds the waiter.
                    if Task.isCancelled || reached(state) { return true }
                    state[keyPath: waiters].add(continuation, id: id, until: count)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            withLock { $0[keyPath: waiters].remove(id) }?.resume()
        }
    }
}
