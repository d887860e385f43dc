import Dispatch
import Errand
import Testing

@testable import ErrandTesting

@Suite struct ManualClockTests {
    private let clock = ManualClock()

    @Test func timeDoesNotPassUntilItIsAdvanced() {
        let start = clock.now
        #expect(clock.now == start)
        clock.advance(by: .seconds(2))
        #expect(start.duration(to: clock.now) == .seconds(2))
        clock.advance(by: .seconds(-1))
        clock.advance(to: start)
        #expect(clock.now.offset == .seconds(2))
        #expect(clock.minimumResolution == .zero)
    }

    @Test func aDeadlineThatHasPassedReturnsAtOnce() async throws {
        try await clock.sleep(until: clock.now)
        try await clock.sleep(for: .seconds(-1))
        #expect(clock.sleeperCount == 0)
    }

    @Test func aSleeperWakesWhenItsDeadlineIsReachedAndNotBefore() async throws {
        let sleeper = Task { [clock] in
            try await clock.sleep(for: .seconds(10))
            return clock.now
        }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(9))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        #expect(clock.sleeperCount == 0)
        #expect(try await sleeper.value.offset == .seconds(10))
    }

    @Test func theNextSleepersWakeTogetherAndTheOthersSleepOn() async throws {
        let sleepers = [3, 1, 2, 1].map { seconds in
            Task { [clock] in try await clock.sleep(for: .seconds(seconds)) }
        }
        await clock.waitForSleepers(4)
        var counts: [Int] = []
        var moves: [Duration] = []
        while let move = clock.advanceToNextSleeper() {
            moves.append(move)
            counts.append(clock.sleeperCount)
        }
        #expect(counts == [2, 1, 0])
        #expect(moves == [.seconds(1), .seconds(1), .seconds(1)])
        for sleeper in sleepers { try await sleeper.value }
        #expect(clock.nextDeadline == nil)
    }

    @Test func sleepersAreResumedInTheOrderOfTheirDeadlines() async throws {
        let queue = SerialQueue()
        let woken = Lock<[Int]>([])
        let sleepers = [5, 3, 9, 1, 7].map { seconds in
            Task(executorPreference: queue) { [clock] in
                try await clock.sleep(for: .seconds(seconds))
                woken.withLock { $0.append(seconds) }
            }
        }
        await clock.waitForSleepers(5)
        // The last one sleeps, but its job may not have ended yet; then it would go on without being enqueued.
        await Task(executorPreference: queue) {}.value
        clock.advance(by: .seconds(100))
        for sleeper in sleepers { try await sleeper.value }
        #expect(woken.withLock { $0 } == [1, 3, 5, 7, 9])
    }

    @Test func cancelledSleeperThrowsOnceAndIsRemoved() async {
        let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(10)) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
        clock.advance(by: .seconds(20))
    }

    @Test func aTaskCancelledBeforehandDoesNotSleep() async {
        let sleeper = Task { [clock] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(10))
        }
        await #expect(throws: CancellationError.self) { try await sleeper.value }
    }

    @Test func cancellingAmongManyRemovesTheRightOne() async throws {
        let sleepers = (0..<50).map { number in
            Task { [clock] in try await clock.sleep(for: .seconds(1 + number % 5)) }
        }
        await clock.waitForSleepers(50)
        for number in stride(from: 0, to: 50, by: 2) { sleepers[number].cancel() }
        for number in stride(from: 0, to: 50, by: 2) {
            await #expect(throws: CancellationError.self) { try await sleepers[number].value }
        }
        #expect(clock.sleeperCount == 25)
        clock.advance(by: .seconds(5))
        for number in stride(from: 1, to: 50, by: 2) { try await sleepers[number].value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func cancellingAgainstAdvancingEndsEachSleepOnce() async {
        for _ in 0..<300 {
            let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
            await clock.waitForSleepers(1)
            async let cancelled: Void = sleeper.cancel()
            clock.advance(by: .seconds(1))
            await cancelled
            _ = await sleeper.result
            #expect(clock.sleeperCount == 0)
        }
    }

    /// As the guide shows it.
    @Test func advancingEndsTheDelayOfARetry() async throws {
        let transport = StubTransport { _ in .status(503, headers: ["Retry-After": "20"]) }
        let config = NetworkConfig(baseURL: "https://api.example", retryPolicy: RetryPolicy(maximumAttempts: 2))
        let agent = Agent(config: config, transport: transport, clock: clock)
        let send = Task { try await agent.send(GeneralRequest("/x")) }
        await clock.waitForSleepers()
        #expect(transport.requestCount == 1)
        let delay = try #require(clock.advanceToNextSleeper())
        #expect(delay >= .seconds(20) && delay <= .seconds(22))
        await #expect(throws: NetworkError.self) { try await send.value }
        #expect(transport.requestCount == 2)
    }

    @Test func waitingForSleepersEndsWhenTheWaiterIsCancelled() async {
        let waiter = Task { [clock] in await clock.waitForSleepers(1) }
        waiter.cancel()
        #expect(await !waiter.value)
        #expect(await clock.waitForSleepers(0))
    }

    @Test func waitingForMoreSleepersThanThereAreEndsAtItsLimit() async throws {
        let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(20)) }
        #expect(await clock.waitForSleepers())
        #expect(await !clock.waitForSleepers(2, within: .milliseconds(1)))
        // Nobody is left behind.
        clock.advance(by: .seconds(20))
        try await sleeper.value
    }

    @Test func aFailedWaitReportsItsPlaceAndItsCount() {
        let wait = CountWait(function: "waitForSleepers", count: 2, limit: .seconds(30), file: "M/A.swift", line: 7)
        #expect(
            wait.failure(seen: "1 sleep") == "M/A.swift:7: waitForSleepers(2) ended after 30.0 seconds: 1 sleep\n"
        )
        #expect(CountWait.seen(0, []) == "0 requests")
        #expect(CountWait.seen(1, ["GET /users"]) == "1 request, at last GET /users")
    }
}

/// Runs jobs one by one, in the order in which they are enqueued.
private final class SerialQueue: TaskExecutor {
    private let queue = DispatchQueue(label: "SerialQueue")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
