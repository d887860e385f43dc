import ErrandTesting
import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A refresh that could not reach its server does not make the credential invalid.
@Suite(.limit(seconds: 60))
struct RefreshFailureTests {
    private let authenticator = TokenAuthenticator.sending(
        GeneralRequest("https://login.test/token").method(.post).authorization(.anonymous).expecting(String.self)
    )

    /// An authenticator whose refresh is a request, and fails so often.
    private func rig(
        failing count: Int,
        with failure: NetworkError,
        token: Token = Token(access: "old"),
        retryPolicy: RetryPolicy = .never
    ) -> AuthenticationRig {
        let number = Lock(0)
        let transport = StubTransport.tokens { request in
            guard request.url.host() == "login.test" else { return nil }
            if number.next() <= count { throw failure }
            return .json("new")
        }
        return AuthenticationRig(authenticator, token: token, transport: transport) { $0.retryPolicy = retryPolicy }
    }

    private static let failures: [(NetworkError.Reason, NetworkError.Kind)] = [
        (.noConnection, .unreachable), (.hostNotFound, .unreachable), (.connectionRefused, .unreachable),
        (.idleTimeout(.seconds(1)), .timedOut), (.deadlineExceeded(.seconds(1)), .timedOut),
        (.connectionReset, .connectionLost),
    ]

    @Test(arguments: failures)
    func failureOfTheNetworkIsTheKindOfTheError(reason: NetworkError.Reason, kind: NetworkError.Kind) async throws {
        let rig = rig(failing: 1, with: NetworkError(reason))
        let error = try #require(await expect(throwing: .refreshFailed) { try await rig.get() })
        #expect(error.kind == kind)
        #expect((error.underlying as? NetworkError)?.reason == reason)
        #expect(error.path == "/x" && error.statusCode == 401)
        let text = "\(error)"
        #expect(text.hasPrefix("GET api.test/x: the credential could not be refreshed: POST login.test/token: "))
        #expect(!text.contains("log in again"), "\(text)")
    }

    @Test(arguments: failures)
    func nextSendRefreshesAgain(reason: NetworkError.Reason, kind: NetworkError.Kind) async throws {
        let rig = rig(failing: 1, with: NetworkError(reason))
        await #expect(throws: NetworkError.self) { try await rig.get() }
        #expect(try await rig.get() == 7)
        #expect(rig.authenticator.refreshCount == 2)
    }

    @Test(arguments: [URLError.Code.notConnectedToInternet, .timedOut, .networkConnectionLost, .cannotFindHost])
    func failureOfASessionOfOnesOwnIsNotRemembered(code: URLError.Code) async throws {
        let authenticator = TokenAuthenticator { number, _, _ in
            if number == 1 { throw URLError(code) }
            return Token(access: "new")
        }
        let rig = AuthenticationRig(authenticator)
        let error = try #require(await #expect(throws: URLError.self) { try await rig.get() })
        #expect(error.code == code)
        #expect(try await rig.get() == 7)
        #expect(authenticator.refreshCount == 2)
    }

    @Test func waitersOfOneRefreshShareItsFailure() async throws {
        let (all, login) = (Gate(), Gate())
        let transport = StubTransport.tokens { request in
            if request.url.host() == "login.test" {
                try await login.pass()
                throw NetworkError(.noConnection)
            }
            try await all.pass()
            return nil
        }
        let rig = AuthenticationRig(authenticator, transport: transport)
        async let results = rig.results(10)
        await all.waitForArrivals(10)
        all.open()
        await rig.waitForWaiters(10)
        login.open()
        #expect(await results.filter { ($0.failure as? NetworkError)?.kind == .unreachable }.count == 10)
        #expect(authenticator.refreshCount == 1)
    }

    /// A refresh that was not sent does not count toward the limit.
    @Test func refreshesWithoutAConnectionAreNotCounted() async throws {
        let rig = rig(failing: 20, with: NetworkError(.noConnection))
        for _ in 0..<20 {
            await expect(kind: .unreachable) { try await rig.get() }
        }
        #expect(try await rig.get() == 7)
    }

    @Test func refreshesThatMayHaveBeenReceivedAreCounted() async throws {
        let rig = rig(failing: 20, with: NetworkError(.connectionReset))
        for _ in 0..<10 {
            await expect(kind: .connectionLost) { try await rig.get() }
        }
        #expect(rig.authenticator.refreshCount == 5)
    }

    /// The credential is still good, so no further send waits for a server that does not respond.
    @Test(arguments: [NetworkError.Reason.noConnection, .idleTimeout(.seconds(1))])
    func failedRefreshBeforeSendingIsTriedAgainAfterTheWindow(reason: NetworkError.Reason) async throws {
        let token = Token(access: "new0", endsSoon: true)
        let rig = rig(failing: 2, with: NetworkError(reason), token: token)
        for _ in 0..<3 { #expect(try await rig.get() == 7) }
        rig.clock.advance(by: .seconds(29))
        #expect(try await rig.get() == 7)
        #expect(rig.authenticator.refreshCount == 1)
        for count in 2...3 {
            rig.clock.advance(by: .seconds(30))
            #expect(try await rig.get() == 7)
            #expect(rig.authenticator.refreshCount == count)
        }
        #expect(rig.transport.shown.last == "Bearer new")
    }

    @Test func rejectedCredentialIsRefreshedAtOnceAfterAFailureBeforeSending() async throws {
        let token = Token(access: "old", endsSoon: true)
        let rig = rig(failing: 1, with: NetworkError(.idleTimeout(.seconds(1))), token: token)
        #expect(try await rig.get() == 7)
        #expect(rig.transport.shown == [nil, "Bearer old", nil, "Bearer new"])
    }

    /// The refresh was sent, but not the one that it needed itself.
    @Test func refreshThatNeedsAnotherRefreshWasSent() throws {
        let error = NetworkError(.refreshFailed, underlying: NetworkError(.connectionRefused))
        let kind = RefreshFailureKind(error)
        guard case .connection(wasSent: true) = kind else { throw Unexpected(kind) }
    }

    /// The server has rejected the credential, although the server of the tokens is not reachable.
    @Test(arguments: [CachePolicy.networkElseCache(maxStale: nil), .http])
    func storedResponseIsNotUsedIfARejectedCredentialIsNotRefreshed(policy: CachePolicy) async throws {
        let isRevoked = Lock(false)
        let transport = StubTransport.tokens { request in
            if request.url.host() == "login.test" { throw NetworkError(.connectionRefused) }
            if isRevoked.withLock({ $0 }) { return nil }
            return .json("7", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""])
        }
        let token = Token(access: "old", user: "ada")
        let rig = AuthenticationRig(authenticator, token: token, transport: transport) {
            $0.cache = ResponseCache(disk: nil)
            $0.cachePolicy = policy
        }
        #expect(try await rig.get() == 7)
        #expect(await rig.agent.config.cache?.count == 1)
        isRevoked.withLock { $0 = true }
        let error = await expect(kind: .unreachable) { try await rig.get() }
        #expect(error?.statusCode == 401)
    }

    /// The refresh has a policy of its own, and the server's 401 is not a failure of the connection.
    @Test func sendIsNotRetriedForTheFailureOfItsRefresh() async throws {
        let rig = rig(failing: 1, with: NetworkError(.noConnection), retryPolicy: .standard)
        let error = await expect(kind: .unreachable) { try await rig.get() }
        #expect(error?.attempts == 1)
        #expect(rig.authenticator.refreshCount == 1)
    }

    @Test(arguments: [400, 401, 403, 503])
    func refreshThatTheServerRejectsIsRemembered(status: Int) async throws {
        let transport = StubTransport.tokens { request in
            request.url.host() == "login.test" ? .json("{}", status: status) : nil
        }
        let rig = AuthenticationRig(authenticator, transport: transport)
        for _ in 0..<2 {
            let error = await expect(kind: .unauthenticated) { try await rig.get() }
            let cause = "POST login.test/token: the status \(status) is not acceptable"
            let text = "GET api.test/x: the credential could not be refreshed: \(cause) ("
            #expect(error?.description.hasPrefix(text) == true, "\(String(describing: error))")
            #expect(error?.description.contains("; log in again (the response: status 401, ") == true)
        }
        #expect(authenticator.refreshCount == 1)
    }

    @Test func descriptionNamesTheCauseUnlessItMayContainAnything() {
        struct Secret: Error, CustomStringConvertible { var description: String { "secret" } }
        let causes: [((any Error)?, String)] = [
            (Secret(), "the credential could not be refreshed: Secret; log in again"),
            (CancellationError(), "the credential could not be refreshed: the refresh was cancelled; log in again"),
            (nil, "the credential was rejected and could not be refreshed; log in again"),
        ]
        for (cause, text) in causes {
            #expect(NetworkError(.refreshFailed, underlying: cause).description == text)
        }
    }
}
