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
