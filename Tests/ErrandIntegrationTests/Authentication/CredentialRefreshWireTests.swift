import Errand
import ErrandTesting
import Foundation
import Testing

/// Logins that end while a thousand requests are on their way, over real sockets.
@Suite(.limit(seconds: 120))
struct CredentialRefreshWireTests {
    private struct Tokens: Codable, Sendable, Equatable {
        var access: String
        var refresh: String
    }

    private struct RefreshTokens: Request, Encodable, Sendable {
        typealias Model = Tokens
        let refresh: String
        var path: String { "/token" }
        var method: HTTPMethod { .post }
    }

    private struct TokenAuthenticator: Authenticator {
        let baseURL: URL

        func appliesTo(_ url: URL) -> Bool { url.host() == baseURL.host() && url.port == baseURL.port }
        func apply(_ tokens: Tokens, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(tokens.access)"
        }
        func refresh(_ tokens: Tokens, with agent: Agent) async throws -> Tokens {
            try await agent.send(RefreshTokens(refresh: tokens.refresh))
        }
    }

    private let server: MockServer
    private let session: AuthenticationSession<TokenAuthenticator>
    private let agent: Agent

    init() throws {
        server = try MockServer()
        session = AuthenticationSession(
            TokenAuthenticator(baseURL: server.baseURL),
            credential: Tokens(access: "old", refresh: "r1")
        )
        agent = server.agent { [session] in
            ($0.authentication, $0.retryPolicy) = (.session(session), .inherited)
        }
        server.on(.get, "/me") { $0.authorization?.token == "new" ? .json("7") : .json("{}", status: 401) }
    }

    private func results(_ count: Int) async -> [Result<Int, any Error>] {
        await withTaskGroup(of: Result<Int, any Error>.self) { group in
            for _ in 0..<count {
                group.addTask { [agent] in await Task { try await agent.get("/me") as Int }.result }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test
    func aThousandSendsWithAnExpiredTokenNeedOneRefresh() async {
        let tokens = server.on(.post, "/token") { request in
            // A refresh token is good for one use.
            request.text.contains("r1")
                ? .json(#"{"access": "new", "refresh": "r2"}"#).delayed(by: .milliseconds(20))
                : .json("{}", status: 400)
        }
        let results = await results(1_000)
        #expect(results.filter { (try? $0.get()) == 7 }.count == 1_000)
        #expect(tokens.count == 1)
        #expect(server.requests.first { $0.path == "/token" }?.authorization == nil)
        #expect(session.credential == Tokens(access: "new", refresh: "r2"))
        print("login refresh: \(server.requestCount - tokens.count) requests for 1000 values")
    }

    @Test
    func aRefreshThatFailsEndsAThousandSendsWithItsCause() async throws {
        let rejection = MockResponse.json(#"{"error": "invalid_grant"}"#, status: 400)
        let tokens = server.on(.post, "/token", rejection.delayed(by: .milliseconds(20)))
        let results = await results(1_000)
        let causes = results.compactMap { result -> NetworkError? in
            guard case .failure(let error as NetworkError) = result, error.reason == .refreshFailed else { return nil }
            return error.underlying as? NetworkError
        }
        #expect(causes.filter { $0.reason == .status(400) }.count == 1_000)
        #expect(tokens.count == 1)
        let error = await #expect(throws: NetworkError.self) { try await agent.get("/me") as Int }
        #expect(error?.kind == .unauthenticated)
        #expect(tokens.count == 1)
        session.login(Tokens(access: "new", refresh: "r3"))
        #expect(try await agent.get("/me") as Int == 7)
    }
}
