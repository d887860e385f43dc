import Testing

@testable import Errand

@Suite(.ownThread) struct RetryBudgetTests {
    private func take(_ budget: RetryBudget, _ count: Int, at seconds: Double, host: String = "h") -> Int {
        (0..<count).filter { _ in budget.takeRetry(to: host, at: .seconds(seconds)) }.count
    }

    private func ask(_ budget: RetryBudget, _ count: Int, at seconds: Double, host: String = "h") {
        for _ in 0..<count { budget.countRequest(to: host, at: .seconds(seconds)) }
    }

    @Test
    func aQuietHostGetsTenRetriesInTenSeconds() {
        let budget = RetryBudget()
        ask(budget, 1, at: 0)
        #expect(take(budget, 100, at: 0) == 10)
        #expect(take(budget, 100, at: 9.9) == 0)
        #expect(take(budget, 100, at: 10.25) == 10)
    }

    @Test
    func aBusyHostGetsOneRetryMoreForEachTenRequests() {
        let budget = RetryBudget()
        ask(budget, 1009, at: 3)
        #expect(take(budget, 1000, at: 3) == 110)
        ask(budget, 1, at: 4)
        #expect(take(budget, 1000, at: 4) == 1)
    }

    @Test
    func requestsCountForTenSeconds() {
        let budget = RetryBudget()
        ask(budget, 1000, at: 0)
        #expect(take(budget, 1000, at: 9.9) == 110)
        // The requests are forgotten, the retries are not.
        #expect(take(budget, 1000, at: 12) == 0)
        #expect(take(budget, 1000, at: 20.5) == 10)
    }

    @Test
    func hostsDoNotShareABudget() {
        let budget = RetryBudget()
        #expect(take(budget, 100, at: 0, host: "a") == 10)
        #expect(take(budget, 100, at: 0, host: "b") == 10)
    }

    @Test
    func noSequenceOfRequestsGetsMoreThanItsShare() {
        var generator = SeededGenerator()
        for _ in 0..<50 {
            let budget = RetryBudget()
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
    func memoryIsBoundedHoweverManyHostsThereAre() {
        let budget = RetryBudget()
        for index in 0..<20_000 {
            ask(budget, 1, at: Double(index) / 1000, host: "h\(index)")
            #expect(budget.hostCount <= RetryBudget.maximumHostCount)
        }
        ask(budget, 1, at: 60, host: "one more")
        for index in 0..<RetryBudget.maximumHostCount { ask(budget, 1, at: 60, host: "n\(index)") }
        #expect(budget.hostCount <= RetryBudget.maximumHostCount)
    }

    @Test
    func farTimesAndTimesThatGoBackDoNotTrap() {
        let budget = RetryBudget()
        for seconds in [0, 1e9, 5, 1e17, -1e9, 1e17] {
            ask(budget, 3, at: seconds)
            _ = take(budget, 3, at: seconds)
        }
    }
}
