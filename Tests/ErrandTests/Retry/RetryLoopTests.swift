import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60))
struct RetryLoopTests {
    private struct Own: Error {}

    private func failure(_ rig: RetryRig, _ request: GeneralRequest<VoidFormatter>) async -> NetworkError? {
        await #expect(throws: NetworkError.self) { try await rig.agent.send(request) }
    }

    private func request(_ method: HTTPMethod = .get) -> GeneralRequest<VoidFormatter> {
        GeneralRequest("/x").method(method).expecting(Void.self)
    }

    @Test
    func successIsSentOnceWithOneAttemptInItsMetrics() async throws {
        let rig = RetryRig { _, _ in RetryRig.status(200) }
        let response = try await rig.agent.response(for: request())
        #expect(response.metrics.attempts.count == 1)
        #expect(rig.transport.requestCount == 1)
        #expect(rig.events.retries.isEmpty)
    }

    @Test
    func successfulRetryHasAllAttemptsInItsMetrics() async throws {
        let rig = RetryRig { number, _ in
            switch number {
            case 1: RetryRig.status(503)
            case 2: throw NetworkError(.connectionReset)
            default: RetryRig.status(200)
            }
        }
        let response = try await rig.agent.response(for: request())
        #expect(response.statusCode == 200)
        #expect(response.metrics.attempts.count == 3)
        #expect(rig.events.retries.map(\.context.attempt) == [1, 2])
        let errors = rig.events.retries.compactMap { $0.error as? NetworkError }
        #expect(errors.map(\.reason) == [.status(503), .connectionReset])
        #expect(errors.map(\.attempts) == [1, 2])
        #expect(rig.events.retries[0].pause <= .milliseconds(300))
        #expect(rig.events.retries[1].pause <= .milliseconds(600))
    }

    /// A service that explains in its envelope why it is overloaded is overloaded nevertheless.
    @Test
    func rejectedStatusWithAnEnvelopeIsRetried() async throws {
        let rig = RetryRig { number, _ in
            let body = number == 1 ? #"{"code": 503, "msg": "overloaded"}"# : #"{"code": 0, "data": 7}"#
            let status = number == 1 ? 503 : 200
            return .json(body, status: status)
        }
        let request = GeneralRequest("/x").filter(EnvelopeFilter(code: "code", data: "data"))
        #expect(try await rig.agent.send(request.expecting(Int.self)) == 7)
        #expect(rig.events.retries.map(\.error).contains { ($0 as? ServiceError)?.code == 503 })
    }

    @Test
    func lastFailureHasTheNumberOfAttempts() async throws {
        let rig = RetryRig { number, _ in RetryRig.status(number == 3 ? 502 : 503) }
        let error = try #require(await failure(rig, request()))
        #expect(error.reason == .status(502))
        #expect(error.attempts == 3)
        #expect("\(error)".hasSuffix("; 3 attempts)"))
        #expect(error.host == "api.example")
    }

    @Test
    func failureAfterTheAttemptsHasTheirNumberToo() async throws {
        let rig = RetryRig { number, _ in RetryRig.status(number == 1 ? 503 : 200) }
        let error = await expect(kind: .undecodable) {
            try await rig.agent.send(GeneralRequest("/x").expecting(Int.self, at: "id"))
        }
        #expect(error?.attempts == 2)
    }

    @Test
    func retryAfterIsAMinimum() async throws {
        let rig = RetryRig { number, _ in RetryRig.status(number == 1 ? 429 : 200, ["Retry-After": "17"]) }
        try await rig.agent.send(request())
        let pauses = rig.events.retries.map(\.pause)
        #expect(pauses.count == 1 && pauses.allSatisfy { $0 >= .seconds(17) && $0 <= .milliseconds(18_700) })
        #expect(rig.clock.now.offset == pauses.first)
    }

    @Test
    func tooLongRetryAfterIsNotRetried() async throws {
        let rig = RetryRig { _, _ in RetryRig.status(503, ["Retry-After": "61"]) }
        let error = try #require(await failure(rig, request()))
        #expect(error.attempts == 1)
        #expect(rig.transport.requestCount == 1)
        #expect(rig.clock.now.offset == .zero)
    }

    @Test(arguments: [HTTPMethod.post, .patch])
    func postIsRetriedOnlyWithAKey(_ method: HTTPMethod) async throws {
        let rig = RetryRig { _, _ in throw NetworkError(.connectionReset) }
        #expect(await failure(rig, request(method))?.attempts == 1)
        #expect(rig.transport.requestCount == 1)
        #expect(await failure(rig, request(method).idempotencyKey(.automatic))?.attempts == 3)
        let keys = rig.transport.requests.dropFirst().map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 3)
        #expect(Set(keys).count == 1, "one key for all attempts")
    }

    @Test
    func neverPolicyDoesNotRetry() async throws {
        let rig = RetryRig(policy: .never) { _, _ in RetryRig.status(503) }
        #expect(await failure(rig, request())?.attempts == 1)
        #expect(rig.transport.requestCount == 1)
        #expect(await failure(rig, request().retryPolicy(RetryPolicy(maximumAttempts: 2)))?.attempts == 2)
    }

    @Test
    func userErrorIsUnchangedUnlessTheClosureRetriesIt() async throws {
        let rig = RetryRig { _, _ in throw Own() }
        await #expect(throws: Own.self) { try await rig.agent.send(request()) }
        #expect(rig.transport.requestCount == 1)
        let policy = RetryPolicy.standard.retrying { error, context in error is Own && context.typeName != "" }
        await #expect(throws: Own.self) { try await rig.agent.send(request().retryPolicy(policy)) }
        #expect(rig.transport.requestCount == 4)
    }

    @Test
    func adaptersRunForEachAttempt() async throws {
        let rig = RetryRig { number, _ in RetryRig.status(number < 3 ? 503 : 200) }
        rig.agent.config.adapters = [ClosureAdapter { $0.headers["X-Signature"] = "of attempt \($1.attempt)" }]
        try await rig.agent.send(request())
        let signatures = rig.transport.requests.map { $0.headers["X-Signature"] }
        #expect(signatures == ["of attempt 1", "of attempt 2", "of attempt 3"])
    }

    @Test
    func sendCancelledDuringADelayEndsOnce() async throws {
        let rig = RetryRig(drivesClock: false) { _, _ in RetryRig.status(503, ["Retry-After": "20"]) }
        let send = Task { try await rig.agent.send(request()) }
        await rig.clock.waitForSleepers()
        send.cancel()
        await #expect(throws: CancellationError.self) { try await send.value }
        rig.clock.advance(by: .seconds(100))
        #expect(rig.transport.requestCount == 1)
        #expect(rig.clock.sleeperCount == 0)
    }

    @Test
    func failureOfACancelledSendIsACancellation() async throws {
        let (holder, events, count) = (Lock<Agent?>(nil), EventLog(), Lock(0))
        // Not a stub, which would report the cancellation itself.
        let transport = ClosureTransport { _, _ in
            count.next()
            holder.withLock { $0 }?.cancelAll()
            throw NetworkError(.connectionReset)
        }
        let config = NetworkConfig.test { ($0.retryPolicy, $0.accessories) = (.standard, [events]) }
        let agent = Agent(config: config, transport: transport)
        holder.withLock { $0 = agent }
        defer { holder.withLock { $0 = nil } }
        await #expect(throws: CancellationError.self) { try await agent.send(request()) }
        #expect(count.withLock { $0 } == 1 && events.retries.isEmpty)
    }

    @Test
    func delayBeyondTheDeadlineIsNotMade() async throws {
        let rig = RetryRig(drivesClock: false) { _, _ in RetryRig.status(503, ["Retry-After": "5"]) }
        let error = try #require(await failure(rig, request().limits(Limits(deadline: .seconds(5)))))
        #expect(error.reason == .status(503))
        #expect(error.attempts == 1)
        #expect(rig.transport.requestCount == 1)
    }

    @Test
    func theDeadlineIsOneForAllAttempts() async throws {
        let rig = RetryRig(drivesClock: false) { _, _ in RetryRig.status(503, ["Retry-After": "4"]) }
        let send = Task { try await rig.agent.send(request().limits(Limits(deadline: .seconds(7)))) }
        // The deadline and the pause, which ends first.
        await rig.clock.waitForSleepers(2)
        rig.clock.advanceToNextSleeper()
        let error = await expect(throwing: .status(503)) { try await send.value }
        #expect(error?.attempts == 2)
        #expect(rig.transport.requestCount == 2)
    }

    @Test
    func deadlineDuringADelayHasTheNumberOfAttempts() async throws {
        let rig = RetryRig(drivesClock: false) { _, _ in RetryRig.status(503, ["Retry-After": "4"]) }
        let send = Task { try await rig.agent.send(request().limits(Limits(deadline: .seconds(7)))) }
        await rig.clock.waitForSleepers(2)
        // Straight to the deadline, as on a machine that slept; whoever of the two wakes first, the send is over.
        rig.clock.advance(by: .seconds(7))
        let error = await #expect(throws: NetworkError.self) { try await send.value }
        #expect([.deadlineExceeded(.seconds(7)), .status(503)].contains(error?.reason))
        #expect((1...2).contains(error?.attempts ?? 0))
    }

    @Test(arguments: [NetworkError.Reason.connectionRefused, .hostNotFound, .noConnection])
    func anErrorOfNoConnectionDoesNotSayThatAPostTookEffect(reason: NetworkError.Reason) async throws {
        let rig = RetryRig { _, _ in throw NetworkError(reason) }
        let text = try #require(await failure(rig, request().method(.post))).description
        #expect(text.hasSuffix("; not retried: a retry of a POST needs an idempotencyKey"))
        #expect(rig.transport.requestCount == 1)
    }

    @Test
    func oneRetryDoesNotReadTheRequestAgain() async throws {
        struct Counting: Request {
            typealias Model = Void
            let reads: Lock<Int>
            var path: String {
                reads.withLock { $0 += 1 }
                return "/x"
            }
        }
        let rig = RetryRig { number, _ in RetryRig.status(number < 3 ? 503 : 200) }
        let reads = Lock(0)
        try await rig.agent.send(Counting(reads: reads))
        #expect(rig.transport.requestCount == 3)
        #expect(reads.withLock { $0 } == 1)
    }
}
