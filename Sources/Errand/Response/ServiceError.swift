internal import Foundation

/// What a service reported inside an answer, such as `{"code": 40001, "msg": "no such user"}`.
public struct ServiceError: Error, Sendable, CustomStringConvertible {
    /// The service's code, one that its filter does not count as success.
    public let code: ServiceCode
    /// The service's own words; `nil` when it has none.
    public let message: String?
    /// What stood beside them where data stands in a success; `nil` when nothing did.
    public internal(set) var payload: Payload?
    /// What else the envelope held; `nil` when a filter of your own opened it.
    public let envelope: Envelope?
    /// The answer, with at most ``NetworkError/maximumBodyByteCount`` bytes of its body.
    public let response: RawResponse
    /// Whether the filter marks the code as one that need not be shown to anyone.
    public let isIgnorable: Bool
    /// The method of the request; `nil` when the error was not thrown in a send.
    var method: HTTPMethod?

    /// An error of your own filter; the body of its response is cut to ``NetworkError/maximumBodyByteCount`` bytes.
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

    /// Decodes what the service says of the error, as a type of its own.
    ///
    /// - Parameters:
    ///   - type: What to decode; an Optional takes a payload that is absent.
    ///   - path: The way from ``payload``; from the whole body when it begins with `~`.
    /// - Returns: The value.
    /// - Throws: ``NetworkError`` when it does not fit, or what the type's own `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type = T.self, at path: JSONPath = .payload) throws -> T {
        if let payload { return try payload.decode(type, at: path) }
        if let envelope { return try Payload.null(in: envelope.response.body).decode(type, at: path) }
        // Nobody has read the body of an error of the user's own.
        return try Payload(Payload.nullText, root: response.body).decode(type, at: path)
    }

    /// One sentence: method, host, port and path, the code, the service's words and the status; neither query nor body.
    ///
    /// A code that is a string stands in quotation marks. Control characters of the service's words are escaped.
    public var description: String {
        let place = [method?.rawValue, response.url.place].compactMap(\.self).filter { !$0.isEmpty }
        return ((place.isEmpty ? "" : place.joined(separator: " ") + ": ") + detail).oneLine
    }

    /// The description without its place.
    var detail: String {
        let words = message.flatMap { $0.isBlank ? nil : ": \($0.shortened())" } ?? ""
        return "the service reported \(code.quoted.shortened(to: 100))\(words) (status \(response.statusCode))".oneLine
    }
}

extension Error {
    /// This error; a service's decodes its payload with the decoder of the request, and tells its method.
    func decoding(with decoder: any DataDecoder, method: HTTPMethod) -> any Error {
        guard var error = self as? ServiceError else { return self }
        error.payload?.decoder = decoder
        error.method = error.method ?? method
        return error
    }
}

/// A service's code for what happened: an integer or a string.
///
/// `1` and `"1"` are different codes. A JSON Bool is read as `"true"` or `"false"`, a number that is not whole as its
/// digits.
public enum ServiceCode: Sendable, Hashable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// A whole number.
    case integer(Int)
    /// Any other code.
    case string(String)

    /// Takes a whole number.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Takes a text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// The code that a JSON value stands for; `nil` for what is neither a whole number, a string nor a Bool.
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

    /// The code for a sentence, in which `0` and `"0"` are two.
    var quoted: String {
        switch self {
        case .integer(let code): "\(code)"
        case .string(let code): "\"\(code)\""
        }
    }
}
