/// When a stored answer may be used, and how old it may be.
///
/// Still to come: the cache. Today every policy goes to the network and nothing is stored.
///
/// Spelling in a request: `var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }`.
public enum CachePolicy: Sendable, Hashable {
    /// What the service says, then the config; the library's own is ``networkOnly``.
    case inherited
    /// Neither read nor written.
    case networkOnly
    /// Only a stored answer, of any age.
    case cacheOnly
    /// A stored answer up to this age, else the network.
    case cacheElseNetwork(maxAge: Duration)
    /// The network, and when that fails a stored answer up to this age; `nil` is any age.
    case networkElseCache(maxStale: Duration?)
    /// Both, the stored one first.
    case cacheThenNetwork(maxAge: Duration)
    /// A stored answer up to `maxAge`; an older one up to `maxStale` more while a fresh one is fetched behind it.
    case staleWhileRevalidate(maxAge: Duration, maxStale: Duration)
    /// No read, but a write.
    case reload
    /// As the answer's own fields say (RFC 9111).
    case http
}

/// What else belongs into the cache key of a request, beside method, URL, body and credential scope.
///
/// Spelling in a request: `var cacheIdentity: CacheIdentity { CacheIdentity(version: 2, variant: userID) }`.
public struct CacheIdentity: Sendable, Hashable {
    /// The version of the model; entries of another one are not found.
    public var version: Int
    /// What makes two equal URLs different, such as a user id or a locale.
    public var variant: String
    /// Names of parameters that do not count, such as a time stamp.
    public var ignoredParameters: Set<String>

    /// Takes what distinguishes entries.
    ///
    /// - Parameters:
    ///   - version: The version of the model.
    ///   - variant: What makes two equal URLs different; empty when nothing does.
    ///   - ignoredParameters: Names of parameters that do not count.
    public init(version: Int = 0, variant: String = "", ignoredParameters: Set<String> = []) {
        self.version = version
        self.variant = variant
        self.ignoredParameters = ignoredParameters
    }
}
