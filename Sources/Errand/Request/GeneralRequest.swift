/// A request that needs no type of its own: `GeneralRequest("/things").method(.post).parameters(["a": 1])`.
///
/// It has the defaults of ``Request``. Each modifier returns a changed copy. Without ``expecting(_:at:)`` or
/// ``formatted(by:)->GeneralRequest<Other>``, its model is a ``JSONValue``.
public struct GeneralRequest<Formatter: ResponseFormatter>: RequestWrapper, ModifiableRequest {
    /// The formatter's output.
    public typealias Model = Formatter.Output

    private(set) var base: DeclaredRequest
    private(set) var changes = RequestChanges.none
    /// The filter; see ``Request/filter`` and ``filter(_:)``.
    public var filter: some ResponseFilter { changes.value.filter ?? .inherited }
    /// The formatter; see ``Request/formatter``.
    public let formatter: Formatter
}

extension GeneralRequest where Formatter == JSONValueFormatter {
    /// Creates a request to a path, relative to the base URL or absolute, whose model is a ``JSONValue``.
    public init(_ path: String) { self.init(path, formatter: JSONValueFormatter()) }
}

extension GeneralRequest {
    /// Creates a request to a path, relative to the base URL or absolute, with a formatter that creates the model.
    @_disfavoredOverload  // otherwise the initializer for a `DefaultFormatter` would not be preferred
    public init(_ path: String, formatter: Formatter) {
        self.init(base: DeclaredRequest(path: path), formatter: formatter)
    }

    /// Creates a request to a path, relative to the base URL or absolute, whose model is formatted where its type is
    /// `Decodable`.
    public init<T: Decodable>(_ path: String, formatter: DefaultFormatter<T>) where Formatter == DecodableFormatter<T> {
        self.init(path, formatter: DecodableFormatter())
    }
}

extension GeneralRequest: Sendable where Formatter: Sendable {}

extension GeneralRequest {
    /// Returns a copy with another path, relative to the base URL or absolute.
    public consuming func path(_ path: String) -> Self {
        base = DeclaredRequest(path: path)
        return self
    }
    /// Returns a copy with another method.
    public consuming func method(_ method: HTTPMethod) -> Self { with { $0.method = method } }
    /// Returns a copy with another query, which replaces the present one.
    public consuming func query(_ query: Parameters) -> Self { with { $0.query = query } }
    /// Returns a copy with other parameters, which replace the present ones.
    public consuming func parameters(_ parameters: Parameters) -> Self { with { $0.parameters = parameters } }
    /// Returns a copy whose parameters are encoded in this way.
    public consuming func parameterEncoding(_ encoding: ParameterEncoding) -> Self {
        with { $0.parameterEncoding = encoding }
    }
    /// Returns a copy with another body.
    public consuming func body(_ body: RequestBody) -> Self { with { $0.body = body } }
    /// Returns a copy whose response is unwrapped by this filter instead of the service's or the config's.
    public consuming func filter(_ filter: any ResponseFilter) -> Self { with { $0.filter = GeneralFilter(filter) } }

    /// Returns a copy whose model is decoded as a type from a path of the payload.
    public consuming func expecting<T: Decodable>(_ type: T.Type, at path: JSONPath) -> GeneralRequest<JSONFormatter<T>>
    {
        formatted(by: JSONFormatter(at: path))
    }

    /// Returns a copy whose model is decoded from the complete payload: as JSON, or as text for `String` and bytes for
    /// `Data`.
    public consuming func expecting<T: Decodable & SendableMetatype>(
        _ type: T.Type
    ) -> GeneralRequest<DefaultFormatter<T>> {
        GeneralRequest<DefaultFormatter<T>>(base: base, changes: changes, formatter: DefaultFormatter())
    }

    /// Returns a copy whose model is decoded from the complete payload, by a type that may be `Decodable` only on an actor.
    public consuming func expecting<T: Decodable>(_ type: T.Type) -> GeneralRequest<DecodableFormatter<T>> {
        formatted(by: DecodableFormatter())
    }

    /// Returns a copy whose response must be accepted, and whose payload is not read.
    public consuming func expecting(_ type: Void.Type) -> GeneralRequest<VoidFormatter> {
        formatted(by: VoidFormatter())
    }

    /// Returns a copy whose model is created by a formatter.
    public consuming func formatted<Other: ResponseFormatter>(by formatter: Other) -> GeneralRequest<Other> {
        GeneralRequest<Other>(base: base, changes: changes, formatter: formatter)
    }

    /// Returns a copy whose model is created by the rule for its type, where that is `Decodable`.
    public consuming func formatted<T: Decodable>(
        by formatter: DefaultFormatter<T>
    ) -> GeneralRequest<DecodableFormatter<T>> {
        formatted(by: DecodableFormatter())
    }

    /// Returns a copy with a further change, which replaces an earlier one of the same member.
    public consuming func applying(_ modification: RequestModification) -> Self {
        modification.change(&changes.value)
        return self
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

/// A request with the defaults of ``Request``.
struct DeclaredRequest: Request {
    typealias Model = JSONValue
    let path: String
}
