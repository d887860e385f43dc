package import Foundation

/// The messages of libcurl, which are more specific than its error codes and URLSession's on Linux.
package enum CurlMessage {
    /// Returns the reason for a message of libcurl.
    ///
    /// - Parameters:
    ///   - words: The message.
    ///   - hasHeader: Whether a header section arrived before the failure.
    ///   - proxiedURL: The URL of the request if a proxy may have been used, or `nil`.
    /// - Returns: The reason, or `nil` if the message is not known.
    package static func reason(in words: String, hasHeader: Bool, proxiedURL: URL? = nil) -> NetworkError.Reason? {
        if let proxiedURL, words.contains("Failed to connect to "), isAboutProxy(words, for: proxiedURL) {
            return .proxyConnectionRefused
        }
        if let status = statusOfSOCKS(in: words) { return .proxyRefused(statusCode: status) }
        // A host follows, which may contain any of the phrases.
        let words = words.range(of: " in connection to ").map { String(words[..<$0.lowerBound]) } ?? words
        // After the handshake TLS fails like a connection, unless a server of TLS 1.3 rejects the client's certificate.
        let isAfterHandshake = words.contains("SSL_read: ") || words.contains("SSL_write: ")
        let phrases = certificateAlerts + (isAfterHandshake ? [] : phrases)
        for (phrase, reason) in phrases where words.contains(phrase) { return reason }
        if lossPhrases.contains(where: words.contains) { return lost(hasHeader) }
        if resetPhrases.contains(where: words.contains) { return reset(hasHeader) }
        if words.contains("Out of memory") { return hasHeader ? .invalidContentCoding : .headerSectionTooLarge }
        if let status = number(after: "CONNECT tunnel failed, response ", in: words)
            ?? number(after: "Received HTTP code ", in: words)
        {
            return .proxyRefused(statusCode: status)
        }
        if isAfterHandshake { return reset(hasHeader) }
        return words.contains("SSL") ? .tlsHandshakeFailed("the TLS library gives no reason") : nil
    }

    /// The alert of TLS in a message, such as `alert unknown ca`, or `nil`.
    package static func alert(in words: String) -> String? {
        text(after: " alert ", in: words).map { "alert " + $0.prefix { $0 != "," } }
    }

    package static func lost(_ hasHeader: Bool) -> NetworkError.Reason {
        hasHeader ? .closedInBody : .closedWithoutResponse
    }

    package static func reset(_ hasHeader: Bool) -> NetworkError.Reason {
        hasHeader ? .closedInBody : .connectionReset
    }

    package static let needsClientCertificate = "the server requires a client certificate, and there is none"

    private static let certificateAlerts: [(String, NetworkError.Reason)] = [
        ("alert certificate required", .tlsHandshakeFailed(needsClientCertificate)),
        ("alert unknown ca", .tlsHandshakeFailed("the server does not trust the client certificate")),
        ("alert bad certificate", .tlsHandshakeFailed("the server rejected the client certificate")),
        ("alert unsupported certificate", .tlsHandshakeFailed("the server rejected the client certificate")),
        ("alert certificate unknown", .tlsHandshakeFailed("the server rejected the client certificate")),
        ("alert certificate expired", .tlsHandshakeFailed("the client certificate has expired")),
        ("alert certificate revoked", .tlsHandshakeFailed("the client certificate was revoked")),
        (
            "alert access denied",
            .tlsHandshakeFailed("the server denies access; it may require another client certificate")
        ),
    ]

    /// Phrases of libcurl 7.88 to 8.14 and OpenSSL 1.1 to 3, the longer one first if one contains another.
    private static let phrases: [(String, NetworkError.Reason)] = [
        // The certificate.
        ("certificate has expired", .certificateRefused("it has expired")),
        ("certificate is not yet valid", .certificateRefused("it is not valid yet")),
        ("certificate in certificate chain", .certificateRefused("its root is not trusted")),
        ("self-signed certificate", .certificateRefused("it is self-signed")),
        ("self signed certificate", .certificateRefused("it is self-signed")),
        ("issuer certificate", .certificateRefused("its issuer is not known")),
        ("unable to verify the first certificate", .certificateRefused("its issuer is not known")),
        ("subject name", .certificateRefused("it is for another host")),
        ("subjectAltName", .certificateRefused("it is for another host")),
        ("too weak", .certificateRefused("its key or its signature is too weak")),
        ("certificate revoked", .certificateRefused("it was revoked")),
        ("unsuitable certificate purpose", .certificateRefused("it is for another purpose")),
        ("SSL certificate problem", .certificateRefused("the TLS library gives no reason")),
        ("SSL peer certificate", .certificateRefused("the TLS library gives no reason")),
        ("certificate verify locations", .certificateRefused("the system's certificates cannot be read")),
        ("trust anchors", .certificateRefused("the system's certificates cannot be read")),
        ("SSL CA cert", .certificateRefused("the system's certificates cannot be read")),
        // The handshake.
        ("wrong version number", .tlsHandshakeFailed("the server does not use TLS on this port; is it an http port?")),
        ("packet length too long", .tlsHandshakeFailed("the server does not use TLS on this port")),
        ("alert protocol version", .tlsHandshakeFailed("the server supports no TLS version that this system allows")),
        ("unsupported protocol", .tlsHandshakeFailed("the server supports no TLS version that this system allows")),
        // With TLS 1.2 also from a server that requires a client certificate (RFC 5246, section 7.4.6).
        (
            "alert handshake failure",
            .tlsHandshakeFailed(
                "the server accepts none of the offered ciphers or versions, or requires a client certificate"
            )
        ),
        ("alert internal error", .tlsHandshakeFailed("the server failed")),
        ("unrecognized name", .tlsHandshakeFailed("the server does not know the host name")),
        // The proxy.
        ("Unsupported proxy", .invalidProxy),
        ("Could not resolve proxy", .proxyNotFound),
        ("Couldn't resolve proxy", .proxyNotFound),
        ("CONNECT tunnel failed, response 0", .malformedStatusLine),
        ("Failed to resolve \"", .hostNotFound),
        // The connection.
        ("transfer closed with", .closedInBody),
        ("end of response with", .closedInBody),
        ("Empty reply", .closedWithoutResponse),
        ("Connection died", .sendFailed),
        ("Send failure", .sendFailed),
        ("data rewind wasn't possible", .sendFailed),
        ("seek callback", .sendFailed),
        ("Failed to connect", .connectionRefused),
        ("Couldn't connect to server", .connectionRefused),
        ("operation aborted by callback", .bodyNotRead),
        // The response.
        // The content of the chunks is at fault.
        ("reading the chunked-encoded stream", .invalidContentCoding),
        // "… in chunked-encoding", and in newer versions the cause, which comes first.
        ("chunked-encod", .malformedChunk),
        ("chunk hex-length", .malformedChunk),
        ("invalid chunk size", .malformedChunk),
        ("listed after chunked", .malformedChunk),
        ("'chunked' not being the last", .malformedChunk),
        ("Too large response header", .headerSectionTooLarge),
        ("Invalid Content-Length", .invalidContentLength),
        ("Maximum file size exceeded", .invalidContentLength),
        ("Nul byte in header", .malformedHeader),
        ("Failed writing header", .malformedHeader),
        ("Header without colon", .malformedHeader),
        ("Unsupported HTTP", .malformedStatusLine),
        ("Version mismatch", .malformedStatusLine),
        ("Too many response headers", .headerSectionTooLarge),
        // `NGHTTP2_ERR_CALLBACK_FAILURE`: libcurl has no room left for the fields.
        ("mem_recv() returned -902", .headerSectionTooLarge),
        ("field grew larger than allowed", .headerSectionTooLarge),
        ("Unsolicited Transfer-Encoding", .malformedHeader),
        ("content encoding", .invalidContentCoding),
        ("content unencoding", .invalidContentCoding),
        ("Error while processing content", .invalidContentCoding),
        ("bad HTTP Content", .invalidContentCoding),
        ("Failed writing received data", .invalidContentCoding),
    ]

    /// Messages when the other side closed the connection or the HTTP/2 stream, possibly within the TLS handshake.
    private static let lossPhrases = [
        "SSL_ERROR_SYSCALL", "SSL_ERROR_ZERO_RETURN", "unexpected eof", "reason(1000)", "Proxy CONNECT aborted",
        "connection to proxy closed", "was closed cleanly, but before getting",
        "pre-request callback",
    ]

    /// Messages when the other side reset the connection or the HTTP/2 stream.
    private static let resetPhrases = [
        "Recv failure", "was not closed cleanly", "HTTP2 framing layer", "HTTP/2 framing layer",
        "Connection reset by peer",
    ]

    /// Returns whether libcurl could not connect to the proxy, or did not find its name, rather than the host of a URL.
    package static func isAboutProxy(_ words: String, for url: URL) -> Bool {
        if let host = text(after: "Could not resolve host: ", in: words) { return !url.hasHost(host) }
        let parts = text(after: "Failed to connect to ", in: words)?.split(separator: " ") ?? []
        guard parts.count > 3 else { return false }
        // Newer versions name the host and then the proxy: "a.example:80 over proxy …", before "a.example port 80 via …".
        if parts[1] == "over" { return parts[2] == "proxy" }
        guard parts[1] == "port" else { return false }
        return parts[3] == "via" || parts[2] != "\(url.knownPort)" || !url.hasHost(String(parts[0]))
    }

    /// Returns the reply of a SOCKS proxy that refuses (RFC 1928, section 6), or 407 if it rejects the credentials;
    /// `nil` for any other message.
    private static func statusOfSOCKS(in words: String) -> Int? {
        // "Can't complete SOCKS5 connection to a.example. (5)", and in newer versions "cannot complete …".
        if let rest = text(after: "complete SOCKS", in: words) { return number(after: ". (", in: rest) }
        let phrases = ["was rejected by the SOCKS5 server", "No authentication method was acceptable"]
        return phrases.contains(where: words.contains) ? 407 : nil
    }

    private static func text(after phrase: String, in words: String) -> String? {
        words.range(of: phrase).map { String(words[$0.upperBound...]) }
    }

    /// Returns the number of at most 3 digits after a phrase, such as a status.
    private static func number(after phrase: String, in words: String) -> Int? {
        text(after: phrase, in: words).flatMap { Int(String($0.prefix { $0.isASCII && $0.isNumber }.prefix(3))) }
    }
}

extension URL {
    fileprivate var knownPort: Int { port ?? (scheme == "https" ? 443 : 80) }

    /// Whether a host in a message is the URL's; libcurl writes IP addresses in their usual form.
    fileprivate func hasHost(_ other: String) -> Bool {
        (host(percentEncoded: false) ?? "").comparableHost == other.comparableHost
    }
}

extension String {
    /// The bytes of an IP address, however it is written and without its zone, or a name in lower case without the last dot.
    fileprivate var comparableHost: [UInt8] {
        let address = trimmingCharacters(in: ["[", "]"]).prefix { $0 != "%" }
        var (four, six) = (in_addr(), in6_addr())
        if inet_aton(String(address), &four) != 0 { return withUnsafeBytes(of: four) { [UInt8]($0) } }
        if inet_pton(AF_INET6, String(address), &six) == 1 { return withUnsafeBytes(of: six) { [UInt8]($0) } }
        return [UInt8]((hasSuffix(".") ? String(dropLast()) : self).lowercased().utf8)
    }
}

/// The variables of the environment that name a proxy, as libcurl reads them (CURLOPT_PROXY).
package enum ProxyVariables {
    // Not HTTP_PROXY, which a client of a CGI program can set.
    private static let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]

    /// Whether any is set.
    package static var nameProxy: Bool { names.contains { name in getenv(name).map { $0[0] != 0 } ?? false } }
}
