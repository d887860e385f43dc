/// A request without a type of its own: `GeneralRequest("/things").method(.post).parameters(["a": 1])`.
///
/// It has the defaults of ``Request``; each modifier returns a changed copy. Without ``expecting(_:at:)`` or
/// ``formatted(by:)`` its model is the JSON that arrives.
public struct GeneralRequest<Formatter: ResponseFormatter>: RequestWrapper {
    /// What the formatter makes.
    public typealias Model = Formatter.Output

    /// What it declares; the members of ``Request`` are those of this value.
    var base: RequestValues
    /// As ``Request/filter``; ``filter(_:)`` chooses another.
    public var filter: some ResponseFilter { base.filter }
    /// As ``Request/formatter``.
    public let formatter: Formatter

    /// A request to a path, below the base URL or absolute, whose model a formatter makes.
    public init(_ path: String, formatter: Formatter) {
        self.init(RequestValues(path: path), formatter: formatter)
    }

    private init(_ values: RequestValues, formatter: Formatter) {
        base = values
        self.formatter = formatter
    }
}

extension GeneralRequest where Formatter == JSONValueFormatter {
    /// A request to a path, below the base URL or absolute, whose model is the JSON that arrives.
    public init(_ path: String) { self.init(path, formatter: JSONValueFormatter()) }
}

extension GeneralRequest: Sendable where Formatter: Sendable {}

extension GeneralRequest {
    /// Returns a copy with another path, below the base URL or absolute.
    public func path(_ path: String) -> Self { changing { $0.path = path } }
    /// Returns a copy that belongs to a service.
    public func service(_ service: Service) -> Self { changing { $0.service = service } }
    /// Returns a copy whose path starts at the CDN's URL, or with `false` at the base URL.
    public func usingCDN(_ flag: Bool = true) -> Self { changing { $0.usesCDN = flag } }
    /// Returns a copy with another method.
    public func method(_ method: HTTPMethod) -> Self { changing { $0.method = method } }
    /// Returns a copy with these pairs in the query, in place of those that were there.
    public func query(_ query: Parameters) -> Self { changing { $0.query = query } }
    /// Returns a copy with these parameters, in place of those that were there.
    public func parameters(_ parameters: Parameters) -> Self { changing { $0.parameters = parameters } }
    /// Returns a copy whose parameters are written this way.
    public func parameterEncoding(_ encoding: ParameterEncoding) -> Self {
        changing { $0.parameterEncoding = encoding }
    }
    /// Returns a copy with this body.
    public func body(_ body: RequestBody) -> Self { changing { $0.body = body } }
    /// Sets one field, and replaces what was set under its name.
    public func header(_ name: String, _ value: String) -> Self { changing { $0.headers[name] = value } }
    /// Returns a copy with these fields, in place of those that were there.
    public func headers(_ headers: HTTPHeaders) -> Self { changing { $0.headers = headers } }
    /// Returns a copy that shows these credentials, or `.anonymous` none.
    public func authorization(_ authorization: Authorization) -> Self { changing { $0.authorization = authorization } }
    /// Returns a copy that sends credentials of service and config to these origins.
    public func credentialPolicy(_ policy: CredentialPolicy) -> Self { changing { $0.credentialPolicy = policy } }
    /// Returns a copy with an `Idempotency-Key` field.
    public func idempotencyKey(_ key: IdempotencyKey) -> Self { changing { $0.idempotencyKey = key } }
    /// Returns a copy that is sent with the header fields of config and service, or with `false` without them.
    public func usingBaseHeaders(_ flag: Bool) -> Self { changing { $0.usesBaseHeaders = flag } }
    /// Returns a copy that is sent with the parameters of config and service, or with `false` without them.
    public func usingBaseParameters(_ flag: Bool) -> Self { changing { $0.usesBaseParameters = flag } }
    /// Returns a copy that may use a cellular connection, or with `false` must not.
    public func allowingCellularAccess(_ flag: Bool) -> Self { changing { $0.allowsCellularAccess = flag } }
    /// Returns a copy with these times and sizes; each `nil` inherits.
    public func limits(_ limits: Limits) -> Self { changing { $0.limits = limits } }
    /// Returns a copy with another place among those that wait.
    public func priority(_ priority: Priority) -> Self { changing { $0.priority = priority } }
    /// Returns a copy whose failures are tried again by this policy.
    public func retryPolicy(_ policy: RetryPolicy) -> Self { changing { $0.retryPolicy = policy } }
    /// Returns a copy whose redirects are followed by this policy.
    public func redirectPolicy(_ policy: RedirectPolicy) -> Self { changing { $0.redirectPolicy = policy } }
    /// Returns a copy that uses stored answers by this policy.
    public func cachePolicy(_ policy: CachePolicy) -> Self { changing { $0.cachePolicy = policy } }
    /// Returns a copy with these further parts in its cache key.
    public func cacheIdentity(_ identity: CacheIdentity) -> Self { changing { $0.cacheIdentity = identity } }
    /// Returns a copy that treats its equal in flight by this policy.
    public func duplicatePolicy(_ policy: DuplicatePolicy) -> Self { changing { $0.duplicatePolicy = policy } }
    /// Returns a copy that is equal to those of its type with this key; empty is by what it sends.
    public func duplicateKey(_ key: String) -> Self { changing { $0.duplicateKey = key } }
    /// Returns a copy that accepts these answers.
    public func acceptance(_ acceptance: Acceptance) -> Self { changing { $0.acceptance = acceptance } }
    /// Opens the envelope with this filter, whatever service and config say.
    public func filter(_ filter: any ResponseFilter) -> Self { changing { $0.filter = GeneralFilter(filter) } }
    /// Returns a copy that is prepared and formatted there, as far as its types allow.
    public func formattingContext(_ context: FormattingContext) -> Self { changing { $0.formattingContext = context } }
    /// Adds an accessory, inside those that are there.
    public func accessory(_ accessory: any Accessory) -> Self { changing { $0.accessories.append(accessory) } }
    /// Returns a copy with a mark for scopes and accessories.
    public func tag(_ tag: String) -> Self { changing { $0.tag = tag } }
    /// Returns a copy that carries a value to later stages, in ``RequestContext/attributes``.
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
        GeneralRequest<Other>(base, formatter: formatter)
    }

    private func changing(_ change: (inout RequestValues) -> Void) -> Self {
        var copy = self
        change(&copy.base)
        return copy
    }
}

/// The filter of a ``GeneralRequest``: the inherited one, or any.
enum GeneralFilter: ResponseFilter {
    case inherited
    case filter(any ResponseFilter)

    init<F: ResponseFilter>(_ filter: F) {
        // Types are compared, for a cast costs as much as all other settings of a send.
        if F.self == GeneralFilter.self, let general = filter as? GeneralFilter {
            self = general
        } else {
            self = F.self == InheritedFilter.self ? .inherited : .filter(filter)
        }
    }

    func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        switch self {
        case .inherited: try InheritedFilter().filter(response, for: context)
        case .filter(let filter): try filter.filter(response, for: context)
        }
    }

    func recovers(from failure: any Error, in response: RawResponse) -> Bool {
        switch self {
        case .inherited: false
        case .filter(let filter): filter.recovers(from: failure, in: response)
        }
    }
}

extension RequestValues: Request {
    typealias Model = JSONValue
    var formatter: JSONValueFormatter { JSONValueFormatter() }
}
