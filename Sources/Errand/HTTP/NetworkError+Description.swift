public import Foundation

extension NetworkError: CustomStringConvertible, LocalizedError {
    /// One sentence with the method, the URL, the reason and what to do, and the status and size of a response.
    ///
    /// It is safe to log. From the URL, it contains the host and the path as the request declares it; from a response, the
    /// status, the size and the media type. It contains no other value, with four exceptions:
    ///
    /// - The place in the body that is invalid or does not fit the model. Its names are the model's, or names that the server
    ///   sent: the keys of a dictionary, and members that are repeated or unexpected.
    /// - A `Content-Range` that was not requested.
    /// - A `Content-Encoding` that cannot be decoded.
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
        var text = failedRefresh ?? reason.sentence(details.value.note)
        var facts: [String] = []
        if let response {
            let type = response.mediaType.map { " of \($0.essence.shortened(to: 100))" } ?? ""
            facts.append("the response: status \(response.statusCode), \(response.bodyByteCount) bytes\(type)")
        }
        if attempts > 1 { facts.append("\(attempts) attempts") }
        if !facts.isEmpty { text += " (\(facts.joined(separator: "; ")))" }
        if isRetryBudgetExhausted { text += "; not retried: the retry budget of the host is exhausted" }
        if let retryObstacle = details.value.retryObstacle { text += "; not retried: \(retryObstacle)" }
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
    package var shownDescription: String {
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
        if case .path(let error) = self, let note { return error.sentence(of: note) }
        return sentenceWithoutNote + (note ?? "")
    }

    private var sentenceWithoutNote: String {
        switch self {
        case .invalidURL(let text): "the URL cannot be used: \(text.shortened())"
        case .invalidRequest(let text), .unencodable(let text), .tooLarge(let text), .unexpectedContent(let text),
            .invalidResponse(let text), .bodyUnreadable(let text), .other(let text):
            text
        case .invalidLink(let text): "the link to the next page cannot be followed: \(text.shortened(to: 500))"
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
        case .proxyUnreachable(let text):
            "\(text); check the proxy variables of the environment, or the transport's configuration"
        case .invalidProxy:
            "the proxy cannot be used: its scheme or its spelling is not supported; check the proxy variables of the "
                + "environment, or the transport's configuration"
        case .connectionReset: "the connection was reset by the other side"
        case .closedWithoutResponse: "the connection was closed without a response"
        case .closedInBody: "the connection was closed before the body was complete"
        case .closedWithoutCloseNotify:
            "the TLS connection was closed without close_notify, so the body may have been cut; if the server never sends it, "
                + "set acceptsMissingCloseNotify of the transport's configuration"
        case .sendFailed: "the connection was lost while the request was being sent"
        case .idleTimeout(let duration): "nothing was sent or received for \(duration)"
        case .deadlineExceeded(let duration): "the deadline of \(duration) has passed"
        case .certificateRefused(let text): "the server's certificate is not trusted: \(text)"
        case .tlsHandshakeFailed(let text): "the TLS handshake failed: \(text)"
        case .headerSectionTooLarge:
            "the header section is too large; raise limits.maximumHeaderSize to allow it, up to 300 KiB on Linux"
        case .invalidContentCoding: "the content of the response cannot be decoded"
        case .invalidRedirect(let text): "the redirect cannot be followed: \(text.shortened())"
        case .status(let code): "the status \(code) is not acceptable"
        case .contentType(let type): "the content type '\(type.shortened(to: 100))' is not acceptable"
        case .bodyTooLarge(let limit):
            "the body is larger than \(limit) bytes; raise limits.maximumBodySize to allow it"
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
        }
    }
}

extension JSONError {
    /// The sentence of an error about a path, which begins with the path.
    fileprivate func sentence(of path: String) -> String {
        "no value at \(path): \(sentence); paths start at the payload, or at the whole body with `~`"
    }
}
