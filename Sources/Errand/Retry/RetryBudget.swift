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
/// If several exchanges lose their connection, each within 50 ms of the one before, their retries count as one, provided that
/// the host has responded since it last lost one, and once in each window.
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

/// The numbers of requests and retries to each host, for the ``RetryBudget``; an agent has one.
final class RetryCounts: Sendable {
    /// The maximum number of hosts, using about 350 KiB.
    static let maximumHostCount = 1000

    /// The maximum time between two exchanges that report the loss of one connection.
    private static let lossPause = Duration.milliseconds(50)

    private struct Host {
        let duration: Duration
        var window: SlidingWindow
        /// Whether a response has arrived since the last loss of a connection.
        var hasResponded = false
        /// The times of the first and the last exchange that have reported the loss whose retries count as one.
        var loss: ClosedRange<Duration>?

        init(_ budget: RetryBudget) {
            duration = budget.window
            // Forty, and the current one: so no window, wherever it begins, exceeds the limit.
            window = SlidingWindow(step: budget.window / 40, count: 41)
        }
    }

    private let hosts = Lock(HostTable<Origin, Host>(limit: RetryCounts.maximumHostCount))

    init() {}

    /// Counts a request, whatever its outcome.
    ///
    /// - Parameters:
    ///   - host: Scheme, host and port.
    ///   - budget: The budget of the send's config.
    ///   - now: The time on the agent's timeline.
    func countRequest(to host: Origin, within budget: RetryBudget, at now: Duration) {
        change(host, budget) { $0.window.add(calls: 1, at: now) }
    }

    /// Records a response of any status.
    func noteResponse(from host: Origin, within budget: RetryBudget) {
        change(host, budget) { $0.hasResponded = true }
    }

    /// Takes one retry from the host's budget.
    ///
    /// - Parameters:
    ///   - host: Scheme, host and port.
    ///   - budget: The budget of the send's config.
    ///   - now: The time on the agent's timeline.
    ///   - began: When the attempt began, if it has lost its connection, or `nil` if it failed otherwise.
    /// - Returns: Whether there was one left.
    func takeRetry(
        to host: Origin,
        within budget: RetryBudget,
        at now: Duration,
        afterLossSince began: Duration? = nil
    ) -> Bool {
        change(host, budget) { host in
            if let began, let loss = host.loss, began <= loss.lowerBound, now - loss.upperBound <= Self.lossPause {
                host.loss = loss.lowerBound...max(now, loss.upperBound)
                return true
            }
            host.window.advance(to: now)
            guard budget.allows(host.window.marked, for: host.window.calls) else { return false }
            host.window.add(marked: 1, at: now)
            guard began != nil else { return true }
            // A host that loses all connections again and again gets no free retries for the second loss.
            let isFirst = host.loss.map { now - $0.lowerBound > host.duration } ?? true
            if isFirst, host.hasResponded { host.loss = now...now }
            host.hasResponded = false
            return true
        }
    }

    /// The number of known hosts.
    var hostCount: Int { hosts.withLock { $0.count } }

    private func change<Value>(
        _ host: Origin,
        _ budget: RetryBudget,
        _ body: (inout Host) -> Value
    ) -> Value {
        hosts.withLock { hosts in
            hosts.change(host, default: Host(budget)) { host in
                // Counts of another window are not valid for this one; a config is rarely replaced.
                if host.duration != budget.window { host = Host(budget) }
                return body(&host)
            }
        }
    }
}
