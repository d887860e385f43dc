#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension Request {
    /// The default: ``Service/default``.
    public var service: Service { .default }
    /// The default: `false`.
    public var usesCDN: Bool { false }
    /// The default: ``HTTPMethod/get``.
    public var method: HTTPMethod { .get }
    /// The default: empty.
    public var query: Parameters { Parameters() }
    /// The default for a request that is not `Encodable`: empty.
    public var parameters: Parameters { Parameters() }
    /// The default: ``ParameterEncoding/inherited``.
    public var parameterEncoding: ParameterEncoding { .inherited }
    /// The default: ``RequestBody/automatic``.
    public var body: RequestBody { .automatic }
    /// The default: empty.
    public var headers: HTTPHeaders { HTTPHeaders() }
    /// The default: ``Authorization/inherited``.
    public var authorization: Authorization { .inherited }
    /// The default: ``CredentialPolicy/ownOrigins``.
    public var credentialPolicy: CredentialPolicy { .ownOrigins }
    /// The default: ``IdempotencyKey/absent``.
    public var idempotencyKey: IdempotencyKey { .absent }
    /// The default: `true`.
    public var usesBaseHeaders: Bool { true }
    /// The default: `true`.
    public var usesBaseParameters: Bool { true }
    /// The default: all inherited.
    public var limits: Limits { Limits() }
    /// The default: ``RequestPriority/normal``.
    public var priority: RequestPriority { .normal }
    /// The default: `true`.
    public var allowsCellularAccess: Bool { true }
    /// The default: ``RetryPolicy/inherited``.
    public var retryPolicy: RetryPolicy { .inherited }
    /// The default: ``RedirectPolicy/inherited``.
    public var redirectPolicy: RedirectPolicy { .inherited }
    /// The default: ``CachePolicy/inherited``.
    public var cachePolicy: CachePolicy { .inherited }
    /// The default: ``CacheStorage/inherited``.
    public var cacheStorage: CacheStorage { .inherited }
    /// The default: nothing in addition to method, URL, body and credentials.
    public var cacheIdentity: CacheIdentity { .usual }
    /// The default: ``DuplicatePolicy/allow``.
    public var duplicatePolicy: DuplicatePolicy { .allow }
    /// The default: empty, so two sends are equal if method, URL, header fields and body are.
    public var duplicateKey: String { "" }
    /// The default: ``Acceptance/inherited``.
    public var acceptance: Acceptance { .inherited }
    /// The default: ``FormattingContext/background``.
    public var formattingContext: FormattingContext { .background }
    /// The default: none.
    public var accessories: [any Accessory] { [] }
    /// The default: empty.
    public var tag: String { "" }
    /// The default: empty.
    public var attributes: [String: any Sendable] { [:] }
    /// The default: does nothing.
    public func check() throws {}
    /// The default: accepts every model.
    public func didProduce(_ model: Model, from response: RawResponse) throws {}
    /// The default: `true`.
    public func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { true }
    /// The default: `nil`, so the request is built.
    public func customURLRequest() throws -> URLRequest? { nil }
}

extension Request where Self: Encodable {
    /// The default for an `Encodable` request: the stored properties, as ``Request/parameters`` describes.
    public var parameters: Parameters {
        get throws {
            let encoding = parameterEncoding.over(.ofSend)
            return try Parameters(propertiesOf: self, dates: encoding.dates)
        }
    }
}

extension Request where Filter == InheritedFilter {
    /// The default: the service's filter, then the config's.
    public var filter: InheritedFilter { InheritedFilter() }
}

extension Request where Model: Decodable, Formatter == DefaultFormatter<Model> {
    /// The default: chosen by the type of the model.
    public var formatter: DefaultFormatter<Model> { DefaultFormatter() }
}

extension Request where Model == Void, Formatter == DefaultFormatter<Void> {
    /// The default for `Void`: reads nothing.
    public var formatter: DefaultFormatter<Void> { DefaultFormatter() }
}
