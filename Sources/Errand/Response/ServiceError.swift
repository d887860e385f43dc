public import Foundation

/// An error that a service reported in its response, such as `{"code": 40001, "msg": "no such user"}`.
public struct ServiceError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The service's code, which the filter does not treat as success.
    public let code: ServiceCode
    /// The service's message, or `nil` if there is none.
    public let message: String?
    /// The value where a success has its data, or `nil` if there is none.
    public internal(set) var payload: Payload?
    /// The envelope, or `nil` if it was unwrapped by a custom filter.
    public let envelope: Envelope?
    /// The response, with at most ``NetworkError/maximumBodyByteCount`` bytes of its body.
    public let response: RawResponse
    /// Whether the filter marks the code as one that need not be shown to the user.
    public let isIgnorable: Bool
    /// The method of the request, or `nil` if the error was not thrown in a send.
    var method: HTTPMethod?

    /// Creates an error, for a custom filter; the response's body is truncated to ``NetworkError/maximumBodyByteCount``
    /// bytes.
    public init(
        code: ServiceCode,
        message: String?,
        payload: Payload? = nil,
        envelope: Envelope? = nil,
        response: RawResponse,
        isIgnorable: Bool = false
    ) {
        self.code = code
        self.message = message
        self.payload = payload
        self.envelope = envelope
        self.response = response.bounded(to: NetworkError.maximumBodyByteCount)
        self.isIgnorable = isIgnorable
    }

    /// Decodes the error's payload as a type of your own.
    ///
    /// - Parameters:
    ///   - type: The type to decode; an Optional accepts an absent payload.
    ///   - path: The path from ``payload``, or from the complete body if it begins with `~`.
    /// - Returns: The value.
    /// - Throws: ``NetworkError`` if the value does not fit, or an error of the type's own `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, at path: JSONPath = .payload) throws -> T {
        if let payload { return try payload.decode(type, at: path) }
        if let envelope { return try Payload.null(in: envelope.response.body).decode(type, at: path) }
        // The body of a user's own error has not been validated.
        return try Payload(Payload.nullText, root: response.body).decode(type, at: path)
    }

    /// One sentence with the method, host, port, path, code, message and status, without query and body.
    ///
    /// A code that is a string is quoted. Control characters in the service's message are escaped.
    public var description: String {
        let place = [method?.rawValue, response.place].compactMap(\.self).filter { !$0.isEmpty }
        return ((place.isEmpty ? "" : place.joined(separator: " ") + ": ") + detail).oneLine
    }

    /// The service's message, or the ``description`` if there is none, for `localizedDescription`.
    public var errorDescription: String? { message.flatMap { $0.isBlank ? nil : $0 } ?? description }

    /// The description without method and URL.
    var detail: String {
        let words = message.flatMap { $0.isBlank ? nil : ": \($0.shortened())" } ?? ""
        return "the service reported \(code.quoted.shortened(to: 100))\(words) (status \(response.statusCode))".oneLine
    }
}

extension Error {
    /// The response that the error is about, or `nil` if there is none.
    var rawResponse: RawResponse? { (self as? NetworkError)?.response ?? (self as? ServiceError)?.response }

    /// Returns this error; a ``ServiceError`` gets the request's decoder and method.
    func decoding(with decoder: any DataDecoder, method: HTTPMethod) -> any Error {
        guard var error = self as? ServiceError else { return self }
        error.payload?.decoder = decoder
        error.method = error.method ?? method
        return error
    }
}

/// A service's code: an integer or a string.
///
/// `1` and `"1"` are different codes. A JSON Bool is read as `"true"` or `"false"`, and a number that is not an integer
/// as its digits.
public enum ServiceCode: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// An integer.
    case integer(Int)
    /// Any other code.
    case string(String)

    /// Creates a code from an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Creates a code from a string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// Creates a code from a JSON value, or returns `nil` if it is not a number, a string or a Bool.
    init?(_ value: JSONValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .bool(let flag): self = .string(flag ? "true" : "false")
        case .number(let number): self = number.int.map(ServiceCode.integer) ?? .string(number.description)
        default: return nil
        }
    }

    /// The code as text, without quotation marks.
    public var description: String {
        switch self {
        case .integer(let code): "\(code)"
        case .string(let code): code
        }
    }

    /// The code for an error message, which distinguishes `0` from `"0"`.
    var quoted: String {
        switch self {
        case .integer(let code): "\(code)"
        case .string(let code): "\"\(code)\""
        }
    }
}

extension ServiceError: RedactedError {}

extension Error {
    /// The library's own error, or the one that rejected the response of a service's error: a code of the service does
    /// not replace a rejected status.
    var networkError: NetworkError? {
        self as? NetworkError ?? (self as? ServiceError)?.response.failure as? NetworkError
    }
}
