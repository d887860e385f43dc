import Testing

@testable import Errand

/// The order of starts as a table of times, without a clock or tasks.
@Suite struct ThrottleQueueTests {
    /// A queue that can be changed inside an expectation.
    private final class Changing {
        var value = ThrottleQueue()

        func enter(_ id: Int, _ priority: RequestPriority = .normal, _ host: Origin = "a", _ limit: Throttle = one) {
            value.enter(ThrottleQueue.Waiter(id: id, host: host, priority: priority, throttle: limit))
        }
        func start(_ host: Origin, _ limit: Throttle = one, at now: Duration = .zero) -> Bool {
            value.start(host, limit, at: now)
        }
        func next(at now: Duration = .zero) -> Int? { value.next(at: now) }
        func end(_ host: Origin, at now: Duration = .zero) { value.end(host, at: now) }

        /// The waiters that may start, each of which releases its permit at once.
        func drain() -> [Int] {
            var ids: [Int] = []
            while let id = next() {
                ids.append(id)
                end("a")
            }
            return ids
        }
    }

    private let queue = Changing()
    private static let one = Throttle(maximumPerHost: 1)

    @Test func higherPrioritiesStartFirstThenEarlierWaiters() {
        for (id, priority) in [RequestPriority.low, .normal, .high, .normal, .high, .low].enumerated() {
            queue.enter(id, priority)
        }
        #expect(queue.drain() == [2, 4, 1, 3, 0, 5])
        #expect(queue.value.waitingCount == 0 && queue.value.running == 0)
    }

    @Test func waiterThatWasPassedEightTimesIsNext() {
        queue.enter(0, .low)
        for id in 1...20 { queue.enter(id, .high) }
        #expect(queue.drain() == Array(1...8) + [0] + Array(9...20))
    }

    @Test func fullHostDoesNotDelayOtherHosts() {
        #expect(queue.start("a"))
        #expect(!queue.start("a"))
        #expect(queue.start("b"))
        queue.enter(1)
        queue.enter(2, .normal, "c")
        #expect(queue.next(at: .zero) == 2)
        #expect(queue.next(at: .zero) == nil)
        #expect(queue.value.wake == nil)
        queue.end("a", at: .zero)
        #expect(queue.next(at: .zero) == 1)
    }

    @Test func totalPermitsGoToTheHighestPriorityOfAnyHost() {
        let two = Throttle(maximumInTotal: 2)
        #expect(queue.start("a", two, at: .zero))
        #expect(queue.start("b", two, at: .zero))
        queue.enter(1, .normal, "a", two)
        queue.enter(2, .high, "c", two)
        #expect(queue.next(at: .zero) == nil)
        queue.end("b", at: .zero)
        #expect(queue.next(at: .zero) == 2)
        #expect(queue.next(at: .zero) == nil)
        queue.end("a", at: .zero)
        #expect(queue.next(at: .zero) == 1)
        #expect(queue.value.running == 2)
    }

    @Test func rateDeterminesWhenTheNextIsDue() {
        let rate = Throttle(rate: .perSecond(10))
        #expect(queue.start("a", rate, at: .seconds(1)))
        #expect(!queue.start("a", rate, at: .milliseconds(1_099)))
        queue.enter(1, .normal, "a", rate)
        #expect(queue.value.wake == .milliseconds(1_100))
        #expect(queue.next(at: .milliseconds(1_099)) == nil)
        #expect(queue.next(at: .milliseconds(1_100)) == 1)
    }

    @Test func pauseDelaysAHostAndExpires() {
        queue.value.pause("a", until: .seconds(5))
        queue.enter(1)
        queue.enter(2, .normal, "b")
        #expect(queue.next(at: .seconds(4)) == 2)
        #expect(queue.next(at: .seconds(4)) == nil)
        #expect(queue.value.wake == .seconds(5))
        #expect(queue.next(at: .seconds(5)) == 1)
        queue.end("a", at: .seconds(5))
        queue.end("b", at: .seconds(5))
        #expect(queue.value.running == 0)
    }

    @Test func waitersForTheEndOfAPauseAreSpreadOverATime() {
        queue.value.pause("a", until: .seconds(20), spread: .seconds(2))
        let unlimited = Throttle(maximumPerHost: 100)
        for id in 0..<5 { queue.enter(id, .normal, "a", unlimited) }
        var starts: [Duration] = []
        while let wake = queue.value.wake {
            #expect(queue.next(at: wake - .nanoseconds(1)) == nil)
            #expect(queue.next(at: wake) == starts.count)
            starts.append(wake)
        }
        #expect(starts == [20_000, 20_500, 21_000, 21_500, 22_000].map { .milliseconds($0) })
        #expect(queue.start("a", unlimited, at: .seconds(22)))
        // Without others that wait, one does not wait for the others' time.
        queue.value.pause("b", until: .seconds(30), spread: .seconds(3))
        for _ in 0..<3 { #expect(queue.start("b", unlimited, at: .seconds(30))) }
    }

    @Test func cancelledWaiterIsSkippedAndRemoved() {
        #expect(queue.start("a"))
        for id in 0..<10_000 { queue.enter(id) }
        for id in 0..<10_000 where id % 100 != 7 { queue.value.leave(id) }
        queue.value.leave(3)
        #expect(queue.value.waitingCount == 100)
        queue.end("a", at: .zero)
        #expect(queue.drain() == (0..<100).map { $0 * 100 + 7 })
        #expect(queue.value.waitingCount == 0)
    }

    @Test func idleHostsAreForgotten() {
        let rate = Throttle(rate: .perSecond(1))
        for index in 0..<5_000 {
            let now = Duration.milliseconds(100 * index)
            #expect(queue.start("host \(index)", rate, at: now))
            queue.end("host \(index)", at: now)
        }
        #expect(queue.value.hostCount <= 1_000)
    }

    /// Against a queue that looks at every host for every permit, over random events.
    @Test(arguments: 0..<40)
    func permitsGoToTheSameWaitersAsWithASearchOfAllHosts(_ round: Int) {
        var random = SeededGenerator()
        for _ in 0..<round { _ = random.next() }
        let hostCount = [1, 3, 40][round % 3]
        let throttles = Self.throttles.shuffled(using: &random).prefix(1 + round % 4)
        var (queue, plain) = (ThrottleQueue(), LinearThrottleQueue())
        var (waiting, running): ([Int], [Origin]) = ([], [])
        var now = Duration.zero
        for id in 0..<1_500 {
            let host: Origin = "h\(Int.random(in: 0..<hostCount, using: &random))"
            guard let throttle = throttles.randomElement(using: &random) else { return }
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<5:
                let priority = [RequestPriority.low, .normal, .high].randomElement(using: &random) ?? .low
                let waiter = ThrottleQueue.Waiter(id: id, host: host, priority: priority, throttle: throttle)
                queue.enter(waiter)
                plain.enter(waiter)
                waiting.append(id)
            case 5:
                guard let place = waiting.indices.randomElement(using: &random) else { continue }
                let id = waiting.remove(at: place)
                queue.leave(id)
                plain.leave(id)
            case 6, 7:
                guard let place = running.indices.randomElement(using: &random) else { continue }
                let host = running.remove(at: place)
                queue.end(host, at: now)
                plain.end(host, at: now)
            case 8:
                let isStarted = queue.start(host, throttle, at: now)
                #expect(isStarted == plain.start(host, throttle, at: now), "event \(id)")
                if isStarted { running.append(host) }
            case 9:
                let end = now + .milliseconds(Int.random(in: 0..<300, using: &random))
                queue.pause(host, until: end)
                plain.pause(host, until: end)
            case 10: now += .milliseconds(Int.random(in: 0..<200, using: &random))
            default:
                // Starts all that may, as the throttle does.
                while true {
                    let (mine, other) = (queue.next(at: now), plain.next(at: now))
                    #expect(mine == other, "event \(id)")
                    guard let mine else { break }
                    waiting.removeAll { $0 == mine }
                    running.append(plain.hostOfLast)
                }
                let (mine, other) = (queue.wake, plain.wake)
                // Not later than the first start that is possible, sometimes too early, but never immediately.
                #expect(other == nil || mine.map { $0 <= other ?? .zero } == true, "event \(id)")
                #expect(mine.map { $0 > now } ?? true, "event \(id)")
            }
            #expect(queue.waitingCount == plain.waitingCount && queue.running == plain.running)
        }
    }

    private static let throttles = [
        Throttle(maximumPerHost: 1), Throttle(maximumPerHost: 2, maximumInTotal: 4), Throttle(maximumInTotal: 3),
        Throttle(rate: .perSecond(10)), Throttle(maximumInTotal: 6, rate: Throttle.Rate(5, per: .seconds(1), burst: 3)),
        Throttle(maximumPerHost: 3, maximumInTotal: 9, rate: .perSecond(50)),
    ]

    /// Eight times as many hosts; looking at all of them for each permit would take 64 times as long.
    @Test(arguments: [Throttle(maximumPerHost: 2, maximumInTotal: 4), Throttle(maximumInTotal: 4, rate: .perSecond(1))])
    func costOfAPermitDoesNotGrowWithTheHosts(_ throttle: Throttle) {
        expectLinear(1_250) { count in
            var queue = ThrottleQueue()
            var (running, now, done): ([Origin], Duration, Int) = ([], .zero, 0)
            for id in 0..<count {
                queue.enter(ThrottleQueue.Waiter(id: id, host: "h\(id)", priority: .normal, throttle: throttle))
                queue.pause("h\(id)", until: .milliseconds(id % 100))
            }
            while done < count {
                while let id = queue.next(at: now) { running.append("h\(id)") }
                done += running.count
                for host in running { queue.end(host, at: now) }
                running = []
                now = max(now, queue.wake ?? now)
            }
        }
    }

    /// Waiters of one host that leave in any order, as when a screen is closed.
    @Test func costOfLeavingDoesNotGrowWithTheWaiters() {
        expectLinear(2_500) { count in
            var (queue, random) = (ThrottleQueue(), SeededGenerator())
            let limit = Throttle(maximumPerHost: 1)
            _ = queue.start("h", limit, at: .zero)
            for id in 0..<count {
                queue.enter(ThrottleQueue.Waiter(id: id, host: "h", priority: .normal, throttle: limit))
            }
            for id in (0..<count).shuffled(using: &random) { queue.leave(id) }
        }
    }

    /// A host whose slot is taken and freed leaves nothing behind, however often.
    @Test func memoryDoesNotGrowWithTheNumberOfPermits() {
        var queue = ThrottleQueue()
        let limit = Throttle(maximumPerHost: 1, maximumInTotal: 2, rate: .perSecond(1_000))
        for id in 0..<10 {
            queue.enter(ThrottleQueue.Waiter(id: id, host: "h\(id)", priority: .low, throttle: limit))
        }
        for round in 0..<10_000 {
            let now = Duration.milliseconds(round)
            queue.begin("h\(round % 10)", limit, at: now)
            queue.pause("h\(round % 7)", until: now + .milliseconds(5))
            queue.end("h\(round % 10)", at: now)
            if round % 100 == 0, let id = queue.next(at: now) {
                queue.end("h\(id % 10)", at: now)
                let waiter = ThrottleQueue.Waiter(
                    id: 10 * round + id % 10,
                    host: "h\(id % 10)",
                    priority: .low,
                    throttle: limit
                )
                queue.enter(waiter)
            }
        }
        #expect(queue.entryCount <= 200)
    }
}
