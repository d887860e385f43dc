/// Which failures are tried again, how often, and after which pause.
///
/// A pure value: ``decision(for:)`` says what follows from a failure, and nothing else decides but the budget of the
/// host. Spelling in a request: `var retryPolicy: RetryPolicy { .never }`.
public struct RetryPolicy: Sendable, Hashable {
    /// The most attempts of one send, the first included; `nil` inherits.
    public let maximumAttempts: Int?

    /// The ceiling of the first pause; it doubles with each attempt.
    public let baseDelay: Duration

    /// Where the ceiling stops doubling.
    public let maximumDelay: Duration

    /// The longest pause that a server may ask for; when it asks for more the send fails at once.
    public let maximumServerDelay: Duration

    /// The refused statuses that are tried again; a 413 is so only when the server says when to come back.
    public let statusCodes: Set<Int>

    /// Whether an attempt that ends in silence, by ``Limits/timeout``, is tried again; a deadline never is.
    public let retriesTimeouts: Bool

    private let predicate: Predicate?

    /// What the service says, then the config; at the end of the line ``standard``.
    public static let inherited = RetryPolicy(attempts: nil)

    /// One attempt, no more.
    public static let never = RetryPolicy(attempts: 1)

    /// Three attempts, what the library does when nobody says anything.
    public static let standard = RetryPolicy()

    /// The refused statuses that are tried again unless you say otherwise.
    public static let standardStatusCodes: Set<Int> = [408, 413, 429, 500, 502, 503, 504]

    /// No pause is longer, whatever a policy says: a day.
    public static let longestDelay = Duration.seconds(86_400)

    /// A policy; each value that is left out is that of ``standard``.
    ///
    /// Durations below zero count as zero, those above ``longestDelay`` as that.
    ///
    /// - Parameters:
    ///   - maximumAttempts: The most attempts of one send, the first included; less than one counts as one.
    ///   - baseDelay: The ceiling of the first pause.
    ///   - maximumDelay: Where the ceiling stops doubling.
    ///   - maximumServerDelay: The longest pause that a server may ask for.
    ///   - statusCodes: The refused statuses that are tried again.
    ///   - retriesTimeouts: Whether an idle timeout is tried again.
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

    /// Returns this policy with further failures to try again, such as a ``ServiceError`` of a certain code.
    ///
    /// The closure is asked about failures that this policy gives up, but never about a cancelled send, a request that
    /// cannot be sent or a deadline. Everything else still holds: attempts, pauses, methods, bodies and the budget. It
    /// takes the place of an earlier one. Policies with closures are equal when one was copied from the other.
    ///
    /// - Parameter isWorthIt: Whether to try again; asked in the background, after each failed attempt.
    /// - Returns: The policy; where this one inherits, the standard one with the closure.
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

    /// Returns the pause before the next attempt, or `nil` when the failure is final.
    ///
    /// What the server asks for is kept to exactly, without jitter, up to ``maximumServerDelay``. Where it asks for
    /// nothing: full jitter under a ceiling that doubles with each attempt, up to ``maximumDelay``.
    /// Source: RFC 9110, section 10.2.3.
    ///
    /// - Parameters:
    ///   - attempt: The attempt that just failed, counted from 1.
    ///   - retryAfter: The server's wish; `nil` when it has none.
    ///   - unit: A random number in 0..<1; what lies outside counts as the nearest end.
    /// - Returns: The pause, or `nil` after the last attempt and for a wish that is too long.
    public func delay(afterAttempt attempt: Int, retryAfter: Duration?, unit: Double) -> Duration? {
        guard attempt < maximumAttempts ?? 1 else { return nil }
        if let retryAfter { return retryAfter <= maximumServerDelay ? max(.zero, retryAfter) : nil }
        var ceiling = min(baseDelay, maximumDelay)
        var doublings = max(attempt, 1) - 1
        // Ends after a few dozen rounds: the ceiling is at most a day, and one that is zero stays so.
        while doublings > 0, ceiling > .zero, ceiling < maximumDelay {
            ceiling = min(ceiling * 2, maximumDelay)
            doublings -= 1
        }
        return ceiling * (unit > 0 ? min(unit, 1) : 0)
    }

    /// Whether the policy's closure wants a failure tried again.
    func wants(_ error: any Error, _ context: RequestContext) -> Bool {
        predicate?.isWorthIt(error, context) ?? false
    }
}

extension RetryPolicy: CustomStringConvertible {
    /// The number of attempts and the pauses in words.
    public var description: String {
        switch maximumAttempts {
        case nil: "inherited"
        case 1?: "one attempt"
        case let count?:
            "up to \(count) attempts, pauses under \(baseDelay) doubling to \(maximumDelay)"
                + (predicate == nil ? "" : ", with a closure")
        }
    }
}

/// A closure that is equal to itself and to no other.
private final class Predicate: Sendable, Hashable {
    let isWorthIt: @Sendable (any Error, RequestContext) -> Bool

    init(_ isWorthIt: @escaping @Sendable (any Error, RequestContext) -> Bool) { self.isWorthIt = isWorthIt }

    static func == (one: Predicate, other: Predicate) -> Bool { one === other }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Duration {
    fileprivate var bounded: Duration { min(max(self, .zero), RetryPolicy.longestDelay) }
}
