internal import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension Request {
    public var service: Service { .default }
    public var usesCDN: Bool { false }
    public var method: HTTPMethod { .get }
    public var query: Parameters { Parameters() }
    public var parameters: Parameters { Parameters() }
    public var parameterEncoding: ParameterEncoding { .automatic }
    public var body: RequestBody { .automatic }
    public var headers: HTTPHeaders { HTTPHeaders() }
    public var authorization: Authorization { .inherited }
    public var idempotencyKey: IdempotencyKey { .absent }
    public var usesBaseHeaders: Bool { true }
    public var usesBaseParameters: Bool { true }
    public var limits: Limits { Limits() }
    public var priority: Priority { .normal }
    public var allowsCellularAccess: Bool { true }
    public var retryPolicy: RetryPolicy { .inherited }
    public var redirectPolicy: RedirectPolicy { .inherited }
    public var cachePolicy: CachePolicy { .inherited }
    public var cacheIdentity: CacheIdentity { CacheIdentity() }
    public var duplicatePolicy: DuplicatePolicy { .allow }
    public var acceptance: Acceptance { Acceptance() }
    public var formattingContext: FormattingContext { .background }
    public var accessories: [any Accessory] { [] }
    public var tag: String { "" }
    public var attributes: [String: any Sendable] { [:] }
    public func check() throws {}
    public func didProduce(_ model: Model, from response: RawResponse) throws {}
    public func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { true }
    public func customURLRequest() throws -> URLRequest? { nil }
}

extension Request where Self: Encodable {
    /// The stored properties, as ``Request/parameters`` says.
    public var parameters: Parameters {
        get throws { try Parameters(propertiesOf: self, dates: parameterEncoding.dates) }
    }
}

extension Request where Filter == InheritedFilter {
    public var filter: InheritedFilter { InheritedFilter() }
}

extension Request where Model: Decodable, Formatter == DefaultFormatter<Model> {
    public var formatter: DefaultFormatter<Model> { DefaultFormatter() }
}

extension Request where Model == Void, Formatter == DefaultFormatter<Void> {
    public var formatter: DefaultFormatter<Void> { DefaultFormatter() }
}
