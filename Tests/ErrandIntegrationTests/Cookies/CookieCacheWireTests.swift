import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Users who are told apart only by their cookies: neither the cache nor `.share` gives one the response of another.
@Suite(.limit(seconds: 60))
struct CookieCacheWireTests {
    private let server: MockServer
    private let cache = ResponseCache(disk: nil)
    /// Releases the response to `/slow` for Alice.
    private let slow = DispatchSemaphore(value: 0)

    init() throws {
        server = try MockServer { .text($0.headers["Cookie"] ?? "nobody") }
        server.on(.get, "/redirect", .redirect(to: "/me"))
        server.on(.get, "/visit") { .text($0.headers["Cookie"] ?? "", headers: ["Set-Cookie": "visit=1; Path=/"]) }
        server.on(.get, "/slow") { [slow] request in
            let user = request.headers["Cookie"] ?? ""
            if user.contains("alice") { slow.wait() }
            return .text(user)
        }
    }

    private func jar(_ user: String?) -> CookieJar {
        let jar = CookieJar()
        if let user { jar.set("sid=\(user); Path=/", from: server.baseURL) }
        return jar
    }

    private func agent(_ jar: CookieJar, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent(cache, .cacheElseNetwork(maxAge: .seconds(600))) {
            $0.interceptors = [jar]
            change(&$0)
        }
    }

    private func get(_ agent: Agent, _ path: String = "/me") async throws -> Response<String> {
        try await agent.response(for: GeneralRequest(path).expecting(String.self))
    }

    @Test func sameCookiesUseTheStoredResponse() async throws {
        let agent = agent(jar("alice"))
        for _ in 0..<3 { #expect(try await get(agent).model == "sid=alice") }
        #expect(server.requestCount == 1)
    }

    @Test func changedCookiesDoNotUseIt() async throws {
        let jar = jar("alice")
        let agent = agent(jar)
        #expect(try await get(agent).model == "sid=alice")
        jar.set("sid=bob; Path=/", from: server.baseURL)
        #expect(try await get(agent).model == "sid=bob")
        jar.removeAll()
        #expect(try await get(agent).model == "nobody")
        jar.set("sid=alice; Path=/", from: server.baseURL)
        // With another identity after all were removed.
        #expect(try await get(agent).source.isFromCache == false)
    }

    @Test(arguments: ["alice", nil])
    func twoJarsNeverUseTheSameResponse(user: String?) async throws {
        for _ in 0..<2 { #expect(try await get(agent(jar(user))).source.isFromCache == false) }
        #expect(server.requestCount == 2)
    }

    @Test func agentWithoutAJarUsesNoneOfItsResponses() async throws {
        #expect(try await get(agent(jar(nil))).model == "nobody")
        let other = agent(jar(nil)) { $0.interceptors = [] }
        #expect(try await get(other).source.isFromCache == false)
    }

    @Test func cookiesThatChangeOnTheWayKeepTheResponseFromBeingStored() async throws {
        struct SigningIn: RequestAdapter {
            let jar: CookieJar
            let url: URL
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
                jar.set("sid=bob; Path=/", from: url)
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let jar = jar("alice")
        let switching = agent(jar) { $0.adapters = [SigningIn(jar: jar, url: server.baseURL)] }
        let first = try await get(switching)
        #expect(first.model == "sid=bob" && first.metrics.cacheMiss == .unknownScope)
        jar.set("sid=alice; Path=/", from: server.baseURL)
        #expect(try await get(agent(jar)).model == "sid=alice")
    }

    @Test func responseThatARedirectLedToIsNotStored() async throws {
        let jar = jar("alice")
        let agent = agent(jar)
        #expect(try await get(agent, "/redirect").model == "sid=alice")
        #expect(try await get(agent, "/redirect").source.isFromCache == false)
        #expect(server.requestCount == 4)
    }

    @Test func responseThatSetsACookieIsStoredForTheCookiesBefore() async throws {
        let jar = jar("alice")
        let agent = agent(jar)
        #expect(try await get(agent, "/visit").model == "sid=alice")
        #expect(try await get(agent, "/visit").model == "sid=alice; visit=1")
        #expect(try await get(agent, "/visit").source.isFromCache)
        jar.removeAll { $0.name == "visit" }
        #expect(try await get(agent, "/visit").model == "sid=alice")
    }

    @Test func ownFieldOfARequestKeepsItsResponseFromBeingStored() async throws {
        let agent = agent(jar("alice"))
        let request = GeneralRequest("/me").headers(["Cookie": "sid=carol"]).expecting(String.self)
        for _ in 0..<2 { #expect(try await agent.send(request) == "sid=carol") }
        #expect(server.requestCount == 2)
        #expect(try await get(agent).model == "sid=alice")
    }

    private struct Counting: SendGate {
        let admitted: Lock<Int>
        func admit(_ context: RequestContext) { admitted.withLock { $0 += 1 } }
    }

    @Test func sendsWithChangedCookiesShareNoRequest() async throws {
        let jar = jar("alice")
        let admitted = Lock(0)
        let agent = agent(jar) {
            ($0.cache, $0.cachePolicy) = (nil, .networkOnly)
            $0.sendGates = [Counting(admitted: admitted)]
        }
        let request = GeneralRequest("/slow").duplicatePolicy(.share).expecting(String.self)
        async let first = agent.send(request)
        await server.waitForRequests(1)
        async let shared = agent.send(request)
        jar.set("unrelated=1; Path=/other", from: server.baseURL)
        // Its identity is known before the gate.
        while admitted.withLock({ $0 }) < 2 { await Task.yield() }
        jar.set("sid=bob; Path=/", from: server.baseURL)
        #expect(try await agent.send(request) == "sid=bob")
        slow.signal()
        #expect(try await [first, shared] == ["sid=alice", "sid=alice"])
        #expect(server.requestCount == 2)
    }

    @Test func varyOfCookieIsComparedByTheJar() async throws {
        server.on(.get, "/vary") { request in
            .text(request.headers["Cookie"] ?? "", headers: ["Vary": "Cookie", "Cache-Control": "max-age=60"])
        }
        let jar = jar("alice")
        let agent = agent(jar) { $0.cachePolicy = .http }
        #expect(try await get(agent, "/vary").model == "sid=alice")
        #expect(try await get(agent, "/vary").source.isFromCache)
        jar.set("sid=bob; Path=/", from: server.baseURL)
        #expect(try await get(agent, "/vary").model == "sid=bob")
    }
}
