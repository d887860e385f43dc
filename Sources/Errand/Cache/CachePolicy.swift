/// When a stored response may be used, and how old it may be.
///
/// Every policy except ``networkOnly`` stores what it fetches in the ``ResponseCache`` of the config; without one, nothing
/// is stored. ``http`` applies the directives of the response (RFC 9111). All others apply your ages, whatever the
/// server's directives: only `Vary` always counts, and a response with `no-store` is kept in memory at most.
///
/// Spelling in a request: `var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }`.
public enum CachePolicy: Sendable, Hashable {
    /// Uses the service's policy, then the config's, then ``networkOnly``.
    case inherited
    /// The cache is neither read nor written.
    case networkOnly
    /// Only a stored response, of any age; without one the send throws ``NetworkError/Reason/notCached``.
    case cacheOnly
    /// A stored response up to this age, else the network.
    case cacheElseNetwork(maxAge: Duration)
    /// The network; if that fails, a stored response up to this age. `nil` is any age.
    case networkElseCache(maxStale: Duration?)
    /// Both, the stored response first: `responses(for:)` delivers two values. A plain `send` returns the network's, or
    /// the stored one if the network fails.
    case cacheThenNetwork(maxAge: Duration)
    /// A stored response up to `maxAge`; an older one up to `maxStale` more, which is revalidated in the background.
    case staleWhileRevalidate(maxAge: Duration, maxStale: Duration)
    /// The network; the cache is written but not read.
    case reload
    /// As the directives of the request and the response say (RFC 9111).
    case http
}

extension CachePolicy {
    /// When a stored response is looked up.
    enum LookupTime { case beforeRequest, afterFailure, never }

    var lookupTime: LookupTime {
        switch self {
        case .cacheOnly, .cacheElseNetwork, .staleWhileRevalidate, .http: .beforeRequest
        case .networkElseCache, .cacheThenNetwork: .afterFailure
        case .inherited, .networkOnly, .reload: .never
        }
    }
}
