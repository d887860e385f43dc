import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A send stays with the user for whom it began.
@Suite(.limit(seconds: 60))
struct LoginScopeTests {
    private static func prepared(_ bench: LoginBench) throws -> PreparedRequest {
        let request = LoginBench.request()
        return try bench.agent.makeSend(request).prepare(request)
    }

    private static func identity(of prepared: PreparedRequest) -> DuplicateKey? {
        DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: false)
    }

    private static func identity(_ bench: LoginBench) throws -> DuplicateKey {
        try #require(identity(of: prepared(bench)))
    }

    private static func waiting(_ bench: LoginBench, _ gate: Gate) async -> Task<Int, any Error> {
        let task = Task { try await bench.get() }
        await gate.waitForArrivals(1)
        await bench.waitForWaiters(1)
        return task
    }

    private static func slow(_ gate: Gate) -> TokenAuthenticator {
        var authenticator = TokenAuthenticator()
        authenticator.renew = { _, token, _ in
            try await gate.pass()
            return Token(access: "new", user: token.user)
        }
        return authenticator
    }

    @Test(arguments: ["ada", nil])
    func identitiesOfUsersDifferAndARefreshChangesNone(user: String?) async throws {
        let bench = LoginBench(token: Token(access: "old", user: user))
        let first = try Self.identity(bench)
        #expect(try await bench.get() == 7)
        #expect(bench.session.credential?.access == "new1")
        #expect(try Self.identity(bench) == first)
        bench.session.logout()
        let anonymous = try Self.identity(bench)
        bench.session.login(Token(access: "new", user: user == nil ? nil : "bob"))
        let second = try Self.identity(bench)
        #expect(Set([first, anonymous, second]).count == 3)
    }

    @Test
    func aUserHasTheSameIdentityInEverySessionAndALoginWithoutOneNever() throws {
        func identity(_ user: String?) throws -> DuplicateKey {
            try Self.identity(LoginBench(token: Token(access: "a", user: user)))
        }
        #expect(try identity("ada") == identity("ada"))
        #expect(try identity(nil) != identity(nil))
    }

    @Test
    func whatBeganForOneUserIsNotSentForAnother() async throws {
        let bench = LoginBench(token: Token(access: "new", user: "ada"))
        let prepared = try Self.prepared(bench)
        _ = Self.identity(of: prepared)
        bench.session.login(Token(access: "newer", user: "bob"))
        var outgoing = prepared.outgoing
        let error = await #expect(throws: NetworkError.self) {
            try await prepared.login?.place(on: &outgoing, for: prepared.context)
        }
        #expect(error?.reason == .loginChanged)
        #expect(error?.kind == .rejected)
        #expect(!outgoing.headers.contains("Authorization"))
    }

    @Test
    func waitersEndWhenAnotherUserLogsIn() async throws {
        let gate = Gate()
        let bench = LoginBench(Self.slow(gate), token: Token(access: "old", user: "ada"))
        let task = await Self.waiting(bench, gate)
        bench.session.login(Token(access: "new2", user: "bob"))
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.reason == .loginChanged)
        #expect(bench.transport.shown == ["Bearer old"])
        #expect(bench.session.credential?.user == "bob")
    }

    @Test
    func waitersGoOnWhenTheSameUserLogsInAnew() async throws {
        let gate = Gate()
        let bench = LoginBench(Self.slow(gate), token: Token(access: "old", user: "ada"))
        let task = await Self.waiting(bench, gate)
        bench.session.login(Token(access: "new2", user: "ada"))
        #expect(try await task.value == 7)
        #expect(bench.transport.shown == ["Bearer old", "Bearer new2"])
    }

    @Test
    func waitersEndWhenTheUserLogsOutAndTheRefreshCountsNoMore() async throws {
        let gate = Gate()
        let authenticator = Self.slow(gate)
        let bench = LoginBench(authenticator, token: Token(access: "old", user: "ada"))
        let task = await Self.waiting(bench, gate)
        bench.session.logout()
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.reason == .loginChanged)
        gate.open()
        #expect(bench.session.credential == nil)
        #expect(bench.transport.shown == ["Bearer old"])
    }
}
