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
        let slot = stop.slot()
        slot.fill(with: StoppableWait(wait: self, timers: timers, abandon: abandon))
        defer { slot.clear() }
        return try await value(abandon: abandon)
    }

    /// Waits for the result, in a task that may be cancelled already.
    func valueIgnoringCancellation() async throws -> Value { try await outcome.value().get() }
}

/// A wait that ends with the send.
private final class StoppableWait<Value: Sendable>: Stoppable {
    private let wait: CacheWait<Value>
    private let timers: DispatchQueue
    private let abandon: @Sendable () -> Void

    init(wait: CacheWait<Value>, timers: DispatchQueue, abandon: @escaping @Sendable () -> Void) {
        (self.wait, self.timers, self.abandon) = (wait, timers, abandon)
    }

    func stop() {
        wait.finish(with: .failure(CancellationError()))
        abandon()
    }

    func stopAfterGrace() { timers.asyncAfter(deadline: .now() + .milliseconds(25)) { self.stop() } }
}
