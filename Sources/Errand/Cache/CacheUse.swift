internal import Foundation

/// How one send uses the cache; a ``PreparedRequest`` whose policy is ``CachePolicy/networkOnly`` has none.
final class CacheUse: Sendable {
    /// The cache of the config, or `nil` if it has none.
    let cache: ResponseCache?
    /// The policy of this step.
    let policy: CachePolicy
    let step: CacheStep
    /// Whether a stored response is followed by one from the network, however fresh it is.
    let isFollowed: Bool

    /// Returns the use of the cache, or `nil`, as for most sends, if there is none.
    static func of(_ policy: CachePolicy, step: CacheStep, cache: ResponseCache?) -> CacheUse? {
        if case .whole = step, case .networkOnly = policy { nil } else { CacheUse(policy, step: step, cache: cache) }
    }

    init?(_ policy: CachePolicy, step: CacheStep, cache: ResponseCache?) {
        if case .first = step, case .cacheThenNetwork = policy { isFollowed = true } else { isFollowed = false }
        let policy = step.policy(policy)
        if case .networkOnly = policy { return nil }
        self.cache = cache
        self.policy = policy
        self.step = step
    }

    /// Whether the response to a request may be stored for a later GET only (RFC 9110, section 9.3.3).
    func storesForGet(_ prepared: PreparedRequest) -> Bool {
        policy == .http && prepared.outgoing.method == .post && !prepared.cacheIdentity.allowsAnyMethod
    }

    /// Whether nothing may be sent for a request with these header fields (RFC 9111, section 5.2.1.7).
    func allowsOnlyStored(for request: HTTPHeaders) -> Bool {
        policy == .cacheOnly || policy == .http && CacheDirectives(request).onlyIfCached
    }

    /// Whether a stored response may be revalidated in the background.
    var revalidatesInBackground: Bool {
        switch step {
        case .whole, .policy: break
        case .first, .second: return false
        }
        switch policy {
        case .staleWhileRevalidate, .http: return true
        default: return false
        }
    }
}

/// The part of a request's policy that a send applies.
enum CacheStep: Sendable {
    /// All of it, for one response.
    case whole
    /// The first response of `responses(for:)`.
    case first
    /// The second response of `responses(for:)`: from the network.
    case second
    /// A policy that is used in place of the request's.
    case policy(CachePolicy)

    /// Returns the step of a send with another policy, unless that is inherited.
    static func of(_ policy: CachePolicy) -> CacheStep { policy.isInherited ? .whole : .policy(policy) }

    func policy(_ own: CachePolicy) -> CachePolicy {
        switch (self, own) {
        case (.policy(let other), _): other
        case (.first, .cacheThenNetwork(let maxAge)): .cacheElseNetwork(maxAge: maxAge)
        case (.second, .cacheThenNetwork), (.second, .staleWhileRevalidate): .reload
        default: own
        }
    }
}
