import Errand

/// A clock that advances only when a test moves it.
///
/// Everything that takes a `Clock` can be tested without waiting: start the work, wait until it sleeps with
/// ``waitForSleepers(_:)``, then move the clock.
///
/// ```swift
/// let clock = ManualClock()
/// async let value = retryTwice(clock: clock)
/// await clock.waitForSleepers(1)
/// clock.advance(by: .seconds(30))
/// ```
public final class ManualClock: Clock, Sendable {
    /// A point in time of a ``ManualClock``.
    public struct Instant: InstantProtocol, Hashable, Sendable {
        /// The time since the clock was created.
        public let offset: Swift.Duration

        /// Creates the instant at `offset` after the clock was created.
        public init(offset: Swift.Duration = .zero) { self.offset = offset }

        /// Returns the instant that is `duration` later, or earlier if it is negative.
        public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }

        /// Returns the time from this instant to another, which is negative if the other is earlier.
        public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

        /// Returns whether one instant is earlier than another.
        public static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private let state: Lock<State>

    /// Creates a clock that is set to `now`.
    public init(now: Instant = Instant()) { state = Lock(State(now: now)) }

    /// The current instant of the clock.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero, because the clock can be moved by any duration.
    public var minimumResolution: Swift.Duration { .zero }

    /// The number of tasks that sleep on the clock.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// The earliest deadline of a sleeping task, or `nil` if none is sleeping.
    public var nextDeadline: Instant? { state.withLock { $0.sleepers.last?.deadline } }

    /// Sleeps until the clock is moved to or past a deadline; returns at once if it is there already.
    ///
    /// - Parameters:
    ///   - deadline: The instant to wait for.
    ///   - tolerance: Not used: a sleeper is woken by the first move that reaches its deadline.
    /// - Throws: `CancellationError` if the task is cancelled before the deadline.
    public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
        let id = state.withLock { $0.makeID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(Sleeper(deadline: deadline, id: id, continuation: continuation))
            }
        } onCancel: {
            let sleeper = state.withLock { $0.remove(deadline: deadline, id: id) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Moves the clock forward and wakes the sleepers that are due, in the order of their deadlines.
    ///
    /// The clock is set to its new time before the first of them is woken; those with the same deadline are woken in
    /// the order in which they began to sleep.
    ///
    /// - Parameter duration: The duration by which the clock is moved. Zero or less does not move it.
    public func advance(by duration: Swift.Duration) { wake { $0.now.advanced(by: duration) } }

    /// Moves the clock forward to an instant and wakes the sleepers that are due; an earlier instant does not move it.
    public func advance(to instant: Instant) { wake { _ in instant } }

    /// Moves the clock to the earliest deadline of a sleeper and wakes all that have this deadline.
    ///
    /// - Returns: The duration by which the clock moved, or `nil` if no task is sleeping.
    @discardableResult
    public func advanceToNextSleeper() -> Swift.Duration? { wake { $0.sleepers.last?.deadline } }

    /// Waits until at least `count` tasks sleep on the clock; ends early if the waiting task is cancelled.
    ///
    /// By default, it waits for at most 30 seconds of real time, or longer on a busy machine, and then writes what it
    /// has seen to the standard error. `try #require(await clock.waitForSleepers(2))` also fails the test.
    ///
    /// - Parameters:
    ///   - count: The number of sleeping tasks.
    ///   - limit: The maximum time to wait, on the system's clock.
    ///   - file: The file that the failure names.
    ///   - line: The line that the failure names.
    /// - Returns: Whether there were as many; `false` at the limit or if the task was cancelled.
    @discardableResult
    public func waitForSleepers(
        _ count: Int = 1,
        within limit: Swift.Duration = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> Bool {
        let wait = CountWait(function: "waitForSleepers", count: count, limit: limit, file: file, line: line)
        return await state.wait(for: wait, reached: { $0.sleepers.count >= count }, \.waiters, seen: \.description)
    }

    private func enter(_ sleeper: Sleeper) {
        let (outcome, waiting) = state.withLock {
            state -> (Result<Void, any Error>?, [CheckedContinuation<Bool, Never>]) in
            // The flag is set before the cancellation handler runs, and the handler needs this lock: either it is
            // seen here, or the handler finds the sleeper.
            if Task.isCancelled { return (.failure(CancellationError()), []) }
            if sleeper.deadline <= state.now { return (.success(()), []) }
            state.insert(sleeper)
            return (nil, state.waiters.removeReached(state.sleepers.count))
        }
        if let outcome { sleeper.continuation.resume(with: outcome) }
        for waiter in waiting { waiter.resume(returning: true) }
    }

    @discardableResult
    private func wake(at target: (State) -> Instant?) -> Swift.Duration? {
        let (moved, due) = state.withLock { state -> (Swift.Duration?, [Sleeper]) in
            guard let instant = target(state) else { return (nil, []) }
            let before = state.now
            state.now = max(before, instant)
            return (before.duration(to: state.now), state.removeDue())
        }
        for sleeper in due { sleeper.continuation.resume() }
        return moved
    }
}

extension ManualClock {
    private struct Sleeper {
        var deadline: Instant
        var id: Int
        var continuation: CheckedContinuation<Void, any Error>

        func isDue(after other: (deadline: Instant, id: Int)) -> Bool { (deadline, id) > (other.deadline, other.id) }
    }

    private struct State {
        var now: Instant
        /// The sleepers, with the first that is due at the end, so that removing it moves no other.
        var sleepers: [Sleeper] = []
        var waiters = CountWaiters()
        private var nextID = 0

        init(now: Instant) { self.now = now }

        /// The number of sleepers, and when they are due.
        var description: String {
            let times = sleepers.reversed().map { "\($0.deadline.offset)" }.joined(separator: ", ")
            let due = sleepers.isEmpty ? "" : ", until \(times)"
            return "sleeping tasks: \(sleepers.count)\(due); the clock is at \(now.offset)"
        }

        mutating func makeID() -> Int {
            nextID += 1
            return nextID
        }

        mutating func insert(_ sleeper: Sleeper) {
            sleepers.insert(sleeper, at: place(deadline: sleeper.deadline, id: sleeper.id))
        }

        mutating func remove(deadline: Instant, id: Int) -> Sleeper? {
            let place = place(deadline: deadline, id: id)
            guard place < sleepers.count, sleepers[place].id == id else { return nil }
            return sleepers.remove(at: place)
        }

        mutating func removeDue() -> [Sleeper] {
            var due: [Sleeper] = []
            while let sleeper = sleepers.last, sleeper.deadline <= now { due.append(sleepers.removeLast()) }
            return due
        }

        /// Returns the index of the first sleeper that is not due later.
        private func place(deadline: Instant, id: Int) -> Int {
            var low = 0
            var high = sleepers.count
            while low < high {
                let middle = (low + high) / 2
                if sleepers[middle].isDue(after: (deadline, id)) { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }
}
