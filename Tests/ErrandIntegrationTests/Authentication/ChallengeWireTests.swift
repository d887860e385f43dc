import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Credentials that are obtained after a challenge.
@Suite(.limit(seconds: 60))
struct ChallengeWireTests {
    private struct NoChallenge: Error {}

    /// Obtains a token for the scope of a challenge, as registries of containers require.
    private struct RegistryTokens: ChallengeAuthenticator {
        let received: Lock<[String]>
        var user: String? = "ada"
        var onlyWithChallenge = false

        func appliesTo(_ url: URL) -> Bool { url.host() == "127.0.0.1" }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(token)"
        }
        func refresh(_ token: String?, after response: RawResponse?, with agent: Agent) async throws -> String {
            let challenge = response?.challenges.first { $0.isScheme("Bearer") }
            received.withLock { $0.append("\(token ?? "none") \(challenge?["scope"] ?? "no scope")") }
            guard let scope = challenge?["scope"] else { throw NoChallenge() }
            let request = GeneralRequest("/token").query(["scope": scope])
            return try await agent.send(request.expecting(String.self, at: "token"))
        }
        func isUnauthorized(_ error: any Error, of response: RawResponse) -> Bool {
            response.statusCode == 401 && (!onlyWithChallenge || !response.challenges.isEmpty)
        }
        func scope(of token: String) -> String? { user }
    }

    private let server: MockServer
    private let tokens: MockRoute
    private let received = Lock<[String]>([])

    init() throws {
        server = try MockServer {
            $0.authorization?.token == "t-pull"
                ? .json("7")
                : .json("{}", status: 401, headers: ["WWW-Authenticate": #"Bearer realm="r", scope="pull""#])
        }
        tokens = server.on(.get, "/token") { request in
            .json(#"{"token": "t-\#(request.query?.dropFirst(6) ?? "")"}"#).delayed(by: .milliseconds(20))
        }
        server.on(.get, "/plain", .json("{}", status: 401))
        server.on(.get, "/public", .json("1"))
    }

    private func session(
        _ token: String? = nil,
        _ change: (inout RegistryTokens) -> Void = { _ in }
    ) -> AuthenticationSession<RegistryTokens> {
        var authenticator = RegistryTokens(received: received)
        change(&authenticator)
        return AuthenticationSession(authenticator, credential: token)
    }

    private func agent(
        _ session: AuthenticationSession<RegistryTokens>,
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) -> Agent {
        server.agent {
            $0.authentication = .session(session)
            change(&$0)
        }
    }

    @Test func rejectingResponseReachesTheRefreshWithoutACredential() async throws {
        let session = session()
        let agent = agent(session)
        #expect(try await agent.get("/x") as Int == 7)
        #expect(try await agent.get("/x") as Int == 7)
        #expect(received.withLock(\.self) == ["none pull"])
        #expect(session.credential == "t-pull")
        #expect(server.requests.map { $0.headers["Authorization"] } == [nil, nil, "Bearer t-pull", "Bearer t-pull"])
    }

    @Test func rejectingResponseReachesTheRefreshOfACredential() async throws {
        #expect(try await agent(session("old")).get("/x") as Int == 7)
        #expect(received.withLock(\.self) == ["old pull"])
    }

    @Test func firstSendsAtOnceNeedOneRefresh() async throws {
        let agent = agent(session())
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { try await agent.get("/x") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 7, count: 50))
        #expect(tokens.count == 1)
    }

    @Test func requestsThatNeedNoCredentialStartNoRefresh() async throws {
        #expect(try await agent(session()).get("/public") as Int == 1)
        #expect(tokens.count == 0)
    }

    @Test func authenticatorDecidesWhichResponsesAskForACredential() async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await agent(session { $0.onlyWithChallenge = true }).get("/plain") as Int
        }
        #expect(error?.reason == .status(401) && received.withLock(\.isEmpty))
        await #expect(throws: NoChallenge.self) { try await agent(session()).get("/plain") as Int }
    }

    @Test func usualAuthenticatorIsNotCalledWithoutACredential() async throws {
        struct Usual: Authenticator {
            func appliesTo(_ url: URL) -> Bool { true }
            func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {}
            func refresh(_ token: String, with agent: Agent) async throws -> String { "new" }
        }
        let session = AuthenticationSession(Usual())
        let agent = server.agent { ($0.authentication, $0.retryPolicy) = (.session(session), .inherited) }
        let error = await #expect(throws: NetworkError.self) { try await agent.get("/x") as Int }
        #expect(error?.reason == .status(401) && session.credential == nil && server.requestCount == 1)
    }

    @Test func responseAfterASignInIsNotStoredForThoseWithoutACredential() async throws {
        let cache = ResponseCache(disk: nil)
        let (alice, bob) = (session { $0.user = "alice" }, session { $0.user = "bob" })
        func get(_ session: AuthenticationSession<RegistryTokens>) async throws -> Response<Int> {
            let agent = agent(session) {
                ($0.cache, $0.cachePolicy) = (cache, .cacheElseNetwork(maxAge: .seconds(600)))
            }
            return try await agent.response(for: GeneralRequest("/x").expecting(Int.self))
        }
        let first = try await get(alice)
        #expect(first.source.isFromCache == false && first.metrics.cacheMiss == .unknownScope)
        // Begins without a credential, as the first one did.
        #expect(try await get(bob).source.isFromCache == false)
        // From now on the user is known.
        #expect(try await get(alice).source.isFromCache == false)
        #expect(try await get(alice).source.isFromCache)
        #expect(try await get(bob).source.isFromCache == false)
        alice.logout()
        #expect(try await get(alice).source.isFromCache == false)
    }

    @Test func responseAfterASignInIsNotShared() async throws {
        let agent = agent(session())
        let request = GeneralRequest("/x").expecting(Int.self).duplicatePolicy(.share)
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<5 { group.addTask { try await agent.send(request) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == Array(repeating: 7, count: 5) && tokens.count == 1)
        #expect(server.requestCount - tokens.count > 2)
    }
}
