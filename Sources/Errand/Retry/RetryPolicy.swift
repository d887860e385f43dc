/// The rules for which failures are retried, how often, and after which delay.
///
/// A pure value: only ``decision(for:)`` and the ``RetryBudget`` of the host decide about a retry. In a request, write
/// `var retryPolicy: RetryPolicy { .never }`.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of attempts of a send, including the first, or `nil` to inherit it.
    ///
    /// The default is 3.
    public let maximumAttempts: Int?

    /// The ceiling of the first delay, from zero to ``longestDelay``.
    ///
    /// It doubles with each attempt. The default is 0.3 seconds.
    public let baseDelay: Duration

    /// The maximum of the ceiling, from zero to ``longestDelay``.
    ///
    /// The default is 30 seconds.
    public let maximumDelay: Duration

    /// The longest delay that a server may specify, from zero to ``longestDelay``.
    ///
    /// If the server specifies a longer one, the send fails at once. The default is 60 seconds.
    public let maximumServerDelay: Duration

    /// The rejected statuses that are retried.
    ///
    /// A 413 is retried only if the server sets a delay. A 403 with `Retry-After`, or with a quota that is used up and its reset,
    /// reports an exceeded limit, and is retried if a 429 is.
    public let statusCodes: Set<Int>

    /// Whether an attempt that exceeds the idle timeout, ``Limits/timeout``, is retried.
    ///
    /// A deadline never is. The default is `false`.
    public let retriesTimeouts: Bool

    private let predicate: Predicate?

    /// Uses the service's policy, then the config's, then ``standard``.
    public static let inherited = RetryPolicy(attempts: nil)

    /// One attempt, without retries.
    public static let never = RetryPolicy(attempts: 1)

    /// The library default: three attempts.
    public static let standard = RetryPolicy()

    /// The rejected statuses that are retried by default.
    public static let standardStatusCodes: Set<Int> = [408, 413, 429, 500, 502, 503, 504]

    /// The longest delay of any policy: a day.
    public static let longestDelay = Duration.seconds(86_400)

    /// Creates a retry policy.
    ///
    /// The defaults are ``standard``'s. Durations are clamped to zero...``longestDelay``.
    ///
    /// - Parameters:
    ///   - maximumAttempts: The maximum number of attempts of a send, including the first; at least 1.
    ///   - baseDelay: The ceiling of the first delay.
    ///   - maximumDelay: The maximum of the ceiling.
    ///   - maximumServerDelay: The longest delay that a server may specify.
    ///   - statusCodes: The rejected statuses that are retried.
    ///   - retriesTimeouts: Whether an attempt that exceeds the idle timeout is retried.
    public init(
        maximumAttempts: Int = 3,
        baseDelay: Duration = .milliseconds(300),
        maximumDelay: Duration = .seconds(30),
        maximumServerDelay: Duration = .seconds(60),
        statusCodes: Set<Int> = Self.standardStatusCodes,
        retriesTimeouts: Bool = false
    ) {
        self.init(
            attempts: max(1, maximumAttempts),
            baseDelay: baseDelay.bounded,
            maximumDelay: maximumDelay.bounded,
            maximumServerDelay: maximumServerDelay.bounded,
            statusCodes: statusCodes,
            retriesTimeouts: retriesTimeouts,
            predicate: nil
        )
    }

    private init(
        attempts: Int?,
        baseDelay: Duration = .milliseconds(300),
        maximumDelay: Duration = .seconds(30),
        maximumServerDelay: Duration = .seconds(60),
        statusCodes: Set<Int> = Self.standardStatusCodes,
        retriesTimeouts: Bool = false,
        predicate: Predicate? = nil
    ) {
        maximumAttempts = attempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumServerDelay = maximumServerDelay
        self.statusCodes = statusCodes
        self.retriesTimeouts = retriesTimeouts
        self.predicate = predicate
    }

    /// Returns this policy with further failures to retry, such as a ``ServiceError`` with a certain code.
    ///
    /// The closure is called for failures that this policy does not retry. The number of attempts, delays, methods,
    /// bodies and the budget still apply. It is never called for a cancelled send, a request that cannot be sent, or a
    /// deadline. It replaces an earlier closure. Policies with closures are equal if one is a copy of the other.
    ///
    /// - Parameter isWorthIt: Returns whether to retry. It is called in the background, after each failed attempt.
    /// - Returns: The policy. If this one inherits, it is ``standard`` with the closure.
    public func retrying(if isWorthIt: @escaping @Sendable (any Error, RequestContext) -> Bool) -> RetryPolicy {
        RetryPolicy(
            attempts: maximumAttempts ?? Self.standard.maximumAttempts,
            baseDelay: baseDelay,
            maximumDelay: maximumDelay,
            maximumServerDelay: maximumServerDelay,
            statusCodes: statusCodes,
            retriesTimeouts: retriesTimeouts,
            predicate: Predicate(isWorthIt)
        )
    }

    /// Returns the delay before the next attempt, or `nil` if the failure is final.
    ///
    /// A delay set by the server, up to ``maximumServerDelay``, is never shortened, and up to a tenth of it, at most 5 seconds, is
    /// added, so that requests that wait for the same time are not sent all at once. Otherwise the delay has full jitter below a
    /// ceiling that doubles with each attempt, up to ``maximumDelay``.
    /// Source: RFC 9110, section 10.2.3.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt that failed, starting at 1.
    ///   - retryAfter: The delay that the server specified, or `nil` if it specified none.
    ///   - unit: A random number in 0..<1. Other values are limited to that range.
    /// - Returns: The delay, or `nil` after the last attempt or if the server specified more than ``maximumServerDelay``.
    public func delay(afterAttempt attempt: Int, retryAfter: Duration?, unit: Double) -> Duration? {
        guard attempt < maximumAttempts ?? 1 else { return nil }
        let unit = unit > 0 ? min(unit, 1) : 0
        if let retryAfter {
            guard retryAfter <= maximumServerDelay else { return nil }
            let delay = max(.zero, retryAfter)
            return delay + RetryAfter.spread(of: delay) * unit
        }
        var ceiling = min(baseDelay, maximumDelay)
        var doublings = max(attempt, 1) - 1
        // Ends after a few dozen rounds: the ceiling is at most a day, and a ceiling of zero stays zero.
        while doublings > 0, ceiling > .zero, ceiling < maximumDelay {
            ceiling = min(ceiling * 2, maximumDelay)
            doublings -= 1
        }
        return ceiling * unit
    }

    /// Whether the policy's closure returns `true` for a failure.
    func wants(_ error: any Error, _ context: RequestContext) -> Bool {
        predicate?.isWorthIt(error, context) ?? false
    }
}

extension RetryPolicy: CustomStringConvertible {
    /// A description of the number of attempts and the delays.
    public var description: String {
        switch maximumAttempts {
        case nil: "inherited"
        case 1?: "one attempt"
        case let count?:
            "up to \(count) attempts, delays of up to \(baseDelay.words), doubling to \(maximumDelay.words)"
                + (predicate == nil ? "" : ", with a closure")
        }
    }
}

/// A closure that is equal only to itself.
private final class Predicate: Sendable, Hashable {
    let isWorthIt: @Sendable (any Error, RequestContext) -> Bool

    init(_ isWorthIt: @escaping @Sendable (any Error, RequestContext) -> Bool) { self.isWorthIt = isWorthIt }

    static func == (one: Predicate, other: Predicate) -> Bool { one === other }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Duration {
    fileprivate var bounded: Duration { min(max(self, .zero), RetryPolicy.longestDelay) }
}
