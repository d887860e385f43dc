/// A change of a request, made by a modifier such as ``Request/timeout(_:)``.
public struct RequestModification: Sendable {
    let change: @Sendable (inout RequestChanges) -> Void
}

/// A request whose modifiers return its own type: ``GeneralRequest`` and ``ModifiedRequest``.
///
/// Only types of the library conform to it.
public protocol ModifiableRequest: Request {
    /// Returns a copy with a further change, which replaces an earlier one of the same member.
    consuming func applying(_ modification: RequestModification) -> Self
}

extension ModifiableRequest {
    consuming func with(_ change: @escaping @Sendable (inout RequestChanges) -> Void) -> Self {
        applying(RequestModification(change: change))
    }
}

// The modifiers, and functions of the same names that make any other request one that can be modified.

extension ModifiableRequest {
    /// Returns a copy that belongs to a service.
    public consuming func service(_ service: Service) -> Self { with { $0.service = service } }
    /// Returns a copy whose path is resolved against the CDN's URL, or against the base URL if `flag` is `false`.
    public consuming func usingCDN(_ flag: Bool = true) -> Self { with { $0.usesCDN = flag } }
    /// Returns a copy with a header field, which replaces fields of the same name.
    public consuming func header(_ name: String, _ value: String) -> Self { with { $0.addedHeaders[name] = value } }
    /// Returns a copy with other header fields, which replace the present ones.
    public consuming func headers(_ headers: HTTPHeaders) -> Self {
        with { ($0.headers, $0.addedHeaders) = (headers, HTTPHeaders()) }
    }
    /// Returns a copy with other credentials, or with none if they are `.anonymous`.
    public consuming func authorization(_ authorization: Authorization) -> Self {
        with { $0.authorization = authorization }
    }
    /// Returns a copy that sends the credentials of the service and the config as this policy allows.
    public consuming func credentialPolicy(_ policy: CredentialPolicy) -> Self { with { $0.credentialPolicy = policy } }
    /// Returns a copy with another idempotency key.
    public consuming func idempotencyKey(_ key: IdempotencyKey) -> Self { with { $0.idempotencyKey = key } }
    /// Returns a copy that is sent with the header fields of the service and the config, or without them.
    public consuming func usingBaseHeaders(_ flag: Bool) -> Self { with { $0.usesBaseHeaders = flag } }
    /// Returns a copy that is sent with the parameters of the service and the config, or without them.
    public consuming func usingBaseParameters(_ flag: Bool) -> Self { with { $0.usesBaseParameters = flag } }
    /// Returns a copy that may use the cellular network, or may not if `flag` is `false`.
    public consuming func allowingCellularAccess(_ flag: Bool) -> Self { with { $0.allowsCellularAccess = flag } }
    /// Returns a copy with another ``Limits/timeout``; `nil` removes the limit of an earlier modifier.
    public consuming func timeout(_ limit: Duration?) -> Self { with { $0.setLimit(\.timeout, limit) } }
    /// Returns a copy with another ``Limits/deadline``; `nil` removes the limit of an earlier modifier.
    public consuming func deadline(_ limit: Duration?) -> Self { with { $0.setLimit(\.deadline, limit) } }
    /// Returns a copy with other limits of time and size; a limit of `nil` is inherited.
    public consuming func limits(_ limits: Limits) -> Self { with { ($0.limits, $0.addedLimits) = (limits, Limits()) } }
    /// Returns a copy with another priority among waiting requests.
    public consuming func priority(_ priority: RequestPriority) -> Self { with { $0.priority = priority } }
    /// Returns a copy with another retry policy.
    public consuming func retryPolicy(_ policy: RetryPolicy) -> Self { with { $0.retryPolicy = policy } }
    /// Returns a copy with another redirect policy.
    public consuming func redirectPolicy(_ policy: RedirectPolicy) -> Self { with { $0.redirectPolicy = policy } }
    /// Returns a copy with another cache policy.
    public consuming func cachePolicy(_ policy: CachePolicy) -> Self { with { $0.cachePolicy = policy } }
    /// Returns a copy whose responses are stored in another cache, or in memory only.
    public consuming func cacheStorage(_ storage: CacheStorage) -> Self { with { $0.cacheStorage = storage } }
    /// Returns a copy with further components in its cache key.
    public consuming func cacheIdentity(_ identity: CacheIdentity) -> Self { with { $0.cacheIdentity = identity } }
    /// Returns a copy with another policy for duplicates in flight.
    public consuming func duplicatePolicy(_ policy: DuplicatePolicy) -> Self { with { $0.duplicatePolicy = policy } }
    /// Returns a copy that equals others of its type with this key; if it is empty, equality depends on what is sent.
    public consuming func duplicateKey(_ key: String) -> Self { with { $0.duplicateKey = key } }
    /// Returns a copy with other conditions for accepting a response.
    public consuming func acceptance(_ acceptance: Acceptance) -> Self { with { $0.acceptance = acceptance } }
    /// Returns a copy that is prepared and formatted in this context, as far as its types allow.
    public consuming func formattingContext(_ context: FormattingContext) -> Self {
        with { $0.formattingContext = context }
    }
    /// Returns a copy with another accessory, which runs inside the present ones.
    public consuming func accessory(_ accessory: any Accessory) -> Self { with { $0.accessories.append(accessory) } }
    /// Returns a copy whose events are passed to a closure, which is called in the background like an ``Accessory``.
    public consuming func accessory(_ observe: @escaping @Sendable (AccessoryEvent) -> Void) -> Self {
        accessory(ClosureAccessory(observe: observe))
    }
    /// Returns a copy with a tag for scopes and accessories.
    public consuming func tag(_ tag: String) -> Self { with { $0.tag = tag } }
    /// Returns a copy that passes a value to later stages in ``RequestContext/attributes``.
    public consuming func attribute(_ name: String, _ value: any Sendable) -> Self {
        with { $0.attributes[name] = value }
    }
}

extension Request {
    private var modified: ModifiedRequest<Self> { ModifiedRequest(self) }

    /// Returns a copy that belongs to a service.
    public func service(_ service: Service) -> ModifiedRequest<Self> { modified.service(service) }
    /// Returns a copy whose path is resolved against the CDN's URL, or against the base URL if `flag` is `false`.
    public func usingCDN(_ flag: Bool = true) -> ModifiedRequest<Self> { modified.usingCDN(flag) }
    /// Returns a copy with a header field, which replaces fields of the same name.
    public func header(_ name: String, _ value: String) -> ModifiedRequest<Self> { modified.header(name, value) }
    /// Returns a copy with other header fields, which replace the present ones.
    public func headers(_ headers: HTTPHeaders) -> ModifiedRequest<Self> { modified.headers(headers) }
    /// Returns a copy with other credentials, or with none if they are `.anonymous`.
    public func authorization(_ authorization: Authorization) -> ModifiedRequest<Self> {
        modified.authorization(authorization)
    }
    /// Returns a copy that sends the credentials of the service and the config as this policy allows.
    public func credentialPolicy(_ policy: CredentialPolicy) -> ModifiedRequest<Self> {
        modified.credentialPolicy(policy)
    }
    /// Returns a copy with another idempotency key.
    public func idempotencyKey(_ key: IdempotencyKey) -> ModifiedRequest<Self> { modified.idempotencyKey(key) }
    /// Returns a copy that is sent with the header fields of the service and the config, or without them.
    public func usingBaseHeaders(_ flag: Bool) -> ModifiedRequest<Self> { modified.usingBaseHeaders(flag) }
    /// Returns a copy that is sent with the parameters of the service and the config, or without them.
    public func usingBaseParameters(_ flag: Bool) -> ModifiedRequest<Self> { modified.usingBaseParameters(flag) }
    /// Returns a copy that may use the cellular network, or may not if `flag` is `false`.
    public func allowingCellularAccess(_ flag: Bool) -> ModifiedRequest<Self> { modified.allowingCellularAccess(flag) }
    /// Returns a copy with another ``Limits/timeout``; `nil` removes the limit of an earlier modifier.
    public func timeout(_ limit: Duration?) -> ModifiedRequest<Self> { modified.timeout(limit) }
    /// Returns a copy with another ``Limits/deadline``; `nil` removes the limit of an earlier modifier.
    public func deadline(_ limit: Duration?) -> ModifiedRequest<Self> { modified.deadline(limit) }
    /// Returns a copy with other limits of time and size; a limit of `nil` is inherited.
    public func limits(_ limits: Limits) -> ModifiedRequest<Self> { modified.limits(limits) }
    /// Returns a copy with another priority among waiting requests.
    public func priority(_ priority: RequestPriority) -> ModifiedRequest<Self> { modified.priority(priority) }
    /// Returns a copy with another retry policy.
    public func retryPolicy(_ policy: RetryPolicy) -> ModifiedRequest<Self> { modified.retryPolicy(policy) }
    /// Returns a copy with another redirect policy.
    public func redirectPolicy(_ policy: RedirectPolicy) -> ModifiedRequest<Self> { modified.redirectPolicy(policy) }
    /// Returns a copy with another cache policy.
    public func cachePolicy(_ policy: CachePolicy) -> ModifiedRequest<Self> { modified.cachePolicy(policy) }
    /// Returns a copy whose responses are stored in another cache, or in memory only.
    public func cacheStorage(_ storage: CacheStorage) -> ModifiedRequest<Self> { modified.cacheStorage(storage) }
    /// Returns a copy with further components in its cache key.
    public func cacheIdentity(_ identity: CacheIdentity) -> ModifiedRequest<Self> { modified.cacheIdentity(identity) }
    /// Returns a copy with another policy for duplicates in flight.
    public func duplicatePolicy(_ policy: DuplicatePolicy) -> ModifiedRequest<Self> { modified.duplicatePolicy(policy) }
    /// Returns a copy that equals others of its type with this key; if it is empty, equality depends on what is sent.
    public func duplicateKey(_ key: String) -> ModifiedRequest<Self> { modified.duplicateKey(key) }
    /// Returns a copy with other conditions for accepting a response.
    public func acceptance(_ acceptance: Acceptance) -> ModifiedRequest<Self> { modified.acceptance(acceptance) }
    /// Returns a copy that is prepared and formatted in this context, as far as its types allow.
    public func formattingContext(_ context: FormattingContext) -> ModifiedRequest<Self> {
        modified.formattingContext(context)
    }
    /// Returns a copy with another accessory, which runs inside the present ones.
    public func accessory(_ accessory: any Accessory) -> ModifiedRequest<Self> { modified.accessory(accessory) }
    /// Returns a copy whose events are passed to a closure, which is called in the background like an ``Accessory``.
    public func accessory(_ observe: @escaping @Sendable (AccessoryEvent) -> Void) -> ModifiedRequest<Self> {
        modified.accessory(observe)
    }
    /// Returns a copy with a tag for scopes and accessories.
    public func tag(_ tag: String) -> ModifiedRequest<Self> { modified.tag(tag) }
    /// Returns a copy that passes a value to later stages in ``RequestContext/attributes``.
    public func attribute(_ name: String, _ value: any Sendable) -> ModifiedRequest<Self> {
        modified.attribute(name, value)
    }
}

/// An accessory made of a closure.
private struct ClosureAccessory: Accessory {
    let observe: @Sendable (AccessoryEvent) -> Void

    func request(_ context: RequestContext, did event: AccessoryEvent) { observe(event) }
}
