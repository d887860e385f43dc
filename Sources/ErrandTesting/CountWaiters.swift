import Dispatch
import Errand
import Foundation

/// Tasks that wait until a count reaches a number.
///
/// A plain value for use inside a ``Lock``: it returns the continuations, and the caller resumes them after leaving the
/// lock.
struct CountWaiters: Sendable {
    private struct Waiter {
        var count: Int
        var continuation: CheckedContinuation<Bool, Never>
    }

    private var waiters: [Int: Waiter] = [:]
    private var nextID = 0

    /// Returns a number that identifies one wait.
    mutating func makeID() -> Int {
        nextID += 1
        return nextID
    }

    mutating func add(_ continuation: CheckedContinuation<Bool, Never>, id: Int, until count: Int) {
        waiters[id] = Waiter(count: count, continuation: continuation)
    }

    /// Whether a waiter has not been resumed.
    func contains(_ id: Int) -> Bool { waiters[id] != nil }

    /// Removes and returns a waiter, or returns `nil` if it has been resumed already.
    mutating func remove(_ id: Int) -> CheckedContinuation<Bool, Never>? {
        waiters.removeValue(forKey: id)?.continuation
    }

    /// Removes and returns all waiters for at most `count`.
    mutating func removeReached(_ count: Int) -> [CheckedContinuation<Bool, Never>] {
        guard !waiters.isEmpty else { return [] }
        let reached = waiters.filter { $0.value.count <= count }
        for id in reached.keys { waiters[id] = nil }
        return reached.sorted { $0.key < $1.key }.map(\.value.continuation)
    }
}

/// A wait for a count, and where it was called.
struct CountWait: Sendable {
    let function: String
    let count: Int
    /// The maximum time to wait, on the system's clock.
    let limit: Duration
    let file: StaticString
    let line: UInt

    /// Describes a number of requests by the last of them.
    static func seen(_ count: Int, _ last: [String]) -> String {
        let requests = "\(count) request\(count == 1 ? "" : "s")"
        return last.isEmpty ? requests : "\(requests), at last \(last.joined(separator: ", "))"
    }

    /// Returns the line for the standard error about a wait that has reached its limit.
    func failure(seen: String) -> String { "\(file):\(line): \(function)(\(count)) ended after \(limit): \(seen)\n" }
}

extension Lock where State: Sendable {
    /// Waits until a count in the guarded value reaches the wait's count; ends early if the task is cancelled, or at
    /// the limit, which is written to the standard error.
    ///
    /// - Returns: Whether the count was reached.
    func wait(
        for wait: CountWait,
        reached: @Sendable (State) -> Bool,
        _ waiters: any WritableKeyPath<State, CountWaiters> & Sendable,
        seen: @escaping @Sendable (State) -> String
    ) async -> Bool {
        let id = withLock { $0[keyPath: waiters].makeID() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReached = withLock { state -> Bool? in
                    if reached(state) { return true }
                    // The flag is set before the handler below runs, and the handler needs this lock: either it is
                    // seen here, or the handler finds the waiter.
                    if Task.isCancelled { return false }
                    state[keyPath: waiters].add(continuation, id: id, until: wait.count)
                    return nil
                }
                if let isReached { return continuation.resume(returning: isReached) }
                let end: @Sendable () -> Void = {
                    let (waiter, state) = withLock { ($0[keyPath: waiters].remove(id), $0) }
                    guard let waiter else { return }
                    FileHandle.standardError.write(Data(wait.failure(seen: seen(state)).utf8))
                    waiter.resume(returning: false)
                }
                let limit = wait.limit / .seconds(1)
                DispatchQueue.global().asyncAfter(deadline: .now() + limit) {
                    guard withLock({ $0[keyPath: waiters].contains(id) }) else { return }
                    // On a busy machine, the awaited work may be ready to run.
                    Task {
                        for _ in 0..<10 { await Task.yield() }
                        end()
                    }
                    // Not only a task, because a test may block every thread that tasks run on.
                    DispatchQueue.global().asyncAfter(deadline: .now() + 3 * limit, execute: end)
                }
            }
        } onCancel: {
            withLock { $0[keyPath: waiters].remove(id) }?.resume(returning: false)
        }
    }
}
