import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Interceptors that add what refers to a user, or make responses of their own.
@Suite(.limit(seconds: 60)) struct CacheInterceptorIdentityTests: CacheIdentitySuite {
    private typealias Rewrapping = IdentityHooks.Rewrapping

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
}
