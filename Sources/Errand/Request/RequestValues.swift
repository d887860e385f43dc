internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The declarations of a request that cannot throw, read for each send after ``Request/check()``; the others are in
/// ``RequestContent``.
///
/// This file is the table of the members of ``Request``: a member that does not throw is a property and a line of the
/// initializer here, a property of ``RequestChanges``, and a line of ``RequestWrapper``.
struct RequestValues: Sendable {
    let path: String
    let service: Service
    let usesCDN: Bool
    let method: HTTPMethod
    let parameterEncoding: ParameterEncoding
    let headers: HTTPHeaders
    let authorization: Authorization
    let credentialPolicy: CredentialPolicy
    let idempotencyKey: IdempotencyKey
    let usesBaseHeaders: Bool
    let usesBaseParameters: Bool
    let limits: Limits
    let priority: RequestPriority
    let allowsCellularAccess: Bool
    let retryPolicy: RetryPolicy
    let redirectPolicy: RedirectPolicy
    let cachePolicy: CachePolicy
    let cacheStorage: CacheStorage
    let cacheIdentity: CacheIdentity
    let duplicatePolicy: DuplicatePolicy
    let duplicateKey: String
    let acceptance: Acceptance
    let filter: GeneralFilter
    let formattingContext: FormattingContext
    let accessories: [any Accessory]
    let tag: String
    let attributes: [String: any Sendable]

    /// The defaults of ``Request``.
    static let defaults = RequestValues(DeclaredRequest(path: ""))

    /// Reads a request, without its content, and without its path if it is not built.
    init<R: Request>(_ request: R, isBuilt: Bool = true) {
        path = isBuilt ? request.path : ""
        service = request.service
        usesCDN = request.usesCDN
        method = request.method
        parameterEncoding = request.parameterEncoding
        headers = request.headers
        authorization = request.authorization
        credentialPolicy = request.credentialPolicy
        idempotencyKey = request.idempotencyKey
        usesBaseHeaders = request.usesBaseHeaders
        usesBaseParameters = request.usesBaseParameters
        limits = request.limits
        priority = request.priority
        allowsCellularAccess = request.allowsCellularAccess
        retryPolicy = request.retryPolicy
        redirectPolicy = request.redirectPolicy
        cachePolicy = request.cachePolicy
        cacheStorage = request.cacheStorage
        cacheIdentity = request.cacheIdentity
        duplicatePolicy = request.duplicatePolicy
        duplicateKey = request.duplicateKey
        acceptance = request.acceptance
        filter = GeneralFilter(request.filter)
        formattingContext = request.formattingContext
        accessories = request.accessories
        tag = request.tag
        attributes = request.attributes
    }
}

/// The members of a request that modifiers have changed; a member that is `nil` is the request's own.
struct RequestChanges: Sendable {
    static let none = Shared(RequestChanges())

    /// The changes in their order, to apply them to the requests of a batch.
    private(set) var modifications: [RequestModification] = []
    var service: Service?
    var usesCDN: Bool?
    var method: HTTPMethod?
    var query: Parameters?
    var parameters: Parameters?
    var parameterEncoding: ParameterEncoding?
    var body: RequestBody?
    var headers: HTTPHeaders?
    var addedHeaders = HTTPHeaders()
    var authorization: Authorization?
    var credentialPolicy: CredentialPolicy?
    var idempotencyKey: IdempotencyKey?
    var usesBaseHeaders: Bool?
    var usesBaseParameters: Bool?
    var limits: Limits?
    var addedLimits = Limits()
    var priority: RequestPriority?
    var allowsCellularAccess: Bool?
    var retryPolicy: RetryPolicy?
    var redirectPolicy: RedirectPolicy?
    var cachePolicy: CachePolicy?
    var cacheStorage: CacheStorage?
    var cacheIdentity: CacheIdentity?
    var duplicatePolicy: DuplicatePolicy?
    var duplicateKey: String?
    var acceptance: Acceptance?
    var filter: GeneralFilter?
    var formattingContext: FormattingContext?
    var accessories: [any Accessory] = []
    var tag: String?
    var attributes: [String: any Sendable] = [:]

    mutating func append(_ modification: RequestModification) {
        modifications.append(modification)
        modification.change(&self)
    }

    mutating func setLimit(_ limit: WritableKeyPath<Limits, Duration?>, _ value: Duration?) {
        addedLimits[keyPath: limit] = value
        limits?[keyPath: limit] = value
    }
}

/// A request that takes everything from another one but its changes, its filter, its formatter and its hooks on the model.
protocol RequestWrapper: Request {
    associatedtype Base: Request
    /// The wrapped request.
    var base: Base { get }
    /// The values that replace members of the wrapped request; by default, none.
    var changes: Shared<RequestChanges> { get }
}

extension RequestWrapper {
    var changes: Shared<RequestChanges> { RequestChanges.none }
}

// Public, because witnesses of a public protocol must be; users don't see the internal protocol.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension RequestWrapper {
    public var path: String { base.path }
    public var service: Service { changes.value.service ?? base.service }
    public var usesCDN: Bool { changes.value.usesCDN ?? base.usesCDN }
    public var method: HTTPMethod { changes.value.method ?? base.method }
    public var query: Parameters { get throws { try changes.value.query ?? base.query } }
    public var parameters: Parameters { get throws { try changes.value.parameters ?? base.parameters } }
    public var parameterEncoding: ParameterEncoding { changes.value.parameterEncoding ?? base.parameterEncoding }
    public var body: RequestBody { get throws { try changes.value.body ?? base.body } }
    public var headers: HTTPHeaders {
        let own = changes.value.headers ?? base.headers
        return changes.value.addedHeaders.isEmpty ? own : own.merging(changes.value.addedHeaders)
    }
    public var authorization: Authorization { changes.value.authorization ?? base.authorization }
    public var credentialPolicy: CredentialPolicy { changes.value.credentialPolicy ?? base.credentialPolicy }
    public var idempotencyKey: IdempotencyKey { changes.value.idempotencyKey ?? base.idempotencyKey }
    public var usesBaseHeaders: Bool { changes.value.usesBaseHeaders ?? base.usesBaseHeaders }
    public var usesBaseParameters: Bool { changes.value.usesBaseParameters ?? base.usesBaseParameters }
    public var limits: Limits { changes.value.addedLimits.over(changes.value.limits ?? base.limits) }
    public var priority: RequestPriority { changes.value.priority ?? base.priority }
    public var allowsCellularAccess: Bool { changes.value.allowsCellularAccess ?? base.allowsCellularAccess }
    public var retryPolicy: RetryPolicy { changes.value.retryPolicy ?? base.retryPolicy }
    public var redirectPolicy: RedirectPolicy { changes.value.redirectPolicy ?? base.redirectPolicy }
    public var cachePolicy: CachePolicy { changes.value.cachePolicy ?? base.cachePolicy }
    public var cacheStorage: CacheStorage { changes.value.cacheStorage ?? base.cacheStorage }
    public var cacheIdentity: CacheIdentity { changes.value.cacheIdentity ?? base.cacheIdentity }
    public var duplicatePolicy: DuplicatePolicy { changes.value.duplicatePolicy ?? base.duplicatePolicy }
    public var duplicateKey: String { changes.value.duplicateKey ?? base.duplicateKey }
    public var acceptance: Acceptance { changes.value.acceptance ?? base.acceptance }
    public var formattingContext: FormattingContext { changes.value.formattingContext ?? base.formattingContext }
    public var accessories: [any Accessory] { base.accessories.and(changes.value.accessories) }
    public var tag: String { changes.value.tag ?? base.tag }
    public var attributes: [String: any Sendable] {
        let own = base.attributes
        return changes.value.attributes.isEmpty ? own : own.merging(changes.value.attributes) { $1 }
    }
    public func check() throws { try base.check() }
    public func customURLRequest() throws -> URLRequest? { try base.customURLRequest() }
    public func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool {
        base.shouldCache(payload, of: response)
    }
}
