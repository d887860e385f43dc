extension NetworkError {
    /// What happened, in detail.
    ///
    /// New cases may come: keep a `default` when you switch over it.
    public enum Reason: Sendable, Hashable {
        // Nothing was sent.
        /// A base URL is neither absolute nor http(s), or a path needs one and there is none.
        case invalidBaseURL(String)
        /// The URL cannot be formed; the text says which part is wrong.
        case invalidURL(String)
        /// Only http and https are spoken.
        case unsupportedScheme(String)
        /// A host that this platform's transport cannot reach by this spelling, such as an IPv6 literal on Linux.
        case unsupportedHost(String)
        /// The method is not a token of RFC 9110.
        case invalidMethod
        /// A header name is not a token of RFC 9110.
        case invalidHeaderName
        /// A header value holds CR, LF, NUL or another control character.
        case invalidHeaderValue(name: String)
        /// The field frames the message and belongs to the transport.
        case reservedHeader(name: String)
        /// The method has no body, and the request has one.
        case bodyNotAllowed(HTTPMethod)
        /// The body can be read once, and an interceptor sent it a second time.
        case bodyAlreadySent
        /// The parameters of this type do not encode as an object with names.
        case parametersNotAnObject(String)
        /// A parameter or body cannot be written in the chosen format.
        case unencodable(String)
        /// A URLRequest of the caller's has no URL, or a stream for a body that cannot be read twice.
        case invalidURLRequest(String)
        /// The model's type and its formatter do not fit.
        case unsupportedModel(String)
        /// A batch, a chain or the like, where one request with one answer is wanted; the text names it.
        case notOneRequest(String)

        // This side said no.
        /// A send interceptor returned without having run the send.
        case interceptedWithoutAnswer
        /// The login that the send began with was replaced by another user's, or ended, before it was on the wire.
        case loginChanged
        /// The circuit of the host is open; the time is the least after which another try makes sense.
        case circuitOpen(retryAfter: Duration)

        /// An equal send was let through less than the request's minimum interval ago; the time is what is left of it.
        case tooSoon(retryAfter: Duration)
        /// An equal send is in flight, and the request says ``DuplicatePolicy/rejectNew``.
        case duplicate
        /// A newer equal request of a batch or chain took the place of this one, by ``DuplicatePolicy/cancelPrevious``.
        case superseded

        // The login.
        /// The credential was refused and its refresh failed; the error below says why.
        case refreshFailed
        /// The credential was refused, and so many refreshes in so much time did not help.
        case excessiveRefresh(limit: Int, window: Duration)

        // No connection.
        /// The name server does not know the host.
        case hostNotFound
        /// Nothing listens at the host and port.
        case connectionRefused
        /// This machine has no network.
        case noConnection
        /// The proxy of the environment refused to connect to the host, with this status; 407 means that it wants
        /// credentials.
        case proxyRefused(statusCode: Int)
        /// The name server does not know the host of the proxy.
        case proxyNotFound

        // The connection broke.
        /// The other side reset the connection.
        case connectionReset
        /// The server closed without an answer.
        case closedWithoutResponse
        /// The server closed before the body was whole.
        case closedInBody
        /// The request could not be sent whole.
        case sendFailed
        /// The body could not be read from its source while it was sent.
        case bodyUnreadable

        // Time.
        /// Nothing was sent or received for this long.
        case idleTimeout(Duration)
        /// The whole send took longer than this.
        case deadlineExceeded(Duration)

        // TLS.
        /// The server's certificate could not be validated; the text says why.
        case certificateRefused(String)
        /// The TLS handshake failed for another reason than the server's certificate; the text says why.
        case tlsHandshakeFailed(String)
        /// App Transport Security on Apple platforms doesn't allow http for this host.
        case insecureSchemeNotAllowed

        // Not HTTP.
        /// The answer does not begin with a status line.
        case malformedStatusLine
        /// A field line of the answer is malformed.
        case malformedHeader
        /// The head of the answer is larger than the transport takes.
        case headTooLarge
        /// The chunked framing of the answer is damaged.
        case malformedChunk
        /// The `Content-Length` of the answer is not a length.
        case invalidContentLength
        /// The content coding is unknown or its data damaged.
        case invalidContentCoding

        // A redirect is not followed.
        /// More hops than allowed.
        case tooManyRedirects(limit: Int)
        /// From https to http.
        case insecureRedirect
        /// The target is not an http or https URL.
        case invalidRedirect(String)

        // The answer is refused.
        /// ``Acceptance`` refuses the status.
        case status(Int)
        /// ``Acceptance`` refuses the media type; `none` when the answer states none.
        case contentType(String)
        /// The decoded body is larger than this many bytes.
        case bodyTooLarge(limit: Int)
        /// The body is larger than a multiple of what the head says it has on the wire: a decompression bomb.
        case decompressionRatio(limit: Int)
        /// The body is not JSON that may be decoded.
        case invalidJSON(JSONError)
        /// The body has another shape than ``Acceptance/shape``.
        case shape(JSONError)
        /// The envelope lacks what its filter needs.
        case envelope(String)
        /// A path leads nowhere in the payload, or is written wrongly.
        case path(JSONError)
        /// The payload does not become a model of this type.
        case model(type: String, detail: String)
        /// Only a stored answer was wanted, and there is none.
        case notCached

        /// What the system said, with secrets left out.
        case other(String)
    }
}

extension NetworkError.Reason {
    /// The decision that the reason leads to.
    public var kind: NetworkError.Kind {
        switch self {
        case .invalidBaseURL, .invalidURL, .unsupportedScheme, .unsupportedHost, .invalidMethod, .invalidHeaderName,
            .invalidHeaderValue, .reservedHeader, .bodyNotAllowed, .parametersNotAnObject, .unencodable,
            .invalidURLRequest, .unsupportedModel, .notOneRequest, .bodyAlreadySent:
            .invalidRequest
        case .interceptedWithoutAnswer, .loginChanged, .circuitOpen, .tooSoon, .duplicate, .superseded: .rejected
        case .refreshFailed, .excessiveRefresh: .unauthenticated
        case .hostNotFound, .connectionRefused, .noConnection, .proxyRefused, .proxyNotFound: .unreachable
        case .connectionReset, .closedWithoutResponse, .closedInBody, .sendFailed, .bodyUnreadable: .connectionLost
        case .idleTimeout, .deadlineExceeded: .timedOut
        case .certificateRefused, .tlsHandshakeFailed, .insecureSchemeNotAllowed: .insecureConnection
        case .malformedStatusLine, .malformedHeader, .headTooLarge, .malformedChunk, .invalidContentLength,
            .invalidContentCoding:
            .invalidResponse
        case .tooManyRedirects, .insecureRedirect, .invalidRedirect: .redirectRefused
        case .status: .unacceptableStatus
        case .contentType, .invalidJSON, .shape: .unacceptableContent
        case .bodyTooLarge, .decompressionRatio: .tooLarge
        case .envelope, .path, .model: .undecodable
        case .notCached: .cacheMiss
        case .other: .unknown
        }
    }
}
