import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Adapters and interceptors, with a scope and without one: without one nothing is stored or shared, and with one only what
/// every exchange of the send shows to be its user's.
@Suite(.limit(seconds: 60)) struct CacheHookTests: CacheIdentitySuite {
    private typealias Adding = IdentityHooks.Adding
    private typealias Rewrapping = IdentityHooks.Rewrapping
    let server: MockServer

    init() throws { server = try Self.makeServer() }

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

    private func isHeldBack(on agent: Agent, _ comment: Comment) async throws {
        let request = request.duplicatePolicy(.share)
        try await check({ try await agent.send(request.tag("alice")) }, { try await agent.send(request.tag("bob")) })
        #expect(await agent.config.cache?.count == 0, comment)
        #expect(try await agent.response(for: request.tag("bob")).metrics.cacheMiss == .unknownScope, comment)
    }

    @Test(arguments: ["Authorization", "X-User", "X-JWT", "Referer", "X-Trace"], [Self.age, .http])
    func aHookWithoutAScopeNeitherStoresNorShares(name: String, policy: CachePolicy) async throws {
        for scope in [nil, "", "own"] {
            let adding = agent(policy) {
                $0.adapters = [Adding(name: name, scope: nil)]
                if let scope { $0.adapters.insert(Adding(name: "X-Trace", scope: scope), at: 0) }
            }
            try await isHeldBack(on: adding, "\(scope ?? "none")")
            let rewrapping = agent(policy) {
                $0.interceptors = [Rewrapping(scope: nil, addsUser: true), Rewrapping(scope: scope)]
            }
            try await isHeldBack(on: rewrapping, "\(scope ?? "none")")
        }
    }

    /// A hook that only traces or logs declares an empty scope.
    @Test func hooksWithAScopeStoreAndShare() async throws {
        let agent = agent { $0.adapters = [Adding(name: "X-Trace", scope: "")] }
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
        server.on(.get, "/me") { .text($0.user ?? "nobody", headers: ["Cache-Control": "max-age=60"]) }
        let agent = agent()
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
        server.on(.get, "/me") { request in
            hold.pass()
            return .text(request.headers["Authorization"] ?? "nobody")
        }
        let agent = agent(.networkOnly)
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
        let hook = Current(user: Lock("alice"), signsIn: "bob")
        let agent = agent { if isInterceptor { $0.interceptors = [hook] } else { $0.adapters = [hook] } }
        let response = try await agent.response(for: request.duplicatePolicy(duplicates))
        #expect(response.model == "bob" && response.metrics.cacheMiss == .unknownScope)
        #expect(await agent.config.cache?.count == 0)
    }

    /// The token belongs to the user for whom the send was prepared, but the exchange is no longer this user's alone.
    @Test func aHookThatAddsThePinnedUserMixesNone() async throws {
        let agent = agent { $0.adapters = [Current(user: Lock("alice"), signsIn: "bob", isPinned: true)] }
        #expect(try await agent.send(request) == "alice")
        #expect(try await agent.send(request) == "bob")
        #expect(try await agent.send(request) == "bob")
        #expect(server.requestCount == 2)
    }

    /// Alice's request fails, bob signs in, and the retry is his; so is the failure.
    @Test(arguments: [DuplicatePolicy.allow, .share], [200, 403])
    func aRetryThatIsAnotherUsersIsNeitherStoredNorShared(duplicates: DuplicatePolicy, status: Int) async throws {
        let user = Lock("alice")
        server.on(.get, "/me") { request in
            let seen = request.headers["Authorization"] ?? ""
            guard seen == "alice", user.withLock({ $0 == "alice" }) else { return .text(seen, status: status) }
            user.withLock { $0 = "bob" }
            return .status(503)
        }
        let agent = agent {
            $0.adapters = [Current(user: user)]
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        }
        let request = request.duplicatePolicy(duplicates)
        do {
            let response = try await agent.response(for: request)
            #expect(response.model == "bob" && response.metrics.cacheMiss == .unknownScope && status == 200)
        } catch let error as NetworkError {
            #expect(error.statusCode == status && status == 403)
        }
        #expect(await agent.config.cache?.count == 0)
    }

    /// A stale response of the user before is not given to the one who has signed in.
    @Test func noStaleResponseIsUsedAfterAChangeOfTheUser() async throws {
        let isOffline = Lock(false)
        server.on(.get, "/me") { request in
            isOffline.withLock { $0 } ? .status(503) : .text(request.headers["Authorization"] ?? "")
        }
        let user = Lock("alice")
        let agent = agent(.networkElseCache(maxStale: nil)) { $0.adapters = [Current(user: user)] }
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
        for interceptor in [Keeping(), Rewrapping(scope: "")] as [any Interceptor] {
            let agent = agent { $0.interceptors = [interceptor] }
            _ = try await agent.send(request.headers(["Cookie": "alice"]))
            let response = try await agent.response(for: request.headers(["Cookie": "bob"]))
            #expect(response.metrics.cacheMiss == .unknownScope)
            #expect(await agent.config.cache?.count == (interceptor is Keeping ? 1 : 0))
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
        let agent = agent { $0.interceptors = [Decrypting()] }
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
        for isAdapter in [true, false] {
            let agent = agent(.networkOnly) {
                if isAdapter { $0.adapters = [Blocking()] } else { $0.interceptors = [Responding()] }
            }
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
