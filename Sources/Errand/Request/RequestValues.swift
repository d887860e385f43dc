internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The declarations of a request that cannot throw, read for each send after ``Request/check()``; the others are in
/// ``RequestContent``.
///
/// To add a member of ``Request`` that does not throw, add a property here, a line to the initializer, and a line to
/// ``RequestWrapper``. It then works in wrappers and ``GeneralRequest``, and is an entry of the ``RequestPlan``.
struct RequestValues: Sendable {
    var path: String
    var service: Service
    var usesCDN: Bool
    var method: HTTPMethod
    var query = Parameters()
    var parameters = Parameters()
    var parameterEncoding: ParameterEncoding
    var body = RequestBody.automatic
    var headers: HTTPHeaders
    var authorization: Authorization
    var credentialPolicy: CredentialPolicy
    var idempotencyKey: IdempotencyKey
    var usesBaseHeaders: Bool
    var usesBaseParameters: Bool
    var limits: Limits
    var priority: Priority
    var allowsCellularAccess: Bool
    var retryPolicy: RetryPolicy
    var redirectPolicy: RedirectPolicy
    var cachePolicy: CachePolicy
    var cacheStorage: CacheStorage
    var cacheIdentity: CacheIdentity
    var duplicatePolicy: DuplicatePolicy
    var duplicateKey: String
    var acceptance: Acceptance
    var filter: GeneralFilter
    var formattingContext: FormattingContext
    var accessories: [any Accessory]
    var tag: String
    var attributes: [String: any Sendable]

    /// Creates the defaults of ``Request``.
    init(path: String) { self.init(Plain(path: path)) }

    /// The defaults of ``Request``.
    static let defaults = RequestValues(path: "")

    private struct Plain: Request {
        typealias Model = JSONValue
        let path: String
    }

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

/// The content of a request and its other declarations that can throw, read once for each send after
/// ``Request/check()``.
struct RequestContent: ~Copyable {
    /// A request that was built by the caller and is used alone, or `nil` if it is to be built.
    let custom: Shared<OutgoingRequest>?
    let query: Parameters
    let parameters: Parameters
    let body: RequestBody
    /// The identifier of the JSON-RPC call that the request makes, or `nil`.
    let callID: JSONRPCID?
    /// What the JSON guard rejects, because what follows decodes the body without a guard of its own.
    let guarding: JSONGuard.Strictness
    /// Whether the formatter is the user's own and decodes a payload that was not guarded.
    let guardsPayload: Bool
    /// Takes the body in place of memory, or `nil`.
    let receiver: (any BodyReceiver)?

    init(
        _ request: some Request,
        custom: Shared<OutgoingRequest>?,
        settings: Settings,
        isReceiving: Bool
    ) throws {
        let parameters: Parameters
        let query = try custom == nil ? request.query : Parameters()
        let encoding = settings.resolved.parameterEncoding.value
        if custom != nil {
            parameters = Parameters()
        } else if encoding.dates == ParameterEncoding.automatic.dates {
            parameters = try request.parameters
        } else {
            parameters = try ParameterEncoding.$ofSend.withValue(encoding) { try request.parameters }
        }
        let body = try custom == nil ? request.body : .automatic
        var callID = body.callID
        if custom != nil, settings.resolved.filter.value is JSONRPCFilter {
            // The caller has built the body, but the response is to its call.
            callID = (try? request.body)?.callID
        }
        let formatter = request.formatter
        // Not for each request, because a cast to a protocol looks up its conformance.
        let receiver = try isReceiving ? (request as? any ReceivingRequest)?.makeReceiver() : nil
        // Only now, because what throws may not leave a part of it behind.
        (self.custom, self.query, self.parameters, self.body) = (custom, query, parameters, body)
        self.callID = callID
        guarding = JSONGuard.Strictness(settings.resolved.filter.value, before: formatter)
        guardsPayload = !formatter.guardsItself
        self.receiver = receiver
    }
}

/// A request that takes everything from another one but its filter, its formatter and its hooks on the model.
protocol RequestWrapper: Request {
    associatedtype Base: Request
    /// The wrapped request.
    var base: Base { get }
}

// Public, because witnesses of a public protocol must be; users don't see the internal protocol.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension RequestWrapper {
    public var path: String { base.path }
    public var query: Parameters { get throws { try base.query } }
    public var parameters: Parameters { get throws { try base.parameters } }
    public var usesBaseParameters: Bool { base.usesBaseParameters }
    public func customURLRequest() throws -> URLRequest? { try base.customURLRequest() }
    public var service: Service { base.service }
    public var usesCDN: Bool { base.usesCDN }
    public var method: HTTPMethod { base.method }
    public var parameterEncoding: ParameterEncoding { base.parameterEncoding }
    public var body: RequestBody { get throws { try base.body } }
    public var headers: HTTPHeaders { base.headers }
    public var authorization: Authorization { base.authorization }
    public var credentialPolicy: CredentialPolicy { base.credentialPolicy }
    public var idempotencyKey: IdempotencyKey { base.idempotencyKey }
    public var usesBaseHeaders: Bool { base.usesBaseHeaders }
    public var limits: Limits { base.limits }
    public var priority: Priority { base.priority }
    public var allowsCellularAccess: Bool { base.allowsCellularAccess }
    public var retryPolicy: RetryPolicy { base.retryPolicy }
    public var redirectPolicy: RedirectPolicy { base.redirectPolicy }
    public var cachePolicy: CachePolicy { base.cachePolicy }
    public var cacheStorage: CacheStorage { base.cacheStorage }
    public var cacheIdentity: CacheIdentity { base.cacheIdentity }
    public var duplicatePolicy: DuplicatePolicy { base.duplicatePolicy }
    public var duplicateKey: String { base.duplicateKey }
    public var acceptance: Acceptance { base.acceptance }
    public var formattingContext: FormattingContext { base.formattingContext }
    public var accessories: [any Accessory] { base.accessories }
    public var tag: String { base.tag }
    public var attributes: [String: any Sendable] { base.attributes }
    public func check() throws { try base.check() }
    public func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool {
        base.shouldCache(payload, of: response)
    }
}
