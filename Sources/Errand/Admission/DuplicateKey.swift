internal import Foundation

/// The key by which two sends are equal for ``DuplicatePolicy`` and ``Limits/minimumInterval``.
///
/// It is computed before adapters sign. The credentials are part of it even if the request has a key of its own, so that no
/// response is shared between users.
struct DuplicateKey: Sendable, Hashable {
    private let type: ObjectIdentifier
    /// The session whose credential is sent: those of two sessions may have equal scopes.
    private let session: ObjectIdentifier?
    private let digest: String
    /// The filter, if it can be compared.
    private let filter: FilterIdentity?
    /// The config whose filter is used, if that cannot be compared.
    private let config: ObjectIdentifier?
    /// The cache policy of this step: a send that wants a fresh response shares nothing with one that does not.
    private let cachePolicy: CachePolicy?
    /// Whether it is sent from inside another send or a refresh: a send that must not wait shares nothing with one that may.
    private let isPassing: Bool
    /// Whether sends with equal keys process a response in the same way.
    ///
    /// A shared response has been accepted and filtered, so a request whose filter cannot be compared shares nothing, and
    /// neither does one that may reject a redirect by a closure of its own.
    let isShareable: Bool

    /// Creates a key, or `nil` if no send is equal: without a key of the request's own, a body that is read while it is sent
    /// cannot be compared.
    init?(
        _ prepared: PreparedRequest,
        body: OutgoingBody,
        isPassing: Bool,
        filters: FilterIdentities
    ) {
        let request = prepared.outgoing
        if case .source = body, prepared.duplicateKey.isEmpty { return nil }
        let filter = prepared.resolved.filter
        let redirects = prepared.resolved.redirectPolicy
        let isFilterComparable = Self.isComparable(filter.value)
        isShareable =
            (filter.source != .request || isFilterComparable)
            && (redirects.source != .request || redirects.value == redirects.value)
        type = prepared.typeID
        session = prepared.pinnedCredential.map { ObjectIdentifier($0.session) }
        cachePolicy = prepared.cacheUse?.policy
        self.isPassing = isPassing
        var fields = FieldDigest()
        fields.add(prepared.context.serviceID)
        fields.add(prepared.pinnedCredential?.scope ?? "")
        fields.add(prepared.cacheIdentity.variant)
        fields.add(prepared.cacheIdentity.user)
        for scope in prepared.scopes { fields.add(scope ?? "") }
        fields.add(prepared.acceptance.identity)
        // What these sends may be sent, and what is checked before their formatters decode the response.
        fields.add("\(prepared.mayHoldCredentials) \(prepared.credentials.policy)")
        fields.add("\(prepared.guarding) \(prepared.guardsPayload)")
        var options = prepared.transportOptions(reportingProgress: false)
        // It limits the wait for a response and is no part of it.
        options.idleTimeout = .zero
        fields.add("\(options)")
        fields.add("\(redirects.value)")
        let compared = isFilterComparable ? filter.value : nil
        // A description may omit what distinguishes two filters.
        let comparable = (compared as? any ResponseFilter & Hashable).map(filters.identity)
        self.filter = comparable
        fields.add(compared.map { comparable == nil ? String(reflecting: $0) : "" } ?? "")
        // A changed config may have another filter. Services with the same ID are the same.
        let isOfConfig = !isFilterComparable && filter.source == .config
        config = isOfConfig ? ObjectIdentifier(prepared.settings.config) : nil
        let isOwn = !prepared.duplicateKey.isEmpty
        let secrets = prepared.secrets
        for field in request.headers {
            let counts =
                isOwn ? SecretNames.mayNameUser(field.name) : !SecretNames.namesOneRequest(field.name)
            guard counts || secrets.isCredential(header: field.name) else { continue }
            fields.add(field.name.lowercased())
            fields.add(field.value)
        }
        fields.add("")
        if isOwn {
            for pair in secrets.secretPairs(in: request.url) { fields.add(pair) }
            fields.add("")
            fields.add(prepared.duplicateKey)
            fields.add(prepared.baseParameterText)
        } else {
            fields.add(request.method.rawValue)
            fields.add(request.url.absoluteString)
            fields.addLast(body.data ?? Data())
        }
        digest = fields.hexadecimal()
    }

    /// Returns whether a filter's description contains everything that it depends on: no closure, and no hidden state.
    private static func isComparable(_ filter: any ResponseFilter) -> Bool {
        // With a NaN, it is not equal to itself.
        if let filter = filter as? AnyHashable { return filter == filter }
        return filter is EnvelopeFilter || filter is JSONRPCFilter || filter is JSONRPCBatchFilter
            || filter is PassthroughFilter || isEmpty(filter)
    }

    private static func isEmpty<F: ResponseFilter>(_ filter: F) -> Bool { MemoryLayout<F>.size == 0 }
}

/// A filter among equal ones of the same type.
///
/// Its own equality decides when it is first used, and not later: a filter may be an object that changes, on which no
/// dictionary may depend.
final class FilterIdentity: Sendable, Hashable {
    private let filter: any ResponseFilter & Hashable
    fileprivate let hash: Int

    fileprivate init(_ filter: any ResponseFilter & Hashable) {
        self.filter = filter
        hash = filter.hashValue
    }

    /// Whether the filters are equal; a subclass may inherit the equality, and filter in another way.
    fileprivate func hasFilter(of other: FilterIdentity) -> Bool {
        Swift.type(of: filter) == Swift.type(of: other.filter) && AnyHashable(filter) == AnyHashable(other.filter)
    }

    static func == (one: FilterIdentity, other: FilterIdentity) -> Bool { one === other }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The identities of the filters that are in use, so that equal filters have the same one.
final class FilterIdentities: Sendable {
    private struct Known: Sendable {
        weak var identity: FilterIdentity?
    }

    /// By hash values.
    private let known = Lock(Table<Int, [Known]>())

    func identity(of filter: any ResponseFilter & Hashable) -> FilterIdentity {
        let new = FilterIdentity(filter)
        while true {
            let others = known.withLock { Self.others(of: new, in: $0) }
            // Not under the lock, because it is the user's code.
            if let equal = others.first(where: new.hasFilter) { return equal }
            let isNew = known.withLock { known in
                // Another send may have added an equal one.
                guard Self.others(of: new, in: known) == others else { return false }
                known[new.hash] = (others + [new]).map(Known.init)
                // Now and then: whenever their number has doubled.
                if known.count.nonzeroBitCount == 1 { known.removeAll { $0.allSatisfy { $0.identity == nil } } }
                return true
            }
            if isNew { return new }
        }
    }

    private static func others(of new: FilterIdentity, in known: Table<Int, [Known]>) -> [FilterIdentity] {
        known[new.hash]?.compactMap(\.identity) ?? []
    }
}

extension Secrets {
    /// Returns the pairs of a URL's query whose values are secret.
    fileprivate func secretPairs(in url: URL) -> [String] {
        (url.query() ?? "").split(separator: "&").map(String.init).filter { $0.contains("=") && isCredential(pair: $0) }
    }
}
