import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Helpers that the suites on different users share.
protocol CacheIdentitySuite {
    var server: MockServer { get }
}

extension CacheIdentitySuite {
    static var age: CachePolicy { CachePolicy.cacheElseNetwork(maxAge: .seconds(600)) }
    var request: GeneralRequest<DefaultFormatter<String>> { GeneralRequest("/me").expecting(String.self) }

    func agent(_ policy: CachePolicy = Self.age, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent(ResponseCache(disk: nil), policy, change)
    }

    /// Responds with the user that a request shows.
    static func makeServer() throws -> MockServer {
        try MockServer { .text($0.user ?? "nobody").delayed(by: .milliseconds(30)) }
    }

    /// Sends two requests at once, neither of which may see the other's response, and then each again.
    func check(
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
}

extension MockRequest {
    /// The user whom anything of it names, or `nil` if nothing does.
    var user: String? {
        let shown = "\(method) \(target) \(text) \(headers.map(\.value).joined(separator: " "))".lowercased()
        return ["alice", "bob"].first { shown.contains($0) }
    }
}

/// Adapters and interceptors that change requests.
enum IdentityHooks {
    struct Adding: RequestAdapter {
        var name = "Authorization"
        var scope: String?
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers[name] = context.tag
        }
        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    /// Makes a response of its own of what it received, as one that decrypts does.
    struct Rewrapping: Interceptor {
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
}
