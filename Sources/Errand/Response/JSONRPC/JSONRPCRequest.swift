/// A request that calls a JSON-RPC 2.0 method.
///
/// ```swift
/// struct Subtract: JSONRPCRequest {
///     typealias Model = Int
///     let numbers: [Int]
///     var path: String { "/rpc" }
///     var call: JSONRPCCall<Int> { JSONRPCCall("subtract", .array(numbers.map(JSONValue.init))) }
/// }
/// ```
///
/// Method, body and filter are derived from ``call``, which is read once for each send. A request that declares
/// ``Request/body`` itself makes it by ``RequestBody/call(_:)``; otherwise the response's identifier is not checked.
public protocol JSONRPCRequest<Model>: Request {
    /// The type of ``Request/filter``.
    associatedtype Filter = JSONRPCFilter

    /// The type of ``Request/formatter``.
    associatedtype Formatter = JSONRPCFormatter<Model>

    /// The method name and its arguments.
    var call: JSONRPCCall<Model> { get throws }
}

extension JSONRPCRequest {
    /// The default: `POST`.
    public var method: HTTPMethod { .post }
    /// The default: the ``call``.
    public var body: RequestBody { get throws { .call(try call) } }
}

extension JSONRPCRequest where Filter == JSONRPCFilter {
    /// The default: a filter that checks the identifier.
    public var filter: JSONRPCFilter { JSONRPCFilter() }
}

extension JSONRPCRequest where Model: Decodable, Formatter == JSONRPCFormatter<Model> {
    /// The default: the JSON of the result.
    public var formatter: JSONRPCFormatter<Model> { JSONRPCFormatter() }
}

extension JSONRPCRequest where Model == Void, Formatter == JSONRPCFormatter<Void> {
    /// The default for `Void`: reads nothing.
    public var formatter: JSONRPCFormatter<Void> { JSONRPCFormatter() }
}

extension GeneralRequest {
    /// Returns a copy that sends a JSON-RPC 2.0 call, whose result becomes the model.
    public func calling<Value: Decodable>(_ call: JSONRPCCall<Value>) -> GeneralRequest<JSONFormatter<Value>> {
        sending(call).formatted(by: JSONFormatter())
    }

    /// Returns a copy that sends a JSON-RPC 2.0 call, whose result becomes the model, or is not read for `Void`.
    public func calling<Value>(_ call: JSONRPCCall<Value>) -> GeneralRequest<JSONRPCFormatter<Value>> {
        sending(call).formatted(by: JSONRPCFormatter())
    }

    private func sending<Value>(_ call: JSONRPCCall<Value>) -> Self {
        method(.post).body(.call(call)).filter(JSONRPCFilter())
    }
}

/// A formatter that decodes the result of a call from its JSON, also for a `String`, and reads nothing for `Void`.
public struct JSONRPCFormatter<Output>: ResponseFormatter, Sendable {
    /// Creates the formatter.
    public init() {}

    /// `true`.
    public var readsJSON: Bool { true }

    /// `true`: it decodes only what the payload guards.
    public var guardsItself: Bool { true }

    /// Decodes the result.
    ///
    /// - Parameter payload: The output of the filter.
    /// - Returns: The model.
    /// - Throws: ``NetworkError``, or an error of the type's own `init(from:)`.
    public func format(_ payload: Payload) throws -> Output {
        if Output.self == Void.self, let nothing = () as? Output { return nothing }
        guard let type = Output.self as? any Decodable.Type, let model = try payload.decode(type) as? Output else {
            throw NetworkError(.unsupportedModel(Output.self))
        }
        return model
    }
}
