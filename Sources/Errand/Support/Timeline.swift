internal import Foundation

/// A clock whose instants are durations since some start, so that policies need not know which clock it is.
///
/// A class, for every send copies it, and three closures cost three times as much.
final class Timeline: Sendable {
    /// The time since the timeline was made.
    let now: @Sendable () -> Duration

    /// Waits until the timeline reaches a time; throws `CancellationError` when the task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    /// The present: the system's, for a clock of the system.
    ///
    /// For any other clock it is the date when the timeline was made, and what has passed on the clock since.
    let date: @Sendable () -> Date

    init<C: Clock>(_ clock: C) where C.Duration == Duration {
        if clock is ContinuousClock {
            // The clock of almost everybody need not be asked by way of its type.
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
        } else {
            let start = Date()
            let now = now
            date = { start.addingTimeInterval(now().timeInterval) }
        }
    }
}
