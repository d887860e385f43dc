import Testing

@testable import Errand

/// A rate is never exceeded in any window, and is reached if nothing else delays sends.
@Suite struct ThrottlePaceTests {
    /// Starts a number of times, as early as possible, after waits that a closure returns.
    private func starts(_ count: Int, by rate: Throttle.Rate, lateness: () -> Duration = { .zero }) -> [Duration] {
        var pace = ThrottlePace()
        var now = Duration.zero
        return (0..<count).map { _ in
            now = max(now, pace.earliest(by: rate)) + lateness()
            pace.start(by: rate, at: now)
            return now
        }
    }

    @Test func costOfAStartDoesNotGrowWithTheBurst() {
        expectLinear(5_000) { count in _ = starts(4 * count, by: Throttle.Rate(count, per: .seconds(1), burst: count)) }
    }

    /// The most starts in any half-open window.
    static func most(_ starts: [Duration], in window: Duration) -> Int {
        var (most, first) = (0, 0)
        for (index, start) in starts.enumerated() {
            while starts[first] + window <= start { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    @Test(arguments: [
        Throttle.Rate.perSecond(50), .perSecond(3), .perSecond(7), .perSecond(50, burst: 10),
        .perSecond(50, burst: 50), .perSecond(1), Throttle.Rate(2, per: .milliseconds(333)),
        Throttle.Rate(1_000_000, per: .microseconds(1)), Throttle.Rate(11, per: .seconds(13), burst: 5),
    ])
    func noWindowExceedsTheRateAndNoStartIsLost(rate: Throttle.Rate) {
        let starts = starts(10_000, by: rate)
        #expect(Self.most(starts, in: rate.duration) == min(rate.count, 10_000))
        // The last is due after as many complete windows as fill up before it.
        let least = rate.duration * (9_999 / rate.count)
        let most = rate.duration * ((9_999 + rate.count - 1) / rate.count) + .nanoseconds(1)
        #expect(starts.last.map { least <= $0 && $0 <= most } == true, "\(starts.last ?? .zero)")
    }

    @Test func withoutABurstStartsAreEvenlySpaced() {
        #expect(starts(4, by: .perSecond(50)) == [0, 20, 40, 60].map { .milliseconds($0) })
    }

    @Test func burstIsAvailableAfterIdleTimeOnly() {
        let rate = Throttle.Rate.perSecond(10, burst: 3)
        #expect(starts(6, by: rate) == [0, 0, 0, 100, 200, 300].map { .milliseconds($0) })
    }

    @Test func unevenAndLateStartsDoNotExceedTheRate() {
        var random = SeededGenerator()
        for _ in 0..<50 {
            let count = Int.random(in: 1...40, using: &random)
            let rate = Throttle.Rate(
                count,
                per: .milliseconds(Int.random(in: 1...2_000, using: &random)),
                burst: Int.random(in: 1...count, using: &random)
            )
            let starts = starts(2_000, by: rate) {
                Bool.random(using: &random) ? .zero : .microseconds(Int.random(in: 0...90_000, using: &random))
            }
            #expect(Self.most(starts, in: rate.duration) <= count, "\(rate)")
        }
    }

    @Test func aRateWithoutBurstsAndOneWithThemShareAHost() {
        let (even, burst) = (Throttle.Rate.perSecond(50), Throttle.Rate.perSecond(50, burst: 50))
        for order in [[even, burst], [burst, even]] {
            var pace = ThrottlePace()
            var all: [Duration] = []
            for rate in order {
                for _ in 0..<49 {
                    let now = max(all.last ?? .zero, pace.earliest(by: rate))
                    pace.start(by: rate, at: now)
                    all.append(now)
                }
            }
            #expect(Self.most(all, in: .seconds(1)) <= 50)
        }
    }

    @Test func startsUnderAnotherRateCountForABurst() {
        var random = SeededGenerator()
        let durations: [Duration] = [.milliseconds(10), .milliseconds(300), .seconds(1)]
        for _ in 0..<200 {
            let rates = (0..<2).map { _ in
                let count = Int.random(in: 1...60, using: &random)
                let burst = Bool.random(using: &random) ? 1 : Int.random(in: 1...count, using: &random)
                return Throttle.Rate(count, per: durations.randomElement(using: &random) ?? .seconds(1), burst: burst)
            }
            var pace = ThrottlePace()
            var all: [(time: Duration, rate: Throttle.Rate)] = []
            func start(by rate: Throttle.Rate) {
                let now = max(all.last?.time ?? .zero, pace.earliest(by: rate))
                pace.start(by: rate, at: now)
                all.append((now, rate))
            }
            // Starts are recorded from the first one of a rate on.
            for rate in rates { start(by: rate) }
            while all.count < 1_000 {
                let rate = rates.randomElement(using: &random) ?? .perSecond(1)
                for _ in 0..<Int.random(in: 1...60, using: &random) { start(by: rate) }
            }
            let exceeding = all.enumerated().filter { index, start in
                let count = all[...index].reversed().prefix { $0.time > start.time - start.rate.duration }.count
                return start.rate.burst > 1 && count > start.rate.count
            }
            #expect(exceeding.isEmpty, "\(rates)")
            #expect(pace.count <= max(rates[0].count, rates[1].count))
        }
    }

    @Test func noMoreStartsAreKeptThanARateNeeds() {
        var pace = ThrottlePace()
        let rate = Throttle.Rate.perSecond(5, burst: 5)
        for step in 0..<10_000 { pace.start(by: rate, at: .milliseconds(step)) }
        #expect(pace.count == 5)
        #expect(!pace.isAtRest(at: .seconds(11)))
        #expect(pace.isAtRest(at: .seconds(3_000)))
    }

    @Test func ratesAreClamped() {
        let rate = Throttle.Rate(-5, per: .seconds(-1), burst: 9)
        #expect(rate == Throttle.Rate(1, per: .microseconds(1)))
        #expect(Throttle.Rate(.max, per: .seconds(Int64.max), burst: .max).step > .zero)
        #expect(Throttle(maximumPerHost: 0, maximumInTotal: -1) == Throttle(maximumPerHost: 1, maximumInTotal: 1))
    }
}
