/// Which failures are tried again, how often, and after which pause.
///
/// Still to come: retries. Today every send has one attempt.
///
/// Spelling in a request: `var retryPolicy: RetryPolicy { .never }`.
public struct RetryPolicy: Sendable, Hashable {
    /// The most attempts of one send, the first included; `nil` inherits.
    public let maximumAttempts: Int?

    /// What the service says, then the config; at the end of the line the library's own.
    public static let inherited = RetryPolicy(maximumAttempts: nil)

    /// One attempt, no more.
    public static let never = RetryPolicy(maximumAttempts: 1)

    private init(maximumAttempts: Int?) { self.maximumAttempts = maximumAttempts }

    /// A policy of so many attempts, the first included; less than one counts as one.
    public init(maximumAttempts: Int) { self.maximumAttempts = max(1, maximumAttempts) }
}
