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

    /// Waits for the result until the send ends; if its deadline has passed already, until the end of a grace period.
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

    func stopAfterGrace() { timers.asyncAfter(deadline: .now() + .milliseconds(100)) { self.stop() } }
}

/// A serial queue for work that may block; work that is dropped before it begins is never run.
///
/// It has a list of its own, because a dispatch queue keeps dropped work for as long as a disk hangs.
final class CacheReadQueue: Sendable {
    typealias Work = @Sendable () -> Void

    private struct State {
        var waiting: [Int: Work] = [:]
        /// The numbers of the waiting work, and of some that was dropped, from ``first`` on.
        var order: [Int] = []
        var first = 0
        var lastID = 0
        var isRunning = false

        mutating func next() -> Work? {
            while first < order.count {
                let id = order[first]
                first += 1
                if let work = waiting.removeValue(forKey: id) { return work }
            }
            (order, first, isRunning) = ([], 0, false)
            return nil
        }

        mutating func drop(_ id: Int) -> Work? {
            let dropped = waiting.removeValue(forKey: id)
            if order.count > 2 * waiting.count + 64 {
                order = order[first...].filter { waiting[$0] != nil }
                first = 0
            }
            return dropped
        }
    }

    private let queue: DispatchQueue
    private let state = Lock(State())

    init(label: String) { queue = DispatchQueue(label: label, qos: .userInitiated) }

    /// Adds work.
    ///
    /// - Returns: The number to drop it by.
    func add(_ work: @escaping Work) -> Int {
        let (id, isFirst) = state.withLock { state in
            state.lastID += 1
            state.waiting[state.lastID] = work
            state.order.append(state.lastID)
            defer { state.isRunning = true }
            return (state.lastID, !state.isRunning)
        }
        if isFirst {
            queue.async { [self] in
                while let work = state.withLock({ $0.next() }) { work() }
            }
        }
        return id
    }

    /// Drops work, unless it has begun.
    func drop(_ id: Int) {
        // Freed outside the lock.
        let dropped = state.withLock { $0.drop(id) }
        withExtendedLifetime(dropped) {}
    }
}
