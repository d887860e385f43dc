internal import Foundation

/// A clock whose instants are durations since its start, so that policies do not depend on the kind of clock.
///
/// A class, because every send copies it and copying three closures costs three times as much.
final class Timeline: Sendable {
    /// The time since the timeline was created.
    let now: @Sendable () -> Duration

    /// Waits until the timeline reaches a time; throws `CancellationError` if the task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// The current date: the system's, if the clock is one of the system's.
    ///
    /// For any other clock it is the date when the timeline was created, plus the time that has passed on the clock since.
    let date: @Sendable () -> Date

    /// Waits for the deadlines of sends, if the clock is one of the system's; on another clock each has a task of its own.
    let deadlineTimer: DeadlineTimer?

    init<C: Clock>(_ clock: C) where C.Duration == Duration {
        if clock is ContinuousClock {
            // Reading the usual clock directly avoids a call through its type.
            let start = ContinuousClock.now
            now = { ContinuousClock.now - start }
            sleep = { try await ContinuousClock().sleep(until: start + $0, tolerance: nil) }
        } else {
            let start = clock.now
            now = { start.duration(to: clock.now) }
            sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
        }
        if clock is ContinuousClock || clock is SuspendingClock {
            date = { Date() }
            deadlineTimer = DeadlineTimer(now: now, sleep: sleep)
        } else {
            let start = Date()
            let now = now
            date = { start.addingTimeInterval(now().timeInterval) }
            deadlineTimer = nil
        }
    }
}
