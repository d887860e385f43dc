/// Why no stored response was used.
public enum CacheMiss: String, Error, Sendable, Hashable, CaseIterable {
    /// The config has no cache.
    case noCache
    /// The policy does not read, or the request rules it out: by a range, a condition or `no-store` of its own.
    case bypassed
    /// The method is neither GET nor HEAD, and ``CacheIdentity/allowsAnyMethod`` is not set.
    case methodNotCached
    /// The request has credentials whose user is unknown: no login, no adapter's scope and no variant.
    ///
    /// Also where an adapter without a scope, or an interceptor, has changed the method, the URL, the content or a
    /// secret field, so that the response may be another user's. Such a response is not stored.
    case unknownScope
    /// Nothing is stored for this method, URL, user, variant and version.
    case absent
    /// It is older than the policy allows.
    case expired
    /// It was received in the future: a clock was set back, so its age is unknown.
    case clockWentBack
    /// The request differs in the header fields that the response depends on (`Vary`).
    case varies
    /// The response or the request demands validation (`no-cache`, `must-revalidate`).
    case mustRevalidate
    /// It is damaged, or was written for another key; it was removed.
    case damaged
    /// Acceptance or the filter reject it now; it was removed.
    case refused
    /// It can no longer be decoded as the model; it was removed.
    case unformattable
    /// The request vetoed storing it; it was removed.
    case vetoed
}

/// What the cache would do for a request.
public enum CacheForecast: Sendable, Hashable, CustomStringConvertible {
    /// Nothing: the policy is ``CachePolicy/networkOnly``.
    case unused
    /// A stored response of this age would be used before the network is asked.
    case hit(age: Duration)
    /// The network would be asked, or with ``CachePolicy/cacheOnly`` the send would fail.
    case miss(CacheMiss)

    /// The forecast in words.
    public var description: String {
        switch self {
        case .unused: "not used"
        case .hit(let age): "a hit, \(age) old"
        case .miss(let reason): "a miss (\(reason.rawValue))"
        }
    }
}
