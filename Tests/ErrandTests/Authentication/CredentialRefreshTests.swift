import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// One refresh for all unauthorized sends, whatever happens to any of them.
@Suite(.limit(seconds: 60))
struct CredentialRefreshTests {
    @Test
    func aThousandUnauthorizedSendsShareOneRefresh() async {
        let all = Gate()
        let transport = StubTransport.tokens { request in
            if request.headers["Authorization"] == "Bearer old" { try await all.pass() }
            return nil
        }
        let rig = AuthenticationRig(transport: transport)
        async let results = rig.results(1_000)
        await all.waitForArrivals(1_000)
        all.open()
        #expect(await results.filter { $0.value == 7 }.count == 1_000)
        #expect(rig.authenticator.refreshCount == 1)
        #expect(transport.shown.filter { $0 == "Bearer old" }.count == 1_000)
        #expect(transport.shown.filter { $0 == "Bearer new1" }.count == 1_000)
    }

    @Test
    func aThousandSendsThatStartAtAnyTimeShareOneRefresh() async {
        let rig = AuthenticationRig()
        let results = await rig.results(1_000)
        #expect(results.filter { $0.value == 7 }.count == 1_000)
        #expect(rig.authenticator.refreshCount == 1)
        #expect(rig.session.credential == Token(access: "new1"))
    }

    @Test
    func aFailedRefreshReachesAThousandSendsAndIsNotRepeated() async throws {
        let all = Gate()
        let transport = StubTransport.tokens { _ in
            try await all.pass()
            return nil
        }
        let authenticator = TokenAuthenticator.failing
        let rig = AuthenticationRig(authenticator, transport: transport)
        async let results = rig.results(1_000)
        await all.waitForArrivals(1_000)
        all.open()
        #expect(await results.filter { $0.failure as? RefreshError == RefreshError(number: 1) }.count == 1_000)
        #expect(transport.requests.count == 1_000)
        rig.clock.advance(by: .milliseconds(29_999))
        await #expect(throws: RefreshError(number: 1)) { try await rig.get() }
        #expect(authenticator.refreshCount == 1)
        rig.clock.advance(by: .milliseconds(1))
        await #expect(throws: RefreshError(number: 2)) { try await rig.get() }
        await #expect(throws: RefreshError(number: 2)) { try await rig.get() }
        rig.session.login(Token(access: "new"))
        #expect(try await rig.get() == 7)
        #expect(authenticator.refreshCount == 2)
    }

    @Test
    func libraryErrorOfARefreshIsTheUnderlyingError() async throws {
        let rig = AuthenticationRig(.sending(GeneralRequest("/token").expecting(String.self)))
        let error = try #require(await expect(throwing: .refreshFailed) { try await rig.get() })
        #expect(error.kind == .unauthenticated)
        #expect(error.path == "/x")
        #expect(error.statusCode == 401)
        let cause = try #require(error.underlying as? NetworkError)
        #expect(cause.path == "/token")
        #expect(cause.reason == .status(401))
    }

    @Test
    func requestOfARefreshHasNoCredentialAndDoesNotWait() async throws {
        let transport = StubTransport.tokens { $0.url.path() == "/token" ? .json("new") : nil }
        let authenticator = TokenAuthenticator { _, _, agent in
            async let first = agent.send(GeneralRequest("/token").expecting(String.self))
            async let second = Task { try await agent.send(GeneralRequest("/token").expecting(String.self)) }.value
            return Token(access: try await first + second)
        }
        let rig = AuthenticationRig(authenticator, transport: transport)
        #expect(try await rig.get() == 7)
        #expect(transport.shown == ["Bearer old", nil, nil, "Bearer newnew"])
    }

    @Test
    func late401ForAnOldTokenRetriesWithoutRefresh() async throws {
        let gate = Gate()
        let transport = StubTransport.tokens { request in
            if request.url.path() == "/late", request.headers["Authorization"] == "Bearer old" { try await gate.pass() }
            return nil
        }
        let rig = AuthenticationRig(transport: transport)
        let late = Task { try await rig.get("/late") }
        await gate.waitForArrivals(1)
        #expect(try await rig.get() == 7)
        gate.open()
        #expect(try await late.value == 7)
        #expect(rig.authenticator.refreshCount == 1)
    }

    @Test
    func failureOfAnEarlyRefreshIsFinalAfterA401() async throws {
        let (response, renewal) = (Gate(), Gate())
        let transport = StubTransport.tokens { _ in
            try await response.pass()
            return nil
        }
        let authenticator = TokenAuthenticator { number, _, _ in
            try await renewal.pass()
            throw RefreshError(number: number)
        }
        let rig = AuthenticationRig(authenticator, transport: transport)
        let refused = Task { try await rig.get() }
        await response.waitForArrivals(1)
        authenticator.endsAll.withLock { $0 = true }
        let unsent = Task { try await rig.get() }
        await renewal.waitForArrivals(1)
        response.open()
        await rig.waitForWaiters(2)
        renewal.open()
        await #expect(throws: RefreshError(number: 1)) { try await refused.value }
        await #expect(throws: RefreshError(number: 1)) { try await unsent.value }
        #expect(transport.requests.count == 1)
    }

    @Test
    func second401ReachesTheCaller() async throws {
        let rig = AuthenticationRig(transport: .tokens(takes: { _ in false }))
        let error = await expect(throwing: .status(401)) { try await rig.get() }
        #expect(error?.attempts == 2)
        #expect(rig.transport.shown == ["Bearer old", "Bearer new1"])
        #expect(rig.authenticator.refreshCount == 1)
    }

    @Test
    func noMoreThanFiveRefreshesStartInThirtySeconds() async throws {
        let rig = AuthenticationRig(transport: .tokens(takes: { _ in false }))
        for _ in 0..<5 {
            await expect(throwing: .status(401)) { try await rig.get() }
            rig.clock.advance(by: .seconds(5))
        }
        let error = await expect(throwing: .excessiveRefresh(limit: 5, window: .seconds(30))) { try await rig.get() }
        #expect(error?.kind == .unauthenticated)
        #expect((error?.underlying as? NetworkError)?.reason == .status(401))
        #expect(rig.authenticator.refreshCount == 5)
        rig.clock.advance(by: .seconds(5))
        await #expect(throws: NetworkError.self) { try await rig.get() }
        #expect(rig.authenticator.refreshCount == 6)
    }

    @Test func aLoginStartsANewWindowOfRefreshes() async throws {
        let rig = AuthenticationRig(transport: .tokens(takes: { $0 == "Bearer new6" }))
        for _ in 0..<5 { await #expect(throws: NetworkError.self) { try await rig.get() } }
        await expect(throwing: .excessiveRefresh(limit: 5, window: .seconds(30))) { _ = try await rig.get() }
        rig.session.login(Token(access: "expired", user: "other"))
        #expect(try await rig.get() == 7)
        #expect(rig.authenticator.refreshCount == 6)
    }

    @Test func repetitionIsCountedThoughALaterAttemptEndsTheSend() async throws {
        let statuses = Lock([503, 503, 200])
        let transport = StubTransport.tokens { request in
            guard request.headers["Authorization"] != "Bearer old" else { return nil }
            let status = statuses.withLock { $0.removeFirst() }
            return status == 200 ? nil : .json("1", status: status)
        }
        let clock = ManualClock()
        let authenticator = TokenAuthenticator { _, token, _ in
            clock.advance(by: .seconds(2))
            return Token(access: "new", user: token.user)
        }
        let session = AuthenticationSession(authenticator, credential: Token(access: "old"), clock: clock)
        var config = NetworkConfig(baseURL: "https://api.test")
        config.authentication = .session(session)
        config.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .zero)
        let agent = Agent(config: config, transport: transport, clock: clock)
        let response = try await agent.response(for: AuthenticationRig.request())
        #expect(response.metrics.attempts.map(\.statusCode) == [401, 503, 503, 200])
        #expect(response.metrics.authentication == .seconds(2))

        session.login(Token(access: "old"))
        statuses.withLock { $0 = [503, 503, 503] }
        let error = await failure { try await agent.send(AuthenticationRig.request()) } as? NetworkError
        #expect(error?.attempts == 4)
    }
}
