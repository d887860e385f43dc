import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Guarantee G22: no user receives the response of another, whatever identifies the users.
@Suite(.limit(seconds: 60)) struct CacheIsolationTests {
    /// How a request shows its user.
    enum Shown: String, CaseIterable, Sendable {
        case bearer, bearerAndVariant, variant, scopedAdapter, bareAdapter, apiKey, cookie, login, interceptor
    }

    private struct Tokens: Authenticator {
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers["Authorization"] = "Bearer \(credential)"
        }
        func scope(of credential: String) -> String? { credential }
        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func appliesTo(_ url: URL) -> Bool { true }
    }

    private typealias Plain = GeneralRequest<DefaultFormatter<String>>

    private func show(_ user: String, _ shown: Shown, in config: inout NetworkConfig, _ request: Plain) -> Plain {
        let variant = CacheIdentity(variant: user)
        func adding(scope: String?) -> ClosureAdapter {
            ClosureAdapter(scope: scope) { request, _ in request.headers["Authorization"] = "Bearer \(user)" }
        }
        switch shown {
        case .bearer: return request.authorization(.bearer(user))
        // One variant for all, such as a locale: only the token distinguishes them.
        case .bearerAndVariant: return request.authorization(.bearer(user)).cacheIdentity(CacheIdentity(variant: "en"))
        case .variant:
            config.adapters = [adding(scope: nil)]
            return request.cacheIdentity(variant)
        case .scopedAdapter: config.adapters = [adding(scope: user)]
        case .bareAdapter: config.adapters = [adding(scope: nil)]
        case .apiKey: config.headers["X-Api-Key"] = user
        case .cookie: config.headers["Cookie"] = "session=\(user)"
        case .login: config.authentication = .session(AuthenticationSession(Tokens(), credential: user))
        case .interceptor:
            config.interceptors = [
                ClosureInterceptor { request, next in
                    var request = request
                    request.headers["Authorization"] = "Bearer \(user)"
                    return try await next(request)
                }
            ]
        }
        return request
    }

    /// The transport shows a user itself, as with a client certificate.
    @Test(arguments: policies) func usersOfTransportsAreKeptApart(policy: CachePolicy) async throws {
        let cache = ResponseCache(disk: nil)
        let config = NetworkConfig.test { $0.cache = cache }
        for user in ["alice", "bob", "", "alice"] {
            let transport = ClosureTransport(identity: user) { _, _ in
                .json("\"\(user)\"", headers: ["Cache-Control": "max-age=60"])
            }
            let agent = Agent(config: config, transport: transport)
            #expect(try await agent.send(GeneralRequest("/me").cachePolicy(policy)) == .string(user))
            await cache.flush()
        }
        #expect(await cache.entries.count == 3)
    }

    /// The user of a request, as a server sees it.
    private static func user(_ request: OutgoingRequest) -> String {
        let shown = ["Authorization", "X-Api-Key", "Cookie"].compactMap { request.headers[$0] }.joined()
        return shown.contains("alice") ? "alice" : shown.contains("bob") ? "bob" : "nobody"
    }

    private static let policies: [CachePolicy] = [
        .cacheElseNetwork(maxAge: .seconds(60)), .networkElseCache(maxStale: nil),
        .cacheThenNetwork(maxAge: .seconds(60)),
        .staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(60)), .http,
    ]

    @Test(arguments: Shown.allCases, [nil, "Authorization", "Accept-Language, Cookie"])
    func noResponseCrossesUsers(shown: Shown, vary: String?) async throws {
        for policy in Self.policies {
            for duplicates in [DuplicatePolicy.allow, .share] {
                try await check(shown, vary, policy, duplicates)
            }
        }
    }

    private func check(
        _ shown: Shown,
        _ vary: String?,
        _ policy: CachePolicy,
        _ duplicates: DuplicatePolicy
    ) async throws {
        let (clock, offline) = (WallClock(), ResponseCounter())
        let cache = ResponseCache(disk: nil) { clock.now }
        let transport = StubTransport { request in
            _ = try offline.next()
            let user = Self.user(request)
            let tag = "\"\(user)\""
            var headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": tag]
            headers["Vary"] = vary
            if request.headers["If-None-Match"] == tag { return .status(304, headers: headers) }
            return .text(user, headers: headers)
        }
        func send(_ user: String) async -> String? {
            var config = NetworkConfig.test {
                $0.cache = cache
                $0.cachePolicy = policy
            }
            let request = show(user, shown, in: &config, GeneralRequest("/me").expecting(String.self))
                .duplicatePolicy(duplicates)
            // Offline there may be none.
            return try? await Agent(config: config, transport: transport).send(request)
        }
        // Missing, fresh, stale with a 304, then offline.
        for step in 0..<4 {
            if step == 2 { clock.advance(by: 90) }
            if step == 3 { offline.failure = NetworkError(.noConnection) }
            for user in ["alice", "bob", "alice"] {
                async let (one, other) = (send(user), send(user == "bob" ? "alice" : "bob"))
                let (seen, seenByOther) = await (one, other)
                #expect(seen == user || (seen == nil && step == 3), "step \(step), \(policy)")
                #expect(seenByOther != user, "step \(step), \(policy)")
            }
        }
    }

    @Test(arguments: [Shown.bearer, .bearerAndVariant, .apiKey, .cookie])
    func responseToADeclaredCredentialIsStored(shown: Shown) async throws {
        let cache = ResponseCache(disk: nil)
        let transport = StubTransport { .text(Self.user($0)) }
        for user in ["alice", "bob", "alice"] {
            var config = NetworkConfig.test {
                $0.cache = cache
                $0.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
            }
            let request = show(user, shown, in: &config, GeneralRequest("/me").expecting(String.self))
            #expect(try await Agent(config: config, transport: transport).send(request) == user)
        }
        #expect(transport.requestCount == 2)
    }

    @Test(arguments: [Shown.variant, .bareAdapter, .interceptor])
    func responseToAHookWithoutAScopeIsNotStored(shown: Shown) async throws {
        let cache = ResponseCache(disk: nil)
        var config = NetworkConfig.test {
            $0.cache = cache
            $0.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
        }
        let request = show("alice", shown, in: &config, GeneralRequest("/me").expecting(String.self))
        let transport = StubTransport { _ in .text("x") }
        let agent = Agent(config: config, transport: transport)
        _ = try await agent.send(request)
        _ = try await agent.send(request)
        #expect(transport.requestCount == 2)
        #expect(await cache.count == 0)
    }

    @Test func logoutRemovesStoredAndInFlightResponses() async throws {
        let cache = ResponseCache(disk: nil)
        let session = AuthenticationSession(Tokens(), credential: "alice")
        let config = NetworkConfig.test {
            $0.cache = cache
            $0.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
            $0.authentication = .session(session)
        }
        let gate = ManualClock()
        let transport = StubTransport { request in
            if request.url.path() == "/slow" { try await gate.sleep(until: ManualClock.Instant(offset: .seconds(1))) }
            return .text("x")
        }
        let agent = Agent(config: config, transport: transport)
        _ = try await agent.send(GeneralRequest("/me").expecting(String.self))
        _ = try await agent.send(GeneralRequest("/public").authorization(.anonymous).expecting(String.self))
        let slow = Task { try await agent.send(GeneralRequest("/slow").expecting(String.self)) }
        await gate.waitForSleepers()
        #expect(await cache.count == 2)
        await session.logout(clearing: cache)
        gate.advance(by: .seconds(1))
        _ = try await slow.value
        #expect(await cache.entries.map { $0.url?.path() } == ["/public"])
    }

    @Test func aFieldThatAnAdapterSetsAndTheResponseDependsOnKeepsItFromBeingStored() async throws {
        let rig = CachedRig(
            config: { $0.adapters = [ClosureAdapter(scope: "") { request, _ in request.headers["X-Locale"] = "de" }] },
            responding: { _ in .text("x", headers: ["Vary": "x-locale"]) }
        )
        _ = try await rig.agent.send(GeneralRequest("/me").expecting(String.self))
        #expect(await rig.cache.count == 0)
    }
}
