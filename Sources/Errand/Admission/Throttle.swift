/// How many requests may be on the wire at once, and how many may start in how much time.
///
/// ```swift
/// config.throttle = Throttle(maximumPerHost: 8, rate: .perSecond(50))
/// ```
///
/// Every attempt waits for a turn of its own, before adapters sign it: a pause between attempts and a login's refresh
/// hold none. A host is a scheme, a host and a port; a redirect to another one takes a turn there. Who waits goes by
/// ``Request/priority``. An agent counts the requests that are throttled, whichever config or service says so, and no
/// others.
public struct Throttle: Sendable, Hashable {
    let isInherited: Bool

    /// The most requests to one host at once, 1 at least; `nil` is no limit.
    public let maximumPerHost: Int?

    /// The most requests at once to all hosts together, 1 at least; `nil` is no limit.
    public let maximumInTotal: Int?

    /// How many requests may start to one host in how much time; `nil` is no limit.
    public let rate: Rate?

    /// What the config says; at the end of the line ``unlimited``.
    public static let inherited = Throttle(isInherited: true, nil, nil, nil)

    /// Nothing waits, what the library does when nobody says anything.
    public static let unlimited = Throttle(isInherited: false, nil, nil, nil)

    /// Takes limits; each one that is left out does not hold.
    ///
    /// - Parameters:
    ///   - maximumPerHost: The most requests to one host at once; less than one counts as one.
    ///   - maximumInTotal: The most requests at once to all hosts together; less than one counts as one.
    ///   - rate: How many requests may start to one host in how much time.
    public init(maximumPerHost: Int? = nil, maximumInTotal: Int? = nil, rate: Rate? = nil) {
        self.init(isInherited: false, maximumPerHost, maximumInTotal, rate)
    }

    private init(isInherited: Bool, _ maximumPerHost: Int?, _ maximumInTotal: Int?, _ rate: Rate?) {
        self.isInherited = isInherited
        self.maximumPerHost = maximumPerHost.map { max(1, $0) }
        self.maximumInTotal = maximumInTotal.map { max(1, $0) }
        self.rate = rate
    }

    /// Whether anything may have to wait.
    var isLimited: Bool { maximumPerHost != nil || maximumInTotal != nil || rate != nil }

    /// So many requests in so much time, and never more: no window of that length, wherever it begins, sees more.
    ///
    /// They start in even steps, 50 per second every 20 milliseconds, unless a burst is allowed.
    public struct Rate: Sendable, Hashable {
        /// The most requests that start in any half-open window of ``duration``.
        public let count: Int

        /// The length of the window.
        public let duration: Duration

        /// How many may start at once after a rest.
        public let burst: Int

        /// - Parameters:
        ///   - count: The most requests that start in any window; less than one counts as one.
        ///   - duration: The length of the window; a microsecond at least, a year at most.
        ///   - burst: How many may start at once after a rest, 1 to `count`. Timers are exact to about a millisecond,
        ///     so more than some hundred per second are only reached with a burst.
        public init(_ count: Int, per duration: Duration, burst: Int = 1) {
            self.count = max(1, count)
            self.duration = min(max(.microseconds(1), duration), .seconds(366 * 86_400))
            self.burst = min(max(1, burst), self.count)
        }

        /// So many requests in each second.
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
    /// The limits in words.
    public var description: String {
        if isInherited { return "inherited" }
        let limits = [
            maximumPerHost.map { "\($0) at once per host" }, maximumInTotal.map { "\($0) at once" },
            rate.map { "\($0.count) per \($0.duration) and host" + ($0.burst > 1 ? " in bursts of \($0.burst)" : "") },
        ]
        let words = limits.compactMap(\.self)
        return words.isEmpty ? "unlimited" : words.joined(separator: ", ")
    }
}
