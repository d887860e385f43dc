/// Which redirects are followed.
///
/// Still to come: following. Today every 3xx is handed up as it is.
///
/// Spelling in a request: `var redirectPolicy: RedirectPolicy { .refuse }`.
public struct RedirectPolicy: Sendable, Hashable {
    /// The most hops of one send; `nil` inherits, 0 hands every 3xx up as it is.
    public let maximumHops: Int?

    /// What the service says, then the config; at the end of the line the library's own.
    public static let inherited = RedirectPolicy(maximumHops: nil)

    /// No hop: a 3xx is an answer like any other.
    public static let refuse = RedirectPolicy(maximumHops: 0)

    private init(maximumHops: Int?) { self.maximumHops = maximumHops }

    /// Follows so many hops; a negative number counts as 0.
    public init(maximumHops: Int) { self.maximumHops = max(0, maximumHops) }
}
