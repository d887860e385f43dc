internal import Foundation

/// A JSON-RPC 2.0 call whose result is a `Value`.
///
/// ```swift
/// let sum = try await agent.send(GeneralRequest("/rpc").calling(JSONRPCCall<Int>("subtract", [42, 23])))
/// ```
///
/// Source: the specification at jsonrpc.org, sections 4 and 6.
public struct JSONRPCCall<Value>: Sendable {
    /// The name of the method.
    public let method: String
    /// The arguments, an array or an object, or `nil` to send none.
    public let params: JSONValue?
    /// The identifier, which the response repeats.
    public let id: JSONRPCID

    /// Creates a call.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - params: The arguments, an array or an object, or `nil` to send none.
    ///   - id: The identifier, which the response repeats. HTTP already pairs requests and responses, so the default of
    ///     `1` is enough for a single call, and makes equal calls equal requests. The calls of a batch need different
    ///     identifiers. ``JSONRPCID/absent`` makes the call a notification, which has no response.
    public init(_ method: String, _ params: JSONValue? = nil, id: JSONRPCID = 1) {
        self.method = method
        self.params = params
        self.id = id
    }

    /// Creates a call with named arguments, the stored properties of a value.
    ///
    /// - Throws: The error of `encode(to:)`, or `EncodingError` for what JSON cannot represent.
    public init(_ method: String, encoding params: some Encodable, id: JSONRPCID = 1) throws {
        self.init(method, try LosslessJSONEncoder().value(of: params, .init(omitsNil: true)) ?? .null, id: id)
    }
}

/// The identifier of a JSON-RPC call, which its response repeats: an integer, a string, or none.
public enum JSONRPCID: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringInterpolation {
    /// An integer.
    case integer(Int)
    /// A string; `"1"` and `1` are different.
    case string(String)
    /// None; the call is a notification.
    case absent

    /// The key in ``RequestContext/attributes`` under which ``JSONRPCFilter`` finds the expected identifier.
    public static let attribute = "jsonrpc.id"

    /// Creates an identifier from an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Creates an identifier from a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Creates the identifier of a response, or returns `nil` if no call here can have it.
    init?(_ value: JSONValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .number(let number):
            guard let integer = number.int else { return nil }
            self = .integer(integer)
        default: return nil
        }
    }

    var json: JSONValue? {
        switch self {
        case .integer(let id): .number(JSONNumber(id))
        case .string(let id): .string(id)
        case .absent: nil
        }
    }
}

/// A call as it is sent, without the type of its result.
struct JSONRPCMessage: Sendable {
    let method: String
    let params: JSONValue?
    let id: JSONRPCID

    init<Value>(_ call: JSONRPCCall<Value>) { (method, params, id) = (call.method, call.params, call.id) }

    /// Returns the call as JSON.
    ///
    /// - Throws: ``NetworkError`` for arguments that are neither an array nor an object.
    func json() throws -> JSONValue {
        var object: JSONObject = ["jsonrpc": "2.0", "method": .string(method)]
        if let params {
            guard params.array != nil || params.object != nil else {
                throw NetworkError(.unencodable("the params of '\(method)' are neither an array nor an object"))
            }
            object["params"] = params
        }
        if let id = id.json { object["id"] = id }
        return .object(object)
    }

    /// Returns a batch as JSON.
    ///
    /// - Throws: ``NetworkError`` for a batch without calls, or with two of the same identifier.
    static func json(_ batch: [JSONRPCMessage]) throws -> JSONValue {
        guard !batch.isEmpty else { throw NetworkError(.unencodable("a JSON-RPC batch needs a call")) }
        let ids = batch.map(\.id).filter { $0 != .absent }
        guard Table(keys: ids).count == ids.count else {
            throw NetworkError(.unencodable("two calls of a JSON-RPC batch have the same id; give each its own"))
        }
        return .array(try batch.map { try $0.json() })
    }
}

extension RequestBody {
    /// Returns a body with a JSON-RPC 2.0 call.
    ///
    /// If the arguments are neither an array nor an object, building the request fails.
    public static func call<Value>(_ call: JSONRPCCall<Value>) -> RequestBody {
        var body = json(Result { try JSONRPCMessage(call).json() })
        body.callID = call.id
        return body
    }

    /// Returns a body with JSON, or with the error of creating it.
    static func json(_ value: Result<JSONValue, any Error>) -> RequestBody {
        RequestBody(content: .data(value.map(\.data), contentType: "application/json"))
    }
}
