public import Foundation

/// The body of a request.
///
/// In a request, write `var body: RequestBody { .json(order) }`, or `{ get throws { … } }` if creating it can fail.
public struct RequestBody: Sendable {
    enum Content: Sendable {
        case automatic
        case empty
        case data(Result<Data, any Error>, contentType: String?)
        case form(Parameters, ParameterEncoding)
        case source(any BodySource, contentType: String)
    }

    let content: Content

    /// A body from the parameters, if the ``ParameterEncoding`` puts them there; this is the default.
    public static let automatic = RequestBody(content: .automatic)

    /// No body.
    public static let empty = RequestBody(content: .empty)

    /// Returns a body of bytes.
    ///
    /// - Parameters:
    ///   - data: The bytes; if there are none, there is no body.
    ///   - contentType: The `Content-Type`; one in the request's headers takes precedence.
    /// - Returns: The body.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> RequestBody {
        RequestBody(content: .data(.success(data), contentType: contentType))
    }

    /// Returns a body of text in UTF-8.
    ///
    /// - Parameters:
    ///   - text: The text; if it is empty, there is no body.
    ///   - contentType: The `Content-Type`; one in the request's headers takes precedence.
    /// - Returns: The body.
    public static func text(_ text: String, contentType: String = "text/plain; charset=utf-8") -> RequestBody {
        data(Data(text.utf8), contentType: contentType)
    }

    /// Returns a body with an XML document in UTF-8 as `application/xml`.
    ///
    /// The encoding in the document's declaration, if it has one, must be UTF-8 (RFC 7303, section 3.2).
    public static func xml(_ document: String) -> RequestBody {
        text(document, contentType: "application/xml; charset=utf-8")
    }

    /// Returns a body whose bytes are supplied while they are sent.
    ///
    /// - Parameters:
    ///   - source: The source. Its ``BodySource/isReplayable`` decides whether the request may be sent again.
    ///   - contentType: The `Content-Type`; one in the request's headers takes precedence.
    /// - Returns: The body.
    public static func source(
        _ source: any BodySource,
        contentType: String = "application/octet-stream"
    ) -> RequestBody {
        RequestBody(content: .source(source, contentType: contentType))
    }

    /// Returns a body with a value as JSON.
    ///
    /// The value is encoded immediately; an error of its `encode(to:)` is thrown when the request is built.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) -> RequestBody {
        RequestBody(content: .data(Result { try encoder.encode(value) }, contentType: "application/json"))
    }

    /// Returns a body with names and values as `application/x-www-form-urlencoded`.
    public static func form(_ parameters: Parameters, encoding: ParameterEncoding = .form) -> RequestBody {
        RequestBody(content: .form(parameters, encoding))
    }

    /// Whether the body is made from the parameters.
    var isAutomatic: Bool { if case .automatic = content { true } else { false } }
}
