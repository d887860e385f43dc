import ErrandTesting
import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The retry budget as sends observe it.
@Suite(.limit(seconds: 60))
struct RetryBudgetSendTests {
    private func request(_ attempts: Int = 3) -> GeneralRequest<VoidFormatter> {
        GeneralRequest("/x").retryPolicy(RetryPolicy(maximumAttempts: attempts)).expecting(Void.self)
    }

    @Test func errorAndEventReportAnExhaustedBudget() async throws {
        let rig = RetryRig { _, _ in RetryRig.status(503) }
        let log = EventLog()
        rig.agent.config.accessories = [log]
        rig.agent.config.retryBudget = RetryBudget(ratio: 0, minimum: 3)
        var errors: [NetworkError] = []
        for _ in 0..<3 {
            errors.append(try #require(await expect(throwing: .status(503)) { try await rig.agent.send(request()) }))
        }
        #expect(errors.map(\.isRetryBudgetExhausted) == [false, true, true])
        #expect(errors.map(\.attempts) == [3, 2, 1])
        #expect("\(errors[2])".hasSuffix("not retried: the retry budget of the host is exhausted"))
        #expect(!"\(errors[0])".contains("budget"))
        #expect(log.names.count { $0 == "didExhaustRetryBudget" } == 2)
    }

    @Test func retriesWithRetryAfterUseNoBudget() async throws {
        let rig = RetryRig { number, _ in RetryRig.status(number % 10 == 0 ? 200 : 503, ["Retry-After": "1"]) }
        for _ in 0..<20 { try await rig.agent.send(request(10)) }
        #expect(rig.transport.requestCount == 200)
    }

    @Test func retryAfterOfZeroUsesTheBudget() async throws {
        let rig = RetryRig { _, _ in RetryRig.status(503, ["Retry-After": "0"]) }
        for _ in 0..<20 { await #expect(throws: NetworkError.self) { try await rig.agent.send(request(10)) } }
        #expect(rig.transport.requestCount <= 32)
    }

    @Test func unlimitedBudgetLeavesAllToThePolicy() async throws {
        let rig = RetryRig { number, _ in RetryRig.status(number % 10 == 0 ? 200 : 503) }
        rig.agent.config.retryBudget = .unlimited
        for _ in 0..<50 { try await rig.agent.send(request(10)) }
        #expect(rig.transport.requestCount == 500)
    }

    /// Adapters that change the URL, and a caller's own URLRequests, do not change the host.
    @Test func allRequestsToOneHostShareItsBudget() async throws {
        let signing = ClosureAdapter { request, context in
            request.url.append(queryItems: [URLQueryItem(name: "n", value: "\(context.attempt)")])
        }
        struct Custom: Request {
            typealias Model = Void
            let path = ""
            func customURLRequest() -> URLRequest? {
                URL(string: "https://API.example:443/x").map { URLRequest(url: $0) }
            }
        }
        let rig = RetryRig { _, _ in RetryRig.status(503) }
        rig.agent.config.retryBudget = RetryBudget(ratio: 0, minimum: 5)
        for adapters in [[], [signing]] {
            rig.agent.config.adapters = adapters
            await #expect(throws: NetworkError.self) { try await rig.agent.send(request()) }
            await #expect(throws: NetworkError.self) { try await rig.agent.send(Custom()) }
        }
        #expect(rig.transport.requestCount == 4 + 5)
    }

    @Test func planNamesTheBudget() async throws {
        let rig = RetryRig { _, _ in RetryRig.status(200) }
        #expect(try await rig.agent.plan(for: request())["retryBudget"]?.source == .library)
        rig.agent.config.retryBudget = RetryBudget(ratio: 0.5, minimum: 7, window: .seconds(3))
        let entry = try #require(await rig.agent.plan(for: request())["retryBudget"])
        #expect(entry.value == "7 retries and 0.5 for each request in 3.0 seconds and host")
        #expect(entry.source == .config)
        rig.agent.config.retryBudget = .unlimited
        #expect(try await rig.agent.plan(for: request())["retryBudget"]?.value == "unlimited")
    }

    /// A transport each of whose exchanges takes a second of the clock; those from 31 to 40 fail.
    private func slowTransport(_ clock: ManualClock) -> StubTransport {
        let number = Lock(0)
        return StubTransport { _ in
            let isFailing = (31...40).contains(number.next())
            try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
            return RetryRig.status(isFailing ? 503 : 200)
        }
    }

    /// Forty sends through one slot, a second each: those that fail after 30 seconds are on the wire then, although
    /// they began long before.
    @Test func requestsCountWhenTheyAreSent() async throws {
        let clock = ManualClock()
        var config = NetworkConfig(baseURL: "https://api.example")
        config.throttle = Throttle(maximumPerHost: 1)
        config.retryBudget = RetryBudget(ratio: 1, minimum: 0)
        config.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .zero)
        let transport = slowTransport(clock)
        let agent = Agent(config: config, transport: transport, clock: clock)
        let driver = Task {
            for number in 1...50 {
                // A send that failed waits behind all others before the clock goes on.
                let waiting = number <= 31 ? 40 - number : number <= 40 ? 9 : 50 - number
                await wait {
                    transport.requestCount == number
                        && agent.pipeline.admission.permits.waitingCount == waiting || Task.isCancelled
                }
                await clock.waitForSleepers()
                clock.advance(by: .seconds(1))
            }
        }
        defer { driver.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask { try await agent.send(GeneralRequest("/x").expecting(Void.self)) }
            }
            try await group.waitForAll()
        }
        #expect(transport.requestCount == 50)
    }

    /// All of a send goes by the agent's clock.
    @Test func timesOfAttemptsAreTakenWithTheClockOfTheAgent() async throws {
        let clock = ManualClock()
        let transport = slowTransport(clock)
        let agent = Agent(config: .test, transport: transport, clock: clock)
        let send = Task { try await agent.response(for: GeneralRequest("/x").expecting(Void.self)).metrics }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        let metrics = try await send.value
        #expect(metrics.attempts.map(\.total) == [.seconds(1)])
        #expect(metrics.total == .seconds(1) && metrics.filter == .zero)
    }

    /// A date in a response without `Date` is compared with the agent's clock, for retries and for the throttle.
    @Test func datesAreComparedWithTheClockOfTheAgent() async throws {
        let began = Date()
        let text = try #require(HTTPDate.text(for: began.addingTimeInterval(1_000)))
        let rig = RetryRig(drivesClock: false) { number, _ in
            RetryRig.status(number == 1 ? 503 : 200, ["Retry-After": text])
        }
        rig.clock.advance(by: .seconds(970))
        let send = Task { try await rig.agent.send(request()) }
        await rig.clock.waitForSleepers()
        let pause = try #require(rig.events.retries.first?.pause)
        #expect(pause > .seconds(20) && pause <= .seconds(34.1))
        rig.clock.advanceToNextSleeper()
        try await send.value
    }

    /// It would be a retry without a delay, and not counted by the budget.
    @Test func delayThatIsNoneUsesTheBudget() async throws {
        let rig = Rig(config: .test { $0.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .zero) }) { _ in
            .json("1", status: 503, headers: ["Retry-After": "0.000000001"])
        }
        for _ in 0..<200 { await #expect(throws: NetworkError.self) { try await rig.wire(GeneralRequest("/x")) } }
        #expect(rig.transport.requestCount <= 230, "\(rig.transport.requestCount)")
    }
}
