public import Foundation

/// The final request, which adapters change and a ``Transport`` sends.
///
/// It is not a `URLRequest`, because that silently drops invalid header values.
public struct OutgoingRequest: Sendable {
    /// The method.
    ///
    /// It is validated as an RFC 9110 token before it is sent.
    public var method: HTTPMethod {
        get { parts.value.method }
        _modify { yield &parts.value.method }
    }

    /// The final URL: absolute, http or https.
    public var url: URL {
        get { parts.value.url }
        _modify { yield &parts.value.url }
    }

    /// The header fields, except those that the transport sets itself.
    public var headers: HTTPHeaders {
        get { parts.value.headers }
        _modify { yield &parts.value.headers }
    }

    /// The body.
    ///
    /// It must be empty with GET, HEAD and TRACE.
    public var body: OutgoingBody {
        get { parts.value.body }
        _modify {
            // First, because nothing follows the change if it ends with an error.
            parts.value.notes.isBodyNew = true
            yield &parts.value.body
        }
    }

    /// The notes of stages.
    var notes: Notes {
        _read { yield parts.value.notes }
        _modify { yield &parts.value.notes }
    }

    struct Notes: Sendable {
        /// The version of a session's credential that it contains, or `nil` if none.
        var credentialVersion: Int?
        /// What a session's credential has added, except to the body.
        var credential = AppliedCredential()
        /// The path as the request declares it, which is shown in place of the URL's path; `nil` after a redirect.
        var declared: DeclaredPath?
        /// The header fields that the cache has added to validate or complete a stored response; empty if none.
        var conditions = HTTPHeaders()
        /// Whether an authenticator has put the credential into the body.
        var hasCredentialInBody = false
        /// Whether the body was set since this was last `false`; two sources cannot be compared.
        var isBodyNew = true
    }

    /// The properties, behind one reference, because a request is passed on often.
    private struct Parts: Sendable {
        var method: HTTPMethod
        var url: URL
        var headers: HTTPHeaders
        var body: OutgoingBody
        var notes = Notes()
    }

    private var parts: Shared<Parts>

    /// Notes the places of the credential in a request that this one may have been made of.
    mutating func noteCredential(of other: OutgoingRequest) {
        if !other.notes.credential.isEmpty { notes.credential.formUnion(other.notes.credential) }
        if other.notes.hasCredentialInBody { notes.hasCredentialInBody = true }
    }

    /// Removes the body, and the header fields that describe it (RFC 9110, section 15.4, item 5, and the registry of field names).
    mutating func removeContent() {
        body = .empty
        headers = HTTPHeaders(headers.filter { !$0.describesContent })
    }

    /// Creates a request.
    ///
    /// It is validated when it is sent, not here.
    public init(method: HTTPMethod = .get, url: URL, headers: HTTPHeaders = [:], body: OutgoingBody = .empty) {
        parts = Shared(Parts(method: method, url: url, headers: headers, body: body))
    }

    /// Whether sending it twice has the same effect as sending it once: by its method, or because the server recognizes its
    /// `Idempotency-Key`.
    ///
    /// If not, a transport must not send it again when a connection is lost and it is not known what the server received.
    public var mayBeSentTwice: Bool {
        method.isIdempotent || headers.contains { $0.name.isSameFieldName(as: "Idempotency-Key") && !$0.value.isEmpty }
    }

    /// Adds `Accept-Encoding: identity` if the request has a range of bytes and no `Accept-Encoding` of its own.
    ///
    /// Such a range counts encoded bytes (RFC 9110, section 14.2), and a part of an encoded content cannot be decoded. A transport
    /// would otherwise accept every coding that it can decode.
    mutating func setCodingForRange() {
        guard !headers.isEmpty, let range = headers["Range"], range.lowercased().hasPrefix("bytes"),
            !headers.contains("Accept-Encoding")
        else { return }
        headers["Accept-Encoding"] = "identity"
    }

    /// The header fields that frame a message or belong to the connection, which only the transport sets.
    static let reservedHeaders = [
        "Content-Length", "Transfer-Encoding", "Connection", "Host", "Expect", "TE", "Trailer", "Upgrade", "Keep-Alive",
        "Proxy-Connection",
    ]

    /// Validates that nothing in the request can change the message on the wire, and that nothing would be dropped.
    ///
    /// - Throws: ``NetworkError`` of kind ``NetworkError/Kind/invalidRequest``.
    func validate() throws(NetworkError) {
        guard method == .get || !method.rawValue.isEmpty && method.rawValue.utf8.allSatisfy(\.isTokenCharacter) else {
            throw NetworkError(.invalidMethod)
        }
        for field in headers {
            try field.validate()
            if Self.reservedHeaders.contains(where: { $0.isSameFieldName(as: field.name) }) {
                throw NetworkError(
                    .invalidRequest(
                        "the header '\(field.name)' frames the message and is set by the transport; omit it"
                    )
                )
            }
        }
        guard body.isEmpty || !(method == .get || method == .head || method == .trace) else {
            throw NetworkError(
                .invalidRequest(
                    "a \(method) request has no body; use another method, or omit the body; parameters can be sent with .query"
                )
            )
        }
        try body.validateLength()
    }
}

extension NetworkError {
    /// Returns this error with the method, host and path of a request, unless it has them.
    func with(request: OutgoingRequest) -> NetworkError {
        with(url: request.url, method: request.method, path: request.notes.declared)
    }
}

extension HTTPHeaders.Field {
    /// Whether the field of a request describes its body.
    var describesContent: Bool {
        let name = name.fieldNameKey
        return name.hasPrefix("content-") || ["digest", "repr-digest", "last-modified"].contains(name)
    }

    /// Validates that the field is one line.
    func validate() throws(NetworkError) {
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else {
            throw NetworkError(.invalidHeaderName(mistakeInName))
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw NetworkError(
                .invalidRequest(
                    "the value of the header '\(name)' holds a line break, NUL or another control character; remove it"
                )
            )
        }
    }

    /// The first character that no name contains, for an error message; not the name, which may be a value in its place.
    private var mistakeInName: String {
        let scalars = Array(name.unicodeScalars)
        let place = scalars.firstIndex { !$0.isASCII || !UInt8($0.value).isTokenCharacter }
        return place.map { "a header name has '\(scalars[$0].escaped(asASCII: true))' as character \($0 + 1)" }
            ?? "a header name is empty"
    }
}
