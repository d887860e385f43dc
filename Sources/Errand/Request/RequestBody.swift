public import Foundation

/// What a request carries after its head.
///
/// Spelling in a request: `var body: RequestBody { .json(order) }`, or `{ get throws { … } }` where making it can fail.
public struct RequestBody: Sendable {
    enum Content: Sendable {
        case automatic
        case empty
        case data(Result<Data, any Error>, contentType: String?)
        case form(Parameters, ParameterEncoding)
    }

    let content: Content

    /// From the parameters, as the ``ParameterEncoding`` says; the default.
    public static let automatic = RequestBody(content: .automatic)

    /// No body.
    public static let empty = RequestBody(content: .empty)

    /// These bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes; none means no body.
    ///   - contentType: The `Content-Type`; one among the request's headers wins.
    /// - Returns: The body.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(content: .data(.success(data), contentType: contentType))
    }

    /// A value as JSON, encoded here and now; what its `encode(to:)` throws is thrown when the request is built.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> RequestBody {
        RequestBody(content: .data(Result { try encoder.encode(value) }, contentType: "application/json"))
    }

    /// Names and values as `application/x-www-form-urlencoded`.
    public static func form(_ parameters: Parameters, encoding: ParameterEncoding = .form) -> RequestBody {
        RequestBody(content: .form(parameters, encoding))
    }

    /// Whether the body is made from the parameters.
    var isAutomatic: Bool { if case .automatic = content { true } else { false } }
}
