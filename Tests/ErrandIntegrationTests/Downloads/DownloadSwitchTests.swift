import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Users that change during a download, and users of another place than the request's own URL.
@Suite(.limit(seconds: 60)) struct DownloadSwitchTests {
    private let host: DownloadServer
    private static let users = ["alice": DownloadServer.content(300_000, 1), "bob": DownloadServer.content(300_000, 9)]

    init() throws { host = try DownloadServer() }

    /// Serves the content of the user whom a header field names; the first responses are interrupted.
    private func serve(_ path: String, by name: String, cutCount: Int = 1) {
        let cuts = Lock(cutCount)
        host.server.on(.get, path) { request in
            let user = request.headers[name].map { $0.contains("bob") ? "bob" : "alice" } ?? ""
            let content = Self.users[user] ?? Data()
            let response = MockResponse.content(content, for: request, ["ETag": "\"1\""])
            guard response.status == 200 else { return response }
            let isCut = cuts.withLock { cuts in
                cuts -= 1
                return cuts >= 0
            }
            return isCut ? response.faulted(.closeInBody(after: 100_000)) : response
        }
    }

    /// Adds a token that becomes another user's with the second attempt, as an adapter and as an interceptor.
    private struct Hook: RequestAdapter, Interceptor {
        let user = Lock("alice")
        let other: String
        let isScoped: Bool

        private func field(_ context: RequestContext) -> String {
            user.withLock { user in
                if context.attempt > 1 { user = other }
                return user
            }
        }

        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers["Authorization"] = field(context)
        }

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            request.headers["Authorization"] = field(context)
            return try await next(request)
        }

        func credentialScope(for context: RequestContext) -> String? { isScoped ? user.withLock { $0 } : nil }
    }

    @Test(arguments: [true, false], [true, false])
    func anAttemptAsAnotherUserBeginsAgain(isScoped: Bool, isAdapter: Bool) async throws {
        for user in ["alice", "bob"] {
            serve("/mine", by: "Authorization")
            let hook = Hook(other: user, isScoped: isScoped)
            let agent = host.agent(retries: RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))) {
                if isAdapter { $0.adapters = [hook] } else { $0.interceptors = [hook] }
            }
            try await agent.download(GeneralRequest("/mine"), to: host.file("a"))
            #expect(host.data("a") == Self.users[user] && host.names == ["a"])
            let hasRange = host.server.requests.last?.headers["Range"] != nil
            // Without a scope, the user of the first bytes is unknown.
            #expect(hasRange == (user == "alice" && isScoped))
        }
    }

    /// Sends its credential to another host only.
    private struct LoginElsewhere: Authenticator {
        func appliesTo(_ url: URL) -> Bool { false }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) async throws {}
        func refresh(_ token: String, with agent: Agent) async throws -> String { token }
        func scope(of token: String) -> String? { token }
    }

    /// The request's own URL has no cookies.
    @Test(arguments: [true, false])
    func withCookiesAfterARedirectADownloadStartsAnew(isLoggedInElsewhere: Bool) async throws {
        host.server.on(.get, "/latest", .redirect(to: "/private/export"))
        let place = try #require(URL(string: "\(host.server.baseURL)/private/"))
        let (jar, latest) = (CookieJar(), GeneralRequest("/latest"))
        let agent = host.agent { $0.interceptors = [jar] }
        if isLoggedInElsewhere {
            agent.config.authentication = .session(AuthenticationSession(LoginElsewhere(), credential: "admin"))
        }
        for user in ["alice", "bob"] {
            serve("/private/export", by: "Cookie")
            jar.set("sid=alice; Path=/private", from: place)
            await #expect(throws: NetworkError.self) { try await agent.download(latest, to: host.file("a")) }
            #expect(host.names == [])
            jar.set("sid=\(user); Path=/private", from: place)
            let file = try await agent.download(latest, to: host.file("a"))
            #expect(host.data("a") == Self.users[user] && host.names == ["a"])
            #expect(file.resumedByteCount == 0)
            try FileManager.default.removeItem(at: file.url)
        }
    }

    /// The server replaces the cookie of the first attempt.
    @Test func aRetryWithTheCookiesOfAnotherUserBeginsAgain() async throws {
        let jar = CookieJar()
        serve("/mine", by: "Cookie")
        let base = try #require(URL(string: "\(host.server.baseURL)/"))
        jar.set("sid=alice", from: base)
        let agent = host.agent(retries: RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))) {
            ($0.interceptors, $0.adapters) = ([jar], [OnRetry { jar.set("sid=bob", from: base) }])
        }
        try await agent.download(GeneralRequest("/mine"), to: host.file("a"))
        #expect(host.data("a") == Self.users["bob"])
    }

    /// Calls a closure before the second attempt.
    private struct OnRetry: RequestAdapter {
        let body: @Sendable () -> Void
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            if context.attempt == 2 { body() }
        }
        func credentialScope(for context: RequestContext) -> String? { "" }
    }
}
