/// A bound on the retries that one host gets from an agent, whichever requests they belong to.
///
/// ```swift
/// config.retryBudget = RetryBudget(ratio: 0.2, minimum: 20)
/// config.retryBudget = .unlimited
/// ```
///
/// A host that fails everything gets at most 1.1 times as many requests as without retries by default, plus 10 in each
/// 10 seconds. A host is a scheme, a host and a port, as a request is sent and before redirects. A request counts when
/// it is handed to the transport, not while it waits for a permit. A retry whose delay the server set itself, by
/// `Retry-After` or a rate-limit field, uses nothing of the budget, unless that delay is zero.
///
/// If the budget of a host is exhausted, the send fails with the failure of its last attempt;
/// ``NetworkError/isRetryBudgetExhausted`` and ``AccessoryEvent/didExhaustRetryBudget(because:)`` say so.
public struct RetryBudget: Sendable, Hashable {
    /// The number of retries for each request, from 0 to 100: 0.1 is one retry for ten requests.
    public let ratio: Double

    /// The number of retries in each ``window`` that need no requests, 0 or more.
    public let minimum: Int

    /// How far back requests and retries count, from 10 milliseconds to a day.
    public let window: Duration

    /// Whether there is no bound.
    let isUnlimited: Bool

    /// 10 retries in 10 seconds, and one for each 10 requests; the default.
    public static let standard = RetryBudget()

    /// No bound: the ``RetryPolicy`` alone decides.
    public static let unlimited = RetryBudget(ratio: 0, minimum: 0, window: .seconds(10), isUnlimited: true)

    /// Creates a budget.
    ///
    /// Values out of range count as the nearest one in range.
    ///
    /// - Parameters:
    ///   - ratio: The number of retries for each request, from 0 to 100.
    ///   - minimum: The number of retries in each window that need no requests, 0 or more.
    ///   - window: How far back requests and retries count, from 10 milliseconds to a day.
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

    /// Whether one more retry is within the budget.
    func allows(_ retries: Int, for requests: Int) -> Bool {
        // The sum of products such as 0.29 * 100 is a little less than it should be.
        Double(retries) < Double(minimum) + (Double(requests) * ratio + 1e-6).rounded(.down)
    }
}

extension RetryBudget: CustomStringConvertible {
    /// The bound in words.
    public var description: String {
        isUnlimited ? "unlimited" : "\(minimum) retries and \(ratio) for each request in \(window) and host"
    }
}

/// Requests and retries of each host, for the ``RetryBudget``.
///
/// One for an agent; it forgets hosts without recent requests.
final class RetryCounts: Sendable {
    /// The most hosts that are known at once, some 350 KiB.
    static let maximumHostCount = 1000

    private let hosts = Lock<[String: RetryWindow]>([:])

    init() {}

    /// Counts a request, whatever becomes of it.
    ///
    /// - Parameters:
    ///   - host: Scheme, host and port.
    ///   - budget: The budget of the config of the send.
    ///   - now: The time on the agent's timeline.
    func countRequest(to host: String, within budget: RetryBudget, at now: Duration) {
        change(host, budget, now) { $0.countRequest(at: now) }
    }

    /// Takes one retry out of what the host has left.
    ///
    /// - Returns: Whether there was one left.
    func takeRetry(to host: String, within budget: RetryBudget, at now: Duration) -> Bool {
        change(host, budget, now) { $0.takeRetry(within: budget, at: now) }
    }

    /// How many hosts are known.
    var hostCount: Int { hosts.withLock { $0.count } }

    private func change<Value>(
        _ host: String,
        _ budget: RetryBudget,
        _ now: Duration,
        _ body: (inout RetryWindow) -> Value
    ) -> Value {
        hosts.withLock { hosts in
            if hosts.count >= Self.maximumHostCount, hosts[host] == nil { Self.forget(&hosts, at: now) }
            return Self.change(&hosts[host, default: RetryWindow(of: budget.window, at: now)], budget, now, body)
        }
    }

    private static func change<Value>(
        _ window: inout RetryWindow,
        _ budget: RetryBudget,
        _ now: Duration,
        _ body: (inout RetryWindow) -> Value
    ) -> Value {
        // Counts of another window mean nothing for this one; a config is rarely replaced.
        if window.duration != budget.window { window = RetryWindow(of: budget.window, at: now) }
        return body(&window)
    }

    /// Forgets the hosts of which nothing counts any more, and half of the maximum at least, so that it is rarely done:
    /// those whose last request is the longest ago.
    private static func forget(_ hosts: inout [String: RetryWindow], at now: Duration) {
        hosts = hosts.filter { $0.value.counts(at: now) }
        let surplus = hosts.count - maximumHostCount / 2
        guard surplus > 0 else { return }
        let uses = hosts.map { (host: $0.key, time: $0.value.latest) }.sorted { $0.time < $1.time }
        for use in uses.prefix(surplus) { hosts[use.host] = nil }
    }
}

/// Requests and retries of one window, in slots of a fortieth of it.
struct RetryWindow: Sendable {
    private struct Slot {
        var requests: UInt32 = 0
        var retries: UInt32 = 0
    }

    /// Forty, and the one that is under way: so no window, wherever it begins, sees more than it should.
    static let slotCount: Int64 = 41

    /// How far back it counts.
    let duration: Duration
    /// When something was counted last.
    private(set) var latest: Duration
    /// The number of the newest slot in which something was counted.
    private var newest: Int64
    /// When that slot ends; zero where that is too far to be counted.
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

    /// Whether something of it counts at a time.
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
