import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A credential that is new is sent, however short its life is.
@Suite(.limit(seconds: 60))
struct ShortLivedCredentialTests {
    private struct Expiring: Sendable {
        var number: Int
        var end: Duration
    }

    /// Refreshes a minute ahead of the end.
    private struct Ahead: Authenticator {
        let clock: ManualClock
        let lifetime: Duration
        let count = Lock(0)

        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ token: Expiring, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "\(token.number) \(token.end.components.seconds)"
        }
        func refresh(_ token: Expiring, with agent: Agent) async throws -> Expiring {
            Expiring(number: count.next(), end: clock.now.offset + lifetime)
        }
        func needsRefresh(_ token: Expiring) -> Bool { token.end - clock.now.offset < .seconds(60) }
    }

    /// Sends a request every second; the server rejects what has expired.
    private func refreshCount(lifetime: Duration, first: Duration, seconds: Int) async throws -> (Int, sent: Int) {
        let clock = ManualClock()
        let transport = StubTransport { request in
            let end = request.headers["Authorization"]?.split(separator: " ").last.flatMap { Int($0) } ?? 0
            return .json("7", status: clock.now.offset < .seconds(end) ? 200 : 401)
        }
        let authenticator = Ahead(clock: clock, lifetime: lifetime)
        let session = AuthenticationSession(authenticator, credential: Expiring(number: 0, end: first), clock: clock)
        let config = NetworkConfig.test { $0.authentication = .session(session) }
        let agent = Agent(config: config, transport: transport, clock: clock)
        for _ in 0..<seconds {
            #expect(try await agent.send(GeneralRequest("/x").expecting(Int.self)) == 7)
            clock.advance(by: .seconds(1))
        }
        return (authenticator.count.withLock { $0 }, transport.requestCount)
    }

    @Test(arguments: [7, 20, 59])
    func newCredentialIsSentUntilTheServerRejectsIt(lifetime: Int) async throws {
        let seconds = 3 * lifetime
        // One at the start, because the credential of the login ends soon, and one whenever the server rejects the last.
        let (count, sent) = try await refreshCount(lifetime: .seconds(lifetime), first: .seconds(5), seconds: seconds)
        #expect(count == 3)
        #expect(sent == seconds + 2)
    }

    @Test func credentialThatLivesLongerIsRefreshedAheadOfItsEnd() async throws {
        let (count, sent) = try await refreshCount(lifetime: .seconds(90), first: .seconds(90), seconds: 180)
        #expect(count == 5)
        #expect(sent == 180)
    }
}
