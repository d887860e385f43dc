/// The maximum number of requests on the wire at once, and the maximum rate at which they start.
///
/// ```swift
/// config.throttle = Throttle(maximumPerHost: 8, rate: .perSecond(50))
/// ```
///
/// Every attempt waits for a permit of its own, before adapters sign it. No permit is held during a retry delay or a refresh
/// of the credential. A host is a scheme, a host and a port; a redirect to another one acquires a permit there. Waiting
/// requests are ordered by ``Request/priority``. An agent counts all requests with any limit, by any config or service,
/// and no others.
public struct Throttle: Sendable, Hashable {
    private(set) var isInherited = false

    /// The maximum number of requests to one host at once, at least 1, or `nil` for no limit.
    public let maximumPerHost: Int?

    /// The maximum number of requests at once to all hosts together, at least 1, or `nil` for no limit.
    public let maximumInTotal: Int?

    /// The maximum rate at which requests to one host start, or `nil` for no limit.
    public let rate: Rate?

    /// Whether a user's requests to an origin wait once a success says that the user's quota is used up; `false` by default.
    ///
    /// Such a response has a `RateLimit-Remaining`, `X-RateLimit-Remaining` or `X-Rate-Limit-Remaining` of 0 and the `Reset` field
    /// of the same prefix. The requests wait for the reset, but at most 60 seconds, and then up to a tenth longer, so that they are
    /// not sent all at once. Those of other users don't wait, and neither do those whose user is not known, because a hook has no
    /// scope.
    public let waitsForReset: Bool

    /// Uses the config's throttle, then ``unlimited``.
    public static let inherited: Throttle = {
        var throttle = Throttle()
        throttle.isInherited = true
        return throttle
    }()

    /// The library default: no request waits.
    public static let unlimited = Throttle()

    /// Creates a throttle.
    ///
    /// By default there are no limits.
    ///
    /// - Parameters:
    ///   - maximumPerHost: The maximum number of requests to one host at once, at least 1, or `nil` for no limit.
    ///   - maximumInTotal: The maximum number of requests at once to all hosts together, at least 1, or `nil` for no limit.
    ///   - rate: The maximum rate at which requests to one host start, or `nil` for no limit.
    ///   - waitsForReset: Whether a user's requests wait once a success says that the user's quota is used up.
    public init(
        maximumPerHost: Int? = nil,
        maximumInTotal: Int? = nil,
        rate: Rate? = nil,
        waitsForReset: Bool = false
    ) {
        self.maximumPerHost = maximumPerHost.map { max(1, $0) }
        self.maximumInTotal = maximumInTotal.map { max(1, $0) }
        self.rate = rate
        self.waitsForReset = waitsForReset
    }

    /// Whether any request may have to wait.
    var isLimited: Bool { maximumPerHost != nil || maximumInTotal != nil || rate != nil || waitsForReset }

    /// A number of requests per time that is not exceeded in any window of that length, wherever it begins.
    ///
    /// Requests start in even steps, such as every 20 milliseconds for 50 per second, unless a burst is allowed. Requests to
    /// one host may have different rates. A rate with a burst counts the starts at all rates, from its first request on; a rate
    /// without a burst keeps its step after any other start. Requests without a rate do not count.
    public struct Rate: Sendable, Hashable {
        /// The maximum number of requests that start in any half-open window of ``duration``.
        public let count: Int

        /// The length of the window, from a microsecond to 366 days.
        public let duration: Duration

        /// The number of requests that may start at once after a rest, from 1 to ``count``.
        ///
        /// The default is 1.
        public let burst: Int

        /// Creates a rate.
        ///
        /// - Parameters:
        ///   - count: The maximum number of requests that start in any window, at least 1.
        ///   - duration: The length of the window, from a microsecond to 366 days.
        ///   - burst: The number of requests that may start at once after a rest, from 1 to `count`. Timers are exact to about
        ///     a millisecond, so rates above some hundred per second need a burst.
        public init(_ count: Int, per duration: Duration, burst: Int = 1) {
            self.count = max(1, count)
            self.duration = min(max(.microseconds(1), duration), .seconds(366 * 86_400))
            self.burst = min(max(1, burst), self.count)
        }

        /// Returns a rate per second.
        public static func perSecond(_ count: Int, burst: Int = 1) -> Rate {
            Rate(count, per: .seconds(1), burst: burst)
        }

        /// The even step between two starts, rounded up: `count` steps are never shorter than the window.
        var step: Duration {
            let step = duration / count
            return step * count < duration ? step + Duration(secondsComponent: 0, attosecondsComponent: 1) : step
        }
    }
}

extension Throttle: CustomStringConvertible {
    /// A description of the limits.
    public var description: String {
        if isInherited { return "inherited" }
        let limits = [
            maximumPerHost.map { "\($0) at once per host" }, maximumInTotal.map { "\($0) at once" },
            rate.map { "\($0.count) per \($0.duration) and host" + ($0.burst > 1 ? " in bursts of \($0.burst)" : "") },
            waitsForReset ? "waiting for the reset of used quotas" : nil,
        ]
        let words = limits.compactMap(\.self)
        return words.isEmpty ? "unlimited" : words.joined(separator: ", ")
    }
}

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
