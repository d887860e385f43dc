/// The start times of the requests to one host that a ``Throttle/Rate`` depends on: a pure function of times.
struct ThrottlePace: Sendable {
    /// The time when the next request would start in even steps.
    private var due = Duration.zero

    /// The last starts, oldest first from `first` on; empty if no burst is allowed, because even steps need none.
    private var starts: [Duration] = []
    private var first = 0

    /// Returns the earliest time at which one more request may start.
    func earliest(by rate: Throttle.Rate) -> Duration {
        guard rate.burst > 1 else { return due }
        let steps = due - rate.step * (rate.burst - 1)
        guard starts.count - first >= rate.count else { return steps }
        return max(steps, starts[starts.count - rate.count] + rate.duration)
    }

    /// Counts a request that starts now, whether it was due or not.
    mutating func start(by rate: Throttle.Rate, at now: Duration) {
        due = max(due, now) + rate.step
        guard rate.burst > 1 else { return }
        while first < starts.count, starts.count - first >= rate.count || starts[first] <= now - rate.duration {
            first += 1
        }
        if first > 32, first * 2 > starts.count {
            starts.removeFirst(first)
            first = 0
        }
        starts.append(now)
    }

    /// Whether no recorded start matters any more.
    func isAtRest(at now: Duration, longest duration: Duration) -> Bool {
        due <= now && (starts.last.map { $0 + duration <= now } ?? true)
    }

    /// The number of recorded starts.
    var count: Int { starts.count - first }
}
