internal import Foundation

/// The key by which two sends are equal for ``DuplicatePolicy`` and ``Limits/minimumInterval``.
///
/// It is computed before adapters sign. The user is part of it even if the request has a key of its own, so that no response
/// is shared between users.
struct DuplicateKey: Sendable, Hashable {
    private let type: ObjectIdentifier
    /// The session whose credential is sent, because credentials of two sessions may have equal scopes.
    private let session: ObjectIdentifier?
    /// The digest of the user and the request.
    private let digest: String
    private let filterType: ObjectIdentifier
    /// The number that equal filters share, or `nil` if all filters of the type are equal, or the filter cannot be compared.
    private let filterNumber: Int?
    /// The config whose filter is used, if that cannot be compared.
    private let config: ObjectIdentifier?
    /// The cache policy of this step: a send that needs a fresh response shares nothing with one that does not.
    private let cachePolicy: CachePolicy?
    /// Whether it is sent from inside another send or a refresh: a send that must not wait shares nothing with one that may.
    private let isPassing: Bool
    // Settings that determine which response these sends may receive, and the checks before it is decoded.
    private let acceptance: Acceptance
    private let credentialPolicy: CredentialPolicy
    private let mayHoldCredentials: Bool
    private let guarding: JSONGuard.Strictness
    private let guardsPayload: Bool
    private let options: TransportOptions
    private let maximumHops: Int?
    /// Whether sends with equal keys process a response in the same way, for the same user.
    ///
    /// A shared response has been accepted and filtered, so a request whose filter cannot be compared shares nothing, nor does
    /// one that may reject a redirect by its own closure, or whose user is not known before hooks run.
    let isShareable: Bool

    private static let secret = UUID().uuidString + UUID().uuidString

    /// Creates a key, or `nil` if no send is equal: without a key of the request's own, a body that is read while it is sent
    /// cannot be compared.
    init?(_ prepared: PreparedRequest, body: OutgoingBody, isPassing: Bool, filters: FilterNumbers) {
        let request = prepared.outgoing
        if case .source = body, prepared.duplicateKey.isEmpty { return nil }
        type = prepared.typeID
        session = prepared.pinnedCredential.map { ObjectIdentifier($0.session) }
        cachePolicy = prepared.cacheUse?.policy
        self.isPassing = isPassing
        acceptance = prepared.acceptance
        credentialPolicy = prepared.credentials.policy
        mayHoldCredentials = prepared.mayHoldCredentials
        (guarding, guardsPayload) = (prepared.guarding, prepared.guardsPayload)
        var options = prepared.transportOptions(reportingProgress: false)
        // It limits the wait for a response, but does not affect the response.
        options.idleTimeout = .zero
        self.options = options
        let redirects = prepared.settings.redirectPolicy
        maximumHops = redirects.value.maximumHops

        let filter = prepared.settings.filter
        filterType = ObjectIdentifier(Swift.type(of: filter.value))
        filterNumber = filters.number(of: filter.value)
        let isComparable = filterNumber != nil || FilterNumbers.isEmpty(filter.value)
        // A changed config may have another filter. Services with the same ID are the same.
        config = !isComparable && filter.source == .config ? ObjectIdentifier(prepared.settings.config) : nil
        var user = RequestUser(prepared)
        user.secret = Self.secret
        isShareable =
            user.isKnown && (filter.source != .request || isComparable)
            && (redirects.source != .request || redirects.value == redirects.value)

        var fields = FieldDigest()
        fields.add(prepared.context.serviceID)
        fields.add(prepared.cacheIdentity.variant)
        user.add(to: &fields)
        fields.add(prepared.duplicateKey)
        if !prepared.duplicateKey.isEmpty {
            fields.add(prepared.baseParameterText)
            let pairs = (request.url.query() ?? "").split(separator: "&")
            for pair in pairs where prepared.secrets.isCredential(pair: pair) { fields.add(String(pair)) }
        } else {
            fields.add(request.method.rawValue)
            fields.add(request.url.absoluteString)
            let headers = request.headers.filter { !SecretNames.namesOneRequest($0.name) }
            fields.add(headers.count)
            for field in headers {
                fields.add(field.name.lowercased())
                fields.add(field.value)
            }
            fields.addLast(body.data ?? Data())
        }
        digest = fields.hexadecimal()
    }

    /// Hashes the digest, in which most keys differ.
    func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

/// The numbers of the filters in use: equal filters of one type have the same.
///
/// Their own equality is used once, and never under a lock: it is the user's code, and a filter may be an object that changes.
final class FilterNumbers: Sendable {
    private struct Known: Sendable {
        var first = 0
        var filters: [any ResponseFilter & Hashable] = []
    }

    /// The number of filters that are remembered; once there are as many, all are forgotten, and a few sends share less.
    private static let maximumCount = 64
    private let known = Lock(Known())

    /// Returns the number of a filter, or `nil` if it cannot be compared, or equals all of its type.
    func number(of filter: any ResponseFilter) -> Int? {
        // With a NaN, it is not equal to itself.
        guard !Self.isEmpty(filter), let filter = filter as? any ResponseFilter & Hashable,
            Self.areEqual(filter, filter)
        else { return nil }
        while true {
            let seen = known.withLock { $0 }
            if let place = seen.filters.firstIndex(where: { Self.areEqual($0, filter) }) { return seen.first + place }
            let isCurrent = known.withLock { known in
                // Another send may have added an equal one.
                guard known.first == seen.first, known.filters.count == seen.filters.count else { return false }
                if seen.filters.count == Self.maximumCount {
                    known = Known(first: seen.first + Self.maximumCount)
                }
                known.filters.append(filter)
                return true
            }
            if isCurrent { return seen.first + seen.filters.count }
        }
    }

    private static func areEqual(_ one: any ResponseFilter & Hashable, _ other: any ResponseFilter & Hashable) -> Bool {
        // A subclass may inherit the equality, and filter in another way.
        type(of: one) == type(of: other) && AnyHashable(one) == AnyHashable(other)
    }

    /// Whether a filter has no property in which it could differ from others of its type.
    static func isEmpty<F: ResponseFilter>(_ filter: F) -> Bool { MemoryLayout<F>.size == 0 }
}
