internal import Foundation

/// What a send does with a stored response, for any policy.
///
/// Pure: it depends on the policy, the stored response, the request's header fields and the time only.
enum CacheDecision: Sendable, Equatable {
    /// The stored response is used.
    case use(age: Duration)
    /// The stored response is used, and revalidated in the background, with these conditions if there are any.
    case useAndRevalidate(age: Duration, conditions: HTTPHeaders = [:])
    /// The stored response is not used: the server validates it, or sends a new one if there are no conditions.
    case miss(CacheMiss, conditions: HTTPHeaders = [:])
}

extension CacheUse {
    /// Decides about a stored response before a request is sent.
    func decision(on entry: CacheEntry, for request: HTTPHeaders, at now: Date) -> CacheDecision {
        // The second response is the server's, however fresh the stored one is.
        if case .second = step, case .http = policy {
            return .miss(.bypassed, conditions: CacheControl.conditions(for: entry))
        }
        return policy.decision(on: entry, for: request, at: now, heuristicLimit: heuristicLimit)
    }

    /// Decides whether a stored response is used in place of a failure of the network.
    func decisionAfterFailure(on entry: CacheEntry, for request: HTTPHeaders, at now: Date) -> CacheDecision {
        policy.decisionAfterFailure(on: entry, for: request, at: now, heuristicLimit: heuristicLimit)
    }

    /// Decides whether a stored response is used in place of a response with which the server reports an error of its
    /// own, although the request accepts its status (RFC 5861, section 4).
    func decisionAfterError(
        _ response: RawResponse,
        on entry: CacheEntry,
        for request: HTTPHeaders,
        at now: Date
    ) -> CacheDecision {
        // Only `stale-if-error` means that a stale response is better than the one that the request accepts.
        guard case .http = policy, [500, 502, 503, 504].contains(response.statusCode),
            CacheDirectives(entry.headers).staleIfError != nil || CacheDirectives(request).staleIfError != nil
        else { return .miss(.bypassed) }
        return decisionAfterFailure(on: entry, for: request, at: now)
    }

    private var heuristicLimit: Duration {
        cache?.maximumHeuristicLifetime ?? ResponseCache.standardHeuristicLifetime
    }
}

extension CachePolicy {
    /// Decides about a stored response, whose `Vary` fields match the request, before a request is sent.
    func decision(
        on entry: CacheEntry,
        for request: HTTPHeaders,
        at now: Date,
        heuristicLimit: Duration = ResponseCache.standardHeuristicLifetime
    ) -> CacheDecision {
        let age = entry.age(at: now)
        switch self {
        case .cacheOnly: return .use(age: age ?? .zero)
        case .cacheElseNetwork(let maxAge): return .byAge(age, upTo: maxAge)
        case .staleWhileRevalidate(let maxAge, let maxStale):
            let decision = CacheDecision.byAge(age, upTo: maxAge)
            guard case .miss(.expired, _) = decision,
                case .use(let age) = CacheDecision.byAge(age, upTo: maxAge.clamped + max(.zero, maxStale.clamped))
            else { return decision }
            return .useAndRevalidate(age: age)
        case .http: return .http(entry, request, now, heuristicLimit)
        case .inherited, .networkOnly, .networkElseCache, .cacheThenNetwork, .reload:
            return .miss(.bypassed)
        }
    }

    /// Decides whether a stored response is used in place of a failure of the network.
    ///
    /// - Returns: ``CacheDecision/use(age:)``, or a miss if the failure is thrown.
    func decisionAfterFailure(
        on entry: CacheEntry,
        for request: HTTPHeaders,
        at now: Date,
        heuristicLimit: Duration = ResponseCache.standardHeuristicLifetime
    ) -> CacheDecision {
        switch self {
        case .networkElseCache(nil): .use(age: entry.age(at: now) ?? .zero)
        case .networkElseCache(let maxStale?): .byAge(entry.age(at: now), upTo: maxStale)
        case .cacheThenNetwork(let maxAge): .byAge(entry.age(at: now), upTo: maxAge)
        case .http: .httpAfterFailure(entry, request, now, heuristicLimit)
        case .staleWhileRevalidate, .inherited, .networkOnly, .cacheOnly, .cacheElseNetwork, .reload:
            .miss(.bypassed)
        }
    }
}

extension CacheDecision {
    /// An age of `nil` means that a clock was set back.
    fileprivate static func byAge(_ age: Duration?, upTo limit: Duration) -> CacheDecision {
        guard let age else { return .miss(.clockSkew) }
        return age <= limit ? .use(age: age) : .miss(.expired)
    }

    /// RFC 9111, section 4; RFC 5861, section 3; RFC 8246.
    fileprivate static func http(
        _ entry: CacheEntry,
        _ request: HTTPHeaders,
        _ now: Date,
        _ heuristicLimit: Duration
    ) -> CacheDecision {
        let (request, response) = (CacheDirectives(request), CacheDirectives(entry.headers))
        func miss(_ reason: CacheMiss) -> CacheDecision {
            .miss(reason, conditions: CacheControl.conditions(for: entry))
        }
        guard let age = CacheControl.age(of: entry, now: now) else { return miss(.clockSkew) }
        if request.noCache || response.noCache { return miss(.mustRevalidate) }
        let lifetime = CacheControl.freshnessLifetime(of: entry, response, heuristicLimit: heuristicLimit)
        let isFresh = age < lifetime
        if let limit = request.maxAge, age > limit, !(isFresh && response.isImmutable) { return miss(.expired) }
        if isFresh, age + (request.minFresh ?? .zero) <= lifetime { return .use(age: age) }
        let staleness = age - lifetime
        if response.mustRevalidate || request.minFresh != nil { return miss(.expired) }
        if let limit = request.maxStale, staleness <= limit { return .use(age: age) }
        // With either field, the request states how stale a response may be (RFC 9111, sections 5.2.1.1 and 5.2.1.2).
        guard request.maxAge == nil, request.maxStale == nil, let limit = response.staleWhileRevalidate,
            staleness <= limit
        else { return miss(.expired) }
        return .useAndRevalidate(age: age, conditions: CacheControl.conditions(for: entry))
    }

    /// RFC 9111, sections 4.2.4 and 4.3.3; RFC 5861, section 4.
    fileprivate static func httpAfterFailure(
        _ entry: CacheEntry,
        _ request: HTTPHeaders,
        _ now: Date,
        _ heuristicLimit: Duration
    ) -> CacheDecision {
        let (request, response) = (CacheDirectives(request), CacheDirectives(entry.headers))
        guard let age = CacheControl.age(of: entry, now: now) else { return .miss(.clockSkew) }
        if response.mustRevalidate || response.noCache || request.noCache || request.minFresh != nil {
            return .miss(.mustRevalidate)
        }
        if let limit = request.maxAge, age > limit { return .miss(.expired) }
        let lifetime = CacheControl.freshnessLifetime(of: entry, response, heuristicLimit: heuristicLimit)
        if let limit = request.maxStale, age - lifetime > limit { return .miss(.expired) }
        guard let limit = response.staleIfError ?? request.staleIfError else { return .use(age: age) }
        return .byAge(age, upTo: lifetime + limit)
    }
}

extension Error {
    /// Whether the network failed, so that a stale response may be used: not if the server has decided something, and
    /// not if the connection is not safe.
    var isFailureOfNetwork: Bool {
        guard let error = networkError else { return false }
        // The server has rejected the credential, whatever prevented the refresh.
        if case .refreshFailed = error.reason, error.statusCode != nil { return false }
        return error.facts.isTransient
    }
}
