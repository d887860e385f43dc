/// A request that needs no type of its own: `GeneralRequest("/things").method(.post).parameters(["a": 1])`.
///
/// It has the defaults of ``Request``. Each modifier returns a changed copy. Without ``expecting(_:at:)`` or
/// ``formatted(by:)``, its model is a ``JSONValue``.
public struct GeneralRequest<Formatter: ResponseFormatter>: RequestWrapper {
    /// The formatter's output.
    public typealias Model = Formatter.Output

    /// The declared values, which the members of ``Request`` return.
    var base: RequestValues
    /// The filter; see ``Request/filter`` and ``filter(_:)``.
    public var filter: some ResponseFilter { base.filter }
    /// The formatter; see ``Request/formatter``.
    public let formatter: Formatter

    /// Creates a request to a path, relative to the base URL or absolute, with a formatter that creates the model.
    public init(_ path: String, formatter: Formatter) {
        self.init(RequestValues(path: path), formatter: formatter)
    }

    private init(_ values: RequestValues, formatter: Formatter) {
        base = values
        self.formatter = formatter
    }
}

extension GeneralRequest where Formatter == JSONValueFormatter {
    /// Creates a request to a path, relative to the base URL or absolute, whose model is a ``JSONValue``.
    public init(_ path: String) { self.init(path, formatter: JSONValueFormatter()) }
}

extension GeneralRequest: Sendable where Formatter: Sendable {}

extension GeneralRequest {
    /// Returns a copy with another path, relative to the base URL or absolute.
    public func path(_ path: String) -> Self { changing { $0.path = path } }
    /// Returns a copy that belongs to a service.
    public func service(_ service: Service) -> Self { changing { $0.service = service } }
    /// Returns a copy whose path is resolved against the CDN's URL, or against the base URL if `flag` is `false`.
    public func usingCDN(_ flag: Bool = true) -> Self { changing { $0.usesCDN = flag } }
    /// Returns a copy with another method.
    public func method(_ method: HTTPMethod) -> Self { changing { $0.method = method } }
    /// Returns a copy with another query, which replaces the present one.
    public func query(_ query: Parameters) -> Self { changing { $0.query = query } }
    /// Returns a copy with other parameters, which replace the present ones.
    public func parameters(_ parameters: Parameters) -> Self { changing { $0.parameters = parameters } }
    /// Returns a copy whose parameters are encoded in this way.
    public func parameterEncoding(_ encoding: ParameterEncoding) -> Self {
        changing { $0.parameterEncoding = encoding }
    }
    /// Returns a copy with another body.
    public func body(_ body: RequestBody) -> Self { changing { $0.body = body } }
    /// Returns a copy with a header field, which replaces those of the same name.
    public func header(_ name: String, _ value: String) -> Self { changing { $0.headers[name] = value } }
    /// Returns a copy with other header fields, which replace the present ones.
    public func headers(_ headers: HTTPHeaders) -> Self { changing { $0.headers = headers } }
    /// Returns a copy with other credentials, or with none if they are `.anonymous`.
    public func authorization(_ authorization: Authorization) -> Self { changing { $0.authorization = authorization } }
    /// Returns a copy that sends the credentials of the service and the config as this policy allows.
    public func credentialPolicy(_ policy: CredentialPolicy) -> Self { changing { $0.credentialPolicy = policy } }
    /// Returns a copy with another idempotency key.
    public func idempotencyKey(_ key: IdempotencyKey) -> Self { changing { $0.idempotencyKey = key } }
    /// Returns a copy that is sent with the header fields of the service and the config, or without them if `flag` is
    /// `false`.
    public func usingBaseHeaders(_ flag: Bool) -> Self { changing { $0.usesBaseHeaders = flag } }
    /// Returns a copy that is sent with the parameters of the service and the config, or without them if `flag` is
    /// `false`.
    public func usingBaseParameters(_ flag: Bool) -> Self { changing { $0.usesBaseParameters = flag } }
    /// Returns a copy that may use the cellular network, or may not if `flag` is `false`.
    public func allowingCellularAccess(_ flag: Bool) -> Self { changing { $0.allowsCellularAccess = flag } }
    /// Returns a copy with other limits of time and size; each that is `nil` is inherited.
    public func limits(_ limits: Limits) -> Self { changing { $0.limits = limits } }
    /// Returns a copy with another priority among waiting requests.
    public func priority(_ priority: Priority) -> Self { changing { $0.priority = priority } }
    /// Returns a copy with another retry policy.
    public func retryPolicy(_ policy: RetryPolicy) -> Self { changing { $0.retryPolicy = policy } }
    /// Returns a copy with another redirect policy.
    public func redirectPolicy(_ policy: RedirectPolicy) -> Self { changing { $0.redirectPolicy = policy } }
    /// Returns a copy with another cache policy.
    public func cachePolicy(_ policy: CachePolicy) -> Self { changing { $0.cachePolicy = policy } }
    /// Returns a copy with further components in its cache key.
    public func cacheIdentity(_ identity: CacheIdentity) -> Self { changing { $0.cacheIdentity = identity } }
    /// Returns a copy with another policy for duplicates in flight.
    public func duplicatePolicy(_ policy: DuplicatePolicy) -> Self { changing { $0.duplicatePolicy = policy } }
    /// Returns a copy that equals others of its type with this key; if the key is empty, equality depends on what is
    /// sent.
    public func duplicateKey(_ key: String) -> Self { changing { $0.duplicateKey = key } }
    /// Returns a copy with other conditions for accepting a response.
    public func acceptance(_ acceptance: Acceptance) -> Self { changing { $0.acceptance = acceptance } }
    /// Returns a copy whose response is unwrapped by this filter instead of the service's or the config's.
    public func filter(_ filter: any ResponseFilter) -> Self { changing { $0.filter = GeneralFilter(filter) } }
    /// Returns a copy that is prepared and formatted in this context, as far as its types allow.
    public func formattingContext(_ context: FormattingContext) -> Self { changing { $0.formattingContext = context } }
    /// Returns a copy with another accessory, which runs inside the present ones.
    public func accessory(_ accessory: any Accessory) -> Self { changing { $0.accessories.append(accessory) } }
    /// Returns a copy with a tag for scopes and accessories.
    public func tag(_ tag: String) -> Self { changing { $0.tag = tag } }
    /// Returns a copy that passes a value to later stages in ``RequestContext/attributes``.
    public func attribute(_ name: String, _ value: any Sendable) -> Self { changing { $0.attributes[name] = value } }

    /// Returns a copy whose model is decoded as a type from a path of the payload.
    public func expecting<T: Decodable>(_ type: T.Type, at path: JSONPath) -> GeneralRequest<JSONFormatter<T>> {
        formatted(by: JSONFormatter(at: path))
    }

    /// Returns a copy whose model is decoded from the whole payload: as JSON, or as text for `String` and bytes for
    /// `Data`.
    public func expecting<T: Decodable>(_ type: T.Type) -> GeneralRequest<DefaultFormatter<T>> {
        formatted(by: DefaultFormatter())
    }

    /// Returns a copy whose response must be accepted, and whose payload is not read.
    public func expecting(_ type: Void.Type) -> GeneralRequest<VoidFormatter> { formatted(by: VoidFormatter()) }

    /// Returns a copy whose model is created by a formatter.
    public func formatted<Other: ResponseFormatter>(by formatter: Other) -> GeneralRequest<Other> {
        GeneralRequest<Other>(base, formatter: formatter)
    }

    private func changing(_ change: (inout RequestValues) -> Void) -> Self {
        var copy = self
        change(&copy.base)
        return copy
    }
}

/// The filter of a ``GeneralRequest``: inherited, or any filter.
enum GeneralFilter: ResponseFilter {
    case inherited
    case filter(any ResponseFilter)

    init<F: ResponseFilter>(_ filter: F) {
        // Compares the types, because a cast takes as long as all other settings of a send.
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
