public import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// A request that has all of another one's, but for what it says itself: filter, formatter and hooks on the model.
protocol RequestWrapper: Request {
    associatedtype Base: Request
    /// The request inside.
    var base: Base { get }
}

// Public, as what fulfils a public protocol has to be; nobody outside sees the wrapper's own protocol.
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

/// A request whose model is the body as it arrived: neither its filter nor its formatter is asked.
///
/// Made by ``Request/raw``. What makes an answer acceptable still holds.
public struct RawRequest<Base: Request>: RequestWrapper {
    /// The whole body.
    public typealias Model = Data

    let base: Base

    /// Opens no envelope.
    public var filter: PassthroughFilter { .passthrough }
    /// Takes the bytes.
    public var formatter: DataFormatter { DataFormatter() }
}

extension RawRequest: Sendable where Base: Sendable {}

extension Request {
    /// This request with the whole body for its model: no envelope is opened, nothing is formatted.
    ///
    /// `response(for: request.raw)` has the head with it.
    public var raw: RawRequest<Self> { RawRequest(base: self) }
}

/// A request that consists of requests, such as a batch: it is never sent itself.
protocol ComposedRequest: Request {}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension ComposedRequest {
    public var path: String { "" }
    /// Never called, for there is no one response.
    public var formatter: DefaultFormatter<Model> { DefaultFormatter() }
    /// Throws, wherever one response is asked for.
    public func check() throws {
        throw NetworkError(.notOneRequest(String(TypeNames.name(of: Self.self).prefix { $0 != "<" })))
    }
}
