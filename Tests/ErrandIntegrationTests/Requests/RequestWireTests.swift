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
    private let server: MockServer

    init() throws { server = try MockServer { _ in .status(204) } }

    @Test
    func theURLOfThePlanIsTheOneThatAServerReceives() async throws {
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
                let url = try await server.agent().plan(for: request).request.url
                planned = String(url.absoluteString.dropFirst(base.count))
            } catch let error as NetworkError {
                #expect(error.kind == .invalidRequest)
                await #expect(throws: NetworkError.self) { try await server.agent().send(request) }
                refused += 1
                continue
            }
            let before = server.requestCount
            try await server.agent().send(request)
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
        server.on(.get, "/from", .redirect(to: "/a/%2e%2e/b/./to"))
        let agent = server.agent { $0.adapters = [Adding()] }
        let request = GeneralRequest("/x").expecting(Void.self)
        #expect(try await agent.plan(for: request).request.url.path() == "/x/y")
        #expect(try await agent.response(for: request).url.path() == "/x/y")
        #expect(server.requests.last?.target == "/x/y")
        let redirected = try await server.agent().response(for: GeneralRequest("/from").expecting(Void.self))
        #expect(server.requests.last?.target == "/b/to")
        #expect(redirected.url.path() == "/b/to")
    }

    @Test
    func severalCookieLinesAreSentAsOneJoinedBySemicolons() async throws {
        var headers: HTTPHeaders = ["Cookie": "a=1", "X-List": "1"]
        headers.add("cookie", "b=2")
        headers.add("Cookie", "c=3")
        headers.add("x-list", "2")
        let request = GeneralRequest("/x").headers(headers).expecting(Void.self)
        try await server.agent().send(request)
        let sent = try #require(server.requests.last)
        #expect(sent.headers.filter { $0.name.lowercased() == "cookie" }.map(\.value) == ["a=1; b=2; c=3"])
        #expect(sent.headers["X-List"] == "1, 2")
        let preview = try await server.agent().urlRequest(for: request)
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
        server.on(.get, "/x", .text("", headers: headers))
        let response = try await server.agent().response(for: GeneralRequest("/x").expecting(String.self))
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
        server.on(.get, "/x", .data(Data(bytes), contentType: "text/plain; charset=\(charset)"))
        let request = GeneralRequest("/x").expecting(String.self)
        #expect(try await server.agent().send(request) == text)
        var lines: [String] = []
        for try await line in try await server.agent().bytes(for: request).lines { lines.append(line) }
        #expect(lines == text.split(separator: "\n").map(String.init))
    }

    /// Two spellings of "é" are two names.
    @Test
    func namesThatUnicodeCallsEqualAreSentBoth() async throws {
        let both: Parameters = ["\u{E9}": 1, "e\u{301}": 2]
        for method in [HTTPMethod.post, .get] {
            try await server.agent().send(GeneralRequest("/x").method(method).parameters(both).expecting(Void.self))
        }
        #expect(server.requests.first.map { $0.body == Data("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8) } == true)
        #expect(server.requests.last?.query == "%C3%A9=1&e%CC%81=2")
    }

    @Test
    func aRedirectKeepsTheHeaderFieldsOfItsResponse() async throws {
        let fields: HTTPHeaders = ["Location": "/to", "Set-Cookie": "session=hunter2; Path=/", "X-Hop": "1"]
        server.on(.get, "/from", .status(302, headers: fields))
        let hops = Hops()
        let agent = server.agent { $0.accessories = [hops] }
        let response = try await agent.response(for: GeneralRequest("/from").expecting(Void.self))
        let hop = try #require(response.redirects.first)
        #expect(hop.headers.values(for: "Set-Cookie") == ["session=hunter2; Path=/"])
        #expect(hop.headers["X-Hop"] == "1")
        #expect(hops.all == [hop])
        var text = ""
        dump(hop, to: &text)
        #expect(!"\(hop)\(text)".contains("hunter2"))
    }

    @Test(arguments: ["PROPFIND", "REPORT", "MKCOL", HTTPMethod("PURGE", isIdempotent: true)])
    func idempotentMethodsAreRetried(method: HTTPMethod) async throws {
        server.enqueue(.status(503))
        let agent = server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: 2) }
        try await agent.send(GeneralRequest("/x").method(method).expecting(Void.self))
        #expect(server.requests.map(\.method) == [method, method])
    }
}
