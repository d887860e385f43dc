#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// A request that has all of another one's, but for what it says itself: filter, formatter and hooks on the model.
public protocol _RequestWrapper: Request {
    /// The type of the request inside.
    associatedtype Base: Request
    /// The request inside.
    var base: Base { get }
}

extension _RequestWrapper {
    /// As in the request inside.
    public var path: String { base.path }
    /// As in the request inside.
    public var query: Parameters { get throws { try base.query } }
    /// As in the request inside.
    public var parameters: Parameters { get throws { try base.parameters } }
    /// As in the request inside.
    public var usesBaseParameters: Bool { base.usesBaseParameters }
    /// As in the request inside.
    public func customURLRequest() throws -> URLRequest? { try base.customURLRequest() }
    /// As in the request inside.
    public var service: Service { base.service }
    /// As in the request inside.
    public var usesCDN: Bool { base.usesCDN }
    /// As in the request inside.
    public var method: HTTPMethod { base.method }
    /// As in the request inside.
    public var parameterEncoding: ParameterEncoding { base.parameterEncoding }
    /// As in the request inside.
    public var body: RequestBody { get throws { try base.body } }
    /// As in the request inside.
    public var headers: HTTPHeaders { base.headers }
    /// As in the request inside.
    public var authorization: Authorization { base.authorization }
    /// As in the request inside.
    public var credentialPolicy: CredentialPolicy { base.credentialPolicy }
    /// As in the request inside.
    public var idempotencyKey: IdempotencyKey { base.idempotencyKey }
    /// As in the request inside.
    public var usesBaseHeaders: Bool { base.usesBaseHeaders }
    /// As in the request inside.
    public var limits: Limits { base.limits }
    /// As in the request inside.
    public var priority: Priority { base.priority }
    /// As in the request inside.
    public var allowsCellularAccess: Bool { base.allowsCellularAccess }
    /// As in the request inside.
    public var retryPolicy: RetryPolicy { base.retryPolicy }
    /// As in the request inside.
    public var redirectPolicy: RedirectPolicy { base.redirectPolicy }
    /// As in the request inside.
    public var cachePolicy: CachePolicy { base.cachePolicy }
    /// As in the request inside.
    public var cacheIdentity: CacheIdentity { base.cacheIdentity }
    /// As in the request inside.
    public var duplicatePolicy: DuplicatePolicy { base.duplicatePolicy }
    /// As in the request inside.
    public var duplicateKey: String { base.duplicateKey }
    /// As in the request inside.
    public var acceptance: Acceptance { base.acceptance }
    /// As in the request inside.
    public var formattingContext: FormattingContext { base.formattingContext }
    /// As in the request inside.
    public var accessories: [any Accessory] { base.accessories }
    /// As in the request inside.
    public var tag: String { base.tag }
    /// As in the request inside.
    public var attributes: [String: any Sendable] { base.attributes }
    /// As in the request inside.
    public func check() throws { try base.check() }
    /// As in the request inside.
    public func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool {
        base.shouldCache(payload, of: response)
    }
}
