import Testing

@testable import Errand

@Suite(.ownThread) struct RetryBudgetTests {
    private func take(_ budget: RetryCounts, _ count: Int, at seconds: Double, host: Origin = "h") -> Int {
        (0..<count).filter { _ in budget.takeRetry(to: host, within: .standard, at: .seconds(seconds)) }.count
    }

    private func ask(_ budget: RetryCounts, _ count: Int, at seconds: Double, host: Origin = "h") {
        for _ in 0..<count { budget.countRequest(to: host, within: .standard, at: .seconds(seconds)) }
    }

    @Test
    func aQuietHostGetsTenRetriesInTenSeconds() {
        let budget = RetryCounts()
        ask(budget, 1, at: 0)
        #expect(take(budget, 100, at: 0) == 10)
        #expect(take(budget, 100, at: 9.9) == 0)
        #expect(take(budget, 100, at: 10.25) == 10)
    }

    @Test
    func aBusyHostGetsOneRetryMoreForEachTenRequests() {
        let budget = RetryCounts()
        ask(budget, 1009, at: 3)
        #expect(take(budget, 1000, at: 3) == 110)
        ask(budget, 1, at: 4)
        #expect(take(budget, 1000, at: 4) == 1)
    }

    @Test
    func requestsCountForTenSeconds() {
        let budget = RetryCounts()
        ask(budget, 1000, at: 0)
        #expect(take(budget, 1000, at: 9.9) == 110)
        // The requests are forgotten, the retries are not.
        #expect(take(budget, 1000, at: 12) == 0)
        #expect(take(budget, 1000, at: 20.5) == 10)
    }

    /// The losses of exchanges that began at 0, each with its time and the number of retries that it gets of 40.
    @Test(
        arguments: [
            // One connection, which has responded.
            ([(1.0, 40)], true),
            ([(1, 40), (1.04, 40)], true),
            // It has not, or the loss comes too late to be the same, within the window.
            ([(1, 10)], false),
            ([(1, 40), (1.06, 9), (1.06, 0)], true),
            ([(1, 40), (1.04, 40), (1.08, 40), (1.14, 9)], true),
            ([(1, 40), (9, 9)], true),
        ] as [([(Double, Int)], Bool)]
    )
    func exchangesThatLoseOneConnectionCountOnce(_ losses: [(Double, Int)], hasResponded: Bool) {
        let budget = RetryCounts()
        ask(budget, 1, at: 0)
        if hasResponded { budget.noteResponse(from: "h", within: .standard) }
        for (seconds, count) in losses {
            let taken = (0..<40).filter { _ in
                budget.takeRetry(to: "h", within: .standard, at: .seconds(seconds), afterLossSince: .zero)
            }
            #expect(taken.count == count, "at \(seconds)")
            budget.noteResponse(from: "h", within: .standard)
        }
    }

    @Test func aRetryThatIsLostAgainCounts() {
        let budget = RetryCounts()
        budget.noteResponse(from: "h", within: .standard)
        func take(at seconds: Double, since began: Double) -> Bool {
            budget.takeRetry(to: "h", within: .standard, at: .seconds(seconds), afterLossSince: .seconds(began))
        }
        #expect((0..<40).allSatisfy { _ in take(at: 1, since: 0) })
        #expect((0..<40).filter { _ in take(at: 1.02, since: 1.01) }.count == 9)
        // Another window.
        budget.noteResponse(from: "h", within: .standard)
        #expect((0..<40).allSatisfy { _ in take(at: 12, since: 11) })
    }

    @Test
    func hostsDoNotShareABudget() {
        let budget = RetryCounts()
        #expect(take(budget, 100, at: 0, host: "a") == 10)
        #expect(take(budget, 100, at: 0, host: "b") == 10)
    }

    @Test
    func noSequenceOfRequestsGetsMoreThanItsShare() {
        var generator = SeededGenerator()
        for _ in 0..<50 {
            let budget = RetryCounts()
            var time = Double.random(in: 0..<100, using: &generator)
            let start = time
            var (requests, retries) = (0, 0)
            for _ in 0..<2000 {
                switch Int.random(in: 0..<10, using: &generator) {
                case 0: time += Double.random(in: 0..<3, using: &generator)
                case 1...5:
                    ask(budget, 1, at: time)
                    requests += 1
                default: retries += take(budget, 3, at: time)
                }
            }
            let windows = Int((time - start) / 10) + 1
            #expect(retries <= requests / 10 + 10 * windows)
        }
    }

    @Test
    func hostsThatTakeTurnsAreCountedApart() {
        let budget = RetryCounts()
        for _ in 0..<100 {
            ask(budget, 1, at: 0, host: "a")
            ask(budget, 2, at: 0, host: "b")
        }
        #expect(take(budget, 100, at: 0, host: "b") == 30)
        #expect(take(budget, 100, at: 0, host: "a") == 20)
        // Forgotten hosts leave the others at their places.
        for index in 0..<RetryCounts.maximumHostCount { ask(budget, 1, at: 1, host: "n\(index)") }
        ask(budget, 90, at: 2, host: "n999")
        #expect(take(budget, 100, at: 2, host: "n999") == 19)
        #expect(take(budget, 100, at: 2, host: "n998") == 10)
    }

    @Test
    func memoryIsBoundedHoweverManyHostsThereAre() {
        let budget = RetryCounts()
        for index in 0..<20_000 {
            ask(budget, 1, at: Double(index) / 1000, host: "h\(index)")
            #expect(budget.hostCount <= RetryCounts.maximumHostCount)
        }
        ask(budget, 1, at: 60, host: "one more")
        for index in 0..<RetryCounts.maximumHostCount { ask(budget, 1, at: 60, host: "n\(index)") }
        #expect(budget.hostCount <= RetryCounts.maximumHostCount)
    }

    @Test
    func extremeTimesAndClockSkewDoNotTrap() {
        let budget = RetryCounts()
        for seconds in [0, 1e9, 5, 1e17, -1e9, 1e17] {
            ask(budget, 3, at: seconds)
            _ = take(budget, 3, at: seconds)
        }
    }

    @Test
    func ratioMinimumAndWindowComeFromTheBudget() {
        let budget = RetryBudget(ratio: 0.29, minimum: 2, window: .seconds(1))
        let counts = RetryCounts()
        for _ in 0..<100 { counts.countRequest(to: "h", within: budget, at: .zero) }
        func take(_ seconds: Double) -> Int {
            (0..<100).filter { _ in counts.takeRetry(to: "h", within: budget, at: .seconds(seconds)) }.count
        }
        #expect(take(0) == 31)
        #expect(take(0.9) == 0)
        #expect(take(1.1) == 2)
    }

    @Test
    func valuesOutOfRangeCountAsTheNearestInRange() {
        let budget = RetryBudget(ratio: .nan, minimum: -1, window: .zero)
        #expect(budget == RetryBudget(ratio: 0, minimum: 0, window: .milliseconds(10)))
        #expect(RetryBudget(ratio: .infinity, window: .seconds(1e9)).ratio == 100)
        #expect(RetryBudget(minimum: .max).allows(.max - 1, for: .max))
        #expect(RetryBudget.unlimited != RetryBudget(ratio: 0, minimum: 0))
    }

    @Test
    func costDoesNotGrowWithTheHosts() {
        expectLinear(2_000) { count in
            let budget = RetryCounts()
            // One host is forgotten for each that comes.
            for index in 0..<count { ask(budget, 1, at: Double(index) / 90, host: "h\(index)") }
        }
    }
}
