import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The identity of a response's user: a scope covers its own changes only.
@Suite(.limit(seconds: 60)) struct CacheIdentityWireTests: CacheIdentitySuite {
    private typealias Adding = IdentityHooks.Adding
    private typealias Rewrapping = IdentityHooks.Rewrapping
    let server: MockServer

    init() throws { server = try Self.makeServer() }

    // MARK: Variant and user

    /// The token of the config needs nothing more.
    @Test(arguments: [CacheIdentity(variant: "en"), CacheIdentity(), CacheIdentity(user: "alice")])
    func aResponseToADeclaredTokenIsStoredAndRevalidated(identity: CacheIdentity) async throws {
        let (clock, folder) = (CacheClock(), try CacheFolder())
        server.on(.get, "/me") { request in
            let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
            if request.headers.contains("If-None-Match") { return .status(304, headers: fields) }
            return .text(request.headers["Authorization"] ?? "nobody", headers: fields)
        }
        func agent(_ token: String) -> Agent {
            // Another process has another cache of the same folder.
            let disk = DiskStore(directory: folder.url)
            let cache = ResponseCache(memory: nil, disk: disk, patience: 600_000) { clock.now }
            return server.agent(cache) { $0.authorization = .bearer(token) }
        }
        let request = request.cacheIdentity(identity)
        let first = agent("a")
        #expect(try await first.send(request) == "Bearer a")
        await first.config.cache?.flush()
        #expect(try await agent("a").response(for: request).source.isFromCache)
        clock.advance(by: 90)
        let revalidated = try await agent("a").response(for: request)
        let isRevalidated = if case .revalidated = revalidated.source { true } else { false }
        #expect(isRevalidated && revalidated.model == "Bearer a" && server.requestCount == 2)
        // Another token is another user's, unless the request names the user.
        let isNamed = !identity.user.isEmpty
        #expect(try await agent("b").send(request.cachePolicy(Self.age)) == (isNamed ? "Bearer a" : "Bearer b"))
        // A user who is named needs no digest of a credential.
        guard !isNamed else { return }
        let file = folder.url.appending(path: "v2/secret").path(percentEncoded: false)
        let mode = (try FileManager.default.attributesOfItem(atPath: file))[.posixPermissions] as? Int
        #expect(mode == 0o600 && FileManager.default.contents(atPath: file)?.count == 32)
    }

    @Test func eachUserHasSeparateEntries() async throws {
        let folder = try CacheFolder()
        server.on(.get, "/me") { .text($0.headers["X-Name"] ?? "") }
        let cache = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 600_000)
        let agent = server.agent(cache, Self.age)
        func send(_ user: String) async throws -> String {
            try await agent.send(request.headers(["X-Name": user]).cacheIdentity(CacheIdentity(user: user)))
        }
        for _ in 0..<2 {
            for user in ["alice", "bob"] { #expect(try await send(user) == user) }
        }
        #expect(server.requestCount == 2)
        await cache.flush()
        await cache.removeAll(ofUser: "alice")
        #expect(await cache.count == 1)
        for user in ["alice", "bob"] { #expect(try await send(user) == user) }
        #expect(server.requestCount == 3)
        // The user itself is not stored, only a digest.
        #expect(await cache.entries.allSatisfy { !$0.head.user.isEmpty && $0.head.user != "alice" })
    }

    // MARK: Sessions

    private struct Realm: Authenticator {
        let realm: String
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = credential
        }
        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func scope(of credential: String) -> String? { "1" }
    }

    /// Staff and customers, numbered alike, with authenticators of one type.
    @Test(arguments: [DuplicatePolicy.allow, .share], [true, false])
    func usersOfTwoAuthenticatorsDoNotShareTheirNumber(duplicates: DuplicatePolicy, sameRealm: Bool) async throws {
        let staff = AuthenticationSession(Realm(realm: "staff"), credential: "alice")
        let customers = AuthenticationSession(Realm(realm: sameRealm ? "staff" : "customers"), credential: "bob")
        let request = request.duplicatePolicy(duplicates)
        // Of two services of one agent.
        var (one, other) = (Service(id: "staff"), Service(id: "customers"))
        one.authentication = .session(staff)
        other.authentication = .session(customers)
        let agent = agent()
        try await check(
            { [one] in try await agent.send(request.service(one)) },
            { [other] in try await agent.send(request.service(other)) }
        )
        guard !sameRealm else { return }
        // Of two agents with one cache.
        let cache = ResponseCache(disk: nil)
        let first = server.agent(cache, Self.age) { $0.authentication = .session(staff) }
        let second = server.agent(cache, Self.age) { $0.authentication = .session(customers) }
        try await check({ try await first.send(request) }, { try await second.send(request) })
    }

    // MARK: Vary

    /// A new token of the same user keeps the user's responses.
    @Test func varyOfAuthorizationIsAboutTheUser() async throws {
        let headers: HTTPHeaders = ["Vary": "Authorization", "Cache-Control": "max-age=60"]
        let route = server.on(.get, "/me") { .text($0.user ?? "nobody", headers: headers) }
        for policy in [Self.age, .http] {
            let before = route.count
            let session = AuthenticationSession(Realm(realm: ""), credential: "alice 1")
            let agent = agent(policy) { $0.authentication = .session(session) }
            for _ in 0..<2 { _ = try await agent.send(request) }
            session.login("alice 2")
            #expect(try await agent.response(for: request).source.isFromCache)
            #expect(route.count == before + 1, "\(policy)")
        }
    }

    /// Fields that a hook adds are not known when a response is looked up.
    @Test func aResponseThatDependsOnCookiesOfAHookIsNotStored() async throws {
        server.on(.get, "/me") {
            .text($0.user ?? "nobody", headers: ["Vary": "Cookie", "Cache-Control": "max-age=60"])
        }
        for policy in [Self.age, .http, .networkElseCache(maxStale: nil)] {
            // Its cookie depends on the user, whatever its scope.
            let agent = agent(policy) { $0.adapters = [Adding(name: "Cookie", scope: "constant")] }
            for user in ["alice", "alice", "bob", "alice"] {
                #expect(try await agent.send(request.tag(user)) == user, "\(policy)")
            }
            #expect(await agent.config.cache?.count == 0)
        }
    }

    /// The names of cookies don't indicate their meaning, so they are compared.
    @Test func cookiesThatTheServerVariesByAreComparedForANamedUser() async throws {
        for (path, vary) in [("/vary", "Cookie"), ("/plain", "Accept")] {
            server.on(.get, path) { .text($0.headers["Cookie"] ?? "none", headers: ["Vary": vary]) }
        }
        let (agent, user) = (agent(), CacheIdentity(user: "alice"))
        for (path, seen) in [("/vary", "b"), ("/plain", "a")] {
            let request = GeneralRequest(path).expecting(String.self).cacheIdentity(user)
            #expect(try await agent.send(request.header("Cookie", "a")) == "a")
            #expect(try await agent.send(request.header("Cookie", "b")) == seen)
        }
        let jar = CookieJar()
        agent.config.interceptors = [jar]
        for (path, seen) in [("/vary", "t=2"), ("/plain", "t=1")] {
            let request = GeneralRequest(path).query(["jar": 1]).expecting(String.self).cacheIdentity(user)
            jar.set("t=1; Path=/", from: server.baseURL)
            #expect(try await agent.send(request) == "t=1")
            jar.set("t=2; Path=/", from: server.baseURL)
            #expect(try await agent.send(request) == seen)
        }
    }

    @Test func planNamesTheHookThatHidesTheUser() async throws {
        let agent = agent {
            $0.adapters = [Adding(name: "X-Trace", scope: ""), Adding()]
            $0.interceptors = [Rewrapping(scope: nil), Rewrapping(scope: "")]
        }
        let plan = try await agent.plan(for: request.tag("alice"))
        #expect(plan.cache == .miss(.unknownScope))
        #expect(plan["identity"]?.value == "unknown: Adding, Rewrapping declares no credential scope")
        let own = request.authorization(.bearer("t"))
        #expect(try await self.agent().plan(for: own)["identity"]?.value == "known")
    }
}
