import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct NetworkErrorTests {
    /// One of each reason, with its kind and the sentence of its description.
    static let table: [(NetworkError.Reason, NetworkError.Kind, String)] = [
        (
            .invalidMethod, .invalidRequest,
            "the method is not a token of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110)"
        ),
        (
            .invalidHeaderName("a header name is empty"), .invalidRequest,
            "a header name is empty; it is not a token of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110)"
        ),
        (
            .unsupportedScheme("ftp"), .invalidRequest,
            "the URL cannot be used: the scheme 'ftp' is not supported; use http or https"
        ),
        (.bodyUnreadable("the file is gone"), .unusableFile, "the file is gone"),
        (.hostNotFound, .unreachable, "the host name is not known; check its spelling and the name server"),
        (
            .connectionRefused, .unreachable,
            "the connection was refused; nothing listens there, or a firewall is in between"
        ),
        (.noConnection, .unreachable, "there is no connection to the network"),
        (.connectionReset, .connectionLost, "the connection was reset by the other side"),
        (.closedWithoutResponse, .connectionLost, "the connection was closed without a response"),
        (.closedInBody, .connectionLost, "the connection was closed before the body was complete"),
        (.idleTimeout(.seconds(2)), .timedOut, "nothing was sent or received for 2.0 seconds"),
        (
            .deadlineExceeded(.seconds(3)), .timedOut,
            "the deadline of 3.0 seconds has passed"
        ),
        (.certificateRefused("expired"), .insecureConnection, "the server's certificate is not trusted: expired"),
        (.tlsHandshakeFailed("why"), .insecureConnection, "the TLS handshake failed: why"),
        (.proxyRefused(statusCode: 403), .unreachable, "the proxy refused the connection with status 403"),
        (
            .proxyRefused(statusCode: 407), .unreachable,
            "the proxy refused the connection with status 407; pass the required credentials in the proxy variable or "
                + "the transport's configuration"
        ),
        (
            .proxyNotFound, .unreachable,
            "the host name of the proxy is not known; check the proxy variables of the environment, or the transport's "
                + "configuration"
        ),
        (
            .proxyConnectionRefused, .unreachable,
            "the proxy refused the connection; nothing listens there, or a firewall is in between; check the proxy variables of "
                + "the environment, or the transport's configuration"
        ),
        (
            .invalidProxy, .unreachable,
            "the proxy cannot be used: its scheme or its spelling is not supported; check the proxy variables of the "
                + "environment, or the transport's configuration"
        ),
        (
            .invalidLink("it is no URL"), .invalidRequest,
            "the link to the next page cannot be followed: it is no URL"
        ),
        (.malformedStatusLine, .invalidResponse, "the response does not begin with a status line of HTTP/1.x or 2"),
        (.malformedChunk, .invalidResponse, "a chunk of the response is malformed"),
        (.status(503), .unacceptableStatus, "the status 503 is not acceptable"),
        (.contentType("text/html"), .unacceptableContent, "the content type 'text/html' is not acceptable"),
        (
            .bodyTooLarge(limit: 9), .tooLarge,
            "the body is larger than 9 bytes; raise limits.maximumBodySize to allow it"
        ),
        (.envelope("it has no member 'code'"), .undecodable, "the envelope cannot be opened: it has no member 'code'"),
        (
            .model(type: "User", detail: "no member 'id'"), .undecodable,
            "the payload cannot be decoded as User: no member 'id'"
        ),
        (.notCached, .cacheMiss, "there is no cached response; use a policy that may send the request"),
        (.other("the system said no"), .unknown, "the system said no"),
    ]

    @Test(arguments: table)
    func eachReasonHasItsKindAndSentence(reason: NetworkError.Reason, kind: NetworkError.Kind, sentence: String) throws
    {
        let url = try #require(URL(string: "https://user:secret@api.example:8443/a%20b?token=secret"))
        let error = NetworkError(reason).with(url: url, method: .post, path: DeclaredPath("/a b?token=secret"))
        #expect(error.kind == kind)
        #expect(error.description == "POST api.example:8443/a%20b: \(sentence)")
        #expect(NetworkError(reason).description == sentence)
        #expect(error.errorDescription == error.description)
    }

    @Test func descriptionContainsNoHeaderValueQueryOrBody() async throws {
        let rig = Rig(response: .html("<p>secret</p>", status: 500, headers: ["Set-Cookie": "secret"]))
        let request = GeneralRequest("https://user:secret@api.example/x?token=secret").method(.post)
            .authorization(.bearer("secret")).header("X-Key", "secret").parameters(["password": "secret"])
        let error = try #require(await failure { try await rig.agent.send(request) } as? NetworkError)
        #expect(
            error.description
                == "POST api.example/x: the status 500 is not acceptable (the response: status 500, 13 bytes of text/html)"
        )
        #expect(error.method == .post)
        #expect(error.host == "api.example")
        #expect(error.path == "/x")
        #expect(error.statusCode == 500)
        let plan = try await rig.agent.plan(for: request)
        #expect(!plan.description.contains("secret"), "\(plan)")
    }

    @Test func descriptionHasTheNumberOfAttemptsIfSeveral() {
        #expect(NetworkError(.closedInBody).with(attempts: 3).description.hasSuffix("complete (3 attempts)"))
        #expect(NetworkError(.invalidMethod).with(attempts: 3).attempts == 0)
    }

    @Test func errorOfATransportHasHostAndPath() async throws {
        let rig = Rig(config: .test { $0.baseURL = "http://127.0.0.1:1" }) { _ in throw NetworkError(.connectionRefused)
        }
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError)
        #expect(error.host == "127.0.0.1:1")
        #expect(error.description.hasPrefix("GET 127.0.0.1:1/x: the connection was refused"))
        #expect(error.attempts == 1)
    }

    @Test(arguments: [0, 64 << 10, (64 << 10) + 1, 1 << 20])
    func theBodyItKeepsIsBounded(count: Int) async throws {
        let rig = Rig(response: .data(Data(count: count), status: 500))
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/x")) } as? NetworkError)
        #expect(error.response?.body.count == min(count, NetworkError.maximumBodyByteCount))
        // The reported size is the response's.
        #expect(error.description.contains("status 500, \(count) bytes"), "\(error)")
        #expect(error.response?.description.hasSuffix("\(count) bytes") == true)
        #expect(NetworkError(.closedInBody, response: error.response).description.contains("\(count) bytes"))
    }

    @Test func requestNameIsTheNameOfItsType() async throws {
        func name<R: Request & Sendable>(_ request: R) async -> String? {
            (await failure { try await Rig(response: .status(500)).agent.response(for: request) } as? NetworkError)?
                .requestName
        }
        #expect(await name(GeneralRequest("/x").expecting([Int].self)) == "GeneralRequest")
        #expect(await name(GeneralRequest("/x")) == "GeneralRequest")
        #expect(await name(GetPage<Int>()) == "GetPage<Int>")
        #expect(await name(GetPage<Int>().raw) == "GetPage<Int>")
        #expect(await name(GeneralRequest("/x").raw) == "GeneralRequest")
        #expect(TypeNames.name(of: BatchRequest<GetPage<Int>, GetPage<String>>.self) == "BatchRequest")
    }

    private struct GetPage<Element: Decodable & Sendable>: Request, Sendable {
        typealias Model = [Element]
        var path: String { "/page" }
    }

    /// Text of the server and the caller cannot look like a line of the log, nor control a terminal.
    @Test func textOfAServerIsTruncatedInTheDescription() async throws {
        let long = String(repeating: "k\u{301}", count: 500_000)
        let words = #"{"code": "\#(long)", "msg": "\#(long)", "data": null}"#
        let envelope = NetworkConfig.test { $0.filter = EnvelopeFilter(code: "code", message: "msg", data: "data") }
        let reported = await failure {
            try await Rig(config: envelope, response: .json(words)).agent.send(GeneralRequest("/x"))
        }
        let service = try #require(reported as? ServiceError)
        #expect(service.message?.unicodeScalars.count == 1_000_000)
        #expect(service.description.utf8.count < 3_000)

        let request = GeneralRequest("/x").expecting([String: Int].self)
        let rig = Rig(response: .json(#"{"\#(long)": "a"}"#))
        let undecodable = await failure { try await rig.agent.send(request) } as? NetworkError
        #expect(try #require(undecodable).description.utf8.count < 3_000)

        let typed = MockResponse.text("a", headers: ["Content-Type": long])
        for reason in [NetworkError.Reason.contentType(long), .invalidRedirect(long), .envelope(long)] {
            let error = NetworkError(
                reason,
                response: RawResponse(headers: typed.headers, body: Data(), url: URL(filePath: "/"))
            )
            #expect(error.description.utf8.count < 3_000)
        }
    }

    @Test(arguments: ["\r\n", "\n", "\u{2028}", "\u{2029}", "\u{85}", "\u{1B}[2J", "\u{202E}", "\0", "\u{7F}"])
    func descriptionsAreOneLine(mark: String) throws {
        let url = try #require(URL(string: "https://api.example/x"))
        let response = RawResponse(statusCode: 500, headers: ["Content-Type": "a\(mark)b"], url: url)
        var named = NetworkError(.other("a\(mark)b"))
        named.details.value.requestName = "a\(mark)b"
        let texts = [
            NetworkError(.other("a\(mark)b")).description, NetworkError(.contentType("a\(mark)b")).description,
            NetworkError(.status(500), response: response).description, named.description,
            NetworkError(.model(type: "a\(mark)b", detail: "\(mark)")).localizedDescription,
            ServiceError(code: .string("a\(mark)b"), message: "c\(mark)d", response: response).description,
            RequestContext(typeName: "a\(mark)b").description, Service(id: "a\(mark)b").description,
        ]
        for text in texts {
            #expect(!text.unicodeScalars.contains { mark.unicodeScalars.contains($0) && $0.breaksLines }, "\(text)")
            #expect(!text.contains { $0.isNewline }, "\(text)")
        }
        #expect(NetworkError(.other("a\nb\u{1B}")).description == #"a\nb\u{1B}"#)
    }

    @Test(arguments: ["{", "[1,]", "\u{FEFF}\u{FEFF}1", "{\"secret\" 1}"])
    func invalidJSONIsDescribedWithoutTheBody(body: String) async throws {
        let error = try #require(
            await failure { try await Rig(response: .json(body)).agent.send(GeneralRequest("/x")) } as? NetworkError
        )
        #expect(error.kind == .unacceptableContent)
        #expect(error.response?.body == Data(body.utf8))
        #expect(!error.description.contains("secret"))
        #expect(error.underlying is JSONError)
    }
}
