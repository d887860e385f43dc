/// An API that is a procedure of JSON-RPC 2.0.
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
/// Method, body, attributes and filter follow from ``call``; a request that sets ``Request/attributes`` itself adds those
/// of the call, or its answer's id is not checked.
public protocol JSONRPCRequest<Model>: Request {
    /// The type of ``Request/filter``.
    associatedtype Filter = JSONRPCFilter

    /// The type of ``Request/formatter``.
    associatedtype Formatter = JSONRPCFormatter<Model>

    /// The procedure and its arguments.
    var call: JSONRPCCall<Model> { get throws }
}

extension JSONRPCRequest {
    /// The default: `POST`.
    public var method: HTTPMethod { .post }
    /// The default: the ``call``.
    public var body: RequestBody { get throws { .call(try call) } }
    /// The default: the id of the ``call``.
    public var attributes: [String: any Sendable] {
        // What making the call throws is thrown where the body is made.
        (try? call).map { [JSONRPCID.attribute: $0.id] } ?? [:]
    }
}

extension JSONRPCRequest where Filter == JSONRPCFilter {
    /// The default: one that checks the id.
    public var filter: JSONRPCFilter { JSONRPCFilter() }
}

extension JSONRPCRequest where Formatter == JSONRPCFormatter<Model> {
    /// The default: the JSON of the result.
    public var formatter: JSONRPCFormatter<Model> { JSONRPCFormatter() }
}

extension GeneralRequest {
    /// Sends a call of JSON-RPC 2.0; its result becomes the model.
    public func calling<Value>(_ call: JSONRPCCall<Value>) -> GeneralRequest<JSONRPCFormatter<Value>> {
        posting(.call(call)).attribute(JSONRPCID.attribute, call.id).filter(JSONRPCFilter())
            .formatted(by: JSONRPCFormatter())
    }

    /// Sends several calls of JSON-RPC 2.0 at once.
    ///
    /// - Parameter calls: Calls with different ids; those without one are notifications.
    /// - Returns: A request whose model has the answers by their calls.
    public func calling<each Value>(
        batch calls: repeat JSONRPCCall<each Value>
    ) -> GeneralRequest<JSONRPCBatchFormatter> {
        var messages: [JSONRPCMessage] = []
        repeat messages.append(JSONRPCMessage(each calls))
        let request = posting(.json(Result { try JSONRPCMessage.json(messages) }))
            .filter(JSONRPCBatchFilter())
            .formatted(by: JSONRPCBatchFormatter())
        let isNotification = messages.allSatisfy { $0.id == .absent }
        return isNotification ? request.attribute(JSONRPCID.attribute, JSONRPCID.absent) : request
    }

    private func posting(_ body: RequestBody) -> Self { method(.post).body(body) }
}
