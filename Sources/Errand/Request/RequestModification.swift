/// A change of a request, made by a modifier such as ``Request/timeout(_:)``.
public struct RequestModification: Sendable {
    /// The member that is replaced, or `nil` if the change adds to the member of the wrapped request.
    let member: Member?
    let change: @Sendable (inout RequestValues) -> Void

    /// The members that can be replaced.
    enum Member: UInt32, Sendable, CaseIterable {
        case service, usesCDN, headers, authorization, credentialPolicy, idempotencyKey, usesBaseHeaders
        case usesBaseParameters, allowsCellularAccess, limits, priority, retryPolicy, redirectPolicy, cachePolicy
        case cacheStorage, cacheIdentity, duplicatePolicy, duplicateKey, acceptance, formattingContext, tag
    }
}

/// The changes of a ``ModifiedRequest``.
struct RequestChanges: Sendable {
    static let none = RequestChanges(Content())

    private struct Content {
        var modifications: [RequestModification] = []
        var values = RequestValues.defaults
        var replaced: UInt32 = 0
    }

    // Passed around often.
    private var content: Shared<Content>

    private init(_ content: Content) { self.content = Shared(content) }

    var modifications: [RequestModification] { content.value.modifications }
    /// The changed members; the others have the defaults of ``Request``.
    var values: RequestValues { content.value.values }

    func replaces(_ member: RequestModification.Member) -> Bool {
        content.value.replaced & 1 << member.rawValue != 0
    }

    mutating func append(_ modification: RequestModification) {
        content.value.modifications.append(modification)
        modification.change(&content.value.values)
        if let member = modification.member { content.value.replaced |= 1 << member.rawValue }
    }
}

/// A request whose modifiers return its own type: ``GeneralRequest`` and ``ModifiedRequest``.
///
/// Only types of the library conform to it.
public protocol ModifiableRequest: Request {
    /// Returns a copy with a further change, which replaces an earlier one of the same member.
    consuming func applying(_ modification: RequestModification) -> Self
}

/// The modifiers; those of ``Request`` are the same, and return a ``ModifiedRequest``.
extension ModifiableRequest {
    /// Returns a copy that belongs to a service.
    public consuming func service(_ service: Service) -> Self { modified(.service) { $0.service = service } }
    /// Returns a copy whose path is resolved against the CDN's URL, or against the base URL if `flag` is `false`.
    public consuming func usingCDN(_ flag: Bool = true) -> Self { modified(.usesCDN) { $0.usesCDN = flag } }
    /// Returns a copy with a header field, which replaces those of the same name.
    public consuming func header(_ name: String, _ value: String) -> Self { modified { $0.headers[name] = value } }
    /// Returns a copy with other header fields, which replace the present ones.
    public consuming func headers(_ headers: HTTPHeaders) -> Self { modified(.headers) { $0.headers = headers } }
    /// Returns a copy with other credentials, or with none if they are `.anonymous`.
    public consuming func authorization(_ authorization: Authorization) -> Self {
        modified(.authorization) { $0.authorization = authorization }
    }
    /// Returns a copy that sends the credentials of the service and the config as this policy allows.
    public consuming func credentialPolicy(_ policy: CredentialPolicy) -> Self {
        modified(.credentialPolicy) { $0.credentialPolicy = policy }
    }
    /// Returns a copy with another idempotency key.
    public consuming func idempotencyKey(_ key: IdempotencyKey) -> Self {
        modified(.idempotencyKey) { $0.idempotencyKey = key }
    }
    /// Returns a copy that is sent with the header fields of the service and the config, or without them if `flag` is
    /// `false`.
    public consuming func usingBaseHeaders(_ flag: Bool) -> Self {
        modified(.usesBaseHeaders) { $0.usesBaseHeaders = flag }
    }
    /// Returns a copy that is sent with the parameters of the service and the config, or without them if `flag` is
    /// `false`.
    public consuming func usingBaseParameters(_ flag: Bool) -> Self {
        modified(.usesBaseParameters) { $0.usesBaseParameters = flag }
    }
    /// Returns a copy that may use the cellular network, or may not if `flag` is `false`.
    public consuming func allowingCellularAccess(_ flag: Bool) -> Self {
        modified(.allowsCellularAccess) { $0.allowsCellularAccess = flag }
    }
    /// Returns a copy with another time without progress after which an attempt fails; see ``Limits/timeout``;
    /// `nil` removes that of an earlier modifier.
    public consuming func timeout(_ limit: Duration?) -> Self { modified { $0.limits.timeout = limit } }
    /// Returns a copy with another time for the whole send; see ``Limits/deadline``; `nil` removes that of an
    /// earlier modifier.
    public consuming func deadline(_ limit: Duration?) -> Self { modified { $0.limits.deadline = limit } }
    /// Returns a copy with other limits of time and size; each that is `nil` is inherited.
    public consuming func limits(_ limits: Limits) -> Self { modified(.limits) { $0.limits = limits } }
    /// Returns a copy with another priority among waiting requests.
    public consuming func priority(_ priority: Priority) -> Self { modified(.priority) { $0.priority = priority } }
    /// Returns a copy with another retry policy.
    public consuming func retryPolicy(_ policy: RetryPolicy) -> Self {
        modified(.retryPolicy) { $0.retryPolicy = policy }
    }
    /// Returns a copy with another redirect policy.
    public consuming func redirectPolicy(_ policy: RedirectPolicy) -> Self {
        modified(.redirectPolicy) { $0.redirectPolicy = policy }
    }
    /// Returns a copy with another cache policy.
    public consuming func cachePolicy(_ policy: CachePolicy) -> Self {
        modified(.cachePolicy) { $0.cachePolicy = policy }
    }
    /// Returns a copy whose responses are stored in another cache, or in memory only.
    public consuming func cacheStorage(_ storage: CacheStorage) -> Self {
        modified(.cacheStorage) { $0.cacheStorage = storage }
    }
    /// Returns a copy with further components in its cache key.
    public consuming func cacheIdentity(_ identity: CacheIdentity) -> Self {
        modified(.cacheIdentity) { $0.cacheIdentity = identity }
    }
    /// Returns a copy with another policy for duplicates in flight.
    public consuming func duplicatePolicy(_ policy: DuplicatePolicy) -> Self {
        modified(.duplicatePolicy) { $0.duplicatePolicy = policy }
    }
    /// Returns a copy that equals others of its type with this key; if the key is empty, equality depends on what is
    /// sent.
    public consuming func duplicateKey(_ key: String) -> Self { modified(.duplicateKey) { $0.duplicateKey = key } }
    /// Returns a copy with other conditions for accepting a response.
    public consuming func acceptance(_ acceptance: Acceptance) -> Self {
        modified(.acceptance) { $0.acceptance = acceptance }
    }
    /// Returns a copy that is prepared and formatted in this context, as far as its types allow.
    public consuming func formattingContext(_ context: FormattingContext) -> Self {
        modified(.formattingContext) { $0.formattingContext = context }
    }
    /// Returns a copy with another accessory, which runs inside the present ones.
    public consuming func accessory(_ accessory: any Accessory) -> Self {
        modified { $0.accessories.append(accessory) }
    }
    /// Returns a copy whose events are passed to a closure, which is called in the background like an ``Accessory``.
    public consuming func accessory(_ observe: @escaping @Sendable (AccessoryEvent) -> Void) -> Self {
        modified { $0.accessories.append(ClosureAccessory(observe: observe)) }
    }
    /// Returns a copy with a tag for scopes and accessories.
    public consuming func tag(_ tag: String) -> Self { modified(.tag) { $0.tag = tag } }
    /// Returns a copy that passes a value to later stages in ``RequestContext/attributes``.
    public consuming func attribute(_ name: String, _ value: any Sendable) -> Self {
        modified { $0.attributes[name] = value }
    }

    private consuming func modified(
        _ member: RequestModification.Member? = nil,
        _ change: @escaping @Sendable (inout RequestValues) -> Void
    ) -> Self {
        applying(RequestModification(member: member, change: change))
    }
}

extension Request {
    /// Returns a copy that belongs to a service.
    public func service(_ service: Service) -> ModifiedRequest<Self> { ModifiedRequest(self).service(service) }
    /// Returns a copy whose path is resolved against the CDN's URL, or against the base URL if `flag` is `false`.
    public func usingCDN(_ flag: Bool = true) -> ModifiedRequest<Self> { ModifiedRequest(self).usingCDN(flag) }
    /// Returns a copy with a header field, which replaces those of the same name.
    public func header(_ name: String, _ value: String) -> ModifiedRequest<Self> {
        ModifiedRequest(self).header(name, value)
    }
    /// Returns a copy with other header fields, which replace the present ones.
    public func headers(_ headers: HTTPHeaders) -> ModifiedRequest<Self> { ModifiedRequest(self).headers(headers) }
    /// Returns a copy with other credentials, or with none if they are `.anonymous`.
    public func authorization(_ authorization: Authorization) -> ModifiedRequest<Self> {
        ModifiedRequest(self).authorization(authorization)
    }
    /// Returns a copy that sends the credentials of the service and the config as this policy allows.
    public func credentialPolicy(_ policy: CredentialPolicy) -> ModifiedRequest<Self> {
        ModifiedRequest(self).credentialPolicy(policy)
    }
    /// Returns a copy with another idempotency key.
    public func idempotencyKey(_ key: IdempotencyKey) -> ModifiedRequest<Self> {
        ModifiedRequest(self).idempotencyKey(key)
    }
    /// Returns a copy that is sent with the header fields of the service and the config, or without them if `flag` is
    /// `false`.
    public func usingBaseHeaders(_ flag: Bool) -> ModifiedRequest<Self> { ModifiedRequest(self).usingBaseHeaders(flag) }
    /// Returns a copy that is sent with the parameters of the service and the config, or without them if `flag` is
    /// `false`.
    public func usingBaseParameters(_ flag: Bool) -> ModifiedRequest<Self> {
        ModifiedRequest(self).usingBaseParameters(flag)
    }
    /// Returns a copy that may use the cellular network, or may not if `flag` is `false`.
    public func allowingCellularAccess(_ flag: Bool) -> ModifiedRequest<Self> {
        ModifiedRequest(self).allowingCellularAccess(flag)
    }
    /// Returns a copy with another time without progress after which an attempt fails; see ``Limits/timeout``;
    /// `nil` removes that of an earlier modifier.
    public func timeout(_ limit: Duration?) -> ModifiedRequest<Self> { ModifiedRequest(self).timeout(limit) }
    /// Returns a copy with another time for the whole send; see ``Limits/deadline``; `nil` removes that of an
    /// earlier modifier.
    public func deadline(_ limit: Duration?) -> ModifiedRequest<Self> { ModifiedRequest(self).deadline(limit) }
    /// Returns a copy with other limits of time and size; each that is `nil` is inherited.
    public func limits(_ limits: Limits) -> ModifiedRequest<Self> { ModifiedRequest(self).limits(limits) }
    /// Returns a copy with another priority among waiting requests.
    public func priority(_ priority: Priority) -> ModifiedRequest<Self> { ModifiedRequest(self).priority(priority) }
    /// Returns a copy with another retry policy.
    public func retryPolicy(_ policy: RetryPolicy) -> ModifiedRequest<Self> {
        ModifiedRequest(self).retryPolicy(policy)
    }
    /// Returns a copy with another redirect policy.
    public func redirectPolicy(_ policy: RedirectPolicy) -> ModifiedRequest<Self> {
        ModifiedRequest(self).redirectPolicy(policy)
    }
    /// Returns a copy with another cache policy.
    public func cachePolicy(_ policy: CachePolicy) -> ModifiedRequest<Self> {
        ModifiedRequest(self).cachePolicy(policy)
    }
    /// Returns a copy whose responses are stored in another cache, or in memory only.
    public func cacheStorage(_ storage: CacheStorage) -> ModifiedRequest<Self> {
        ModifiedRequest(self).cacheStorage(storage)
    }
    /// Returns a copy with further components in its cache key.
    public func cacheIdentity(_ identity: CacheIdentity) -> ModifiedRequest<Self> {
        ModifiedRequest(self).cacheIdentity(identity)
    }
    /// Returns a copy with another policy for duplicates in flight.
    public func duplicatePolicy(_ policy: DuplicatePolicy) -> ModifiedRequest<Self> {
        ModifiedRequest(self).duplicatePolicy(policy)
    }
    /// Returns a copy that equals others of its type with this key; if the key is empty, equality depends on what is
    /// sent.
    public func duplicateKey(_ key: String) -> ModifiedRequest<Self> { ModifiedRequest(self).duplicateKey(key) }
    /// Returns a copy with other conditions for accepting a response.
    public func acceptance(_ acceptance: Acceptance) -> ModifiedRequest<Self> {
        ModifiedRequest(self).acceptance(acceptance)
    }
    /// Returns a copy that is prepared and formatted in this context, as far as its types allow.
    public func formattingContext(_ context: FormattingContext) -> ModifiedRequest<Self> {
        ModifiedRequest(self).formattingContext(context)
    }
    /// Returns a copy with another accessory, which runs inside the present ones.
    public func accessory(_ accessory: any Accessory) -> ModifiedRequest<Self> {
        ModifiedRequest(self).accessory(accessory)
    }
    /// Returns a copy whose events are passed to a closure, which is called in the background like an ``Accessory``.
    public func accessory(
        _ observe: @escaping @Sendable (AccessoryEvent) -> Void
    ) -> ModifiedRequest<Self> {
        ModifiedRequest(self).accessory(observe)
    }
    /// Returns a copy with a tag for scopes and accessories.
    public func tag(_ tag: String) -> ModifiedRequest<Self> { ModifiedRequest(self).tag(tag) }
    /// Returns a copy that passes a value to later stages in ``RequestContext/attributes``.
    public func attribute(_ name: String, _ value: any Sendable) -> ModifiedRequest<Self> {
        ModifiedRequest(self).attribute(name, value)
    }
}

/// An accessory made of a closure.
private struct ClosureAccessory: Accessory {
    let observe: @Sendable (AccessoryEvent) -> Void

    func request(_ context: RequestContext, did event: AccessoryEvent) { observe(event) }
}
