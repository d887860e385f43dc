public import Foundation

extension NetworkError: CustomStringConvertible, LocalizedError {
    /// One sentence with the method, the URL, the reason and what to do, and the status and size of a response.
    ///
    /// It is safe to log. From the URL, it contains the host and the path as the request declares it; from a response, the
    /// status, the size and the media type. It contains no other value, with three exceptions:
    ///
    /// - The place in the body that is invalid or does not fit the model. Its names are the model's, or names that the server
    ///   sent: the keys of a dictionary, and members that are repeated or unexpected.
    /// - A `Content-Range` that was not requested.
    /// - The code and the message of a ``ServiceError`` that prevented the refresh of a credential.
    ///
    /// From ``underlying``, it contains at most the type, and the domain and code of an error of the system. The size is the
    /// size of the complete body, even if only its beginning is kept. Control characters are escaped.
    public var description: String {
        let path = (path ?? "").shortened()
        let place = [method?.rawValue, host.map { $0 + path } ?? requestName].compactMap(\.self)
        return ((place.isEmpty ? "" : place.joined(separator: " ") + ": ") + detail).oneLine
    }

    /// The description without method and URL.
    var detail: String {
        var text = failedRefresh ?? reason.sentence(note)
        var facts: [String] = []
        if let response {
            let type = response.mediaType.map { " of \($0.essence.shortened(to: 100))" } ?? ""
            facts.append("the response: status \(response.statusCode), \(response.bodyByteCount) bytes\(type)")
        }
        if attempts > 1 { facts.append("\(attempts) attempts") }
        if !facts.isEmpty { text += " (\(facts.joined(separator: "; ")))" }
        if isRetryBudgetExhausted { text += "; not retried: the retry budget of the host is exhausted" }
        if let retryObstacle { text += "; not retried: \(retryObstacle)" }
        return text.oneLine
    }

    /// Why a credential could not be refreshed, and what to do, or `nil` for another error.
    private var failedRefresh: String? {
        guard case .refreshFailed = reason, let underlying else { return nil }
        let cause = underlying is CancellationError ? "the refresh was cancelled" : underlying.shownDescription
        return "the credential could not be refreshed: \(cause)" + (failureOfRefresh == nil ? "; log in again" : "")
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

/// An error whose description contains no secret.
protocol RedactedError: Error, CustomStringConvertible {}

extension NetworkError: RedactedError {}

extension Error {
    /// The description of a library error, the domain and code of a system error, or the type of any other error, whose text
    /// may contain anything.
    var shownDescription: String {
        if let error = self as? any RedactedError { return error.description }
        let name = "\(type(of: self))"
        guard self is any CustomNSError || type(of: self) is NSError.Type else { return name.oneLine }
        let error = self as NSError
        return "\(name) (\(error.domain) \(error.code))".oneLine
    }
}

extension NetworkError.Reason {
    /// The reason and what to do, without a full stop.
    var sentence: String { sentence(nil) }

    /// Returns the reason and what to do, with what else is known.
    func sentence(_ note: String?) -> String {
        switch self {
        case .path(let error): if let note { return error.sentence(of: note) }
        case .invalidHeaderName: if let note { return "\(note); it is \(Self.notAToken)" }
        case .unexpectedLength(_, let actual) where note == nil:
            return sentenceWithoutNote + ", and \(actual) were downloaded"
        default: break
        }
        return sentenceWithoutNote + (note ?? "")
    }

    private static let notAToken = "not a token of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110)"

    private var sentenceWithoutNote: String {
        switch self {
        case .invalidBaseURL(let text): "\(text); give an absolute http or https URL with a host"
        case .invalidURL(let text): "the URL cannot be formed: \(text.shortened())"
        case .unsupportedScheme(let scheme):
            "the scheme '\(scheme.shortened(to: 100))' is not supported; use http or https"
        case .unsupportedHost(let host):
            "the host '\(host.shortened(to: 300))' cannot be used in this spelling on this platform; use a host name"
        case .invalidMethod: "the method is \(Self.notAToken)"
        case .invalidHeaderName: "a header name is \(Self.notAToken)"
        case .invalidHeaderValue(let name):
            "the value of the header '\(name)' holds a line break, NUL or another control character; remove it"
        case .reservedHeader(let name):
            "the header '\(name)' frames the message and is set by the transport; omit it"
        case .bodyNotAllowed(let method):
            "a \(method) request has no body; use another method, or omit the body; parameters can be sent with .query"
        case .bodyAlreadySent:
            "the body can be read only once and was sent already; make it replayable, or send the request once"
        case .parametersNotAnObject(let type): "the parameters of \(type) do not encode to names and values"
        case .unencodable(let text): text
        case .invalidURLRequest(let text): "the custom URLRequest cannot be sent: \(text)"
        case .unsupportedModel(let text): text
        case .notOneRequest(let name):
            "\(name) has no single response; use send, start or results"
        case .tooManyPages(let count):
            "there is a next page after \(count); check the name of the parameter, or stop at a limit with upTo:"
        case .interceptedWithoutSending: "a send interceptor returned without calling next; call it, or throw"
        case .credentialChanged:
            "the credential has changed since the request began; send it again if it is still wanted"
        case .circuitOpen(let pause): "the circuit breaker for this host is open; retry in \(pause.words)"
        case .tooSoon(let pause): "an equal request was sent less than its minimumInterval ago; retry in \(pause.words)"
        case .duplicate: "an equal request is in flight; wait for it, or set duplicatePolicy to .share"
        case .superseded:
            "a newer equal request took its place; give the requests different duplicate keys or another duplicatePolicy"
        case .refreshFailed:
            "the credential was rejected and could not be refreshed; log in again"
        case .excessiveRefresh(let limit, let window):
            "the credential was rejected after \(limit) refreshes in \(window); log in again"
        case .hostNotFound: "the host name is not known; check its spelling and the name server"
        case .connectionRefused: "the connection was refused; nothing listens there, or a firewall is in between"
        case .noConnection: "there is no connection to the network"
        case .proxyRefused(407):
            "the proxy refused the connection with status 407; pass the required credentials in the proxy variable or "
                + "the transport's configuration"
        case .proxyRefused(let status): "the proxy refused the connection with status \(status)"
        case .proxyNotFound:
            "the host name of the proxy is not known; check the proxy variables of the environment, or the transport's "
                + "configuration"
        case .proxyConnectionRefused:
            "the proxy refused the connection; nothing listens there, or a firewall is in between; check the proxy variables "
                + "of the environment, or the transport's configuration"
        case .invalidProxy:
            "the proxy cannot be used: its scheme or its spelling is not supported; check the proxy variables of the "
                + "environment, or the transport's configuration"
        case .connectionReset: "the connection was reset by the other side"
        case .closedWithoutResponse: "the connection was closed without a response"
        case .closedInBody: "the connection was closed before the body was complete"
        case .sendFailed: "the connection was lost while the request was being sent"
        case .bodyUnreadable: "the request's body could not be read while it was sent"
        case .bodyChanged(let text):
            "\(text.shortened(to: 300)) changed before it was sent completely; send the request again"
        case .bodyLengthMismatch(let count):
            "the byteCount of \(count) of the body is wrong; correct it, or omit it"
        case .idleTimeout(let duration): "nothing was sent or received for \(duration)"
        case .deadlineExceeded(let duration): "the deadline of \(duration) has passed"
        case .certificateRefused(let text): "the server's certificate is not trusted: \(text)"
        case .tlsHandshakeFailed(let text): "the TLS handshake failed: \(text)"
        case .insecureSchemeNotAllowed:
            "App Transport Security does not allow http for this host; use https, or add an exception to Info.plist"
        case .malformedStatusLine: "the response does not begin with a status line of HTTP/1.x or 2"
        case .malformedHeader: "a header line of the response is malformed"
        case .headerSectionTooLarge:
            "the header section is too large; raise limits.maximumHeaderSize to allow it, up to 300 KiB on Linux"
        case .malformedChunk: "a chunk of the response is malformed"
        case .invalidContentLength: "the Content-Length of the response is not a length"
        case .invalidContentCoding: "the response's content coding is unknown or its data damaged"
        case .tooManyRedirects(let limit): "there were more than \(limit) redirects"
        case .insecureRedirect: "a redirect from https to http is not followed"
        case .invalidRedirect(let text): "the redirect cannot be followed: \(text.shortened())"
        case .invalidLink(let text): "the link to the next page cannot be followed: \(text.shortened(to: 500))"
        case .decompressionRatio(let limit):
            "the body decompressed to more than \(limit) times its size; raise limits.maximumExpansion to allow it"
        case .status(let code): "the status \(code) is not acceptable"
        case .contentType(let type): "the content type '\(type.shortened(to: 100))' is not acceptable"
        case .bodyTooLarge(let limit):
            "the body is larger than \(limit) bytes; raise limits.maximumBodySize to allow it"
        case .lineTooLong(let limit): "a line is longer than \(limit) bytes; raise maximumByteCount to allow it"
        case .eventTooLarge(let limit): "an event is larger than \(limit) bytes; raise maximumEventSize to allow it"
        case .invalidJSON(let error) where error.isAboutEmptyText:
            "the body is empty, and JSON was expected; a request whose model is Void, without an envelope, needs no body"
        case .invalidJSON(let error): "the body is not valid JSON: \(error.sentence)"
        case .shape(let error): "the body does not have the expected shape: \(error.sentence)"
        case .envelope(let text): "the envelope cannot be opened: \(text.shortened())"
        case .path(let error): error.sentence(of: "the path")
        case .model(let type, let detail): "the payload cannot be decoded as \(type): \(detail)"
        case .notCached: "there is no cached response; use a policy that may send the request"
        case .fileUnusable(let text): "the file cannot be used: \(text)"
        case .downloadInProgress(let name):
            "another download to '\(name)' is running; wait for it, or choose another file"
        case .unexpectedDigest(let expected, let actual):
            "the file has the SHA-256 \(actual), and \(expected.shortened(to: 100)) was expected; it was removed"
        case .unexpectedLength(let expected, _): "\(expected) bytes were expected"
        case .unexpectedRange(let text): "the server returned a part that was not requested: \(text.shortened())"
        case .other(let text): text
        }
    }
}

extension JSONError {
    /// The sentence of an error about a path, which begins with the path.
    fileprivate func sentence(of path: String) -> String {
        "no value at \(path): \(sentence); paths start at the payload, or at the whole body with `~`"
    }
}
