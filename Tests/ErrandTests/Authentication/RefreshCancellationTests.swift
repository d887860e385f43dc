import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A send that waits for a refresh can end at any time without an effect on others.
@Suite(.limit(seconds: 60))
struct RefreshCancellationTests {
    @Test
    func cancelledWaitersEndAtOnceAndTheOthersGetTheirValues() async throws {
        let gate = Gate()
        let authenticator = TokenAuthenticator.waiting(at: gate)
        let rig = AuthenticationRig(authenticator)
        let starter = Task { try await rig.get() }
        await gate.waitForArrivals(1)
        let others = (0..<4).map { _ in Task { try await rig.get() } }
        await rig.waitForWaiters(5)
        for task in [starter, others[1]] {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(rig.session.waiterCount == 3)
        gate.open()
        for index in [0, 2, 3] { #expect(try await others[index].value == 7) }
        #expect(authenticator.refreshCount == 1)
    }

    @Test
    func cancelledTaskNeitherWaitsNorStartsARefresh() async throws {
        let rig = AuthenticationRig()
        let version = try #require(rig.session.currentCredential?.version)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await rig.session.wait(for: .rejected(version), by: rig.agent)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(rig.authenticator.refreshCount == 0)
        #expect(try await rig.get() == 7)
    }

    @Test
    func refreshWithoutWaitersIsNotLost() async throws {
        let gate = Gate()
        let authenticator = TokenAuthenticator.waiting(at: gate)
        let rig = AuthenticationRig(authenticator)
        let starter = Task { try await rig.get() }
        await gate.waitForArrivals(1)
        starter.cancel()
        await #expect(throws: CancellationError.self) { try await starter.value }
        let late = Task { try await rig.get() }
        await rig.waitForWaiters(1)
        gate.open()
        #expect(try await late.value == 7)
        #expect(authenticator.refreshCount == 1)
        #expect(rig.transport.shown == ["Bearer old", "Bearer new"])
    }

    /// The first one ignores that it is cancelled.
    @Test
    func aRefreshWhoseDeadlineHasPassedIsReplacedByTheNextSend() async throws {
        let end = Delivery<Void>()
        let authenticator = TokenAuthenticator { number, _, _ in
            if number == 1 { await end.value() }
            return Token(access: "new\(number)")
        }
        let rig = AuthenticationRig(authenticator)
        let first = Task { try await rig.get() }
        await rig.waitForWaiters(1)
        rig.clock.advance(by: .seconds(59))
        let second = Task { try await rig.get() }
        await rig.waitForWaiters(2)
        rig.clock.advance(by: .seconds(1))
        #expect(try await rig.get() == 7)
        for task in [first, second] {
            await expect(throwing: .refreshFailed) { try await task.value }
        }
        end.deliver(())
        for _ in 0..<20 { await Task.yield() }
        #expect(authenticator.refreshCount == 2 && rig.session.credential?.access == "new2")
    }

    @Test
    func sendsCancelledAtRandomPointsEndOnceAndDelayNoOthers() async {
        var generator = SeededGenerator()
        for _ in 0..<20 {
            let rig = AuthenticationRig()
            let tasks = (0..<50).map { _ in Task { try await rig.get() } }
            for task in tasks where Bool.random(using: &generator) {
                for _ in 0..<Int.random(in: 0..<4, using: &generator) { await Task.yield() }
                task.cancel()
            }
            for task in tasks {
                switch await task.result {
                case .success(let value): #expect(value == 7)
                case .failure(let error): #expect(error is CancellationError && task.isCancelled)
                }
            }
            await rig.waitForWaiters(0)
            #expect(rig.authenticator.refreshCount <= 1)
        }
    }

    @Test
    func theDeadlineOfAWaiterEndsItAndNotTheRefresh() async throws {
        let gate = Gate()
        let authenticator = TokenAuthenticator.waiting(at: gate)
        let rig = AuthenticationRig(authenticator) { $0.limits.deadline = .seconds(2) }
        let task = Task { try await rig.get() }
        await gate.waitForArrivals(1)
        await rig.clock.waitForSleepers(1)
        rig.clock.advance(by: .seconds(2))
        await expect(throwing: .deadlineExceeded(.seconds(2))) { try await task.value }
        gate.open()
        #expect(try await rig.get() == 7)
        #expect(authenticator.refreshCount == 1)
    }

    @Test
    func cancelledRefreshIsNotRemembered() async throws {
        let authenticator = TokenAuthenticator { number, _, _ in
            guard number > 1 else { throw CancellationError() }
            return Token(access: "new")
        }
        let rig = AuthenticationRig(authenticator)
        let error = await expect(throwing: .refreshFailed) { try await rig.get() }
        #expect(error?.underlying is CancellationError)
        #expect(try await rig.get() == 7)
    }

    /// The server may have spent the refresh token already.
    @Test
    func cancelAllDoesNotEndTheRequestOfARefresh() async throws {
        let gate = Gate()
        let transport = StubTransport.tokens { request in
            guard request.url.path() == "/token" else { return nil }
            try await gate.pass()
            return .json("new")
        }
        let refresh = GeneralRequest("/token").expecting(String.self)
        let rig = AuthenticationRig(.sending(refresh), transport: transport)
        let task = Task { try await rig.get() }
        await gate.waitForArrivals(1)
        rig.agent.cancelAll()
        await #expect(throws: CancellationError.self) { try await task.value }
        gate.open()
        #expect(try await rig.get() == 7)
        #expect(rig.authenticator.refreshCount == 1)
    }

    /// A task that was started in a refresh, and outlives it, shows the credential like any other.
    @Test
    func taskThatOutlivesARefreshIsNotPartOfIt() async throws {
        let later = Gate()
        let tasks = Record<Task<Int, any Error>>()
        let authenticator = TokenAuthenticator { _, _, agent in
            tasks.add(
                Task {
                    try await later.pass()
                    return try await agent.send(AuthenticationRig.request("/late"))
                }
            )
            return Token(access: "new")
        }
        let rig = AuthenticationRig(authenticator)
        #expect(try await rig.get() == 7)
        later.open()
        for task in tasks.all { #expect(try await task.value == 7) }
        #expect(rig.transport.shown == ["Bearer old", "Bearer new", "Bearer new"])
    }

    /// Records whether a credential's properties are requested while the refresh runs.
    private struct AskedAuthenticator: Authenticator {
        let isAskedWithin = Record<Bool>()

        func appliesTo(_ url: URL) -> Bool { true }

        func apply(_ token: Token, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(token.access)"
        }

        func refresh(_ token: Token, with agent: Agent) async throws -> Token { Token(access: "new") }

        func scope(of token: Token) -> String? {
            if token.access == "new" { isAskedWithin.add(RefreshScope.isActive) }
            return token.user
        }
    }

    /// Otherwise a task that a waiter releases would be part of it for a moment.
    @Test
    func aRefreshIsOverBeforeItsWaitersContinue() async throws {
        let authenticator = AskedAuthenticator()
        var config = NetworkConfig.test
        config.authentication = .session(AuthenticationSession(authenticator, credential: Token(access: "old")))
        let agent = Agent(config: config, transport: StubTransport.tokens())
        #expect(try await agent.send(AuthenticationRig.request("/x")) == 7)
        #expect(authenticator.isAskedWithin.all.first == false)
    }

    @Test
    func costOfAWaiterDoesNotGrowWithTheWaiters() {
        expectLinear(2_500) { count in
            var state = CredentialState<Token>(window: RefreshWindow())
            _ = state.replace(Token(access: "old")) { "\($0)" }
            for _ in 0..<count {
                _ = state.wouldWait(for: .rejected(1), at: .zero)
                if case .start(let flight) = state.step(for: .rejected(1), at: .zero) { #expect(flight.wasRejected) }
            }
        }
    }
}
