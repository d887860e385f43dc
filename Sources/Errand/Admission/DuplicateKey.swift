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
    /// The request's own filter, if it can be compared.
    private let filter: FilterKey?
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
    init?(_ prepared: PreparedRequest, body: OutgoingBody, isPassing: Bool) {
        let request = prepared.outgoing
        if case .source = body, prepared.duplicateKey.isEmpty { return nil }
        let filter = prepared.resolved.filter
        let redirects = prepared.resolved.redirectPolicy
        isShareable =
            (filter.source != .request || Self.isComparable(filter.value))
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
        var options = prepared.transportOptions(reportingProgress: false)
        // It limits the wait for a response and is no part of it.
        options.idleTimeout = .zero
        fields.add("\(options)")
        fields.add("\(redirects.value)")
        let own = filter.source == .request && isShareable ? filter.value : nil
        // A description may omit what distinguishes two filters.
        let comparable = (own as? any ResponseFilter & Hashable).map(FilterKey.init)
        self.filter = comparable
        fields.add(own.map { comparable == nil ? String(reflecting: $0) : "" } ?? "")
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

/// A filter by its type and its own equality, which a subclass may inherit.
///
/// A filter may be an object whose hash value changes while it is in use. The key keeps the first one, and is always equal
/// to itself.
private final class FilterKey: Sendable, Hashable {
    private let filter: any ResponseFilter & Hashable
    private let type: ObjectIdentifier
    private let hash: Int

    init(_ filter: any ResponseFilter & Hashable) {
        self.filter = filter
        type = ObjectIdentifier(Swift.type(of: filter))
        hash = filter.hashValue
    }

    static func == (one: FilterKey, other: FilterKey) -> Bool {
        one === other
            || one.type == other.type && one.hash == other.hash && AnyHashable(one.filter) == AnyHashable(other.filter)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

extension Secrets {
    /// Returns the pairs of a URL's query whose values are secret.
    fileprivate func secretPairs(in url: URL) -> [String] {
        (url.query() ?? "").split(separator: "&").map(String.init).filter { $0.contains("=") && isCredential(pair: $0) }
    }
}
