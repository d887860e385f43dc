/// The start times of the requests to one host that a ``Throttle/Rate`` depends on: a pure function of times.
///
/// Requests with different rates can share a host, so each start is recorded for all of them.
struct ThrottlePace: Sendable {
    /// The time when the next request would start in even steps.
    private var due = Duration.zero

    /// The last starts, oldest first from `first` on: as many, and as far back, as any rate so far depends on.
    private var starts: [Duration] = []
    private var first = 0
    private var maximumCount = 0
    private var longestWindow = Duration.zero

    /// Returns the earliest time at which one more request may start.
    func earliest(by rate: Throttle.Rate) -> Duration {
        // Even steps alone keep to the rate.
        guard rate.burst > 1 else { return due }
        let steps = due - rate.step * (rate.burst - 1)
        guard starts.count - first >= rate.count else { return steps }
        return max(steps, starts[starts.count - rate.count] + rate.duration)
    }

    /// Counts a request that starts now, whether it was due or not.
    mutating func start(by rate: Throttle.Rate, at now: Duration) {
        due = max(due, now) + rate.step
        maximumCount = max(maximumCount, rate.count)
        longestWindow = max(longestWindow, rate.duration)
        while first < starts.count, starts.count - first >= maximumCount || starts[first] <= now - longestWindow {
            first += 1
        }
        if first > 32, first * 2 > starts.count {
            starts.removeFirst(first)
            first = 0
        }
        starts.append(now)
    }

    /// Whether no recorded start matters any more.
    func isAtRest(at now: Duration) -> Bool {
        due <= now && (starts.last.map { $0 + longestWindow <= now } ?? true)
    }

    /// The number of recorded starts.
    var count: Int { starts.count - first }
}
