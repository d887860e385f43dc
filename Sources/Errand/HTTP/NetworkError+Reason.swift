extension NetworkError {
    /// The detailed reason of an error.
    ///
    /// Cases may be added, so a `switch` needs a `default`.
    @nonexhaustive
    public enum Reason: Sendable, Hashable {
        // Nothing was sent.
        /// The URL cannot be used: it has no host, another scheme than http or https, or a spelling that the transport or
        /// App Transport Security does not accept, or a path needs a base URL and there is none. The text is the reason.
        case invalidURL(String)
        /// The request cannot be sent, such as because of its method, a header field, its body or its type. The text is the
        /// problem and what to do.
        case invalidRequest(String)
        /// Parameters, a body or a credential cannot be represented in the chosen format.
        case unencodable(String)
        /// The link to the next page leads to another origin, to an earlier page, or nowhere, or there are too many pages; the
        /// text is the reason.
        case invalidLink(String)

        // The request was rejected by a client-side policy.
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
        /// The host name of the proxy could not be resolved, or it accepts no connections at its port; the text is the reason.
        case proxyUnreachable(String)
        /// The proxy of the environment or the configuration has a scheme or a spelling that is not supported.
        case invalidProxy

        // The connection was lost.
        /// The server reset the connection.
        case connectionReset
        /// The server closed the connection without sending a response.
        case closedWithoutResponse
        /// The server closed the connection before the body was complete.
        case closedInBody
        /// A TLS connection ended, and with it a body without a length, without `close_notify`, so the body may have been
        /// cut (RFC 9112, section 9.8).
        case closedWithoutCloseNotify
        /// The request could not be sent completely.
        case sendFailed

        // The body of the request failed, so the request was not sent completely.
        /// A file of the body could not be read while it was sent, or was changed or replaced after the request was built, or a
        /// ``BodyReader`` returned an impossible count; the text is the reason. An error that a source itself throws reaches
        /// the caller unchanged.
        case bodyUnreadable(String)

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

        // The response is not valid HTTP.
        /// The status line, a header field, the framing or the range of the response is not valid; the text is the reason.
        case invalidResponse(String)
        /// The header section of the response is larger than the transport accepts.
        case headerSectionTooLarge
        /// The transport does not support the content coding, or its data is damaged; the description names both.
        ///
        /// An error response is rejected by its status instead, with its content as it was received.
        case invalidContentCoding

        // A redirect was not followed.
        /// A redirect cannot be followed, leads from https to http, or is one too many; the text is the reason.
        case invalidRedirect(String)

        // The response was rejected.
        /// The request's ``Acceptance`` does not include the status.
        case status(Int)
        /// The request's ``Acceptance`` does not include the media type, which is `none` if the response has none.
        case contentType(String)
        /// The decoded body of a response that is not rejected otherwise is larger than this number of bytes.
        case bodyTooLarge(limit: Int)
        /// The decoded body is a large multiple of its `Content-Length`, as in a decompression bomb, or a line or an event
        /// of a stream is too long; the text is the reason, with the limit.
        case tooLarge(String)
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
        /// The downloaded bytes have another SHA-256, or are more or less, than expected; the text is the reason.
        case unexpectedContent(String)

        /// The system's error message, with secrets removed.
        case other(String)
    }
}

extension NetworkError.Reason {
    /// What a caller can do about the reason.
    public var kind: NetworkError.Kind {
        switch self {
        case .invalidURL, .invalidRequest, .unencodable, .invalidLink: .invalidRequest
        case .credentialChanged, .circuitOpen, .tooSoon, .duplicate, .superseded, .downloadInProgress: .rejected
        case .refreshFailed, .excessiveRefresh: .unauthenticated
        case .hostNotFound, .connectionRefused, .noConnection, .proxyRefused, .proxyUnreachable, .invalidProxy:
            .unreachable
        case .connectionReset, .closedWithoutResponse, .closedInBody, .closedWithoutCloseNotify, .sendFailed:
            .connectionLost
        case .idleTimeout, .deadlineExceeded: .timedOut
        case .certificateRefused, .tlsHandshakeFailed: .insecureConnection
        case .invalidResponse, .headerSectionTooLarge, .invalidContentCoding: .invalidResponse
        case .invalidRedirect: .redirectRefused
        case .status: .unacceptableStatus
        case .contentType, .invalidJSON, .shape, .unexpectedContent: .unacceptableContent
        case .bodyTooLarge, .tooLarge: .tooLarge
        case .envelope, .path, .model: .undecodable
        case .notCached: .cacheMiss
        case .fileUnusable, .bodyUnreadable: .unusableFile
        case .other: .unknown
        }
    }
}

/// Reasons with a text that stands in several places.
extension NetworkError.Reason {
    private static let notAToken = "not a token of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110)"

    package static let invalidMethod = Self.invalidRequest("the method is \(notAToken)")

    package static func invalidHeaderName(_ mistake: String) -> Self {
        .invalidRequest("\(mistake); it is \(notAToken)")
    }

    package static func unsupportedScheme(_ scheme: String) -> Self {
        .invalidURL("the scheme '\(scheme.shortened(to: 100))' is not supported; use http or https")
    }

    package static let unsupportedHost = unsupportedHost("as given")

    package static func unsupportedHost(_ host: String, orElse advice: String = "") -> Self {
        .invalidURL(
            "the host '\(host.shortened(to: 300))' cannot be used in this spelling on this platform; use a host name\(advice)"
        )
    }

    package static let bodyAlreadySent = Self.invalidRequest(
        "the body can be read only once and was sent already; make it replayable, or send the request once"
    )

    package static let bodyNotRead = Self.bodyUnreadable("the request's body could not be read while it was sent")

    package static func parametersNotAnObject(_ value: Any) -> Self {
        .unencodable("the parameters of \(type(of: value)) do not encode to names and values")
    }

    /// A formatter cannot create the model's type.
    package static func unsupportedModel(_ type: Any.Type) -> Self {
        .invalidRequest("\(type) is not Decodable where it is formatted; give the request a formatter")
    }

    package static func notOneRequest(_ name: String) -> Self {
        .invalidRequest("\(name) has no single response; use send, start or results")
    }

    package static let proxyNotFound = Self.proxyUnreachable("the host name of the proxy is not known")

    package static let proxyConnectionRefused = Self.proxyUnreachable(
        "the proxy refused the connection; nothing listens there, or a firewall is in between"
    )

    package static let malformedStatusLine = Self.invalidResponse(
        "the response does not begin with a status line of HTTP/1.x or 2"
    )

    package static let malformedHeader = Self.invalidResponse("a header line of the response is malformed")

    package static let malformedChunk = Self.invalidResponse("a chunk of the response is malformed")

    package static let invalidContentLength = Self.invalidResponse("the Content-Length of the response is not a length")

    package static func unexpectedRange(_ text: String) -> Self {
        .invalidResponse("the server returned a part that was not requested: \(text.shortened())")
    }

    package static func decompressionRatio(limit: Int) -> Self {
        .tooLarge(
            "the body decompressed to more than \(limit) times its size; raise limits.maximumExpansion to allow it"
        )
    }

    package static func lineTooLong(limit: Int) -> Self {
        .tooLarge("a line is longer than \(limit) bytes; raise maximumByteCount to allow it")
    }

    package static func eventTooLarge(limit: Int) -> Self {
        .tooLarge("an event is larger than \(limit) bytes; raise maximumEventSize to allow it")
    }

    package static func unexpectedLength(_ expected: Int64, _ actual: String) -> Self {
        .unexpectedContent("\(expected) bytes were expected, and \(actual)")
    }
}
