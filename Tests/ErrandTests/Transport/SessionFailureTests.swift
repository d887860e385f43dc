import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A failure as URLSession reports it, and what it means before and after the header section.
struct SystemFailure: Sendable, CustomTestStringConvertible {
    let code: URLError.Code
    let words: String
    let early: NetworkError.Reason
    let late: NetworkError.Reason

    init(
        _ words: String,
        _ early: NetworkError.Reason,
        late: NetworkError.Reason? = nil,
        code: URLError.Code = .unknown
    ) {
        (self.code, self.words, self.early, self.late) = (code, words, early, late ?? early)
    }

    private static func certificate(_ words: String, _ reason: String, code: URLError.Code = .unknown) -> Self {
        Self(words, .certificateRefused(reason), code: code)
    }

    private static func handshake(_ words: String, _ reason: String, code: URLError.Code = .unknown) -> Self {
        Self(words, .tlsHandshakeFailed(reason), code: code)
    }

    private static func reset(_ words: String, code: URLError.Code = .unknown) -> Self {
        Self(words, .connectionReset, late: .closedInBody, code: code)
    }

    private static func closed(_ words: String) -> Self {
        Self(words, .closedWithoutResponse, late: .closedInBody)
    }

    var testDescription: String { "\(code.rawValue): \(words)" }

    /// Measured against local servers with libcurl 7.88.1 and 8.14.1, and OpenSSL 3.0.
    static let table: [SystemFailure] = certificates + handshakes + connections + responses

    static let certificates = [
        certificate("SSL certificate problem: certificate has expired", "it has expired"),
        certificate("SSL certificate problem: certificate is not yet valid", "it is not valid yet"),
        certificate("SSL certificate problem: self-signed certificate", "it is self-signed"),
        certificate("SSL certificate problem: self signed certificate", "it is self-signed"),
        certificate("SSL certificate problem: self-signed certificate in certificate chain", "its root is not trusted"),
        certificate("SSL certificate problem: unable to get local issuer certificate", "its issuer is not known"),
        certificate(
            "SSL: no alternative certificate subject name matches target host name 'a.example'",
            "it is for another host"
        ),
        certificate(
            "SSL: certificate subject name 'b.example' does not match target host name 'a.example'",
            "it is for another host"
        ),
        certificate("SSL certificate problem: EE certificate key too weak", "its key or its signature is too weak"),
        certificate("SSL certificate problem: CA md too weak", "its key or its signature is too weak"),
        certificate("SSL certificate problem: unsuitable certificate purpose", "it is for another purpose"),
        certificate("Problem with the SSL CA cert (path? access rights?)", "the system's certificates cannot be read"),
    ]

    static let handshakes = [
        handshake(
            "OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number",
            "the server does not use TLS on this port; is it an http port?"
        ),
        handshake(
            "OpenSSL/3.0.19: error:0A000410:SSL routines::sslv3 alert handshake failure",
            "the server accepts none of the offered ciphers or versions, or requires a client certificate"
        ),
        handshake(
            "OpenSSL/3.0.19: error:0A00042E:SSL routines::tlsv1 alert protocol version",
            "the server supports no TLS version that this system allows"
        ),
        handshake(
            "OpenSSL SSL_read: OpenSSL/3.0.19: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
            "the server requires a client certificate, and there is none"
        ),
        handshake(
            "OpenSSL/3.0.19: error:0A000419:SSL routines::tlsv1 alert access denied",
            "the server denies access; it may require another client certificate"
        ),
        handshake("error:1409442E:SSL routines:ssl3_read_bytes:tlsv1 alert internal error", "the server failed"),
        handshake("SSL connect error", "the TLS library gives no reason"),
        handshake("", "the system gives no reason", code: .secureConnectionFailed),
        certificate("", "it has expired", code: .serverCertificateHasBadDate),
        handshake("", "the server requires a client certificate, and there is none", code: .clientCertificateRequired),
        handshake("", "the server rejected the client's certificate", code: .clientCertificateRejected),
        SystemFailure(
            "",
            .invalidURL(
                "App Transport Security does not allow http for this host; use https, or add an exception to Info.plist"
            ),
            code: .appTransportSecurityRequiresSecureConnection
        ),
    ]

    static let connections = [
        closed("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to localhost:1 "),
        closed("OpenSSL SSL_read: OpenSSL/3.0.19: error:0A000126:SSL routines::unexpected eof while reading, errno 0"),
        closed("OpenSSL/3.0.19: error:0A0003E8:SSL routines::reason(1000)"),
        reset("Recv failure: Connection reset by peer"),
        reset("Recv failure: Connection reset by peer", code: .networkConnectionLost),
        reset("HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)"),
        closed("HTTP/2 stream 1 was closed cleanly, but before getting  all response header fields, treated as error"),
        reset("Error in the HTTP2 framing layer"),
        // An HTTP/2 server that requires HTTP/1.1.
        SystemFailure("Empty reply from server", .closedWithoutResponse, code: .unsupportedURL),
        // The first of the host's addresses refused, the second accepted.
        SystemFailure("Empty reply from server", .closedWithoutResponse, code: .cannotConnectToHost),
        SystemFailure(
            "Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server",
            .connectionRefused,
            code: .cannotConnectToHost
        ),
        SystemFailure(
            "Failed to connect to 10.0.0.1 port 80 after 3 ms: Couldn't connect to server",
            .connectionRefused
        ),
        SystemFailure("Connection died, tried 5 times before giving up", .sendFailed),
        SystemFailure("CONNECT tunnel failed, response 407", .proxyRefused(statusCode: 407)),
        SystemFailure("CONNECT tunnel failed, response 502", .proxyRefused(statusCode: 502)),
        SystemFailure("Received HTTP code 403 from proxy after CONNECT", .proxyRefused(statusCode: 403)),
        closed("Proxy CONNECT aborted"),
        SystemFailure("Could not resolve proxy: proxy.example", .proxyNotFound),
        SystemFailure("Unsupported proxy scheme for 'foo://proxy.example'", .invalidProxy),
        SystemFailure(
            "Unsupported proxy syntax in 'http://a b': bad hostname",
            .invalidProxy,
            code: .cannotConnectToHost
        ),
        reset("OpenSSL SSL_connect: Connection reset by peer in connection to chunks.example:443 "),
        // SOCKS, with libcurl 7.88 and 8.14.
        SystemFailure("Can't complete SOCKS5 connection to a.example. (5)", .proxyRefused(statusCode: 5)),
        SystemFailure("cannot complete SOCKS5 connection to 192.0.2.1. (4)", .proxyRefused(statusCode: 4)),
        SystemFailure(
            "Can't complete SOCKS4 connection to 192.0.2.1:80. (91), request rejected or failed.",
            .proxyRefused(statusCode: 91)
        ),
        SystemFailure("User was rejected by the SOCKS5 server (1 2).", .proxyRefused(statusCode: 407)),
        SystemFailure("No authentication method was acceptable.", .proxyRefused(statusCode: 407)),
        SystemFailure("Failed to resolve \"a.example\" for SOCKS5 connect.", .hostNotFound),
        closed("connection to proxy closed"),
    ]

    static let responses = [
        SystemFailure("Error while processing content unencoding: invalid block type", .invalidContentCoding),
        SystemFailure("Unrecognized or bad HTTP Content or Transfer-Encoding", .invalidContentCoding),
        SystemFailure("Out of memory", .headerSectionTooLarge, late: .invalidContentCoding),
        SystemFailure("Failed writing header", .malformedHeader),
        SystemFailure("Too long hexadecimal number in chunked-encoding", .malformedChunk),
        SystemFailure("Failed reading the chunked-encoded stream", .invalidContentCoding),
        SystemFailure("chunk hex-length char not a hex digit: 0x7a", .malformedChunk),
        SystemFailure("invalid chunk size: ''", .malformedChunk),
        SystemFailure("Unsolicited Transfer-Encoding (gzip) found", .malformedHeader),
        SystemFailure("A value or data field grew larger than allowed", .headerSectionTooLarge),
        SystemFailure("Too many response headers, 5000 is max", .headerSectionTooLarge),
        SystemFailure("Version mismatch (from HTTP/1 to HTTP/2)", .malformedStatusLine),
        SystemFailure("Received HTTP/0.9 when not allowed", .malformedStatusLine, code: .unsupportedURL),
        SystemFailure("words that nobody knows", .other("the transfer failed for a reason the system does not name")),
    ]
}

@Suite struct SessionFailureTests {
    @Test(arguments: SystemFailure.table)
    func failureHasItsReasonBeforeAndAfterTheHeaderSection(_ failure: SystemFailure) throws {
        let error = URLError(failure.code, userInfo: [NSLocalizedDescriptionKey: failure.words])
        for (hasHeader, reason) in [(false, failure.early), (true, failure.late)] {
            let error = SessionFailure.classify(error, idleTimeout: .seconds(1), hasHeader: hasHeader)
            #expect((error as? NetworkError)?.reason == reason)
        }
    }

    @Test(arguments: [
        ("a.example port 8080", NetworkError.Reason.connectionRefused), ("A.example port 8080", .connectionRefused),
        ("a.example port 3128", .proxyConnectionRefused), ("proxy.example port 8080", .proxyConnectionRefused),
    ])
    func refusedAddressThatIsNotTheURLsIsTheProxys(_ address: String, _ reason: NetworkError.Reason) {
        let words = "Failed to connect to \(address) after 0 ms: Couldn't connect to server"
        let url = URL(string: "http://a.example:8080/x")
        #expect(CurlMessage.reason(in: words, hasHeader: false, proxiedURL: url) == reason)
        #expect(CurlMessage.reason(in: words, hasHeader: false) == .connectionRefused)
    }

    @Test(arguments: [
        ("a.example port 8080 via proxy.example", NetworkError.Reason.proxyConnectionRefused),
        ("a.example:8080 over proxy proxy.example", .proxyConnectionRefused),
        ("a.example:8080 via b.example:8080", .connectionRefused), ("a.example:8080", .connectionRefused),
        ("A.example. port 8080", .connectionRefused),
    ])
    func newerVersionsNameTheProxyBesideTheOrigin(_ address: String, _ reason: NetworkError.Reason) {
        let words = "Failed to connect to \(address) after 0 ms: Couldn't connect to server"
        let url = URL(string: "http://a.example:8080/x")
        #expect(CurlMessage.reason(in: words, hasHeader: false, proxiedURL: url) == reason)
    }

    @Test(arguments: [
        ("Unrecognized content encoding type. libcurl understands gzip content encodings.", "'br' is not supported"),
        ("Error while processing content unencoding: invalid block type", "'br' is damaged or ends early"),
    ])
    func anUndecodableContentNamesItsCodingAndTheCause(words: String, cause: String) {
        let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: words])
        let failure = SessionFailure.classify(error, idleTimeout: .seconds(1), hasHeader: true, coding: "br")
        #expect("\(failure)".contains(cause), "\(failure)")
    }

    @Test func lostHandshakeAndStreamResetAreLostConnections() {
        for words in [
            "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to localhost:1 ",
            "HTTP/2 stream 1 was not closed cleanly: REFUSED_STREAM (err 7)",
        ] {
            let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: words])
            let failure = SessionFailure.classify(error, idleTimeout: .seconds(1), hasHeader: false)
            #expect((failure as? NetworkError)?.kind == .connectionLost)
        }
    }

    @Test func descriptionNamesNeitherHostNorWordsThatAreNotKnown() {
        for words in [
            "SSL: no alternative certificate subject name matches target host name 'secret.example'",
            "strange words about https://secret.example/?token=1", "Could not resolve proxy: secret.example",
        ] {
            let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: words])
            let failure = SessionFailure.classify(error, idleTimeout: .seconds(1), hasHeader: false)
            #expect(!"\(failure)".contains("secret"))
        }
    }
}
