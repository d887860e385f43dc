import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Adapters and interceptors, with a scope and without one: without one nothing is stored or shared, and with one only what
/// every exchange of the send shows to be its user's.
@Suite(.limit(seconds: 60)) struct CacheHookTests: CacheIdentitySuite {
    private typealias Adding = IdentityHooks.Adding
    private typealias Rewrapping = IdentityHooks.Rewrapping

    /// Adds the token of the current user, or of the user for whom the send was prepared.
    private struct Current: RequestAdapter, Interceptor {
        let user: Lock<String>
        var signsIn: String?
        var isPinned = false

        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            if let signsIn { user.withLock { $0 = signsIn } }
            let current = user.withLock { $0 }
            request.headers["Authorization"] = isPinned ? context.credentialScope : current
        }

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            try await adapt(&request, for: context)
            return try await next(request)
        }

        func credentialScope(for context: RequestContext) -> String? { user.withLock { $0 } }
    }

    private func isHeldBack(_ config: NetworkConfig, _ comment: Comment) async throws {
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(.share)
        try await check({ try await agent.send(request.tag("alice")) }, { try await agent.send(request.tag("bob")) })
        #expect(await config.cache?.count == 0, comment)
        #expect(try await agent.response(for: request.tag("bob")).metrics.cacheMiss == .unknownScope, comment)
    }

    @Test(arguments: ["Authorization", "X-User", "X-JWT", "Referer", "X-Trace"], [Self.age, .http])
    func aHookWithoutAScopeNeitherStoresNorShares(name: String, policy: CachePolicy) async throws {
        let server = try Self.server()
        defer { server.stop() }
        for scope in [nil, "", "own"] {
            var config = config(server, policy)
            config.adapters = [Adding(name: name, scope: nil)]
            if let scope { config.adapters.insert(Adding(name: "X-Trace", scope: scope), at: 0) }
            try await isHeldBack(config, "\(scope ?? "none")")
            config.adapters = []
            config.interceptors = [Rewrapping(scope: nil, addsUser: true), Rewrapping(scope: scope)]
            try await isHeldBack(config, "\(scope ?? "none")")
        }
    }

    /// A hook that only traces or logs declares an empty scope.
    @Test func hooksWithAScopeStoreAndShare() async throws {
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Adding(name: "X-Trace", scope: "")]
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(.share)
        async let one = agent.send(request.tag("1"))
        async let other = agent.send(request.tag("2"))
        #expect(try await [one, other] == ["nobody", "nobody"])
        #expect(try await agent.response(for: request).source.isFromCache)
        #expect(server.requestCount == 1)
    }

    /// A stored response is not used by a send whose hook has no scope, and is kept.
    @Test(arguments: [age, .http, .cacheOnly, .networkElseCache(maxStale: nil)])
    func aSendWhoseHookHasNoScopeReadsNothing(policy: CachePolicy) async throws {
        let server = try Self.server(["Cache-Control": "max-age=60"])
        defer { server.stop() }
        let agent = Agent(config: config(server))
        #expect(try await agent.send(request) == "nobody")
        agent.config.adapters = [Adding()]
        let request = request.tag("alice").cachePolicy(policy)
        if policy == .cacheOnly {
            await #expect(throws: NetworkError.self) { try await agent.send(request) }
        } else {
            #expect(try await agent.send(request) == "alice")
        }
        #expect(await agent.config.cache?.count == 1)
        if policy != .networkElseCache(maxStale: nil) {
            #expect(try await agent.plan(for: request).cache == .miss(.unknownScope))
        }
    }

    @Test func aSendWhoseHookHasNoScopeJoinsNone() async throws {
        let hold = ResponseHold()
        let server = try MockServer { request in
            hold.pass()
            return .text(request.headers["Authorization"] ?? "nobody")
        }
        defer { server.stop() }
        let agent = Agent(config: config(server, .networkOnly))
        let request = request.duplicatePolicy(.share)
        hold.holdUntilWaiting(.max, at: agent)
        async let nobody = agent.send(request)
        async let another = agent.send(request)
        // Both have begun before the config changes.
        while agent.pipeline.admission.fetches.waiterCount < 2 { await Task.yield() }
        agent.config.adapters = [Adding()]
        hold.holdUntilWaiting(2, at: agent)
        async let alice = agent.send(request.tag("alice"))
        #expect(try await [nobody, another, alice] == ["nobody", "nobody", "alice"])
        #expect(server.requestCount == 2)
    }

    // MARK: Users who change on the way

    @Test(arguments: [false, true], [DuplicatePolicy.allow, .share])
    func aUserWhoSignsInDuringAdaptationHasNothingStored(isInterceptor: Bool, duplicates: DuplicatePolicy) async throws
    {
        let server = try Self.server()
        defer { server.stop() }
        let user = Lock("alice")
        var config = config(server)
        let hook = Current(user: user, signsIn: "bob")
        if isInterceptor { config.interceptors = [hook] } else { config.adapters = [hook] }
        let agent = Agent(config: config)
        let response = try await agent.response(for: request.duplicatePolicy(duplicates))
        #expect(response.model == "bob" && response.metrics.cacheMiss == .unknownScope)
        #expect(await config.cache?.count == 0)
    }

    /// The token belongs to the user for whom the send was prepared, but the exchange is no longer this user's alone.
    @Test func aHookThatAddsThePinnedUserMixesNone() async throws {
        let server = try Self.server()
        defer { server.stop() }
        let user = Lock("alice")
        var config = config(server)
        config.adapters = [Current(user: user, signsIn: "bob", isPinned: true)]
        let agent = Agent(config: config)
        #expect(try await agent.send(request) == "alice")
        #expect(try await agent.send(request) == "bob")
        #expect(try await agent.send(request) == "bob")
        #expect(server.requestCount == 2)
    }

    /// Alice's request fails, bob signs in, and the retry is his; so is the failure.
    @Test(arguments: [DuplicatePolicy.allow, .share], [200, 403])
    func aRetryThatIsAnotherUsersIsNeitherStoredNorShared(duplicates: DuplicatePolicy, status: Int) async throws {
        let user = Lock("alice")
        let server = try MockServer { request in
            let seen = request.headers["Authorization"] ?? ""
            guard seen == "alice", user.withLock({ $0 == "alice" }) else { return .text(seen, status: status) }
            user.withLock { $0 = "bob" }
            return .status(503)
        }
        defer { server.stop() }
        var config = config(server)
        config.adapters = [Current(user: user)]
        config.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(duplicates)
        do {
            let response = try await agent.response(for: request)
            #expect(response.model == "bob" && response.metrics.cacheMiss == .unknownScope && status == 200)
        } catch let error as NetworkError {
            #expect(error.statusCode == status && status == 403)
        }
        #expect(await config.cache?.count == 0)
    }

    /// A stale response of the user before is not given to the one who has signed in.
    @Test func noStaleResponseIsUsedAfterAChangeOfTheUser() async throws {
        let isOffline = Lock(false)
        let server = try MockServer { request in
            isOffline.withLock { $0 } ? .status(503) : .text(request.headers["Authorization"] ?? "")
        }
        defer { server.stop() }
        let user = Lock("alice")
        var config = config(server, .networkElseCache(maxStale: nil))
        config.adapters = [Current(user: user)]
        let agent = Agent(config: config)
        #expect(try await agent.send(request) == "alice")
        isOffline.withLock { $0 = true }
        #expect(try await agent.send(request) == "alice")
        agent.config.adapters = [Current(user: user, signsIn: "bob")]
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request) }
        #expect(error?.statusCode == 503)
    }

    // MARK: Responses and errors of hooks

    /// Keeps the response of whoever came first.
    private struct Keeping: Interceptor {
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
        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    @Test func aResponseThatAHookHasMadeOrKeptIsNotStored() async throws {
        let server = try Self.server()
        defer { server.stop() }
        for interceptor in [Keeping(), Rewrapping(scope: "")] as [any Interceptor] {
            var config = config(server)
            config.interceptors = [interceptor]
            let agent = Agent(config: config)
            _ = try await agent.send(request.headers(["Cookie": "alice"]))
            let response = try await agent.response(for: request.headers(["Cookie": "bob"]))
            #expect(response.metrics.cacheMiss == .unknownScope)
            #expect(await config.cache?.count == (interceptor is Keeping ? 1 : 0))
        }
    }

    /// One that decrypts changes the response that it has received.
    @Test func aReceivedResponseThatAHookHasChangedIsStored() async throws {
        struct Decrypting: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var response = try await next(request)
                response.body = Data("plain".utf8)
                return response
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let server = try Self.server()
        defer { server.stop() }
        var config = config(server)
        config.interceptors = [Decrypting()]
        let agent = Agent(config: config)
        for _ in 0..<2 { #expect(try await agent.send(request) == "plain") }
        #expect(server.requestCount == 1)
    }

    @Test func anErrorThatAHookWithoutAScopeThrowsIsNotShared() async throws {
        struct Blocked: Error { let user: String }
        struct Blocking: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                try await Task.sleep(for: .milliseconds(30))
                throw Blocked(user: context.tag)
            }
        }
        struct Responding: Interceptor {
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
        for isAdapter in [true, false] {
            var config = config(server, .networkOnly)
            if isAdapter { config.adapters = [Blocking()] } else { config.interceptors = [Responding()] }
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
}
