import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What identifies the user of a response: a scope for what was changed, and for nothing else.
@Suite(.limit(seconds: 60)) struct CacheIdentityWireTests {
    private static let age = CachePolicy.cacheElseNetwork(maxAge: .seconds(600))
    private let request = GeneralRequest("/me").expecting(String.self)

    private func config(_ server: MockServer, _ policy: CachePolicy = Self.age) -> NetworkConfig {
        var config = NetworkConfig(baseURL: BaseURL(server.baseURL))
        config.environment = [:]
        config.retryPolicy = .never
        config.cache = ResponseCache(disk: nil)
        config.cachePolicy = policy
        return config
    }

    /// Responds with the user that a request shows.
    private static func server(_ headers: HTTPHeaders = [:]) throws -> MockServer {
        try MockServer { request in
            let fields = request.headers.map(\.value).joined(separator: " ")
            let shown = "\(request.target) \(fields)".lowercased()
            let user = ["alice", "bob"].first { shown.contains($0) } ?? "nobody"
            return .text(user, headers: headers).delayed(by: .milliseconds(30))
        }
    }

    /// Two sends at once, of which neither may see the other's response; then each again.
    private func check(
        _ alice: @Sendable () async throws -> String,
        _ bob: @Sendable () async throws -> String
    ) async throws {
        for step in 0..<2 {
            async let one = alice()
            async let other = bob()
            let seen = try await [one, other]
            #expect(seen == ["alice", "bob"], "step \(step)")
        }
    }

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

    // MARK: Adapters

    private struct Adding: RequestAdapter {
        var name = "Authorization"
        var scope: String?
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers[name] = context.tag
        }
        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    /// A signature is the same for every user, a token is not; the constant is that of the signature.
    @Test(arguments: ["", "signature"])
    func constantScopeAllowsTheChangesOfItsOwnAdapterOnly(scope: String) async throws {
        struct Signing: RequestAdapter {
            let scope: String
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.url.append(queryItems: [URLQueryItem(name: "sig", value: UUID().uuidString)])
            }
            func credentialScope(for context: RequestContext) -> String? { scope }
        }
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Signing(scope: scope)]
        let signing = Agent(config: config)
        for _ in 0..<2 { _ = try await signing.send(request.tag("alice")) }
        #expect(server.requestCount == 1)
        let signature = Signing(scope: scope)
        for adapters in [[signature, Adding()], [Adding(), signature]] as [[any RequestAdapter]] {
            config.adapters = adapters
            config.cache = ResponseCache(disk: nil)
            let agent = Agent(config: config)
            let request = request.duplicatePolicy(.share)
            try await check(
                { try await agent.send(request.tag("alice")) },
                { try await agent.send(request.tag("bob")) }
            )
        }
    }

    @Test func scopeOfAnAdapterDoesNotIdentifyAToken() async throws {
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Adding(name: "X-Trace", scope: "trace")]
        let agent = Agent(config: config)
        let response = try await agent.response(for: request.authorization(.bearer("alice")))
        #expect(response.metrics.cacheMiss == .unknownScope)
    }

    /// Alice's request fails, bob signs in, and the retry is his.
    @Test(arguments: [DuplicatePolicy.allow, .share])
    func retryThatIsAnotherUsersIsNotStored(duplicates: DuplicatePolicy) async throws {
        struct Current: RequestAdapter {
            let user: Lock<String>
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.headers["Authorization"] = user.withLock { $0 }
            }
            func credentialScope(for context: RequestContext) -> String? { user.withLock { $0 } }
        }
        let user = Lock("alice")
        let server = try MockServer { request in
            let seen = request.headers["Authorization"] ?? ""
            guard seen == "alice", user.withLock({ $0 == "alice" }) else { return .text(seen) }
            user.withLock { $0 = "bob" }
            return .status(503)
        }
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Current(user: user)]
        config.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        let agent = Agent(config: config)
        let response = try await agent.response(for: request.duplicatePolicy(duplicates))
        #expect(response.model == "bob" && response.metrics.cacheMiss == .unknownScope)
        #expect(await config.cache?.count == 0)
    }

    /// Fields that name a user, although they are no secrets.
    @Test(arguments: ["X-User", "X-User-ID", "X-Account", "X-Customer-Id", "X-Tenant", "From", "X-Member-Number"])
    func fieldThatNamesAUserIsNeitherStoredNorShared(name: String) async throws {
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Adding(name: name)]
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(.share)
        try await check({ try await agent.send(request.tag("alice")) }, { try await agent.send(request.tag("bob")) })
    }

    @Test func errorThatAHookThrowsIsNotShared() async throws {
        struct Blocked: Error { let user: String }
        struct Blocking: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                try await Task.sleep(for: .milliseconds(30))
                throw Blocked(user: context.tag)
            }
        }
        struct Refusing: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                _ = try await next(request)
                throw Blocked(user: context.tag)
            }
        }
        struct Answering: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                _ = try await next(request)
                return RawResponse(statusCode: 403, body: Data(context.tag.utf8), url: request.url)
            }
        }
        let server = try Self.server()
        defer { server.stop() }
        for number in 0..<3 {
            var config = config(server, .networkOnly)
            if number == 0 { config.adapters = [Blocking()] }
            if number == 1 { config.interceptors = [Refusing()] }
            if number == 2 { config.interceptors = [Answering()] }
            let agent = Agent(config: config)
            let request = request.duplicatePolicy(.share)
            @Sendable func user(_ tag: String) async -> String {
                do {
                    return try await agent.send(request.tag(tag))
                } catch let error as Blocked {
                    return error.user
                } catch {
                    return (error as? NetworkError)?.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
                }
            }
            try await check({ await user("alice") }, { await user("bob") })
        }
    }

    private struct AddingForUsers: RequestAdapter {
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            if !context.tag.isEmpty { request.headers["Authorization"] = context.tag }
        }
    }

    /// An adapter without a scope adds nothing for a user who hasn't signed in, so that the response is stored.
    @Test(arguments: [age, .http, .cacheOnly, .networkElseCache(maxStale: nil)])
    func responseFromBeforeALoginIsNotUsedForAUser(policy: CachePolicy) async throws {
        let server = try Self.server(["Cache-Control": "max-age=60"])
        defer { server.stop() }
        var config = config(server)
        config.adapters = [AddingForUsers()]
        let agent = Agent(config: config)
        #expect(try await agent.send(request) == "nobody")
        #expect(await config.cache?.count == 1)
        let request = request.tag("alice").cachePolicy(policy)
        if policy == .cacheOnly {
            await #expect(throws: NetworkError.self) { try await agent.send(request) }
        } else {
            #expect(try await agent.send(request) == "alice")
        }
        if policy != .networkElseCache(maxStale: nil) {
            #expect(try await agent.plan(for: request).cache == .miss(.unknownScope))
        }
    }

    @Test func responseFromBeforeALoginIsNotSharedWithAUser() async throws {
        let server = try MockServer { .text($0.headers["Authorization"] ?? "nobody").delayed(by: .milliseconds(250)) }
        defer { server.stop() }
        var config = config(server, .networkOnly)
        config.adapters = [AddingForUsers()]
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(.share)
        async let nobody = agent.send(request)
        await server.waitForRequests(1)
        async let another = agent.send(request)
        async let alice = agent.send(request.tag("alice"))
        #expect(try await [nobody, another, alice] == ["nobody", "nobody", "alice"])
        #expect(server.requestCount == 2)
    }

    // MARK: Interceptors

    /// Makes a response of its own of what it received, as one that decrypts does.
    private struct Rewrapping: Interceptor {
        let scope: String?
        var addsUser = false
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            request.url.append(queryItems: [URLQueryItem(name: "sig", value: UUID().uuidString)])
            if addsUser { request.headers["Authorization"] = context.tag }
            let response = try await next(request)
            return RawResponse(headers: response.headers, body: response.body, url: response.url)
        }
        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    @Test(arguments: [nil, "", "signature"])
    func interceptorWithAScopeAllowsItsOwnChangesOnly(scope: String?) async throws {
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.interceptors = [Rewrapping(scope: scope)]
        let first = Agent(config: config)
        for _ in 0..<2 { _ = try await first.send(request.tag("alice")) }
        #expect(server.requestCount == (scope == nil ? 2 : 1))
        for interceptors in [
            [Rewrapping(scope: scope), Rewrapping(scope: nil, addsUser: true)],
            [Rewrapping(scope: nil, addsUser: true), Rewrapping(scope: scope)],
        ] {
            config.interceptors = interceptors
            config.cache = ResponseCache(disk: nil)
            let agent = Agent(config: config)
            let request = request.duplicatePolicy(.share)
            try await check(
                { try await agent.send(request.tag("alice")) },
                { try await agent.send(request.tag("bob")) }
            )
        }
    }

    @Test func interceptorsWithAScopeKeepUsersApart() async throws {
        struct Signing: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var request = request
                request.headers["Authorization"] = context.tag
                return try await next(request)
            }
            func credentialScope(for context: RequestContext) -> String? { context.tag }
        }
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.interceptors = [Signing()]
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(.share)
        try await check({ try await agent.send(request.tag("alice")) }, { try await agent.send(request.tag("bob")) })
        #expect(server.requestCount == 2)
    }

    /// Once an interceptor without a scope has been seen to add a credential, it may do so again.
    @Test func interceptorThatAddsACredentialAtTimesIsNotTrusted() async throws {
        struct Adding: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var request = request
                if !context.tag.isEmpty { request.headers["Authorization"] = context.tag }
                return try await next(request)
            }
        }
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.interceptors = [Adding()]
        let agent = Agent(config: config)
        for user in ["alice", "", "bob", "", "alice"] {
            #expect(try await agent.send(request.tag(user)) == (user.isEmpty ? "nobody" : user))
        }
        #expect(await config.cache?.count == 0)
    }

    /// Keeps the response of whoever came first.
    @Test func responseThatAnInterceptorKeptFromAnotherSendIsNotStored() async throws {
        struct Keeping: Interceptor {
            let kept = Lock<RawResponse?>(nil)
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                if let kept = kept.withLock({ $0 }) { return kept }
                let response = try await next(request)
                kept.withLock { $0 = response }
                return response
            }
        }
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.interceptors = [Keeping()]
        let agent = Agent(config: config)
        _ = try await agent.send(request.headers(["Cookie": "alice"]))
        let response = try await agent.response(for: request.headers(["Cookie": "bob"]))
        #expect(response.metrics.cacheMiss == .unknownScope)
        #expect(await config.cache?.count == 1)
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
}
