import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Cookies over real sockets: which are kept, and which are sent where.
@Suite(.limit(seconds: 60))
struct CookieWireTests {
    private let server: MockServer
    private let jar = CookieJar()

    init() throws { server = try MockServer { _ in .json("1") } }

    private func agent(_ jar: CookieJar?, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent {
            if let jar { $0.interceptors = [jar] }
            change(&$0)
        }
    }

    private func url(_ host: String, _ path: String) -> String { "http://\(host):\(server.port)\(path)" }

    /// The paths and the cookies of all requests.
    private var sent: [String] { server.requests.map { "\($0.path) \($0.headers["Cookie"] ?? "-")" } }

    private func settingHeaders(_ lines: String...) -> HTTPHeaders {
        HTTPHeaders(lines.map { HTTPHeaders.Field(name: "Set-Cookie", value: $0) })
    }

    @Test func cookiesAreKeptAndSent() async throws {
        let lines = settingHeaders(
            "a=1; Path=/; Expires=Fri, 31 Dec 2100 23:59:59 GMT; HttpOnly",
            "b=2; Path=/users",
            "c=3; Max-Age=0",
            "d=4; Secure",
            "__Host-e=5; Path=/"
        )
        server.on(.get, "/login", .json("1", headers: lines))
        let agent = agent(jar)
        _ = try await agent.get("/login") as Int
        _ = try await agent.get("/") as Int
        _ = try await agent.get("/users/7") as Int
        #expect(sent == ["/login -", "/ a=1; d=4", "/users/7 b=2; a=1; d=4"])
        #expect(
            jar.cookies.map { "\($0)\($0.path) \($0.isHTTPOnly)" } == [
                "a of 127.0.0.1/ true", "b of 127.0.0.1/users false", "d of 127.0.0.1/ false",
            ]
        )
    }

    @Test func withoutAJarNoneAreKept() async throws {
        server.on(.get, "/login", .json("1", headers: settingHeaders("a=1; Path=/")))
        let agent = agent(nil)
        _ = try await agent.get("/login") as Int
        _ = try await agent.get("/") as Int
        #expect(sent == ["/login -", "/ -"])
    }

    @Test func cookiesOfRedirectsAreSentWithTheNextHop() async throws {
        server.on(
            .get,
            "/login",
            MockResponse(status: 302, headers: settingHeaders("sid=1; Path=/").merging(["Location": "/home"]))
        )
        server.on(
            .get,
            "/home",
            MockResponse(status: 302, headers: settingHeaders("sid=2; Path=/").merging(["Location": "/end"]))
        )
        _ = try await agent(jar).get("/login") as Int
        #expect(sent == ["/login -", "/home sid=1", "/end sid=2"])
    }

    @Test(arguments: [CredentialPolicy.ownOrigins, .anyOrigin])
    func cookiesStayWithTheirHostAcrossRedirects(policy: CredentialPolicy) async throws {
        server.on(.get, "/from", .redirect(to: url("localhost", "/away"), status: 302))
        let back = settingHeaders("other=1; Path=/; Domain=127.0.0.1", "own=1; Path=/").merging([
            "Location": url("127.0.0.1", "/back")
        ])
        server.on(.get, "/away", MockResponse(status: 302, headers: back))
        jar.set("sid=1; Path=/", from: server.baseURL)
        _ = try await agent(jar).send(GeneralRequest("/from").credentialPolicy(policy).expecting(Int.self))
        #expect(sent == ["/from sid=1", "/away -", "/back sid=1"])
        #expect(jar.cookies.map { "\($0)\($0.path)" } == ["sid of 127.0.0.1/", "own of localhost/"])
    }

    @Test func cookiesOfADomainAreSentToItsHosts() async throws {
        let lines = settingHeaders(
            "all=1; Path=/; Domain=shop.localhost",
            "own=1; Path=/",
            "wide=1; Path=/; Domain=localhost",
            "foreign=1; Path=/; Domain=b.shop.localhost"
        )
        server.on(.get, "/set", .json("1", headers: lines))
        let agent = agent(jar)
        for host in ["a.shop.localhost", "b.shop.localhost", "shop.localhost", "c.localhost", "ashop.localhost"] {
            if host == "a.shop.localhost" { _ = try await agent.get(url(host, "/set")) as Int }
            _ = try await agent.get(url(host, "/")) as Int
        }
        #expect(sent == ["/set -", "/ all=1; own=1", "/ all=1", "/ all=1", "/ -", "/ -"])
    }

    @Test(arguments: [400, 401, 404, 500])
    func cookiesOfFailedResponsesAreKept(status: Int) async throws {
        server.on(.get, "/fail", .json("{}", status: status, headers: settingHeaders("a=1; Path=/")))
        let agent = agent(jar)
        await #expect(throws: NetworkError.self) { try await agent.get("/fail") as Int }
        _ = try await agent.get("/") as Int
        #expect(sent == ["/fail -", "/ a=1"])
    }

    @Test func retriesHaveTheCookiesOfEarlierAttempts() async throws {
        server.enqueue(.json("{}", status: 503, headers: settingHeaders("a=1; Path=/")))
        let policy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1), maximumDelay: .milliseconds(1))
        _ = try await agent(jar) { $0.retryPolicy = policy }.get("/") as Int
        #expect(sent == ["/ -", "/ a=1"])
    }

    @Test func ownFieldOfARequestIsSentUnchanged() async throws {
        jar.set("a=1; Path=/", from: server.baseURL)
        server.on(.get, "/set", .json("1", headers: settingHeaders("b=1; Path=/")))
        _ = try await agent(jar).send(GeneralRequest("/set").headers(["Cookie": "c=1"]).expecting(Int.self))
        _ = try await agent(jar).get("/") as Int
        #expect(sent == ["/set c=1", "/ a=1; b=1"])
    }

    @Test func twoJarsKeepTheirOwnCookies() async throws {
        server.on(.get, "/login", .json("1", headers: settingHeaders("a=1; Path=/")))
        let (one, other) = (agent(jar), agent(CookieJar()))
        _ = try await one.get("/login") as Int
        _ = try await other.get("/") as Int
        _ = try await one.get("/") as Int
        #expect(sent == ["/login -", "/ -", "/ a=1"])
    }

    @Test func largeCookiesDoNotKeepAHostFromBeingReached() async throws {
        let value = String(repeating: "x", count: 4_000)
        let large = (0..<50).map {
            HTTPHeaders.Field(name: "Set-Cookie", value: "a\($0)=\(value); Path=/; Domain=shop.localhost")
        }
        for place in 0..<10 {
            let lines = HTTPHeaders(Array(large[(place * 5)..<(place * 5 + 5)]))
            server.on(.get, "/large/\(place)", .json("1", headers: lines))
        }
        let agent = agent(jar)
        let own = try #require(URL(string: url("www.shop.localhost", "/")))
        jar.set("sid=1; Path=/", from: own)
        for place in 0..<10 { _ = try await agent.get(url("evil.shop.localhost", "/large/\(place)")) as Int }
        #expect(jar.cookies.count == 51)
        #expect(try await agent.get(url("www.shop.localhost", "/")) == 1)
        let field = try #require(server.requests.last?.headers["Cookie"])
        #expect(field.utf8.count <= 32 << 10 && field.contains("sid=1"))
    }

    /// A handshake of the user's own, around the jar, that follows a redirect itself.
    private struct Following: Interceptor {
        let jar: CookieJar
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            try await jar.intercept(request, for: context, next: next)
        }
    }

    @Test func wrappedJarReceivesTheCookiesOfTheHostThatHasSetThem() async throws {
        server.on(.get, "/away", .redirect(to: url("localhost", "/set"), status: 302))
        server.on(.get, "/set", .json("1", headers: settingHeaders("sid=EVIL; Path=/")))
        let agent = agent(nil) { $0.interceptors = [Following(jar: jar)] }
        _ = try await agent.get("/away") as Int
        _ = try await agent.get("/") as Int
        #expect(jar.cookies.map { "\($0)\($0.path)" } == ["sid of localhost/"])
        #expect(sent == ["/away -", "/set -", "/ -"])
    }

    @Test func jarOfAServiceReplacesTheConfigsJar() async throws {
        server.on(.get, "/login", .json("1", headers: settingHeaders("a=1; Path=/")))
        let own = CookieJar()
        let service = Service(id: "admin", interceptors: [own])
        jar.set("b=1; Path=/", from: server.baseURL)
        let agent = agent(jar)
        _ = try await agent.send(GeneralRequest("/login").service(service).expecting(Int.self))
        _ = try await agent.send(GeneralRequest("/").service(service).expecting(Int.self))
        _ = try await agent.get("/") as Int
        #expect(sent == ["/login -", "/ a=1", "/ b=1"])
        #expect(own.cookies.map(\.name) == ["a"] && jar.cookies.map(\.name) == ["b"])
    }

    @Test func hostileResponseFillsNoMoreThanItsShare() async throws {
        let value = String(repeating: "x", count: 5_000)
        // Newer versions of libcurl accept 5,000 lines at most.
        let many = (0..<4_900).map { HTTPHeaders.Field(name: "Set-Cookie", value: "a\($0)=1; Path=/") }
        let large = (0..<20).map { HTTPHeaders.Field(name: "Set-Cookie", value: "large\($0)=\(value); Path=/") }
        server.on(.get, "/hostile", .json("1", headers: HTTPHeaders(large + many)))
        jar.set("other=1", from: try #require(URL(string: "https://other.example/")))
        let agent = agent(jar)
        _ = try await agent.get("/hostile") as Int
        _ = try await agent.get("/") as Int
        let cookies = try #require(server.requests.last?.headers["Cookie"]).split(separator: "; ")
        #expect(cookies.count == 50 && cookies.allSatisfy { $0.utf8.count < 10 })
        #expect(jar.cookies.count == 51 && jar.cookies.contains { $0.name == "other" })
    }

    @Test func concurrentResponsesLoseNoCookie() async throws {
        server.on(.get, "/set/:number") {
            .json("1", headers: ["Set-Cookie": "c\($0.parameters["number"] ?? "")=1; Path=/"])
        }
        let agent = agent(jar)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 { group.addTask { _ = try await agent.get("/set/\(number)") as Int } }
            try await group.waitForAll()
        }
        #expect(Set(jar.cookies.map(\.name)) == Set((0..<40).map { "c\($0)" }))
    }

    @Test func valuesAreNeverWritten() async throws {
        let canary = "CANARY-7f3a"
        let lines = settingHeaders("sid=\(canary); Path=/").merging(["Location": "/end"])
        server.on(.get, "/login", MockResponse(status: 302, headers: lines))
        server.on(.get, "/end", .json("{}", status: 500, headers: settingHeaders("sid2=\(canary); Path=/")))
        let log = Lock<[String]>([])
        let logger = LoggingAccessory(level: .events) { line in log.withLock { $0.append(line) } }
        let agent = agent(jar) { $0.accessories = [logger] }
        let error = await #expect(throws: NetworkError.self) { try await agent.get("/login") as Int }
        let plan = try await agent.plan(for: GeneralRequest("/").expecting(Int.self))
        var text = log.withLock { $0.joined() } + "\(jar) \(String(reflecting: jar)) \(plan) \(plan.curl)"
        text += "\(String(describing: error)) \(jar.cookies)"
        dump(jar, to: &text)
        dump(jar.cookies, to: &text)
        dump(error, to: &text)
        dump(agent.config, to: &text)
        #expect(jar.cookies.count == 2 && log.withLock(\.count) > 2 && !text.contains(canary))
    }
}
