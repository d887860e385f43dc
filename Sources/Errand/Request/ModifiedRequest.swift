/// A request with some members changed, created by modifiers such as `GetUser(id: 7).timeout(.seconds(5))`.
///
/// Every other member is the wrapped request's, read when it is sent. A modified batch or chain applies its changes to each
/// of its requests.
public struct ModifiedRequest<Base: Request>: RequestWrapper, ModifiableRequest {
    /// The model of the wrapped request.
    public typealias Model = Base.Model

    /// The wrapped request, without the changes.
    public let base: Base
    private(set) var modifications: [RequestModification] = []

    init(_ base: Base, _ modifications: [RequestModification] = []) {
        self.base = base
        self.modifications = modifications
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
    public func applying(_ modification: RequestModification) -> Self {
        ModifiedRequest(base, modifications + [modification])
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
    public var service: Service { modified(\.service, base.service) }
    public var usesCDN: Bool { modified(\.usesCDN, base.usesCDN) }
    public var headers: HTTPHeaders { modified(\.headers, base.headers) }
    public var authorization: Authorization { modified(\.authorization, base.authorization) }
    public var credentialPolicy: CredentialPolicy { modified(\.credentialPolicy, base.credentialPolicy) }
    public var idempotencyKey: IdempotencyKey { modified(\.idempotencyKey, base.idempotencyKey) }
    public var usesBaseHeaders: Bool { modified(\.usesBaseHeaders, base.usesBaseHeaders) }
    public var usesBaseParameters: Bool { modified(\.usesBaseParameters, base.usesBaseParameters) }
    public var allowsCellularAccess: Bool { modified(\.allowsCellularAccess, base.allowsCellularAccess) }
    public var limits: Limits { modified(\.limits, base.limits) }
    public var priority: Priority { modified(\.priority, base.priority) }
    public var retryPolicy: RetryPolicy { modified(\.retryPolicy, base.retryPolicy) }
    public var redirectPolicy: RedirectPolicy { modified(\.redirectPolicy, base.redirectPolicy) }
    public var cachePolicy: CachePolicy { modified(\.cachePolicy, base.cachePolicy) }
    public var cacheIdentity: CacheIdentity { modified(\.cacheIdentity, base.cacheIdentity) }
    public var duplicatePolicy: DuplicatePolicy { modified(\.duplicatePolicy, base.duplicatePolicy) }
    public var duplicateKey: String { modified(\.duplicateKey, base.duplicateKey) }
    public var acceptance: Acceptance { modified(\.acceptance, base.acceptance) }
    public var formattingContext: FormattingContext { modified(\.formattingContext, base.formattingContext) }
    public var accessories: [any Accessory] { modified(\.accessories, base.accessories) }
    public var tag: String { modified(\.tag, base.tag) }
    public var attributes: [String: any Sendable] { modified(\.attributes, base.attributes) }

    /// Returns a member of the wrapped request with the changes applied.
    @inline(__always)
    private func modified<Value>(_ member: WritableKeyPath<RequestValues, Value>, _ value: Value) -> Value {
        var values = RequestValues.defaults
        values[keyPath: member] = value
        for modification in modifications { modification.change(&values) }
        return values[keyPath: member]
    }
}

extension ModifiedRequest: ComposedRequest where Base: ComposedRequest {}
