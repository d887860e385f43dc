import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The tasks that wait for the deadlines of all sends.
@Suite(.limit(seconds: 30)) struct DeadlineTimerTests {
    private let clock = ManualClock()

    private func timer() -> DeadlineTimer {
        let start = clock.now
        return DeadlineTimer(
            now: { [clock] in start.duration(to: clock.now) },
            sleep: { [clock] in try await clock.sleep(until: start.advanced(by: $0)) }
        )
    }

    /// A task of its own for each would occupy memory until its deadline.
    @Test func sendsThatEndInTimeLeaveNoTasks() async {
        let timer = timer()
        for number in 1...10_000 {
            let id = timer.add(StopSignal(), at: .seconds(3_600 + number))
            timer.remove(id)
        }
        #expect(timer.sleeperCount == 1)
        for _ in 0..<1_000 { _ = timer.add(StopSignal(), at: .seconds(20_000)) }
        #expect(timer.sleeperCount == 1)
    }

    @Test func eachEndsAtItsTimeWhateverTheOrder() async {
        let timer = timer()
        let signals = (0..<5).map { _ in StopSignal() }
        let times = [40, 10, 30, 20, 10]
        var ids: [Int] = []
        for (signal, time) in zip(signals, times) { ids.append(timer.add(signal, at: .seconds(time))) }
        timer.remove(ids[2])
        var ended: [[Int]] = []
        for time in [9, 10, 20, 30, 40] {
            // The tasks start to sleep some time after they were created.
            await wait { clock.sleeperCount == timer.sleeperCount }
            clock.advance(to: ManualClock.Instant(offset: .seconds(time)))
            let due = times.indices.filter { $0 != 2 && times[$0] <= time }
            await wait { due.allSatisfy { signals[$0].reason != nil } }
            ended.append(signals.indices.filter { signals[$0].reason != nil })
        }
        #expect(ended == [[], [1, 4], [1, 3, 4], [1, 3, 4], [0, 1, 3, 4]])
    }

    /// Each is found by its task, which starts to sleep after it was recorded.
    @Test(.ownThread) func everEarlierDeadlinesTakeLinearTime() {
        expectLinear(1_000) { count in
            let timer = DeadlineTimer(now: { .zero }, sleep: { _ in try await Task.sleep(for: .seconds(3_600)) })
            for number in 0..<count { _ = timer.add(StopSignal(), at: .seconds(count - number)) }
        }
    }

    @Test func timerThatIsGoneLeavesNoTask() async {
        do {
            let timer = timer()
            _ = timer.add(StopSignal(), at: .seconds(10))
            await wait { clock.sleeperCount == 1 }
        }
        await wait { clock.sleeperCount == 0 }
    }
}
