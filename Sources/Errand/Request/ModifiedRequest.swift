/// A request with some members changed, created by modifiers such as `GetUser(id: 7).timeout(.seconds(5))`.
///
/// Every other member is the wrapped request's, read when it is sent. A modified batch or chain applies its changes to each
/// of its requests.
public struct ModifiedRequest<Base: Request>: RequestWrapper, ModifiableRequest {
    /// The model of the wrapped request.
    public typealias Model = Base.Model
    /// The response in a batch of the wrapped request.
    public typealias ResponseInBatch = Base.ResponseInBatch

    /// The wrapped request, without the changes.
    public let base: Base
    private(set) var changes: RequestChanges

    init(_ base: Base, _ modifications: [RequestModification]) {
        self.init(base)
        for modification in modifications { changes.append(modification) }
    }

    init(_ base: Base, _ changes: RequestChanges = .none) {
        self.base = base
        self.changes = changes
    }

    /// The filter of the wrapped request.
    public var filter: Base.Filter { base.filter }
    /// The formatter of the wrapped request.
    public var formatter: Base.Formatter { base.formatter }
    /// Calls the hook of the wrapped request.
    public func didProduce(_ model: Base.Model, from response: RawResponse) throws {
        try base.didProduce(model, from: response)
    }

    /// Returns a copy with a further change, which replaces an earlier one of the same member.
    public consuming func applying(_ modification: RequestModification) -> Self {
        changes.append(modification)
        return self
    }
}

extension ModifiedRequest: Sendable where Base: Sendable {}

/// A type of modified requests, whatever they wrap.
protocol AnyModifiedRequest {
    /// The type of the request without its changes.
    static var unmodified: ObjectIdentifier { get }
}

extension ModifiedRequest: AnyModifiedRequest {
    static var unmodified: ObjectIdentifier { RequestType.of(Base.self).id }
}

// The members that have a modifier; the others are forwarded by `RequestWrapper`.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension ModifiedRequest {
    public var service: Service { changes.replaces(.service) ? changes.values.service : base.service }
    public var usesCDN: Bool { changes.replaces(.usesCDN) ? changes.values.usesCDN : base.usesCDN }
    public var headers: HTTPHeaders {
        if changes.replaces(.headers) { return changes.values.headers }
        return changes.values.headers.isEmpty ? base.headers : base.headers.merging(changes.values.headers)
    }
    public var authorization: Authorization {
        changes.replaces(.authorization) ? changes.values.authorization : base.authorization
    }
    public var credentialPolicy: CredentialPolicy {
        changes.replaces(.credentialPolicy) ? changes.values.credentialPolicy : base.credentialPolicy
    }
    public var idempotencyKey: IdempotencyKey {
        changes.replaces(.idempotencyKey) ? changes.values.idempotencyKey : base.idempotencyKey
    }
    public var usesBaseHeaders: Bool {
        changes.replaces(.usesBaseHeaders) ? changes.values.usesBaseHeaders : base.usesBaseHeaders
    }
    public var usesBaseParameters: Bool {
        changes.replaces(.usesBaseParameters) ? changes.values.usesBaseParameters : base.usesBaseParameters
    }
    public var allowsCellularAccess: Bool {
        changes.replaces(.allowsCellularAccess) ? changes.values.allowsCellularAccess : base.allowsCellularAccess
    }
    public var limits: Limits {
        changes.replaces(.limits) ? changes.values.limits : changes.values.limits.over(base.limits)
    }
    public var priority: Priority { changes.replaces(.priority) ? changes.values.priority : base.priority }
    public var retryPolicy: RetryPolicy {
        changes.replaces(.retryPolicy) ? changes.values.retryPolicy : base.retryPolicy
    }
    public var redirectPolicy: RedirectPolicy {
        changes.replaces(.redirectPolicy) ? changes.values.redirectPolicy : base.redirectPolicy
    }
    public var cachePolicy: CachePolicy {
        changes.replaces(.cachePolicy) ? changes.values.cachePolicy : base.cachePolicy
    }
    public var cacheStorage: CacheStorage {
        changes.replaces(.cacheStorage) ? changes.values.cacheStorage : base.cacheStorage
    }
    public var cacheIdentity: CacheIdentity {
        changes.replaces(.cacheIdentity) ? changes.values.cacheIdentity : base.cacheIdentity
    }
    public var duplicatePolicy: DuplicatePolicy {
        changes.replaces(.duplicatePolicy) ? changes.values.duplicatePolicy : base.duplicatePolicy
    }
    public var duplicateKey: String {
        changes.replaces(.duplicateKey) ? changes.values.duplicateKey : base.duplicateKey
    }
    public var acceptance: Acceptance { changes.replaces(.acceptance) ? changes.values.acceptance : base.acceptance }
    public var formattingContext: FormattingContext {
        changes.replaces(.formattingContext) ? changes.values.formattingContext : base.formattingContext
    }
    public var accessories: [any Accessory] { base.accessories.and(changes.values.accessories) }
    public var tag: String { changes.replaces(.tag) ? changes.values.tag : base.tag }
    public var attributes: [String: any Sendable] {
        let own = base.attributes
        return changes.values.attributes.isEmpty ? own : own.merging(changes.values.attributes) { $1 }
    }
}

extension ModifiedRequest: ComposedRequest where Base: ComposedRequest {
    var sentType: RequestType? { base.sentType }
}

extension ModifiedRequest: ReceivingRequest where Base: ReceivingRequest {
    func makeReceiver() throws -> any BodyReceiver { try base.makeReceiver() }
}
