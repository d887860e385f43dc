#if os(Linux)
internal import Errand
internal import Foundation

/// Maps libcurl's errors to the library's.
enum CurlFailure {
    /// Returns the error for a code of libcurl ("libcurl-errors").
    static func error(_ code: Int32, of handle: CurlHandle, _ exchange: CurlExchange) -> NetworkError {
        let configuration = handle.configuration
        let systemError = handle.systemError
        let hasNoSocket = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(handle.socketError)
        guard code != 7 || systemError != 0 || !hasNoSocket else {
            return NetworkError(.other("the system has no file descriptor left for connections"))
        }
        let message = handle.errorMessage(code)
        if handle.hasTooLargeHeader(endedWith: code) {
            return NetworkError(.headerSectionTooLarge).with(note: ", or the server has violated HTTP/2")
        }
        let reason = reason(
            code,
            message,
            hasHeader: exchange.hasHeader,
            systemError: systemError,
            proxiedURL: configuration.mayUseProxy ? exchange.request.url : nil,
            idleTimeout: exchange.options.idleTimeout
        )
        switch reason {
        case .closedInBody where !exchange.marksEnd && message.contains("unexpected eof"):
            return NetworkError(.closedWithoutCloseNotify)
        // With TLS 1.3 the server reads the certificate when libcurl may send already, and its alert is not read if that fails.
        case .tlsHandshakeFailed, .connectionReset, .sendFailed:
            let mayHaveAlert =
                reason.kind != .connectionLost || !["Recv failure", "SSL_read"].contains(where: message.contains)
            guard mayHaveAlert, handle.isAskedForCertificate, !exchange.hasHeader else { break }
            let hasNone = configuration.clientCertificate == nil
            let words = hasNone ? CurlMessage.needsClientCertificate : "the server rejected the client certificate"
            return NetworkError(.tlsHandshakeFailed(words)).with(
                note: CurlMessage.alert(in: message).map { " (\($0))" }
            )
        default: break
        }
        guard code == 7, let path = configuration.unixSocket else { return NetworkError(reason) }
        let words = systemError == 0 ? "" : ": \(String(cString: strerror(systemError)))"
        return NetworkError(reason).with(note: " (Unix socket \(path)\(words))")
    }

    /// Returns the reason for a code and a message.
    static func reason(
        _ code: Int32,
        _ message: String,
        hasHeader: Bool,
        systemError: Int32,
        proxiedURL: URL?,
        idleTimeout: Duration
    ) -> NetworkError.Reason {
        switch code {
        case 1: return .malformedStatusLine
        case 3: return .unsupportedHost
        case 5 where !message.hasPrefix("Unsupported proxy"): return .proxyNotFound
        // A SOCKS proxy is a host for libcurl.
        case 6 where proxiedURL.map { CurlMessage.isAboutProxy(message, for: $0) } == true: return .proxyNotFound
        case 6: return .hostNotFound
        case 7 where systemError == ENETUNREACH || systemError == ENETDOWN: return .noConnection
        case 18: return .closedInBody
        case 27 where !hasHeader: return .headerSectionTooLarge
        case 28: return .idleTimeout(idleTimeout)
        case 52: return .closedWithoutResponse
        // The body may not be sent again, or cannot be read again.
        case 65: return .closedWithoutResponse
        case 45: return .other("the interface of the transport's configuration does not exist or cannot be used")
        case 58:
            return .tlsHandshakeFailed(
                "the client certificate or its key cannot be used; check the passphrase, and that the key belongs to the certificate"
            )
        case 77: return .certificateRefused("the certificates to trust cannot be read")
        case 90: return .certificateRefused("its public key is none of those that are pinned")
        case 98: return .tlsHandshakeFailed(CurlMessage.needsClientCertificate)
        default: break
        }
        if let reason = CurlMessage.reason(in: message, hasHeader: hasHeader, proxiedURL: proxiedURL) { return reason }
        return switch code {
        case 7: .connectionRefused
        case 8: .malformedStatusLine
        case 16, 55, 56, 92: CurlMessage.reset(hasHeader)
        case 35: .tlsHandshakeFailed("the TLS library gives no reason")
        case 60: .certificateRefused("the TLS library gives no reason")
        case 61: .invalidContentCoding
        default: .other("libcurl ended the transfer with its error \(code)")
        }
    }
}
#endif
