import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What identifies the user of a response: a scope for what was changed, and for nothing else.
@Suite(.limit(seconds: 60)) struct CacheIdentityWireTests: CacheIdentitySuite {
    private typealias Adding = IdentityHooks.Adding
    private typealias Rewrapping = IdentityHooks.Rewrapping

    // MARK: Variant and user

    @Test(arguments: [CacheIdentity(variant: "en"), CacheIdentity(), CacheIdentity(user: "alice")])
    func onlyAUserAllowsToStoreAResponseToAToken(identity: CacheIdentity) async throws {
        let server = try Self.server()
        defer { server.stop() }
        let agent = Agent(config: config(server))
        let request = request.authorization(.bearer("alice")).cacheIdentity(identity)
        let response = try await agent.response(for: request)
        #expect(response.metrics.cacheMiss == (identity.user.isEmpty ? .unknownScope : .absent))
        #expect(await agent.config.cache?.count == (identity.user.isEmpty ? 0 : 1))
    }

    @Test func eachUserHasSeparateEntries() async throws {
        let folder = try CacheFolder()
        let server = try MockServer { .text($0.headers["X-Name"] ?? "") }
        defer { server.stop() }
        var config = config(server)
        config.cache = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 30_000)
        let (agent, cache) = (Agent(config: config), try #require(config.cache))
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
        let server = try Self.server()
        defer { server.stop() }
        let staff = AuthenticationSession(Realm(realm: "staff"), credential: "alice")
        let customers = AuthenticationSession(Realm(realm: sameRealm ? "staff" : "customers"), credential: "bob")
        let request = request.duplicatePolicy(duplicates)
        // Of two services of one agent.
        var (one, other) = (Service(id: "staff"), Service(id: "customers"))
        one.authentication = .session(staff)
        other.authentication = .session(customers)
        let agent = Agent(config: config(server))
        try await check(
            { [one] in try await agent.send(request.service(one)) },
            { [other] in try await agent.send(request.service(other)) }
        )
        guard !sameRealm else { return }
        // Of two agents with one cache.
        var config = config(server)
        config.authentication = .session(staff)
        let first = Agent(config: config)
        config.authentication = .session(customers)
        let second = Agent(config: config)
        try await check({ try await first.send(request) }, { try await second.send(request) })
    }

    // MARK: Vary

    @Test func varyOfAuthorizationIsComparedWithWhatWasSent() async throws {
        let server = try Self.server(["Vary": "Authorization", "Cache-Control": "max-age=60"])
        defer { server.stop() }
        for policy in [Self.age, .http] {
            server.reset()
            var config = config(server, policy)
            let session = AuthenticationSession(Realm(realm: ""), credential: "alice 1")
            config.authentication = .session(session)
            let agent = Agent(config: config)
            for _ in 0..<2 { _ = try await agent.send(request) }
            #expect(server.requestCount == 1, "\(policy)")
            // The same user with another token, which the server says makes a difference.
            session.login("alice 2")
            #expect(try await agent.response(for: request).metrics.cacheMiss == .varyMismatch)
            #expect(server.requestCount == 2)
        }
    }

    @Test func varyOfCookieIsComparedWithWhatWasSent() async throws {
        let server = try Self.server(["Vary": "Cookie", "Cache-Control": "max-age=60"])
        defer { server.stop() }
        for policy in [Self.age, .http, .networkElseCache(maxStale: nil)] {
            var config = config(server, policy)
            // Its cookie depends on the user, whatever its scope.
            config.adapters = [Adding(name: "Cookie", scope: "constant")]
            let agent = Agent(config: config)
            for user in ["alice", "alice", "bob", "alice"] {
                #expect(try await agent.send(request.tag(user)) == user, "\(policy)")
            }
        }
    }

    // MARK: What plan and metrics show

    @Test func planNamesTheHookThatHidesTheUser() async throws {
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Adding(name: "X-Trace"), Adding()]
        config.interceptors = [Rewrapping(scope: nil), Rewrapping(scope: "")]
        let plan = try await Agent(config: config).plan(for: request.tag("alice"))
        #expect(plan.cache == .miss(.unknownScope))
        #expect(plan["identity"]?.value == "unknown: changed by Adding, which has no credential scope")
        config.adapters = []
        let other = try await Agent(config: config).plan(for: request)
        #expect(other["identity"]?.value == "known unless changed by Rewrapping, which has no credential scope")
        config.interceptors = []
        #expect(try await Agent(config: config).plan(for: request)["identity"]?.value == "known")
    }
    @Test func planDoesNotCallAUserKnownWhomTheCacheDoesNotKnow() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let agent = Agent(config: config(server))
        let own = request.authorization(.bearer("t"))
        let plan = try await agent.plan(for: own)
        #expect(plan.cache == .miss(.unknownScope))
        #expect(plan["identity"]?.value.hasPrefix("unknown: ") == true, "\(plan["identity"]?.value ?? "")")
        // Nothing is stored, but a shared send is that of the same credential.
        #expect(try await agent.plan(for: own.cachePolicy(.networkOnly))["identity"]?.value == "known")
    }
}
