public import Errand
public import Foundation

/// A filter whose work a typed mock can undo, as it can that of `EnvelopeFilter` and `JSONRPCFilter`.
///
/// Conform a filter of your own to it, in the tests, if requests with typed mocks have it.
public protocol ReversibleFilter: ResponseFilter {
    /// Returns the body of which the filter returns the payload.
    ///
    /// - Parameters:
    ///   - payload: The payload, such as JSON.
    ///   - request: The request.
    /// - Returns: The body.
    /// - Throws: An error that reaches the caller of the send, or is a 500 of a server.
    func body(around payload: Data, for request: MockRequest) throws -> Data

    /// Returns the body of which the filter throws an error.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - request: The request.
    /// - Returns: The body.
    /// - Throws: An error that reaches the caller of the send, or is a 500 of a server.
    func body(for error: ServiceError, to request: MockRequest) throws -> Data
}

extension EnvelopeFilter: ReversibleFilter {
    /// Returns an envelope with a code of success and the payload as its data.
    public func body(around payload: Data, for request: MockRequest) throws -> Data {
        let value = payload.isEmpty ? JSONValue.null : try JSONValue(parsing: payload)
        let code: JSONValue? =
            switch success {
            case .codes(let codes): codes.map(\.json).min { "\($0)" < "\($1)" }
            case .texts(let texts): texts.min().map { ServiceCode($0).json }
            case .status: 0
            }
        guard let code else { throw MockEncodingError("no code of the EnvelopeFilter is a success") }
        return try envelope(code, nil, value).data
    }

    /// Returns an envelope with the code, the message and the payload of the error.
    public func body(for error: ServiceError, to request: MockRequest) throws -> Data {
        try envelope(error.code.json, error.message, error.payload.map { try JSONValue(parsing: $0.data) }).data
    }

    private func envelope(_ code: JSONValue, _ message: String?, _ value: JSONValue?) throws -> JSONValue {
        let place = try data.get().steps[...]
        var body = place.isEmpty ? value ?? .null : .object(JSONObject())
        if let path = self.code { body = try code.placed(at: path.get().steps[...], in: body) }
        if let path = self.message, let message {
            body = try JSONValue.string(message).placed(at: path.get().steps[...], in: body)
        }
        if !place.isEmpty, let value { body = try value.placed(at: place, in: body) }
        return body
    }
}

extension JSONRPCFilter: ReversibleFilter {
    /// Returns the response to the call with the payload as its result.
    public func body(around payload: Data, for request: MockRequest) throws -> Data {
        try call(request, "result", payload.isEmpty ? .null : try JSONValue(parsing: payload))
    }

    /// Returns the response to the call with an error object.
    public func body(for error: ServiceError, to request: MockRequest) throws -> Data {
        var object: JSONObject = ["code": error.code.json, "message": .string(error.message ?? "")]
        object["data"] = try error.payload.map { try JSONValue(parsing: $0.data) }
        return try call(request, "error", .object(object))
    }

    private func call(_ request: MockRequest, _ name: String, _ value: JSONValue) throws -> Data {
        let id = try JSONValue(parsing: request.body)["id"] ?? .null
        return JSONValue.object(["jsonrpc": "2.0", "id": id, "\(name)": value]).data
    }
}

extension ServiceCode {
    /// A code of a text, which is an integer if it has only digits.
    fileprivate init(_ text: String) { self = Int(text).map(ServiceCode.integer) ?? .string(text) }

    fileprivate var json: JSONValue {
        switch self {
        case .integer(let code): .number(JSONNumber(code))
        case .string(let code): .string(code)
        }
    }
}
