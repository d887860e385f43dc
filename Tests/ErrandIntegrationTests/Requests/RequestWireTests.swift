import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The server receives the planned request.
@Suite(.serialized, .limit(seconds: 60))
struct RequestWireTests {
    private static func agent(_ server: MockServer, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        var config = NetworkConfig(baseURL: server.baseURL)
        config.retryPolicy = .never
        change(&config)
        return Agent(config: config)
    }

    @Test
    func theURLOfThePlanIsTheOneThatAServerReceives() async throws {
        let server = try MockServer { _ in .status(204) }
        defer { server.stop() }
        let base = server.baseURL.absoluteString
        let paths = [
            "/a/up/../x", "../admin", "/a/./x", "/a/%2e%2e/x", "/a/..", "/x#y", "\(base)/a/up/../x",
            "\(base)/a/../../x?q=/../y#f", "\(base)/a/.", "/a/..%2Fx", "/users/\("../admin" as String)",
            "/users/\(component: "../admin")", "/users/\(component: "x#y")", "/users/\(component: "a?b=1")",
            "/users/\(component: "é %2e")", "/a?b=1&c=../d", "/a//b", "/a/...", "/a/.hidden", "/a;v=..", "/a%2E/b", "",
            "?x", "/a?", "/[1]{2}|^`\\\"<>", "/a?[1]|'",
        ]
        var refused = 0
        for path in paths {
            let request = GeneralRequest(path).expecting(Void.self)
            let planned: String
            do {
                let url = try await Self.agent(server).plan(for: request).request.url
                planned = String(url.absoluteString.dropFirst(base.count))
            } catch let error as NetworkError {
                #expect(error.kind == .invalidRequest)
                await #expect(throws: NetworkError.self) { try await Self.agent(server).send(request) }
                refused += 1
                continue
            }
            let before = server.requestCount
            try await Self.agent(server).send(request)
            #expect(server.requestCount == before + 1)
            #expect(server.requests.last?.target == planned, "\(path)")
        }
        #expect(refused == 7)
    }

    /// The results of adapters and URL filters, and the targets of redirects.
    @Test
    func dotSegmentsFromAnySourceAreResolvedBeforeSending() async throws {
        struct Adding: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
                request.url = URL(string: request.url.absoluteString + "/up/../y") ?? request.url
            }
        }
        let server = try MockServer { _ in .status(204) }
        defer { server.stop() }
        server.on(.get, "/from", .redirect(to: "/a/%2e%2e/b/./to"))
        let agent = Self.agent(server) { $0.adapters = [Adding()] }
        let request = GeneralRequest("/x").expecting(Void.self)
        #expect(try await agent.plan(for: request).request.url.path() == "/x/y")
        #expect(try await agent.response(for: request).url.path() == "/x/y")
        #expect(server.requests.last?.target == "/x/y")
        let redirected = try await Self.agent(server).response(for: GeneralRequest("/from").expecting(Void.self))
        #expect(server.requests.last?.target == "/b/to")
        #expect(redirected.url.path() == "/b/to")
    }

    @Test
    func severalCookieLinesAreSentAsOneJoinedBySemicolons() async throws {
        let server = try MockServer { _ in .status(204) }
        defer { server.stop() }
        var headers: HTTPHeaders = ["Cookie": "a=1", "X-List": "1"]
        headers.add("cookie", "b=2")
        headers.add("Cookie", "c=3")
        headers.add("x-list", "2")
        let request = GeneralRequest("/x").headers(headers).expecting(Void.self)
        try await Self.agent(server).send(request)
        let sent = try #require(server.requests.last)
        #expect(sent.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value) == ["a=1; b=2; c=3"])
        #expect(sent.headers["X-List"] == "1, 2")
        let preview = try await Self.agent(server).urlRequest(for: request)
        #expect(preview.value(forHTTPHeaderField: "Cookie") == "a=1; b=2; c=3")
    }

    @Test
    func fieldsThatThePlatformJoinsAreSplit() async throws {
        let lines: [(String, String)] = [
            ("Set-Cookie", "a=1; Expires=Wed, 09 Jun 2021 10:18:14 GMT; Path=/"), ("Set-Cookie", "b=2; HttpOnly"),
            ("WWW-Authenticate", #"Digest realm="a, b", qop="auth", nonce="n""#), ("WWW-Authenticate", "Basic realm=c"),
            ("Link", #"</a,b>; rel="next""#), ("Link", "</c>; rel=last"),
        ]
        let headers = HTTPHeaders(lines.map { HTTPHeaders.Field(name: $0.0, value: $0.1) })
        let server = try MockServer { _ in .text("", headers: headers) }
        defer { server.stop() }
        let response = try await Self.agent(server).response(for: GeneralRequest("/x").expecting(String.self))
        for name in ["Set-Cookie", "WWW-Authenticate", "Link"] {
            #expect(response.headers.values(for: name) == lines.filter { $0.0 == name }.map(\.1))
        }
    }

    /// Texts as Windows and old servers write them, of a body and of its lines.
    @Test(
        arguments: [
            ("utf-8", [0xEF, 0xBB, 0xBF, 0x61, 0x0A, 0x62], "a\nb"), ("iso-8859-1", [0x93, 0x0A, 0x80], "“\n€"),
            ("latin1", [0x94, 0x81], "\u{94}\u{81}"), ("us-ascii", [0x93, 0x61, 0x94, 0x80], "“a”€"),
            ("iso-8859-9", [0x93, 0x0A, 0x94], "“\n”"), ("iso-8859-11", [0x93, 0xA1, 0x94], "“ก”"),
            ("gb2312", [0x80], "€"),
        ] as [(String, [UInt8], String)]
    )
    func textIsReadAsItWasWritten(_ charset: String, _ bytes: [UInt8], _ text: String) async throws {
        let response = MockResponse.data(Data(bytes), contentType: "text/plain; charset=\(charset)")
        let server = try MockServer { _ in response }
        defer { server.stop() }
        let request = GeneralRequest("/x").expecting(String.self)
        #expect(try await Self.agent(server).send(request) == text)
        var lines: [String] = []
        for try await line in try await Self.agent(server).bytes(for: request).lines { lines.append(line) }
        #expect(lines == text.split(separator: "\n").map(String.init))
    }

    /// Two spellings of "é" are two names.
    @Test
    func namesThatUnicodeCallsEqualAreSentBoth() async throws {
        let server = try MockServer { _ in .status(204) }
        defer { server.stop() }
        let both: Parameters = ["\u{E9}": 1, "e\u{301}": 2]
        for method in [HTTPMethod.post, .get] {
            try await Self.agent(server).send(GeneralRequest("/x").method(method).parameters(both).expecting(Void.self))
        }
        #expect(server.requests.first.map { $0.body == Data("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8) } == true)
        #expect(server.requests.last?.query == "%C3%A9=1&e%CC%81=2")
    }

    @Test
    func aRedirectKeepsTheHeaderFieldsOfItsResponse() async throws {
        final class Seen: Accessory {
            let list = Lock<[Redirect]>([])
            func request(_ context: RequestContext, did event: AccessoryEvent) {
                if case .didRedirect(let redirect) = event { list.withLock { $0.append(redirect) } }
            }
        }
        let server = try MockServer { _ in .status(204) }
        defer { server.stop() }
        let fields: HTTPHeaders = ["Location": "/to", "Set-Cookie": "session=hunter2; Path=/", "X-Hop": "1"]
        server.on(.get, "/from", .status(302, headers: fields))
        let seen = Seen()
        let agent = Self.agent(server) { $0.accessories = [seen] }
        let response = try await agent.response(for: GeneralRequest("/from").expecting(Void.self))
        let hop = try #require(response.redirects.first)
        #expect(hop.headers.values(for: "Set-Cookie") == ["session=hunter2; Path=/"])
        #expect(hop.headers["X-Hop"] == "1")
        #expect(seen.list.withLock { $0 } == [hop])
        var text = ""
        dump(hop, to: &text)
        #expect(!"\(hop)\(text)".contains("hunter2"))
    }

    @Test(arguments: ["PROPFIND", "REPORT", "MKCOL", HTTPMethod("PURGE", isIdempotent: true)])
    func idempotentMethodsAreRetried(method: HTTPMethod) async throws {
        let server = try MockServer { _ in .status(204) }
        defer { server.stop() }
        server.enqueue(.status(503))
        let agent = Self.agent(server) { $0.retryPolicy = RetryPolicy(maximumAttempts: 2) }
        try await agent.send(GeneralRequest("/x").method(method).expecting(Void.self))
        #expect(server.requests.map(\.method) == [method, method])
    }
}
