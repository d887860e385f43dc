import Dispatch
import ErrandTesting
import Testing

@testable import Errand

/// Cancellation handlers that block.
///
/// Each keeps a thread of the pool, which may have no more than two, so no other test may run beside them.
@Suite(.timing, .serialized, .limit(seconds: 60))
struct BlockedHandlerTimingTests {
    /// Blocks until another one is stopped too, as a cancellation handler may.
    private final class Meeting: StoppableExchange {
        private let arrived: DispatchSemaphore
        private let other: DispatchSemaphore
        let hasMet = Delivery<Bool>()

        init(arriving arrived: DispatchSemaphore, waitingFor other: DispatchSemaphore) {
            (self.arrived, self.other) = (arrived, other)
        }

        func stop() {
            arrived.signal()
            hasMet.deliver(other.wait(timeout: .now() + 10) == .success)
        }
    }

    @Test func aSendWhoseEndBlocksDelaysNoOtherWithTheSameDeadline() async {
        let clock = ManualClock()
        let start = clock.now
        let timer = DeadlineTimer(
            now: { start.duration(to: clock.now) },
            sleep: { try await clock.sleep(until: start.advanced(by: $0)) }
        )
        let (one, two) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let meetings = [Meeting(arriving: one, waitingFor: two), Meeting(arriving: two, waitingFor: one)]
        for meeting in meetings {
            let signal = StopSignal()
            signal.slot().fill(with: meeting)
            _ = timer.add(signal, at: .seconds(10))
        }
        await wait { clock.sleeperCount == 1 }
        clock.advance(by: .seconds(10))
        for meeting in meetings { #expect(await meeting.hasMet.value()) }
    }
}
