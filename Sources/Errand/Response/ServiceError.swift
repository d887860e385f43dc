internal import Foundation

/// What a service reported inside an answer, such as `{"code": 40001, "msg": "no such user"}`.
public struct ServiceError: Error, Sendable, CustomStringConvertible {
    /// The service's code, one that its filter does not count as success.
    public let code: ServiceCode
    /// The service's own words; `nil` when it has none.
    public let message: String?
    /// What stood beside them where data stands in a success; `nil` when nothing did.
    public let payload: Payload?
    /// The answer, with at most ``NetworkError/maximumBodyByteCount`` bytes of its body.
    public let response: RawResponse
    /// Whether the filter marks the code as one that need not be shown to anyone.
    public let isIgnorable: Bool

    /// An error of your own filter; the body of its response is cut to ``NetworkError/maximumBodyByteCount`` bytes.
    public init(
        code: ServiceCode,
        message: String?,
        payload: Payload? = nil,
        response: RawResponse,
        isIgnorable: Bool = false
    ) {
        self.code = code
        self.message = message
        self.payload = payload
        self.response = response.bounded(to: NetworkError.maximumBodyByteCount)
        self.isIgnorable = isIgnorable
    }

    /// The code, the service's words, the status, the host and the path; neither query nor body.
    public var description: String {
        "the service reported \(code)" + (message.map { ": \($0)" } ?? "")
            + " (status \(response.statusCode), \(response.url.host() ?? "")\(response.url.path()))"
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
}
