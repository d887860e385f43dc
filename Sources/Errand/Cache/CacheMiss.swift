/// The reason why no stored response was used.
@nonexhaustive
public enum CacheMiss: String, Error, Sendable, Hashable, CaseIterable {
    /// The config has no cache, or none of the name in ``CacheStorage/named(_:)``.
    case noCache
    /// The policy does not read the cache, or the request has several ranges, a condition or `no-store` of its own.
    case bypassed
    /// The method is neither GET nor HEAD, and ``CacheIdentity/allowsAnyMethod`` is not set.
    case methodNotCached
    /// An adapter or an interceptor declares no ``CredentialScoping/credentialScope(for:)``.
    ///
    /// Also if the user has changed since the request was prepared, or if a hook has created the response, so that it may
    /// belong to another user. Such a response is neither stored nor shared.
    case unknownScope
    /// Nothing is stored for this method, URL, user, variant and version.
    case absent
    /// Only a part of the response is stored, and the request needs more.
    case incomplete
    /// The response is older than the policy allows.
    case expired
    /// The response was received in the future: a clock was set back, so its age is unknown.
    case clockSkew
    /// The request differs in the header fields that the response depends on (`Vary`).
    case varyMismatch
    /// The response or the request requires validation (`no-cache`, `must-revalidate`).
    case mustRevalidate
    /// The entry is damaged, or was written for another key; it was removed.
    case damaged
    /// The store did not return an entry within half a second, or half of the time until the deadline. What it returns later is
    /// kept in memory.
    case tooSlow
    /// Acceptance or the filter rejects the response; it is kept for other requests until a new one replaces it.
    case notAccepted
    /// The response cannot be decoded as the model; it is kept for other requests until a new one replaces it.
    case notDecodable
    /// The request vetoed storing the response; it was removed.
    case vetoed
}

/// What the cache would do for a request.
public enum CacheForecast: Sendable, Hashable, CustomStringConvertible {
    /// The cache is not used: the policy is ``CachePolicy/networkOnly``.
    case unused
    /// A stored response of this age would be used, without waiting for the network.
    case hit(age: Duration)
    /// The request would be sent, or with ``CachePolicy/cacheOnly`` the send would fail.
    case miss(CacheMiss)

    /// A description of the forecast.
    public var description: String {
        switch self {
        case .unused: "not used"
        case .hit(let age): "a hit, \(age) old"
        case .miss(.noCache): "not used: there is no cache"
        case .miss(let reason): "a miss (\(reason.rawValue))"
        }
    }
}
