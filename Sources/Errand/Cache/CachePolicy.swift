/// When a stored answer may be used, and how old it may be.
///
/// Every policy but ``networkOnly`` stores what it fetches, in the ``ResponseCache`` of the config; without one there is
/// nothing stored. ``http`` does what the answer's own fields say; all others do what you say, whatever the server says
/// about ages. What it says with `Vary` counts always, and what it marks `no-store` is kept in memory at most.
///
/// Spelling in a request: `var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }`.
public enum CachePolicy: Sendable, Hashable {
    /// What the service says, then the config; the library's own is ``networkOnly``.
    case inherited
    /// Neither read nor written.
    case networkOnly
    /// Only a stored answer, of any age; else ``NetworkError/Reason/notCached``.
    case cacheOnly
    /// A stored answer up to this age, else the network.
    case cacheElseNetwork(maxAge: Duration)
    /// The network, and when that fails a stored answer up to this age; `nil` is any age.
    case networkElseCache(maxStale: Duration?)
    /// Both, the stored one first: `responses(for:)` delivers two values. A plain `send` returns the network's, and the
    /// stored one when the network fails.
    case cacheThenNetwork(maxAge: Duration)
    /// A stored answer up to `maxAge`; an older one up to `maxStale` more while a fresh one is fetched behind it.
    case staleWhileRevalidate(maxAge: Duration, maxStale: Duration)
    /// No read, but a write.
    case reload
    /// As the answer's own fields say (RFC 9111).
    case http
}

extension CachePolicy {
    /// What to do with an entry before the network is asked.
    enum Reading: Sendable, Equatable {
        /// It is the answer.
        case use
        /// It is the answer, and a newer one is fetched behind it.
        case useAndRefresh
        /// The network is asked.
        case refuse(CacheMiss)
    }

    /// What to do with an entry of some age before the network is asked, by every policy but ``http``.
    ///
    /// - Parameter age: `nil` when a clock was set back; only who takes any age takes that.
    /// - Returns: Whether it is the answer.
    func reading(age: Duration?) -> Reading {
        switch self {
        case .cacheOnly: return .use
        case .cacheElseNetwork(let maxAge): return Self.isWithin(maxAge, age)
        case .staleWhileRevalidate(let maxAge, let maxStale):
            if Self.isWithin(maxAge, age) == .use { return .use }
            return Self.isWithin(maxAge.clamped + max(.zero, maxStale.clamped), age) == .use
                ? .useAndRefresh : Self.isWithin(maxAge, age)
        case .inherited, .networkOnly, .networkElseCache, .cacheThenNetwork, .reload, .http: return .refuse(.bypassed)
        }
    }

    /// What to do with an entry of some age when the network has failed, by every policy but ``http``.
    func readingAfterFailure(age: Duration?) -> Reading {
        switch self {
        case .networkElseCache(let maxStale): maxStale.map { Self.isWithin($0, age) } ?? .use
        case .cacheThenNetwork(let maxAge): Self.isWithin(maxAge, age)
        case .staleWhileRevalidate, .inherited, .networkOnly, .cacheOnly, .cacheElseNetwork, .reload, .http:
            .refuse(.bypassed)
        }
    }

    private static func isWithin(_ limit: Duration, _ age: Duration?) -> Reading {
        guard let age else { return .refuse(.clockWentBack) }
        return age <= limit ? .use : .refuse(.expired)
    }

    /// Whether it looks for an entry before the network is asked.
    var readsFirst: Bool {
        switch self {
        case .cacheOnly, .cacheElseNetwork, .staleWhileRevalidate, .http: true
        case .inherited, .networkOnly, .networkElseCache, .cacheThenNetwork, .reload: false
        }
    }
}

extension NetworkError {
    /// Whether the network failed, so that a stored answer may stand in: not where the server has decided something, and
    /// not where the connection is not safe.
    var isFailureOfNetwork: Bool {
        switch reason {
        case .circuitOpen: return true
        case .status(let code): return code >= 500 || code == 408 || code == 429
        default: break
        }
        switch kind {
        case .unreachable, .connectionLost, .timedOut, .invalidResponse, .unknown: return true
        default: return false
        }
    }
}

/// What else belongs into the cache key of a request, beside method, URL, body and credential scope.
///
/// The method, the URL, `Accept` and `Accept-Language`, the version of the app and whose credentials the request shows are
/// there anyway.
///
/// Spelling in a request: `var cacheIdentity: CacheIdentity { CacheIdentity(version: 2, variant: userID) }`.
public struct CacheIdentity: Sendable, Hashable {
    /// The version of the model; entries of another one are not found.
    public var version: Int
    /// What makes two equal URLs different, such as a user id or a locale.
    public var variant: String
    /// Names of parameters that do not count, such as a time stamp: in the query, in a form, and of a JSON object.
    public var ignoredParameters: Set<String>
    /// Further fields of the request that count, whatever their case.
    public var headers: Set<String> = []
    /// Whether answers to other methods than GET and HEAD are stored too, such as a search by POST; the body counts then.
    public var allowsAnyMethod = false

    /// Takes what distinguishes entries.
    ///
    /// - Parameters:
    ///   - version: The version of the model.
    ///   - variant: What makes two equal URLs different; empty when nothing does.
    ///   - ignoredParameters: Names of parameters that do not count.
    ///   - headers: Further fields of the request that count.
    ///   - allowsAnyMethod: Whether answers to other methods than GET and HEAD are stored too.
    public init(
        version: Int = 0,
        variant: String = "",
        ignoredParameters: Set<String> = [],
        headers: Set<String> = [],
        allowsAnyMethod: Bool = false
    ) {
        self.version = version
        self.variant = variant
        self.ignoredParameters = ignoredParameters
        self.headers = headers
        self.allowsAnyMethod = allowsAnyMethod
    }
}
