import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Which requests get a credential, which responses reject it, and where it is visible.
@Suite(.limit(seconds: 60))
struct AuthenticatorTests {
    private struct Refused: Error {}

    private static let moved = TransportResponse.json(
        "",
        status: 302,
        headers: ["Location": "https://other.test/y"]
    )

    @Test
    func serviceCodeMeansUnauthorizedLikeAStatus() async throws {
        let transport = StubTransport.tokens { request in
            let isTaken = request.headers["Authorization"] == "Bearer new1"
            return .json(isTaken ? #"{"code": 0, "data": 7}"# : #"{"code": 40101, "data": null}"#)
        }
        let authenticator = TokenAuthenticator(unauthorizedResponse: UnauthorizedResponse(serviceCodes: [40101]))
        let rig = AuthenticationRig(authenticator, transport: transport) {
            $0.filter = EnvelopeFilter(code: "code", data: "data")
        }
        #expect(try await rig.get() == 7)
        #expect(transport.requests.count == 2)
    }

    @Test
    func errorOfAUserFilterDoesNotHideA401() async throws {
        let rig = AuthenticationRig {
            $0.filter = ClosureFilter { response, _ in
                if response.failure != nil { throw Refused() }
                return Payload(response.body)
            }
        }
        #expect(try await rig.get() == 7)
        rig.session.login(Token(access: "bad"))
        #expect(try await rig.get() == 7)
        #expect(rig.authenticator.refreshCount == 2)
    }

    @Test
    func acceptedResponseIsNotUnauthorized() async throws {
        let rig = AuthenticationRig()
        let request = AuthenticationRig.request().acceptance(Acceptance().accepting(401))
        #expect(try await rig.agent.send(request) == 1)
        // Nor if the filter rejects it for another reason.
        let strict = request.filter(ClosureFilter { _, _ in throw Refused() })
        await #expect(throws: Refused.self) { try await rig.agent.send(strict) }
        let typed = request.acceptance(Acceptance(contentTypes: ["text/plain"]).accepting(401))
        await #expect(throws: NetworkError.self) { try await rig.agent.send(typed) }
        #expect(rig.authenticator.refreshCount == 0)
        let url = try #require(URL(string: "https://api.test/x"))
        let response = RawResponse(statusCode: 401, url: url)
        #expect(rig.authenticator.isUnauthorized(NetworkError(.status(401), response: response), of: response))
    }

    @Test
    func requestWithItsOwnAuthorizationOptsOut() async throws {
        let transport = StubTransport.tokens(takes: { _ in true })
        let rig = AuthenticationRig(transport: transport) { $0.authorization = .basic(user: "gate", password: "way") }
        _ = try await rig.agent.send(AuthenticationRig.request().authorization(.anonymous))
        _ = try await rig.agent.send(AuthenticationRig.request().authorization(.bearer("mine")))
        _ = try await rig.agent.send(AuthenticationRig.request().header("Authorization", "Own"))
        var service = Service(id: "other")
        service.authorization = .bearer("service")
        _ = try await rig.agent.send(AuthenticationRig.request().service(service))
        service = Service(id: "public")
        service.authentication = .anonymous
        _ = try await rig.agent.send(AuthenticationRig.request().service(service).header("X", "1"))
        _ = try await rig.get()
        let basic = try Authorization.basic(user: "gate", password: "way").fieldValue
        #expect(transport.shown == [nil, "Bearer mine", "Own", "Bearer service", basic, "Bearer old"])
    }

    @Test
    func serviceUsesItsOwnSession() async throws {
        let rig = AuthenticationRig(transport: .tokens(takes: { _ in true }))
        let other = AuthenticationSession(TokenAuthenticator(), credential: Token(access: "other"))
        var service = Service(id: "other")
        service.authentication = .session(other)
        #expect(try await rig.agent.send(AuthenticationRig.request().service(service)) == 7)
        #expect(rig.transport.shown == ["Bearer other"])
        #expect(
            try await rig.agent.plan(for: AuthenticationRig.request().service(service))["authentication"]?.source
                == .service
        )
    }

    @Test
    func onlyTheHostsOfThePredicateGetTheCredential() async throws {
        let rig = AuthenticationRig(transport: .tokens(takes: { _ in true }))
        _ = try await rig.get("https://other.test/x")
        #expect(rig.transport.shown == [nil])
    }

    @Test(arguments: [
        ("https://api.test/x", "https://other.test/x", false), ("https://a.test/x", "https://api.test/x", true),
    ])
    func predicateIsCalledWithTheURLAfterAdapters(path: String, moved: String, isShown: Bool) async throws {
        let url = try #require(URL(string: moved))
        let adapter = ClosureAdapter { request, _ in
            request.headers["X-Signature"] = "\(request.headers.map(\.name))"
            request.url = url
        }
        let rig = AuthenticationRig(transport: .tokens(takes: { _ in true })) { $0.adapters = [adapter] }
        _ = try await rig.get(path)
        #expect(rig.transport.shown == [isShown ? "Bearer old" : nil])
        #expect(rig.transport.requests.first?.headers["X-Signature"] == "[]")
    }

    @Test
    func redirectToAnotherOriginRemovesACredentialInAnyField() async throws {
        let authenticator = TokenAuthenticator(header: "X-My-Ticket")
        let transport = StubTransport.tokens { $0.url.host() == "api.test" ? Self.moved : .json("1", status: 401) }
        let rig = AuthenticationRig(authenticator, transport: transport)
        await expect(throwing: .status(401)) { try await rig.get() }
        #expect(transport.requests.map { $0.headers["X-My-Ticket"] } == ["Bearer old", nil])
        #expect(authenticator.refreshCount == 0)
    }

    @Test
    func withoutACredentialUnauthorizedResponsesReachTheCaller() async throws {
        let rig = AuthenticationRig(token: nil)
        await expect(throwing: .status(401)) { try await rig.get() }
        #expect(rig.transport.shown == [nil])
        #expect(rig.authenticator.refreshCount == 0)
    }

    @Test
    func expiringCredentialIsRefreshedBeforeItIsSent() async throws {
        let rig = AuthenticationRig(token: Token(access: "old", endsSoon: true))
        let results = await rig.results(100)
        #expect(results.filter { $0.value == 7 }.count == 100)
        #expect(rig.authenticator.refreshCount == 1)
        #expect(Set(rig.transport.shown) == ["Bearer new1"])
    }

    @Test
    func oldCredentialIsSentIfAnEarlyRefreshFails() async throws {
        let authenticator = TokenAuthenticator.failing
        let rig = AuthenticationRig(authenticator, token: Token(access: "new0", endsSoon: true))
        #expect(try await rig.get() == 7)
        #expect(try await rig.get() == 7)
        #expect(authenticator.refreshCount == 1)
        let refused = AuthenticationRig(authenticator, token: Token(access: "old", endsSoon: true))
        await #expect(throws: RefreshError(number: 2)) { try await refused.get() }
        #expect(refused.transport.requests.count == 1)
    }

    @Test
    func metricsHaveBothAttemptsAndAccessoriesTheReason() async throws {
        let (log, nonce) = (EventLog(), Lock(0))
        let rig = AuthenticationRig {
            $0.accessories = [log]
            $0.adapters = [ClosureAdapter { request, _ in request.headers["X-Nonce"] = "\(nonce.next())" }]
        }
        let response = try await rig.agent.response(for: AuthenticationRig.request())
        #expect(response.metrics.attempts.count == 2)
        #expect(log.names == ["willStart", "willRefreshCredential", "willRetry", "willStop", "didStop"])
        #expect(rig.transport.requests.map { $0.headers["X-Nonce"] } == ["1", "2"])
    }

    @Test
    func planShowsTheCurrentCredentialWithoutARefresh() async throws {
        let rig = AuthenticationRig(token: Token(access: "old", endsSoon: true))
        let plan = try await rig.agent.plan(for: AuthenticationRig.request())
        #expect(plan.request.headers["Authorization"] == "Bearer old")
        #expect(plan["authentication"]?.source == .config)
        #expect(plan["authorization"]?.value == "none")
        #expect(!plan.description.contains("old"))
        let other = try await rig.agent.plan(for: GeneralRequest("https://other.example/x"))
        #expect(other["authentication"]?.value.hasSuffix(", which does not apply to this URL") == true)
        #expect(rig.authenticator.refreshCount == 0)
        #expect(rig.transport.requests.isEmpty)
    }
}
