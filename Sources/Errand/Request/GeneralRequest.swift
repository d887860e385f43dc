/// A request without a type of its own: `GeneralRequest("/things").method(.post).parameters(["a": 1])`.
///
/// It has the defaults of ``Request``; each modifier returns a changed copy. Without ``expecting(_:at:)`` or
/// ``formatted(by:)`` its model is the JSON that arrives.
public struct GeneralRequest<Formatter: ResponseFormatter>: Request {
    public typealias Model = Formatter.Output

    public var path: String
    public var service: Service = .default
    public var usesCDN = false
    public var method: HTTPMethod = .get
    public var query: Parameters = [:]
    public var parameters: Parameters = [:]
    public var parameterEncoding: ParameterEncoding = .automatic
    public var body: RequestBody = .automatic
    public var headers: HTTPHeaders = [:]
    public var authorization: Authorization = .inherited
    public var idempotencyKey: IdempotencyKey = .absent
    public var usesBaseHeaders = true
    public var usesBaseParameters = true
    public var limits = Limits()
    public var priority: Priority = .normal
    public var allowsCellularAccess = true
    public var retryPolicy: RetryPolicy = .inherited
    public var redirectPolicy: RedirectPolicy = .inherited
    public var cachePolicy: CachePolicy = .inherited
    public var cacheIdentity = CacheIdentity()
    public var duplicatePolicy: DuplicatePolicy = .allow
    public var acceptance = Acceptance()
    public var filter = GeneralFilter.inherited
    public var formatter: Formatter
    public var formattingContext: FormattingContext = .background
    public var accessories: [any Accessory] = []
    public var tag = ""
    public var attributes: [String: any Sendable] = [:]

    /// A request to a path, below the base URL or absolute, whose model a formatter makes.
    public init(_ path: String, formatter: Formatter) {
        self.path = path
        self.formatter = formatter
    }
}

extension GeneralRequest where Formatter == JSONValueFormatter {
    /// A request to a path, below the base URL or absolute, whose model is the JSON that arrives.
    public init(_ path: String) { self.init(path, formatter: JSONValueFormatter()) }
}

extension GeneralRequest: Sendable where Formatter: Sendable {}

extension GeneralRequest {
    public func service(_ service: Service) -> Self { changing { $0.service = service } }
    public func usingCDN(_ flag: Bool = true) -> Self { changing { $0.usesCDN = flag } }
    public func method(_ method: HTTPMethod) -> Self { changing { $0.method = method } }
    public func query(_ query: Parameters) -> Self { changing { $0.query = query } }
    public func parameters(_ parameters: Parameters) -> Self { changing { $0.parameters = parameters } }
    public func parameterEncoding(_ encoding: ParameterEncoding) -> Self {
        changing { $0.parameterEncoding = encoding }
    }
    public func body(_ body: RequestBody) -> Self { changing { $0.body = body } }
    /// Sets one field, and replaces what was set under its name.
    public func header(_ name: String, _ value: String) -> Self { changing { $0.headers[name] = value } }
    public func headers(_ headers: HTTPHeaders) -> Self { changing { $0.headers = headers } }
    public func authorization(_ authorization: Authorization) -> Self { changing { $0.authorization = authorization } }
    public func idempotencyKey(_ key: IdempotencyKey) -> Self { changing { $0.idempotencyKey = key } }
    public func limits(_ limits: Limits) -> Self { changing { $0.limits = limits } }
    public func priority(_ priority: Priority) -> Self { changing { $0.priority = priority } }
    public func retryPolicy(_ policy: RetryPolicy) -> Self { changing { $0.retryPolicy = policy } }
    public func redirectPolicy(_ policy: RedirectPolicy) -> Self { changing { $0.redirectPolicy = policy } }
    public func cachePolicy(_ policy: CachePolicy) -> Self { changing { $0.cachePolicy = policy } }
    public func cacheIdentity(_ identity: CacheIdentity) -> Self { changing { $0.cacheIdentity = identity } }
    public func duplicatePolicy(_ policy: DuplicatePolicy) -> Self { changing { $0.duplicatePolicy = policy } }
    public func acceptance(_ acceptance: Acceptance) -> Self { changing { $0.acceptance = acceptance } }
    /// Opens the envelope with this filter, whatever service and config say.
    public func filter(_ filter: any ResponseFilter) -> Self { changing { $0.filter = .filter(filter) } }
    public func formattingContext(_ context: FormattingContext) -> Self { changing { $0.formattingContext = context } }
    /// Adds an accessory, inside those that are there.
    public func accessory(_ accessory: any Accessory) -> Self { changing { $0.accessories.append(accessory) } }
    public func tag(_ tag: String) -> Self { changing { $0.tag = tag } }
    public func attribute(_ name: String, _ value: any Sendable) -> Self { changing { $0.attributes[name] = value } }

    /// Expects a model of this type, at a path of the payload.
    public func expecting<T: Decodable>(_ type: T.Type, at path: JSONPath) -> GeneralRequest<JSONFormatter<T>> {
        formatted(by: JSONFormatter(at: path))
    }

    /// Expects the payload as a model of this type: JSON, or text for `String` and bytes for `Data`.
    public func expecting<T: Decodable>(_ type: T.Type) -> GeneralRequest<DefaultFormatter<T>> {
        formatted(by: DefaultFormatter())
    }

    /// Expects nothing but that the answer is accepted.
    public func expecting(_ type: Void.Type) -> GeneralRequest<VoidFormatter> { formatted(by: VoidFormatter()) }

    /// Makes the model with a formatter.
    public func formatted<Other: ResponseFormatter>(by formatter: Other) -> GeneralRequest<Other> {
        var other = GeneralRequest<Other>(path, formatter: formatter)
        other.service = service
        other.usesCDN = usesCDN
        other.method = method
        other.query = query
        other.parameters = parameters
        other.parameterEncoding = parameterEncoding
        other.body = body
        other.headers = headers
        other.authorization = authorization
        other.idempotencyKey = idempotencyKey
        other.usesBaseHeaders = usesBaseHeaders
        other.usesBaseParameters = usesBaseParameters
        other.limits = limits
        other.priority = priority
        other.allowsCellularAccess = allowsCellularAccess
        other.retryPolicy = retryPolicy
        other.redirectPolicy = redirectPolicy
        other.cachePolicy = cachePolicy
        other.cacheIdentity = cacheIdentity
        other.duplicatePolicy = duplicatePolicy
        other.acceptance = acceptance
        other.filter = filter
        other.formattingContext = formattingContext
        other.accessories = accessories
        other.tag = tag
        other.attributes = attributes
        return other
    }

    private func changing(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

/// The filter of a ``GeneralRequest``: the inherited one, or any.
public enum GeneralFilter: ResponseFilter {
    case inherited
    case filter(any ResponseFilter)

    public func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        switch self {
        case .inherited: try InheritedFilter().filter(response, for: context)
        case .filter(let filter): try filter.filter(response, for: context)
        }
    }

    public func recovers(from failure: any Error, in response: RawResponse) -> Bool {
        switch self {
        case .inherited: false
        case .filter(let filter): filter.recovers(from: failure, in: response)
        }
    }
}
