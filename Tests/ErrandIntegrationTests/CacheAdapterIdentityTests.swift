import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Adapters that add what refers to a user, with a scope and without one.
@Suite(.limit(seconds: 60)) struct CacheAdapterIdentityTests: CacheIdentitySuite {
    private typealias Adding = IdentityHooks.Adding

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
        for number in 0..<3 {
            var config = config(server, .networkOnly)
            if number == 0 { config.adapters = [Blocking()] }
            if number == 1 { config.interceptors = [Refusing()] }
            if number == 2 { config.interceptors = [Responding()] }
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
        let hold = ResponseHold()
        let server = try MockServer { request in
            hold.pass()
            return .text(request.headers["Authorization"] ?? "nobody")
        }
        defer { server.stop() }
        var config = config(server, .networkOnly)
        config.adapters = [AddingForUsers()]
        let agent = Agent(config: config)
        let request = request.duplicatePolicy(.share)
        hold.holdUntilWaiting(3, at: agent)
        async let nobody = agent.send(request)
        await server.waitForRequests(1)
        async let another = agent.send(request)
        async let alice = agent.send(request.tag("alice"))
        #expect(try await [nobody, another, alice] == ["nobody", "nobody", "alice"])
        #expect(server.requestCount == 2)
    }
}
