import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60)) struct StopSignalTests {
    @Test(arguments: [StopSignal.Reason.cancelled, .deadline, .superseded])
    func everyChildTaskIsCancelledAndWaitedFor(_ reason: StopSignal.Reason) async throws {
        let signal = StopSignal()
        let begun = Delivery<Void>()
        async let seen = signal.run {
            var seen: [Bool] = []
            do {
                try await signal.run {
                    begun.deliver(())
                    try await Task.sleep(for: .seconds(3600))
                }
            } catch {
                seen.append(error is CancellationError)
            }
            return seen + [Task.isCancelled]
        }
        await begun.value()
        signal.stop(reason)
        #expect(try await seen == [true, true])
        #expect(signal.reason == reason && signal.isIdle)
    }

    @Test func theInnermostEndsFirst() {
        let (signal, ended) = (StopSignal(), Record<Int>())
        let slots = (0..<3).map { number in
            let slot = signal.slot()
            slot.fill { ended.add(number) }
            return slot
        }
        slots[1].clear()
        signal.stop()
        #expect(ended.all == [2, 0])
        signal.slot().fill { ended.add(3) }
        #expect(ended.all == [2, 0, 3])
    }

    @Test func cancellationOfTheCallerEndsWhatTheSendWaitsFor() async throws {
        let (signal, begun, ended) = (StopSignal(), Delivery<Void>(), Record<String>())
        let task = Task {
            try await signal.run {
                signal.slot().fill { ended.add("slot") }
                begun.deliver(())
                try await Task.sleep(for: .seconds(3600))
            }
        }
        await begun.value()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ended.all == ["slot"] && signal.reason == .cancelled)
    }

    @Test func cancellationOfAnInnerTaskDoesNotCancelTheSend() async throws {
        let signal = StopSignal()
        try await signal.run {
            let inner = Task { try await signal.run { try await Task.sleep(for: .seconds(3600)) } }
            inner.cancel()
            await #expect(throws: CancellationError.self) { try await inner.value }
        }
        #expect(signal.reason == nil)
    }

    @Test(arguments: [(StopSignal.Reason.deadline, StopSignal.Reason.cancelled), (.cancelled, .deadline)])
    func cancellationTakesPrecedenceOverADeadline(_ one: StopSignal.Reason, _ other: StopSignal.Reason) {
        let signal = StopSignal()
        signal.stop(one)
        signal.stop(other)
        #expect(signal.reason == .cancelled && !signal.isOverDeadline)
    }

    @Test func cancellationIsNoticedWhileWorkHasNotSuspended() async throws {
        let signal = StopSignal()
        let caller = Delivery<Task<Int, any Error>>()
        let task = Task {
            let caller = await caller.value()
            return try await signal.run {
                caller.cancel()
                try signal.check()
                return 7
            }
        }
        caller.deliver(task)
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aDeadlineThatPassesBeforeWorkSuspendsEndsIt() async throws {
        let signal = StopSignal()
        let found = try await signal.run {
            signal.stop(.deadline)
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                return 7
            }
            return 0
        }
        #expect(found == 7)
    }

    @Test func workThatDoesNotWaitIsRemoved() async throws {
        let signal = StopSignal()
        #expect(try await signal.run { 7 } == 7)
        #expect(signal.isIdle)
        signal.stop()
        await #expect(throws: CancellationError.self) { try await signal.run { 7 } }
    }
}
