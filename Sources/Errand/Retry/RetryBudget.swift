/// A limit on the retries of all requests of an agent to one host.
///
/// ```swift
/// config.retryBudget = RetryBudget(ratio: 0.2, minimum: 20)
/// config.retryBudget = .unlimited
/// ```
///
/// By default, a host that fails every request gets at most 1.1 times as many requests as without retries, plus 10 in each
/// 10 seconds. A host is a scheme, a host and a port, after adapters and before redirects. A request counts when
/// it is passed to the transport, not while it waits for a permit. A retry whose delay the server set, by
/// `Retry-After` or a rate-limit field, does not use the budget, unless that delay is less than 100 ms.
///
/// If the budget of a host is exhausted, the send fails with the failure of its last attempt, with
/// ``NetworkError/isRetryBudgetExhausted`` set, and ``AccessoryEvent/didExhaustRetryBudget(because:)`` occurs.
public struct RetryBudget: Sendable, Hashable {
    /// The number of retries per request, from 0 to 100.
    ///
    /// The default of 0.1 is one retry for ten requests.
    public let ratio: Double

    /// The number of retries in each ``window`` that are allowed without any requests, 0 or more.
    ///
    /// The default is 10.
    public let minimum: Int

    /// The time for which requests and retries count, from 10 milliseconds to a day.
    ///
    /// The default is 10 seconds.
    public let window: Duration

    /// Whether there is no limit.
    let isUnlimited: Bool

    /// The library default: 10 retries in 10 seconds, and one for each 10 requests.
    public static let standard = RetryBudget()

    /// No limit: only the ``RetryPolicy`` decides.
    public static let unlimited = RetryBudget(ratio: 0, minimum: 0, window: .seconds(10), isUnlimited: true)

    /// Creates a retry budget.
    ///
    /// A value out of range is replaced by the nearest one in range.
    ///
    /// - Parameters:
    ///   - ratio: The number of retries per request, from 0 to 100.
    ///   - minimum: The number of retries in each window that are allowed without any requests, 0 or more.
    ///   - window: The time for which requests and retries count, from 10 milliseconds to a day.
    public init(ratio: Double = 0.1, minimum: Int = 10, window: Duration = .seconds(10)) {
        self.init(
            ratio: ratio > 0 ? min(ratio, 100) : 0,
            minimum: max(0, minimum),
            window: min(max(window, .milliseconds(10)), .seconds(86_400)),
            isUnlimited: false
        )
    }

    private init(ratio: Double, minimum: Int, window: Duration, isUnlimited: Bool) {
        self.ratio = ratio
        self.minimum = minimum
        self.window = window
        self.isUnlimited = isUnlimited
    }

    /// Whether the budget allows one more retry.
    func allows(_ retries: Int, for requests: Int) -> Bool {
        // Products such as 0.29 * 100 are rounded down slightly.
        Double(retries) < Double(minimum) + (Double(requests) * ratio + 1e-6).rounded(.down)
    }
}

extension RetryBudget: CustomStringConvertible {
    /// A description of the limit.
    public var description: String {
        isUnlimited ? "unlimited" : "\(minimum) retries and \(ratio) for each request in \(window) and host"
    }
}

/// The numbers of requests and retries to each host, for the ``RetryBudget``.
///
/// An agent has one. It removes hosts without recent requests.
final class RetryCounts: Sendable {
    /// The maximum number of hosts, using about 350 KiB.
    static let maximumHostCount = 1000

    private struct Hosts {
        private var places: [String: Int] = [:]
        private var windows: [RetryWindow] = []
        /// The host of the last count, because most requests are to the same host as the one before.
        private var latest: (host: String, place: Int)?

        var count: Int { places.count }

        /// Changes the window of a host.
        mutating func change<Value>(
            _ host: String,
            _ budget: RetryBudget,
            _ now: Duration,
            _ body: (inout RetryWindow) -> Value
        ) -> Value {
            if let latest, latest.host == host { return Self.change(&windows[latest.place], budget, now, body) }
            if count >= maximumHostCount, places[host] == nil { forget(at: now) }
            let place = places[host] ?? windows.count
            if place == windows.count {
                places[host] = place
                windows.append(RetryWindow(of: budget.window, at: now))
            }
            latest = (host, place)
            return Self.change(&windows[place], budget, now, body)
        }

        private static func change<Value>(
            _ window: inout RetryWindow,
            _ budget: RetryBudget,
            _ now: Duration,
            _ body: (inout RetryWindow) -> Value
        ) -> Value {
            // Counts of another window cannot be converted to this one; a config is rarely replaced.
            if window.duration != budget.window { window = RetryWindow(of: budget.window, at: now) }
            return body(&window)
        }

        /// Removes the hosts without requests in the window, and at least half of the maximum so that this is rare,
        /// least recently used ones first.
        private mutating func forget(at now: Duration) {
            let known = places.filter { windows[$0.value].counts(at: now) }
            let latest = known.sortedUnspecialized { windows[$0.value].latest > windows[$1.value].latest }
            let kept = latest.prefix(maximumHostCount / 2)
            windows = kept.map { windows[$0.value] }
            places = [:]
            for (place, host) in kept.enumerated() { places[host.key] = place }
            self.latest = nil
        }
    }

    private let hosts = Lock(Hosts())

    init() {}

    /// Counts a request, whatever its outcome.
    ///
    /// - Parameters:
    ///   - host: Scheme, host and port.
    ///   - budget: The budget of the send's config.
    ///   - now: The time on the agent's timeline.
    func countRequest(to host: String, within budget: RetryBudget, at now: Duration) {
        change(host, budget, now) { $0.countRequest(at: now) }
    }

    /// Takes one retry from the host's budget.
    ///
    /// - Returns: Whether there was one left.
    func takeRetry(to host: String, within budget: RetryBudget, at now: Duration) -> Bool {
        change(host, budget, now) { $0.takeRetry(within: budget, at: now) }
    }

    /// The number of known hosts.
    var hostCount: Int { hosts.withLock { $0.count } }

    private func change<Value>(
        _ host: String,
        _ budget: RetryBudget,
        _ now: Duration,
        _ body: (inout RetryWindow) -> Value
    ) -> Value {
        hosts.withLock { $0.change(host, budget, now, body) }
    }
}

/// The requests and retries of one window, in slots of a fortieth of its length.
struct RetryWindow: Sendable {
    private struct Slot {
        var requests: UInt32 = 0
        var retries: UInt32 = 0
    }

    /// Forty, and the current one: so no window, wherever it begins, exceeds the limit.
    static let slotCount: Int64 = 41

    /// The length of the window.
    let duration: Duration
    /// The time when something was last counted.
    private(set) var latest: Duration
    /// The number of the newest slot with a count.
    private var newest: Int64
    /// The end of that slot, or zero if it is too late to be represented.
    private var end: Duration
    private var slots = [Slot](repeating: Slot(), count: Int(Self.slotCount))
    private var requests = 0
    private var retries = 0

    init(of duration: Duration, at now: Duration) {
        self.duration = duration
        latest = now
        newest = Self.slot(of: now, in: duration)
        end = Self.end(of: newest, in: duration)
    }

    /// Whether any of its counts are still in the window at a time.
    func counts(at now: Duration) -> Bool { Self.slot(of: now, in: duration) &- newest < Self.slotCount }

    private static func slot(of time: Duration, in duration: Duration) -> Int64 {
        let slot = time / (duration / 40)
        return slot > 0 ? Int64(min(slot, 1e18)) : 0
    }

    private static func end(of slot: Int64, in duration: Duration) -> Duration {
        slot < 1 << 40 ? duration / 40 * (slot + 1) : .zero
    }

    mutating func countRequest(at now: Duration) {
        advance(to: now)
        guard slots[place(of: newest)].requests < .max else { return }
        slots[place(of: newest)].requests += 1
        requests &+= 1
    }

    mutating func takeRetry(within budget: RetryBudget, at now: Duration) -> Bool {
        advance(to: now)
        guard budget.allows(retries, for: requests), slots[place(of: newest)].retries < .max else { return false }
        slots[place(of: newest)].retries += 1
        retries &+= 1
        return true
    }

    private func place(of slot: Int64) -> Int { Int(slot % Self.slotCount) }

    private mutating func advance(to now: Duration) {
        latest = max(latest, now)
        guard now >= end else { return }
        let slot = Self.slot(of: now, in: duration)
        guard slot > newest else { return }
        for step in 1...min(slot - newest, Self.slotCount) {
            let place = place(of: newest + step)
            requests &-= Int(truncatingIfNeeded: slots[place].requests)
            retries &-= Int(truncatingIfNeeded: slots[place].retries)
            slots[place] = Slot()
        }
        newest = slot
        end = Self.end(of: slot, in: duration)
    }
}
