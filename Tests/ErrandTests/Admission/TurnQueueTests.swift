import Testing

@testable import Errand

/// Who goes first, as a table of times: no clock, no tasks.
@Suite struct TurnQueueTests {
    /// A queue that can be changed inside an expectation.
    private final class Changing {
        var value = TurnQueue()

        func enter(_ id: Int, _ priority: Priority = .normal, _ host: String = "a", _ limit: Throttle = one) {
            value.enter(TurnQueue.Waiter(id: id, host: host, priority: priority, throttle: limit))
        }
        func start(_ host: String, _ limit: Throttle = one, at now: Duration = .zero) -> Bool {
            value.start(host, limit, at: now)
        }
        func next(at now: Duration = .zero) -> Int? { value.next(at: now) }
        func end(_ host: String, at now: Duration = .zero) { value.end(host, at: now) }

        /// Those who may go, each giving its turn back at once.
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

    @Test func theMostUrgentGoFirstAndAmongEqualsTheFirst() {
        for (id, priority) in [Priority.low, .normal, .high, .normal, .high, .low].enumerated() {
            queue.enter(id, priority)
        }
        #expect(queue.drain() == [2, 4, 1, 3, 0, 5])
        #expect(queue.value.hostCount == 0 && queue.value.running == 0)
    }

    @Test func whoWasPassedEightTimesGoes() {
        queue.enter(0, .low)
        for id in 1...20 { queue.enter(id, .high) }
        #expect(queue.drain() == Array(1...8) + [0] + Array(9...20))
    }

    @Test func theSlotsOfAHostHoldNobodyElseBack() {
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

    @Test func theSlotsInTotalGoToTheMostUrgentOfAnyHost() {
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

    @Test func aRateSaysWhenTheNextIsDue() {
        let rate = Throttle(rate: .perSecond(10))
        #expect(queue.start("a", rate, at: .seconds(1)))
        #expect(!queue.start("a", rate, at: .milliseconds(1_099)))
        queue.enter(1, .normal, "a", rate)
        #expect(queue.value.wake == .milliseconds(1_100))
        #expect(queue.next(at: .milliseconds(1_099)) == nil)
        #expect(queue.next(at: .milliseconds(1_100)) == 1)
    }

    @Test func aPauseHoldsAHostBackAndIsForgotten() {
        queue.value.pause("a", until: .seconds(5))
        queue.enter(1)
        queue.enter(2, .normal, "b")
        #expect(queue.next(at: .seconds(4)) == 2)
        #expect(queue.next(at: .seconds(4)) == nil)
        #expect(queue.value.wake == .seconds(5))
        #expect(queue.next(at: .seconds(5)) == 1)
        queue.end("a", at: .seconds(5))
        queue.end("b", at: .seconds(5))
        #expect(queue.value.hostCount == 0)
    }

    @Test func whoLeavesIsPassedOverAndLeavesNothingBehind() {
        #expect(queue.start("a"))
        for id in 0..<10_000 { queue.enter(id) }
        for id in 0..<10_000 where id % 100 != 7 { queue.value.leave(id) }
        queue.value.leave(3)
        #expect(queue.value.waitingCount == 100)
        queue.end("a", at: .zero)
        #expect(queue.drain() == (0..<100).map { $0 * 100 + 7 })
        #expect(queue.value.waitingCount == 0 && queue.value.hostCount == 0)
    }

    @Test func hostsAreForgottenWhenNothingOfThemCounts() {
        let rate = Throttle(rate: .perSecond(1))
        for index in 0..<5_000 {
            let now = Duration.milliseconds(100 * index)
            #expect(queue.start("host \(index)", rate, at: now))
            queue.end("host \(index)", at: now)
        }
        #expect(queue.value.hostCount <= 1_000)
    }

    /// Against a plain list that is searched each time, over random events.
    @Test func itDoesWhatAPlainListDoes() {
        var random = SeededGenerator()
        for _ in 0..<20 {
            var (queue, model) = (TurnQueue(), PlainList())
            for id in 0..<400 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    let waiter = TurnQueue.Waiter(
                        id: id,
                        host: ["a", "b", "c"].randomElement(using: &random) ?? "a",
                        priority: [.low, .normal, .high].randomElement(using: &random) ?? .low,
                        throttle: Throttle(maximumPerHost: 2, maximumInTotal: 4)
                    )
                    queue.enter(waiter)
                    model.waiters.append(waiter)
                case 5:
                    guard let id = model.waiters.randomElement(using: &random)?.id else { continue }
                    queue.leave(id)
                    model.waiters.removeAll { $0.id == id }
                case 6, 7:
                    guard let host = model.running.randomElement(using: &random) else { continue }
                    queue.end(host, at: .zero)
                    model.running.remove(at: model.running.firstIndex(of: host) ?? 0)
                default:
                    let (mine, other) = (queue.next(at: .zero), model.next())
                    #expect(mine == other, "event \(id)")
                }
                #expect(queue.waitingCount == model.waiters.count && queue.running == model.running.count)
            }
        }
    }

    private struct PlainList {
        var waiters: [TurnQueue.Waiter] = []
        var running: [String] = []
        private var passed = 0

        mutating func next() -> Int? {
            guard running.count < 4 else { return nil }
            let free = waiters.filter { waiter in running.filter { $0 == waiter.host }.count < 2 }
            guard let oldest = free.first, let highest = free.map(\.priority).max() else { return nil }
            let urgent = free.first { $0.priority == highest } ?? oldest
            let chosen = passed < TurnQueue.maximumPassedCount ? urgent : oldest
            passed = chosen.id == oldest.id ? 0 : passed + 1
            waiters.removeAll { $0.id == chosen.id }
            running.append(chosen.host)
            return chosen.id
        }
    }
}
