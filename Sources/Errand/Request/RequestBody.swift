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
        case file(URL, contentType: String)
        case multipart(MultipartForm)
    }

    let content: Content
    /// The identifier of the JSON-RPC call that it is, or `nil`.
    var callID: JSONRPCID?

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

    /// Returns a body of a file, which is read while it is sent.
    ///
    /// The file that is sent is the one that exists when the request is built, which fails with
    /// ``NetworkError/Reason/fileUnusable(_:)`` if it cannot be read. If the file is changed or replaced
    /// afterward, also between two attempts, the send fails with ``NetworkError/Reason/bodyUnreadable(_:)``, and the server
    /// never receives a complete request. The body of an empty file is empty.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - contentType: The `Content-Type`; one in the request's headers takes precedence. `nil` means the media type for
    ///     the extension of the file, or else `application/octet-stream`.
    /// - Returns: The body.
    public static func file(_ url: URL, contentType: String? = nil) -> RequestBody {
        let guess = contentType ?? MediaType(forFileExtension: url.pathExtension)?.description
        return RequestBody(content: .file(url, contentType: guess ?? "application/octet-stream"))
    }

    /// Returns a body of chunks that a closure makes while they are sent.
    ///
    /// ```swift
    /// let body = RequestBody.stream(contentType: "text/csv") {
    ///     var rows = ["1;Ada", "2;Grace"].makeIterator()
    ///     return { rows.next().map { Data("\($0)\n".utf8) } }
    /// }
    /// ```
    ///
    /// Like a ``BodyReader``, the closures run on the queue that all transfers of the process share, so they must not
    /// wait. An error that they throw ends the send and reaches its caller unchanged.
    ///
    /// - Parameters:
    ///   - byteCount: The number of bytes of all chunks, or `nil` if it is not known; the body is then sent in chunks. If
    ///     there are fewer or more bytes, the attempt fails with ``NetworkError/Reason/invalidRequest(_:)``.
    ///   - contentType: The `Content-Type`; one in the request's headers takes precedence.
    ///   - isReplayable: Whether the outer closure can be called again and supplies the same bytes. If not, the request is
    ///     sent once: without retries, and without redirects and refreshes that would need the body again.
    ///   - makeChunks: Starts at the first chunk. It returns a closure that returns the next chunk at each call, and `nil`
    ///     at the end.
    /// - Returns: The body.
    public static func stream(
        byteCount: Int64? = nil,
        contentType: String = "application/octet-stream",
        isReplayable: Bool = true,
        _ makeChunks: @escaping @Sendable () throws -> () throws -> Data?
    ) -> RequestBody {
        source(
            ChunkSource(byteCount: byteCount, isReplayable: isReplayable, makeChunks: makeChunks),
            contentType: contentType
        )
    }

    /// Returns a body of a form with fields and files (`multipart/form-data`).
    ///
    /// - Parameter form: The form. Its `Content-Type` has a boundary that is made when the request is built, and replaces
    ///   one in the headers of request, service and config.
    /// - Returns: The body.
    public static func multipart(_ form: MultipartForm) -> RequestBody { RequestBody(content: .multipart(form)) }

    /// Returns a body of a form that a closure fills.
    ///
    /// ```swift
    /// var body: RequestBody {
    ///     get throws { try .multipart { form in try form.append(file: URL(filePath: "a.jpg"), name: "photo") } }
    /// }
    /// ```
    ///
    /// - Parameter fill: Appends the parts to an empty form.
    /// - Returns: The body; see ``multipart(_:)-(MultipartForm)``.
    /// - Throws: The error of the closure.
    public static func multipart(_ fill: (inout MultipartForm) throws -> Void) rethrows -> RequestBody {
        var form = MultipartForm()
        try fill(&form)
        return multipart(form)
    }

    /// Returns a body with a value as JSON.
    ///
    /// Its `Content-Type` is `application/json`. A `Content-Type` in the request's headers replaces it, and so does another
    /// JSON type in the headers of the service or the config, such as `application/vnd.api+json`.
    ///
    /// The value is encoded immediately; an error of its `encode(to:)` is thrown when the request is built.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder, such as a ``LosslessJSONEncoder`` or a `JSONEncoder` with strategies of your own, or `nil` for a
    ///     ``LosslessJSONEncoder``, with which equal values are equal bytes. With a `JSONEncoder`, the order of a `Set`, and of
    ///     keys that are not sorted, differs between processes, and so does the cache key of the request.
    /// - Returns: The body.
    public static func json(_ value: some Encodable, encoder: (any DataEncoder)? = nil) -> RequestBody {
        let encoded = Result {
            try encoder?.encode(value) ?? LosslessJSONEncoder().encode(value)
        }
        return RequestBody(content: .data(encoded, contentType: "application/json"))
    }

    /// Returns a body with names and values as `application/x-www-form-urlencoded`.
    public static func form(_ parameters: Parameters, encoding: ParameterEncoding = .form) -> RequestBody {
        RequestBody(content: .form(parameters, encoding))
    }

    /// Whether the body is made from the parameters.
    var isAutomatic: Bool { if case .automatic = content { true } else { false } }

    /// Whether the body is a form that is sent under a `Content-Type` of its own.
    var isMultipart: Bool { if case .multipart = content { true } else { false } }
}

/// A type that encodes values as bytes, such as `JSONEncoder`.
public protocol DataEncoder {
    /// Encodes a value.
    ///
    /// - Parameter value: The value.
    /// - Returns: The bytes.
    /// - Throws: `EncodingError`, or an error of the value's own `encode(to:)`.
    func encode<T: Encodable>(_ value: T) throws -> Data
}

/// Foundation's encoder, with the strategies that are set on it.
extension JSONEncoder: DataEncoder {}

/// What is encoded is not made a tree first.
extension LosslessJSONEncoder: DataEncoder {}
