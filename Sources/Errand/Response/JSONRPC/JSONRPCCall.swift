internal import Foundation

/// A call of JSON-RPC 2.0 whose result is a `Value`.
///
/// ```swift
/// let sum = try await agent.send(GeneralRequest("/rpc").calling(JSONRPCCall<Int>("subtract", [42, 23])))
/// ```
///
/// Source: the specification at jsonrpc.org, sections 4 and 6.
public struct JSONRPCCall<Value>: Sendable {
    /// The name of the procedure.
    public let method: String
    /// The arguments, an array or an object; `nil` sends none.
    public let params: JSONValue?
    /// What the answer repeats.
    public let id: JSONRPCID

    /// Declares a call.
    ///
    /// - Parameters:
    ///   - method: The name of the procedure.
    ///   - params: The arguments, an array or an object; `nil` sends none.
    ///   - id: What the answer repeats. HTTP pairs answers with requests already, so `1` will do for a call of its own,
    ///     and makes equal calls equal requests; those of a batch need different ones. ``JSONRPCID/absent`` makes the
    ///     call a notification, which is not answered.
    public init(_ method: String, _ params: JSONValue? = nil, id: JSONRPCID = 1) {
        self.method = method
        self.params = params
        self.id = id
    }

    /// Declares a call with arguments by name, the stored properties of a value.
    ///
    /// - Throws: What `encode(to:)` throws, and `EncodingError` for what JSON cannot hold.
    public init(_ method: String, encoding params: some Encodable, id: JSONRPCID = 1) throws {
        self.init(method, try JSONValueEncoder(omitsNil: true).encode(params), id: id)
    }
}

/// What a call of JSON-RPC has for its answer to repeat: an integer or a string, or nothing.
public enum JSONRPCID: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    /// An integer.
    case integer(Int)
    /// A string; `"1"` is not `1`.
    case string(String)
    /// None: the call is a notification.
    case absent

    /// The name among ``RequestContext/attributes`` under which ``JSONRPCFilter`` finds the id to be repeated.
    public static let attribute = "jsonrpc.id"

    /// Takes an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Takes a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// The id of an answer; `nil` for what is none that a call here can have.
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

/// A call without the type of its result, as it is sent.
struct JSONRPCMessage: Sendable {
    let method: String
    let params: JSONValue?
    let id: JSONRPCID

    init<Value>(_ call: JSONRPCCall<Value>) { (method, params, id) = (call.method, call.params, call.id) }

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

    /// - Throws: ``NetworkError`` for a batch without calls, or with two of the same id.
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
    /// A call of JSON-RPC 2.0; arguments that are neither an array nor an object fail when the request is built.
    public static func call<Value>(_ call: JSONRPCCall<Value>) -> RequestBody {
        json(Result { try JSONRPCMessage(call).json() })
    }

    /// JSON that may have failed to come about.
    static func json(_ value: Result<JSONValue, any Error>) -> RequestBody {
        RequestBody(content: .data(value.map(\.data), contentType: "application/json"))
    }
}
