import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The sends of one reader belong to the user of the first.
@Suite(.limit(seconds: 60)) struct SequenceUserTests {
    private static let ada = Token(access: "new", user: "ada")
    private static let bob = Token(access: "newer", user: "bob")

    private static func rig(
        _ token: Token? = ada,
        _ handler: @escaping StubTransport.TokenHandler = { _ in nil },
        configure: (inout NetworkConfig) -> Void = { _ in }
    ) -> AuthenticationRig {
        AuthenticationRig(token: token, transport: .tokens(handler) { _ in true }, configure: configure)
    }

    /// Reads a sequence until it ends, and calls a function after each element.
    private func read<S: AsyncSequence>(
        _ sequence: S,
        _ didReceive: (_ count: Int) -> Void
    ) async -> (count: Int, reason: NetworkError.Reason?) {
        var count = 0
        let error = await failure(of: {
            for try await _ in sequence {
                count += 1
                didReceive(count)
                if count == 5 { break }
            }
        })
        return (count, (error as? NetworkError)?.reason)
    }

    @Test func pollEndsWhenAnotherUserLogsInOrTheUserLogsOut() async {
        for next in [Self.bob, nil] {
            let rig = Self.rig()
            let poll = rig.agent.poll(AuthenticationRig.request(), every: .zero)
            let (count, reason) = await read(poll) { _ in
                if let next { rig.session.login(next) } else { rig.session.logout() }
            }
            #expect(count == 1 && reason == .credentialChanged)
            #expect(rig.transport.shown == ["Bearer new"])
        }
    }

    @Test func pollOfAnotherUserUsesNoStoredResponse() async {
        let rig = Self.rig(configure: { config in
            config.cache = ResponseCache(disk: nil)
            config.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
        })
        let (count, reason) = await read(rig.agent.poll(AuthenticationRig.request(), every: .zero)) { count in
            if count == 2 { rig.session.login(Self.bob) }
        }
        #expect(count == 2 && reason == .credentialChanged)
        #expect(rig.transport.requests.count == 1)
    }

    @Test func pollEndsWhenTheConfigGetsTheSessionOfAnotherUser() async {
        for next in [Self.bob, Self.ada] {
            let rig = Self.rig()
            let other = AuthenticationSession(TokenAuthenticator(), credential: next)
            let poll = rig.agent.poll(AuthenticationRig.request(), every: .zero)
            let (count, reason) = await read(poll) { _ in rig.agent.config.authentication = .session(other) }
            #expect(count == (next == Self.bob ? 1 : 5))
            #expect(reason == (next == Self.bob ? .credentialChanged : nil))
        }
    }

    /// Between two pages of it, there is one of another service.
    @Test func pageOfAServiceIsForTheUserOfItsEarlierPages() async {
        let rig = Self.rig()
        var other = Service(id: "other")
        other.authentication = .session(AuthenticationSession(TokenAuthenticator(), credential: Self.bob))
        let requests = [AuthenticationRig.request(), AuthenticationRig.request().service(other)]
        var count = 0
        let pages = rig.agent.pages(of: requests[0]) { _ in
            count += 1
            if count == 2 { rig.session.login(Self.bob) }
            return requests[count % 2]
        }
        let (received, reason) = await read(pages) { _ in }
        #expect(received == 2 && reason == .credentialChanged)
        #expect(rig.transport.shown == ["Bearer new", "Bearer newer"])
    }

    @Test func pollContinuesForTheSameUser() async {
        let rig = Self.rig()
        let (count, reason) = await read(rig.agent.poll(AuthenticationRig.request(), every: .zero)) { count in
            rig.session.login(Token(access: "\(count)", user: "ada"))
        }
        #expect(count == 5 && reason == nil)
        #expect(rig.transport.shown == ["Bearer new", "Bearer 1", "Bearer 2", "Bearer 3", "Bearer 4"])
    }

    @Test func pollThatBeganWithoutAUserBelongsToTheFirstWhoLogsIn() async {
        let rig = Self.rig(nil)
        let (count, reason) = await read(rig.agent.poll(AuthenticationRig.request(), every: .zero)) { count in
            if count > 1 { rig.session.login(count == 2 ? Self.ada : Self.bob) }
        }
        #expect(count == 3 && reason == .credentialChanged)
        #expect(rig.transport.shown == [nil, nil, "Bearer new"])
    }

    @Test func pagesEndWhenAnotherUserLogsIn() async {
        let rig = Self.rig()
        let request = AuthenticationRig.request()
        let byRule = await read(rig.agent.pages(of: request, by: .number { _ in true })) { _ in
            rig.session.login(Self.bob)
        }
        #expect(byRule.count == 1 && byRule.reason == .credentialChanged)
        let byClosure = await read(rig.agent.pages(of: request, next: { _ in request })) { _ in
            rig.session.login(Self.ada)
        }
        #expect(byClosure.count == 1 && byClosure.reason == .credentialChanged)
        #expect(rig.transport.shown == ["Bearer new", "Bearer newer"])
    }

    @Test func freshAndStoredResponsesHaveTheSameUser() async throws {
        let rig = Self.rig(configure: { $0.cache = ResponseCache(disk: nil) })
        let request = AuthenticationRig.request().cachePolicy(.cacheThenNetwork(maxAge: .seconds(60)))
        _ = try await rig.agent.response(for: request, cachePolicy: .reload)
        let (count, reason) = await read(rig.agent.responses(for: request)) { _ in rig.session.login(Self.bob) }
        #expect(count == 1 && reason == .credentialChanged)
        #expect(rig.transport.shown == ["Bearer new"])
    }

    @Test func eventsAreNotContinuedForAnotherUser() async {
        let rig = Self.rig(Self.ada, { _ in .data(Data("data: 1\n\n".utf8), contentType: "text/event-stream") })
        async let events = read(rig.agent.events(for: AuthenticationRig.request())) { _ in rig.session.login(Self.bob) }
        await rig.clock.waitForSleepers(1)
        rig.clock.advance(by: .seconds(3600))
        let (count, reason) = await events
        #expect(count == 1 && reason == .credentialChanged)
        #expect(rig.transport.shown == ["Bearer new"])
    }

    @Test func stepOfAChainMayBeSentForAnotherUser() async throws {
        let rig = Self.rig()
        let chain = ChainRequest(AuthenticationRig.request()).then { _ in
            rig.session.login(Self.bob)
            return AuthenticationRig.request()
        }
        #expect(try await rig.agent.send(chain) == 7)
        #expect(rig.transport.shown == ["Bearer new", "Bearer newer"])
    }

    /// A URL that the credential is not sent to has no user.
    @Test func pollOfAnotherHostContinues() async {
        let rig = Self.rig()
        let request = GeneralRequest("https://other.test/x").expecting(Int.self)
        let (count, reason) = await read(rig.agent.poll(request, every: .zero)) { _ in rig.session.login(Self.bob) }
        #expect(count == 5 && reason == nil)
    }

    @Test func pollEndsWhenTheCookiesHaveAnotherIdentity() async throws {
        let (jar, origin) = (CookieJar(), try #require(URL(string: "https://api.example/")))
        let config = NetworkConfig.test { config in
            config.interceptors = [jar]
            config.cache = ResponseCache(disk: nil)
        }
        let rig = Rig(config: config, response: .json("1"))
        func set(_ user: String) { jar.set("user=\(user)", from: origin) }
        set("ada")
        let request = GeneralRequest("/x").expecting(Int.self)
        let changed = await read(rig.agent.poll(request, every: .zero)) { count in set("ada\(count)") }
        #expect(changed.count == 5 && changed.reason == nil)
        let removed = await read(rig.agent.poll(request, every: .zero)) { _ in
            jar.removeAll()
            set("bob")
        }
        #expect(removed.count == 1 && removed.reason == .credentialChanged)
        let stored = request.cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
        _ = try await rig.agent.send(stored)
        jar.removeAll()
        set("ada")
        let cached = await read(rig.agent.poll(stored, every: .zero)) { _ in jar.removeAll() }
        #expect(cached.count == 1 && cached.reason == .credentialChanged)
    }
}
