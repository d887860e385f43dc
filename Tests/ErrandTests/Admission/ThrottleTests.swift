import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.serialized, .limit(seconds: 120))
struct ThrottleTests: ThrottleSuite {
    let clock = ManualClock()

    /// Sends in bursts at a rate: with a burst of 50 the clock is moved 200 times and not 10,000.
    @Test(arguments: [(10_000, 50), (1_000, 1)])
    func noSecondExceedsTheRate(count: Int, burst: Int) async throws {
        let (agent, wire) = rig(Throttle(rate: .perSecond(50, burst: burst)))
        let tasks = (0..<count).map { _ in start(agent, AdmissionBench.get()) }
        await waitForQueue(agent, count - burst)
        for started in stride(from: burst, through: count, by: burst) {
            await wire.waitForArrivals(started)
            guard started < count else { break }
            await clock.waitForSleepers()
            clock.advanceToNextSleeper()
        }
        for task in tasks { #expect(try await task.value == 7) }
        let most = ThrottlePaceTests.most(wire.arrivals, in: .seconds(1))
        #expect(most == 50 && wire.arrivals.count == count)
        #expect(clock.now.offset == .milliseconds((count - burst) * 20))
        #expect(agent.pipeline.admission.permits.runningCount == 0 && clock.sleeperCount == 0)
        print("\(count) sends at 50 per second: at most \(most) in any one second, \(clock.now.offset) in all")
    }

    @Test func runningExchangesNeverExceedThePermits() async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 8, maximumInTotal: 12)) { _ in
            await Task.yield()
            return .json("7")
        }
        let tasks = (0..<2_000).map { start(agent, AdmissionBench.get("https://h\($0 % 3).example/")) }
        for task in tasks { #expect(try await task.value == 7) }
        #expect((2...12).contains(wire.most))
        #expect(agent.pipeline.admission.permits.runningCount == 0)
    }

    @Test func higherPrioritiesStartFirst() async throws {
        let gate = Gate()
        let (agent, wire) = rig(Throttle(maximumPerHost: 1)) { _ in
            try await gate.pass()
            return .json("7")
        }
        var tasks = [start(agent, AdmissionBench.get("/first"))]
        await wire.waitForArrivals(1)
        for (index, priority) in [RequestPriority.low, .normal, .high, .normal, .high].enumerated() {
            tasks.append(start(agent, AdmissionBench.get("/\(priority)\(index)").priority(priority)))
            await waitForQueue(agent, index + 1)
        }
        gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        #expect(wire.paths == ["/first", "/high2", "/high4", "/normal1", "/normal3", "/low0"])
    }

    @Test func waitingIsReportedAndEndsBeforeSigning() async throws {
        let log = Record<String>()
        let clock = clock
        let told = ClosureAccessory { context, event in
            if case .didWait(let time) = event { log.add("\(context.attempt) \(time)") }
        }
        let (agent, wire) = rig(
            Throttle(rate: .perSecond(10)),
            .test {
                $0.adapters = [ClosureAdapter { request, _ in request.headers["X-Signed"] = "\(clock.now.offset)" }]
            },
            responding: { .json("7", headers: ["X-Signed": $0.headers["X-Signed"] ?? ""]) }
        )
        #expect(try await agent.send(AdmissionBench.get()) == 7)
        let second = Task { try await agent.response(for: AdmissionBench.get().accessory(told)) }
        await waitForQueue(agent, 1)
        clock.advance(by: .milliseconds(40))
        clock.advance(by: .milliseconds(60))
        let response = try await second.value
        #expect(response.metrics.queue == .milliseconds(100))
        #expect(response.headers["X-Signed"] == "0.1 seconds")
        #expect(log.all == ["1 0.1 seconds"])
        #expect(wire.arrivals == [.zero, .milliseconds(100)])
    }

    @Test func cancelledOrOverdueSendLeavesTheQueueAtOnce() async throws {
        let gate = Gate()
        let (agent, wire) = rig(Throttle(maximumPerHost: 1)) { _ in
            try await gate.pass()
            return .json("7")
        }
        let first = start(agent, AdmissionBench.get())
        await wire.waitForArrivals(1)
        let late = (0..<10).map { _ in start(agent, AdmissionBench.get().limits(Limits(deadline: .seconds(1)))) }
        let cancelled = (0..<500).map { _ in start(agent, AdmissionBench.get()) }
        let patient = start(agent, AdmissionBench.get())
        await waitForQueue(agent, 511)
        for task in cancelled { task.cancel() }
        for task in cancelled { await #expect(throws: CancellationError.self) { try await task.value } }
        await clock.waitForSleepers(10)
        clock.advance(by: .seconds(1))
        for task in late {
            await expect(throwing: .deadlineExceeded(.seconds(1))) { try await task.value }
        }
        await waitForQueue(agent, 1)
        gate.open()
        #expect(try await first.value == 7)
        #expect(try await patient.value == 7)
        #expect(wire.arrivals.count == 2)
    }

    @Test(arguments: [429, 503])
    func retryAfterDelaysAllSendsToTheHost(status: Int) async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 2)) { request in
            request.url.path() == "/busy" ? .status(status, headers: ["Retry-After": "7"]) : .json("7")
        }
        await #expect(throws: NetworkError.self) { try await agent.send(AdmissionBench.get("/busy")) }
        let waiting = (0..<5).map { _ in start(agent, AdmissionBench.get()) }
        await waitForQueue(agent, 5)
        #expect(try await agent.send(AdmissionBench.get("https://other.example/")) == 7)
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(6_999))
        #expect(agent.pipeline.admission.permits.waitingCount == 5)
        clock.advance(by: .milliseconds(1))
        for count in 3...7 {
            await wire.waitForArrivals(count)
            guard count < 7 else { break }
            await clock.waitForSleepers()
            clock.advanceToNextSleeper()
        }
        for task in waiting { #expect(try await task.value == 7) }
        // Over a tenth of the delay.
        let starts = [0, 175, 350, 525, 700].map { Duration.milliseconds(7_000 + $0) }
        #expect(wire.arrivals.filter { $0 > .zero } == starts)
    }

    @Test func retryAfterDelaysAHostByAMinuteAtMost() async throws {
        let (agent, _) = rig(Throttle(maximumPerHost: 2)) { request in
            request.url.path() == "/busy" ? .status(429, headers: ["Retry-After": "99999999999999999999"]) : .json("7")
        }
        await #expect(throws: NetworkError.self) { try await agent.send(AdmissionBench.get("/busy")) }
        let waiting = start(agent, AdmissionBench.get())
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(try await waiting.value == 7)
    }
}
