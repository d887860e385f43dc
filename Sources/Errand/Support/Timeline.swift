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

/// A time of `ContinuousClock`, of a size that the compiler knows.
///
/// A type that contains a `ContinuousClock.Instant`, whose size it does not know, is copied and destroyed by unspecialized
/// code, which takes several times as long.
package struct Moment: Sendable, Hashable, Comparable {
    private static let start = ContinuousClock.now

    private let sinceStart: Duration

    package static var now: Moment { Moment(.now) }

    init(_ instant: ContinuousClock.Instant) { sinceStart = instant - Self.start }

    private init(sinceStart: Duration) { self.sinceStart = sinceStart }

    var instant: ContinuousClock.Instant { Self.start + sinceStart }

    package static func < (one: Moment, other: Moment) -> Bool { one.sinceStart < other.sinceStart }
    package static func - (end: Moment, start: Moment) -> Duration { end.sinceStart - start.sinceStart }
    static func + (start: Moment, pause: Duration) -> Moment { Moment(sinceStart: start.sinceStart + pause) }
}

extension Duration {
    /// The maximum duration that the library waits: a century, which system timers can still represent in nanoseconds.
    private static let century = Duration.seconds(3_155_760_000)

    /// This duration, limited to a century in both directions so that arithmetic with a caller's number cannot overflow.
    var clamped: Duration { min(max(self, .zero - Self.century), Self.century) }

    /// This duration in seconds.
    var timeInterval: Double {
        let parts = components
        return Double(parts.seconds) + Double(parts.attoseconds) * 1e-18
    }

    /// The duration in a suitable unit: `85 µs`, `34 ms`, `1.25 s`.
    package var words: String {
        let seconds = timeInterval
        if seconds >= 1 { return "\((seconds * 100).rounded() / 100) s" }
        if seconds >= 0.001 { return "\(Int((seconds * 1000).rounded())) ms" }
        return "\(Int((seconds * 1_000_000).rounded())) µs"
    }
}
