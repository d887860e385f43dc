internal import Dispatch

/// A wait for work on a queue of the cache: it ends once, with the work or when the waiting task is cancelled.
final class CacheWait<Value: Sendable>: Sendable {
    private let outcome = Delivery<Result<Value, any Error>>()

    init() {}

    /// Whether a caller still waits for the result.
    var isWanted: Bool { !outcome.isDelivered }

    /// Ends the wait, unless it has ended.
    func finish(with result: Result<Value, any Error>) { outcome.deliver(result) }

    /// Waits for the result; called once.
    ///
    /// - Parameter abandon: Called if the task is cancelled; the result is not delivered then.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or `CancellationError`.
    func value(abandon: @escaping @Sendable () -> Void = {}) async throws -> Value {
        try await withTaskCancellationHandler {
            try await valueIgnoringCancellation()
        } onCancel: {
            finish(with: .failure(CancellationError()))
            abandon()
        }
    }

    /// Waits for the result until the send ends; if its deadline has passed already, for 25 ms, which is enough for a disk.
    func value(
        endedBy stop: StopSignal,
        timers: DispatchQueue,
        abandon: @escaping @Sendable () -> Void
    ) async throws -> Value {
        let end: @Sendable () -> Void = {
            self.finish(with: .failure(CancellationError()))
            abandon()
        }
        if stop.reason == .deadline {
            timers.asyncAfter(deadline: .now() + .milliseconds(25), execute: end)
            // Its task may be one that the deadline has cancelled.
            return try await valueIgnoringCancellation()
        }
        let slot = stop.slot()
        slot.fill(stopping: end)
        defer { slot.clear() }
        return try await value(abandon: abandon)
    }

    /// Waits for the result, in a task that may be cancelled already.
    func valueIgnoringCancellation() async throws -> Value { try await outcome.value().get() }
}
