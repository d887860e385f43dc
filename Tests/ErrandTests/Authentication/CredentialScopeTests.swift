import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A send stays with the user for whom it began.
@Suite(.limit(seconds: 60))
struct CredentialScopeTests {
    private static func prepared(_ rig: AuthenticationRig) throws -> PreparedRequest {
        let request = AuthenticationRig.request()
        return try rig.agent.makeSend(request).prepare(request)
    }

    private static func identity(of prepared: PreparedRequest) -> DuplicateKey? {
        DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: false, filters: FilterNumbers())
    }

    private static func identity(_ rig: AuthenticationRig) throws -> DuplicateKey {
        try #require(identity(of: prepared(rig)))
    }

    private static func waiting(_ rig: AuthenticationRig, _ gate: Gate) async -> Task<Int, any Error> {
        let task = Task { try await rig.get() }
        await gate.waitForArrivals(1)
        await rig.waitForWaiters(1)
        return task
    }

    @Test(arguments: ["ada", nil])
    func identitiesOfUsersDifferAndARefreshChangesNone(user: String?) async throws {
        let rig = AuthenticationRig(token: Token(access: "old", user: user))
        let first = try Self.identity(rig)
        #expect(try await rig.get() == 7)
        #expect(rig.session.credential?.access == "new1")
        #expect(try Self.identity(rig) == first)
        rig.session.logout()
        let anonymous = try Self.identity(rig)
        rig.session.login(Token(access: "new", user: user == nil ? nil : "bob"))
        let second = try Self.identity(rig)
        #expect(Set([first, anonymous, second]).count == 3)
    }

    @Test
    func usersHaveOneIdentityInASessionAndAnotherInAnother() throws {
        for user in ["ada", nil] {
            // Both exist at once, so that they cannot have the same place in memory one after the other.
            let rigs = (0..<2).map { _ in AuthenticationRig(token: Token(access: "a", user: user)) }
            #expect(try Self.identity(rigs[0]) == Self.identity(rigs[0]))
            #expect(try Self.identity(rigs[0]) != Self.identity(rigs[1]))
            withExtendedLifetime(rigs) {}
        }
    }

    @Test
    func sendThatBeganForOneUserIsNotSentForAnother() async throws {
        let rig = AuthenticationRig(token: Token(access: "new", user: "ada"))
        let prepared = try Self.prepared(rig)
        _ = Self.identity(of: prepared)
        rig.session.login(Token(access: "newer", user: "bob"))
        var outgoing = prepared.outgoing
        let error = await expect(throwing: .credentialChanged) {
            try await prepared.pinnedCredential?.place(on: &outgoing, for: prepared.context)
        }
        #expect(error?.kind == .rejected)
        #expect(!outgoing.headers.contains("Authorization"))
    }

    @Test
    func waitersEndWhenAnotherUserLogsIn() async throws {
        let gate = Gate()
        let rig = AuthenticationRig(.waiting(at: gate), token: Token(access: "old", user: "ada"))
        let task = await Self.waiting(rig, gate)
        rig.session.login(Token(access: "new2", user: "bob"))
        await expect(throwing: .credentialChanged) { try await task.value }
        #expect(rig.transport.shown == ["Bearer old"])
        #expect(rig.session.credential?.user == "bob")
    }

    @Test
    func waitersContinueWhenTheSameUserLogsInAgain() async throws {
        let gate = Gate()
        let rig = AuthenticationRig(.waiting(at: gate), token: Token(access: "old", user: "ada"))
        let task = await Self.waiting(rig, gate)
        rig.session.login(Token(access: "new2", user: "ada"))
        #expect(try await task.value == 7)
        #expect(rig.transport.shown == ["Bearer old", "Bearer new2"])
    }

    @Test
    func logoutEndsWaitersAndDiscardsTheRefresh() async throws {
        let gate = Gate()
        let rig = AuthenticationRig(.waiting(at: gate), token: Token(access: "old", user: "ada"))
        let task = await Self.waiting(rig, gate)
        rig.session.logout()
        await expect(throwing: .credentialChanged) { try await task.value }
        gate.open()
        #expect(rig.session.credential == nil)
        #expect(rig.transport.shown == ["Bearer old"])
    }

    /// Logs a user in, as a gate and as an adapter.
    private struct Login: SendGate, RequestAdapter {
        let session: AuthenticationSession<TokenAuthenticator>

        private func logIn() {
            if session.credential == nil { session.login(Token(access: "new", user: "ada")) }
        }

        func admit(_ context: RequestContext) async throws { logIn() }
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws { logIn() }
        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    @Test(
        arguments: [CachePolicy.networkOnly, .http, .cacheElseNetwork(maxAge: .seconds(60))],
        [DuplicatePolicy.allow, .share]
    )
    func gateOrAdapterMayLogInForASendThatBeganWithoutAUser(
        policy: CachePolicy,
        duplicates: DuplicatePolicy
    ) async throws {
        for isGate in [true, false] {
            let cache = ResponseCache(disk: nil)
            let fields: HTTPHeaders = ["Cache-Control": "max-age=60"]
            let transport = StubTransport.tokens { _ in .json("7", headers: fields) }
            let rig = AuthenticationRig(token: nil, transport: transport) { $0.cache = cache }
            let login = Login(session: rig.session)
            rig.agent.updateConfig { if isGate { $0.sendGates = [login] } else { $0.adapters = [login] } }
            let request = AuthenticationRig.request().cachePolicy(policy).duplicatePolicy(duplicates)
            #expect(try await rig.agent.send(request) == 7)
            #expect(rig.transport.shown == ["Bearer new"])
            await cache.flush()
            #expect(await cache.entries.isEmpty)
        }
    }

    /// Its response could not be stored, and the stored one would be removed.
    @Test func revalidationOfNobodysResponseIsNotSentForAUser() async throws {
        let fields: HTTPHeaders = ["Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\""]
        let transport = StubTransport.tokens { _ in .json("7", headers: fields) }
        let log = EventLog()
        let rig = AuthenticationRig(token: nil, transport: transport) { config in
            config.cache = ResponseCache(disk: nil)
            config.cachePolicy = .http
            config.accessories = [log]
        }
        _ = try await rig.get()
        rig.agent.updateConfig { $0.sendGates = [Login(session: rig.session)] }
        let stale = try await rig.agent.response(for: AuthenticationRig.request())
        #expect(stale.source.isFromCache)
        await wait { log.names.count { $0 == "didRevalidate" } == 1 }
        #expect(rig.session.credential != nil && rig.transport.shown == [nil])
        rig.session.logout()
        rig.agent.updateConfig { $0.sendGates = [] }
        #expect(try await rig.agent.response(for: AuthenticationRig.request()).source.isFromCache)
        await wait { log.names.count { $0 == "didRevalidate" } == 2 }
        #expect(rig.transport.shown == [nil, nil])
    }

    @Test func sendThatWasSentWithoutAUserIsNotRetriedForOne() async {
        let rig = AuthenticationRig(token: nil, transport: .tokens { _ in .json("1", status: 503) }) {
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .zero)
        }
        let request = AuthenticationRig.request().accessory { event in
            if case .willRetry = event { rig.session.login(Token(access: "new", user: "ada")) }
        }
        await expect(throwing: .credentialChanged) { try await rig.agent.send(request) }
        #expect(rig.transport.shown == [nil])
    }

    /// Such a send is not identified before it is sent: it has no cache, no duplicate policy and no jar.
    @Test(arguments: [false, true])
    func sendThatWaitsBeforeItsFirstAttemptIsNotSentForAnotherUser(logsOut: Bool) async throws {
        let gate = Gate()
        let rig = AuthenticationRig(.waiting(at: gate), token: Token(access: "old", user: "ada", endsSoon: true))
        let task = Task { try await rig.agent.send(GeneralRequest("/orders").method(.post).expecting(Int.self)) }
        await rig.waitForWaiters(1)
        if logsOut { rig.session.logout() } else { rig.session.login(Token(access: "new", user: "bob")) }
        gate.open()
        await expect(throwing: .credentialChanged) { try await task.value }
        #expect(rig.transport.requests.isEmpty)
    }

    private struct Realm: Authenticator {
        enum Kind: Sendable {
            case staff
            case guest(String)
        }
        struct Place: Sendable { var names: [String] }
        var realm: String?
        var tenant: String?
        var id: UUID?
        var kind = Kind.staff
        var place = Place(names: [])
        var fields = HTTPHeaders()
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {}
        func refresh(_ token: String, with agent: Agent) async throws -> String { token }
        func scope(of token: String) -> String? { "7" }
    }

    /// Otherwise users with equal numbers would get each other's stored responses.
    @Test func authenticatorsThatDifferInAnyValueHaveOtherUsers() throws {
        let realms = [
            Realm(), Realm(realm: "a"), Realm(tenant: "a"), Realm(id: UUID()), Realm(id: UUID()),
            Realm(kind: .guest("a")),
            Realm(kind: .guest("b")), Realm(place: .init(names: ["a"])), Realm(place: .init(names: ["a", "b"])),
            Realm(place: .init(names: ["ab"])), Realm(fields: ["X-Tenant": "a"]), Realm(fields: ["X-Tenant": "b"]),
        ]
        func scope(_ realm: Realm) -> String? {
            AuthenticationSession(realm, credential: "token").currentCredential?.scope
        }
        #expect(Set(realms.map(scope)).count == realms.count)
        for realm in realms { #expect(scope(realm) == scope(realm)) }
    }

    private enum Tenant: Authenticator {
        case one, two
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {}
        func refresh(_ token: String, with agent: Agent) async throws -> String { token }
        func scope(of token: String) -> String? { "7" }
    }

    private struct Hidden: Authenticator {
        let request: GeneralRequest<JSONValueFormatter>
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {}
        func refresh(_ token: String, with agent: Agent) async throws -> String { token }
        func scope(of token: String) -> String? { "7" }
    }

    @Test func casesOfAnAuthenticatorHaveOtherUsers() {
        func scope(_ tenant: Tenant) -> String? {
            AuthenticationSession(tenant, credential: "token").currentCredential?.scope
        }
        #expect(scope(.one) == scope(.one) && scope(.one) != scope(.two))
    }

    /// A part that cannot be read may distinguish them.
    @Test func authenticatorWithAValueThatCannotBeReadSharesNoUsers() {
        func scope(_ path: String) -> String? {
            AuthenticationSession(Hidden(request: GeneralRequest(path)), credential: "token").currentCredential?.scope
        }
        #expect(scope("/x?tenant=a") != scope("/x?tenant=b"))
    }
}
