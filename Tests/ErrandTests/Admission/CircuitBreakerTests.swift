import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The breaker around attempts of an agent.
@Suite(.limit(seconds: 60))
struct CircuitBreakerTests {
    private struct Foreign: Error {}

    private let clock = ManualClock()

    private func rig(
        _ breaker: CircuitBreaker,
        _ handler: @escaping StubTransport.TokenHandler = { _ in .json("1", status: 503) }
    ) -> AuthenticationRig {
        AuthenticationRig(token: nil, transport: .tokens(handler)) { $0.interceptors = [breaker] }
    }

    @Test
    func boundsOfThePolicyHoldForItsPropertiesToo() {
        var policy = CircuitBreaker.Policy()
        (policy.probeCount, policy.consecutiveFailures, policy.openDuration) = (0, -1, .seconds(-1))
        #expect(policy.probeCount == 1 && policy.consecutiveFailures == 1 && policy.openDuration == .zero)
    }

    @Test
    func aBreakerKeepsNoResponseFromBeingStored() async throws {
        var config = NetworkConfig.test
        config.interceptors = [CircuitBreaker()]
        config.cache = ResponseCache(disk: nil)
        let rig = Rig(config: config, response: .text("a", headers: ["Cache-Control": "max-age=60"]))
        let request = GeneralRequest("/x").cachePolicy(.http).expecting(String.self)
        for _ in 0..<2 { #expect(try await rig.agent.send(request) == "a") }
        #expect(rig.transport.requestCount == 1)
    }

    @Test
    func failingHostReceivesNoRequestsAndOthersDo() async throws {
        let breaker = CircuitBreaker(CircuitBreaker.Policy(consecutiveFailures: 3), clock: clock)
        let rig = rig(breaker) {
            $0.url.host() == "api.test" ? .json("1", status: 503) : .json("7")
        }
        for _ in 0..<3 {
            await expect(throwing: .status(503)) { try await rig.get() }
        }
        clock.advance(by: .seconds(10))
        let error = await expect(throwing: .circuitOpen(retryAfter: .seconds(20))) { try await rig.get() }
        #expect(error?.kind == .rejected)
        #expect(error?.host == "api.test")
        #expect(rig.transport.requests.count == 3)
        #expect(breaker.state(of: "API.test") == .open(retryAfter: .seconds(20)))
        #expect(try await rig.get("https://other.test/x") == 7)
        #expect(breaker.state(of: "api.test:444") == .closed)
    }

    @Test
    func probesDecideAfterTheOpenInterval() async throws {
        let gate = Gate()
        let policy = CircuitBreaker.Policy(consecutiveFailures: 1, probeCount: 2)
        let breaker = CircuitBreaker(policy, clock: clock)
        let rig = rig(breaker) { request in
            guard request.url.path() == "/probe" else { return .json("1", status: 500) }
            try await gate.pass()
            return .json("7")
        }
        await #expect(throws: NetworkError.self) { try await rig.get() }
        clock.advance(by: .seconds(30))
        let probes = (0..<2).map { _ in Task { try await rig.get("/probe") } }
        await gate.waitForArrivals(2)
        await expect(kind: .rejected) { try await rig.get("/probe") }
        #expect(breaker.state(of: "api.test") == .halfOpen)
        gate.open()
        for probe in probes { #expect(try await probe.value == 7) }
        #expect(breaker.state(of: "api.test") == .closed)
    }

    @Test
    func cancelledAttemptDoesNotCount() async throws {
        let gate = Gate()
        let breaker = CircuitBreaker(CircuitBreaker.Policy(consecutiveFailures: 1), clock: clock)
        let rig = rig(breaker) { _ in
            try await gate.pass()
            return nil
        }
        let task = Task { try await rig.get() }
        await gate.waitForArrivals(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(breaker.state(of: "api.test") == .closed)
    }

    @Test(arguments: [
        (NetworkError.Reason.connectionRefused, CircuitBreaker.Verdict.failure), (.connectionReset, .failure),
        (.idleTimeout(.seconds(1)), .failure), (.malformedStatusLine, .failure), (.invalidRedirect("x"), .ignored),
        (.bodyTooLarge(limit: 1), .ignored), (.bodyUnreadable("x"), .ignored),
        (.invalidRequest("x"), .ignored),
    ])
    func errorsOfTheHostAreFailures(reason: NetworkError.Reason, verdict: CircuitBreaker.Verdict) {
        #expect(CircuitBreaker.usualVerdict(.failure(NetworkError(reason))) == verdict)
        #expect(CircuitBreaker.usualVerdict(.failure(Foreign())) == .ignored)
    }

    /// The server of the refresh is another host.
    @Test func failureOfARefreshIsIgnored() {
        let error = NetworkError(.refreshFailed, underlying: NetworkError(.connectionRefused))
        #expect(error.kind == .unreachable && CircuitBreaker.usualVerdict(.failure(error)) == .ignored)
    }

    @Test(arguments: [(200, CircuitBreaker.Verdict.success), (404, .success), (429, .success), (500, .failure)])
    func statusesOfTheServerAreFailures(status: Int, verdict: CircuitBreaker.Verdict) throws {
        let url = try #require(URL(string: "https://api.test/"))
        #expect(CircuitBreaker.usualVerdict(.success(RawResponse(statusCode: status, url: url))) == verdict)
    }

    @Test
    func circuitsWithoutFailuresAreRemoved() async throws {
        let breaker = CircuitBreaker(CircuitBreaker.Policy(consecutiveFailures: 1), clock: clock)
        let rig = rig(breaker) {
            $0.url.host() == "bad.test" ? .json("1", status: 500) : .json("7")
        }
        await #expect(throws: NetworkError.self) { try await rig.get("https://bad.test/") }
        for number in 0..<2_000 { _ = try await rig.get("https://host\(number).test/") }
        #expect(breaker.hostCount <= 1_000)
        await expect(kind: .rejected) { try await rig.get("https://bad.test/") }
    }

    @Test
    func onlyCircuitsThatAreNotOpenAreForgotten() async throws {
        let policy = CircuitBreaker.Policy(consecutiveFailures: 1, openDuration: .seconds(1))
        let breaker = CircuitBreaker(policy, clock: clock)
        let rig = rig(breaker)
        for number in 0..<5_000 {
            clock.advance(by: .microseconds(500))
            await #expect(throws: NetworkError.self) { try await rig.get("https://host\(number).test/") }
            if number == 1_999 { #expect(breaker.hostCount == 2_000) }
        }
        #expect(breaker.hostCount <= 4 * CircuitBreaker.maximumHostCount)
        #expect(breaker.state(of: "host4999.test") == .open(retryAfter: .seconds(1)))
        #expect(breaker.state(of: "host3001.test") == .open(retryAfter: .microseconds(1_000)))
        #expect(breaker.state(of: "host0.test") == .closed)
    }

    @Test
    func callOfAForgottenCircuitDoesNotCountInANewOne() throws {
        let policy = CircuitBreaker.Policy(consecutiveFailures: 1)
        var (old, new) = (Circuit(policy: policy), Circuit(policy: policy))
        try new.end(old.ticket(at: .zero), .failure, at: .seconds(1))
        #expect(new.state(at: .seconds(1)) == .closed)
    }

    @Test
    func eachSchemeHasACircuitOfItsOwn() async throws {
        let breaker = CircuitBreaker(CircuitBreaker.Policy(consecutiveFailures: 1), clock: clock)
        let rig = rig(breaker) { $0.url.scheme == "http" ? .json("1", status: 503) : .json("7") }
        await #expect(throws: NetworkError.self) { try await rig.get("http://api.test/x") }
        #expect(breaker.state(of: "api.test:80") == .open(retryAfter: .seconds(30)))
        #expect(breaker.state(of: "api.test") == .open(retryAfter: .seconds(30)))
        #expect(try await rig.get("https://api.test:443/x") == 7 && breaker.hostCount == 2)
        #expect(breaker.state(of: "API.test") == .closed && breaker.state(of: "api.test:443") == .closed)
        await #expect(throws: NetworkError.self) { try await rig.get("http://bücher.test/x") }
        await #expect(throws: NetworkError.self) { try await rig.get("http://xn--bcher-kva.test/x") }
        #expect(breaker.hostCount == 3 && breaker.state(of: "bücher.test:80") != .closed)
        #expect(rig.transport.requests.count == 3)
    }
}
