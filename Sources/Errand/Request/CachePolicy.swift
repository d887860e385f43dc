/// When a stored response may be used, and how old it may be.
///
/// Every policy except ``networkOnly`` stores what it fetches in the ``ResponseCache`` of the config; without one, nothing is
/// stored, which is reported as ``Diagnostic/cachePolicyWithoutCache``. ``CacheStorage`` selects another cache. ``http``
/// applies the directives of the response (RFC 9111). All others apply your ages instead of the server's directives, except
/// that `Vary` always applies, and a response with `no-store` is kept in memory at most.
///
/// In a request, write `var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }`.
public enum CachePolicy: Sendable, Hashable {
    /// Uses the service's policy, then the config's, then ``networkOnly``.
    case inherited
    /// The cache is neither read nor written.
    case networkOnly
    /// Uses only a stored response, of any age; without one the send throws ``NetworkError/Reason/notCached``.
    case cacheOnly
    /// Uses a stored response up to this age, or else the network.
    case cacheElseNetwork(maxAge: Duration)
    /// Uses the network; if that fails, a stored response up to this age. `nil` is any age.
    case networkElseCache(maxStale: Duration?)
    /// Uses both, the stored response first: `responses(for:)` delivers two values.
    ///
    /// A plain `send` returns the network's response, or the stored one if the network fails.
    case cacheThenNetwork(maxAge: Duration)
    /// Uses a stored response up to `maxAge`, and for `maxStale` longer while it is revalidated in the background.
    case staleWhileRevalidate(maxAge: Duration, maxStale: Duration)
    /// Uses the network; the cache is written but not read.
    case reload
    /// Applies the directives of the request and the response (RFC 9111).
    case http
}

extension CachePolicy {
    /// The time at which a stored response is looked up.
    enum LookupTime { case beforeRequest, afterFailure, never }

    var lookupTime: LookupTime {
        switch self {
        case .cacheOnly, .cacheElseNetwork, .staleWhileRevalidate, .http: .beforeRequest
        case .networkElseCache, .cacheThenNetwork: .afterFailure
        case .inherited, .networkOnly, .reload: .never
        }
    }
}
