extension NetworkError {
    /// The detailed reason of an error.
    ///
    /// Cases may be added: include a `default` if you switch over it.
    public enum Reason: Sendable, Hashable {
        // Nothing was sent.
        /// A base URL is not an absolute http or https URL, or a path needs one and there is none.
        case invalidBaseURL(String)
        /// The URL cannot be formed; the text is the reason.
        case invalidURL(String)
        /// The URL's scheme is neither http nor https.
        case unsupportedScheme(String)
        /// The transport does not support the host in this spelling, such as ``URLSessionTransport`` an IPv6 literal on Linux.
        case unsupportedHost(String)
        /// The method is not a token as defined by RFC 9110.
        case invalidMethod
        /// The name of a header field is not a token as defined by RFC 9110.
        case invalidHeaderName
        /// The value of a header field contains CR, LF, NUL or another control character.
        case invalidHeaderValue(name: String)
        /// The header field frames the message and is set by the transport.
        case reservedHeader(name: String)
        /// The method allows no body, and the request has one.
        case bodyNotAllowed(HTTPMethod)
        /// The body can be read only once, and an interceptor sent it a second time.
        case bodyAlreadySent
        /// The parameters of this type are not encoded as an object.
        case parametersNotAnObject(String)
        /// A parameter, a body or a credential cannot be represented in the chosen format.
        case unencodable(String)
        /// A custom URLRequest has no URL, or has a body stream, which cannot be read twice.
        case invalidURLRequest(String)
        /// The formatter cannot create the model's type.
        case unsupportedModel(String)
        /// A request that consists of several requests, such as a batch or a chain, is used where a single one is
        /// required; the text is its name.
        case notOneRequest(String)
        /// A list had another page after ``Pages/maximumRequestCount`` pages; the number is how many were received.
        case tooManyPages(Int)

        // The request was rejected by a client-side policy.
        /// A send interceptor returned without running the send.
        case interceptedWithoutSending
        /// The credential that the send began with was replaced by another user's, or removed, before the request was
        /// sent; or all cookies were removed, and the send had some.
        case credentialChanged
        /// The circuit breaker of the host is open; the duration is the time until another attempt is admitted, unless an
        /// attempt in flight closes the circuit earlier.
        case circuitOpen(retryAfter: Duration)

        /// An equal send was admitted less than the request's minimum interval ago; the duration is the remaining time.
        case tooSoon(retryAfter: Duration)
        /// An equal send is in flight, and the request's policy is ``DuplicatePolicy/rejectNew``.
        case duplicate
        /// A newer equal request of a batch or chain replaced this one because of ``DuplicatePolicy/cancelPrevious``.
        case superseded

        // The authentication failed.
        /// The server did not accept the credential, and its refresh failed with the underlying error.
        case refreshFailed
        /// The server did not accept the credential, even after the maximum number of refreshes within a time window; the
        /// underlying error describes the rejected response.
        case excessiveRefresh(limit: Int, window: Duration)

        // No connection was made.
        /// The host name could not be resolved.
        case hostNotFound
        /// The host accepts no connections at the port.
        case connectionRefused
        /// This device has no network connection.
        case noConnection
        /// The proxy of the environment rejected the connection to the host with this status; 407 means that it
        /// requires credentials.
        case proxyRefused(statusCode: Int)
        /// The host name of the proxy could not be resolved.
        case proxyNotFound
        /// The proxy accepts no connections at its port.
        case proxyConnectionRefused
        /// The proxy of the environment or the configuration has a scheme or a spelling that is not supported.
        case invalidProxy

        // The connection was lost.
        /// The server reset the connection.
        case connectionReset
        /// The server closed the connection without sending a response.
        case closedWithoutResponse
        /// The server closed the connection before the body was complete.
        case closedInBody
        /// The request could not be sent completely.
        case sendFailed

        // The body of the request failed, so the request was not sent completely.
        /// A file of the body could not be read while it was sent, or a ``BodyReader`` returned an impossible count. An error
        /// that a source itself throws reaches the caller unchanged.
        case bodyUnreadable
        /// A file of the body was changed or replaced after the request was built; the text names the file.
        case bodyChanged(String)
        /// A source of the body supplied fewer or more bytes than its length, which the description states.
        case bodyLengthMismatch(expected: Int64)

        // A time limit was exceeded.
        /// No data was sent or received for this duration.
        case idleTimeout(Duration)
        /// The send took longer than this deadline.
        case deadlineExceeded(Duration)

        // TLS failed.
        /// The server's certificate could not be validated; the text is the reason.
        case certificateRefused(String)
        /// The TLS handshake failed for another reason than the server's certificate; the text is the reason.
        case tlsHandshakeFailed(String)
        /// App Transport Security on Apple platforms doesn't allow http for this host.
        case insecureSchemeNotAllowed

        // The response is not valid HTTP.
        /// The response does not begin with a status line.
        case malformedStatusLine
        /// A field line of the response is malformed.
        case malformedHeader
        /// The header section of the response is larger than the transport accepts.
        case headerSectionTooLarge
        /// The chunked framing of the response is malformed.
        case malformedChunk
        /// The `Content-Length` of the response is not a valid length.
        case invalidContentLength
        /// The content coding is not supported, or its data is corrupt.
        case invalidContentCoding

        // A redirect was not followed.
        /// There were more redirects than allowed.
        case tooManyRedirects(limit: Int)
        /// A redirect leads from https to http.
        case insecureRedirect
        /// A redirect cannot be followed; the text is the reason.
        case invalidRedirect(String)
        /// The link to the next page leads to another origin, to an earlier page, or nowhere; the text describes which.
        case invalidLink(String)

        // The response was rejected.
        /// The request's ``Acceptance`` does not include the status.
        case status(Int)
        /// The request's ``Acceptance`` does not include the media type, which is `none` if the response has none.
        case contentType(String)
        /// The decoded body is larger than this number of bytes.
        case bodyTooLarge(limit: Int)
        /// The decoded body is at least this multiple of its `Content-Length`, as in a decompression bomb.
        case decompressionRatio(limit: Int)
        /// A line of a ``ResponseStream`` has more than this number of bytes.
        case lineTooLong(limit: Int)
        /// A server-sent event has more than this number of bytes.
        case eventTooLarge(limit: Int)
        /// The body is not valid JSON, or is nested too deep.
        case invalidJSON(JSONError)
        /// The body does not have the shape that ``Acceptance/shape`` requires.
        case shape(JSONError)
        /// The envelope lacks what its filter requires.
        case envelope(String)
        /// A path does not exist in the payload, or has invalid syntax.
        case path(JSONError)
        /// The payload cannot be decoded as a model of this type.
        case model(type: String, detail: String)
        /// Only a cached response was allowed, and there is none.
        case notCached

        // The file of an upload or a download.
        /// A file of a request's body cannot be sent, or a file or folder of a download cannot be used; the text is its name
        /// with the reason. Of its path, it contains at most the folder that a download's file is in.
        case fileUnusable(String)
        /// Another download to the same file is running, in this process or another one; the text is its name.
        case downloadInProgress(String)
        /// The downloaded bytes have another SHA-256 than expected; both are hexadecimal.
        case unexpectedDigest(expected: String, actual: String)
        /// The downloaded bytes are more or less than expected.
        case unexpectedLength(expected: Int64, actual: Int64)
        /// The part that the server returned is not the one that was requested.
        case unexpectedRange(String)

        /// The system's error message, with secrets removed.
        case other(String)
    }
}

extension NetworkError.Reason {
    /// What a caller can do about the reason.
    public var kind: NetworkError.Kind {
        switch self {
        case .invalidBaseURL, .invalidURL, .unsupportedScheme, .unsupportedHost, .invalidMethod, .invalidHeaderName,
            .invalidHeaderValue, .reservedHeader, .bodyNotAllowed, .parametersNotAnObject, .unencodable,
            .invalidURLRequest, .unsupportedModel, .notOneRequest, .tooManyPages, .invalidLink,
            .bodyAlreadySent, .bodyLengthMismatch:
            .invalidRequest
        case .interceptedWithoutSending, .credentialChanged, .circuitOpen, .tooSoon, .duplicate, .superseded: .rejected
        case .refreshFailed, .excessiveRefresh: .unauthenticated
        case .hostNotFound, .connectionRefused, .noConnection, .proxyRefused, .proxyNotFound,
            .proxyConnectionRefused, .invalidProxy:
            .unreachable
        case .connectionReset, .closedWithoutResponse, .closedInBody, .sendFailed: .connectionLost
        case .idleTimeout, .deadlineExceeded: .timedOut
        case .certificateRefused, .tlsHandshakeFailed, .insecureSchemeNotAllowed: .insecureConnection
        case .malformedStatusLine, .malformedHeader, .headerSectionTooLarge, .malformedChunk, .invalidContentLength,
            .invalidContentCoding:
            .invalidResponse
        case .tooManyRedirects, .insecureRedirect, .invalidRedirect: .redirectRefused
        case .status: .unacceptableStatus
        case .contentType, .invalidJSON, .shape: .unacceptableContent
        case .bodyTooLarge, .decompressionRatio, .lineTooLong, .eventTooLarge: .tooLarge
        case .envelope, .path, .model: .undecodable
        case .notCached: .cacheMiss
        case .fileUnusable, .bodyUnreadable, .bodyChanged: .unusableFile
        case .downloadInProgress: .rejected
        case .unexpectedDigest, .unexpectedLength: .unacceptableContent
        case .unexpectedRange: .invalidResponse
        case .other: .unknown
        }
    }
}
