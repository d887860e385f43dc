import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60)) struct StopSignalTests {
    private struct Seen: Equatable, Sendable {
        var innerWasCancelled = false
        var outerWasCancelled = false
    }

    /// Work inside of work, both started where they stand; the outer one supplies something in place of the inner one.
    private func run(endedBy reason: StopSignal.Reason) async throws -> Seen {
        let signal = StopSignal()
        let begun = Delivery<Void>()
        async let seen = signal.run(grace: .send) {
            var seen = Seen()
            do {
                try await signal.run(grace: .network) {
                    begun.deliver(())
                    try await Task.sleep(for: .seconds(3600))
                }
            } catch {
                seen.innerWasCancelled = error is CancellationError
            }
            seen.outerWasCancelled = Task.isCancelled
            return seen
        }
        await begun.value()
        signal.stop(reason)
        return try await seen
    }

    @Test func deadlineEndsInnermostWorkAndLeavesTheRestItsGrace() async throws {
        #expect(try await run(endedBy: .deadline) == Seen(innerWasCancelled: true, outerWasCancelled: false))
    }

    @Test func cancellationEndsAllOfIt() async throws {
        #expect(try await run(endedBy: .cancelled) == Seen(innerWasCancelled: true, outerWasCancelled: true))
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

    @Test func aDeadlineThatPassesBeforeWorkSuspendsEndsItWithoutGrace() async throws {
        let signal = StopSignal()
        let found = try await signal.run {
            signal.stop(.deadline)
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                return 7  // It was cancelled, and not left behind after its grace period.
            }
            return 0
        }
        #expect(found == 7)
    }

    @Test func aDeadlineThatPassesBeforeInnerWorkSuspendsLeavesTheOuterItsGrace() async throws {
        let signal = StopSignal()
        let isCancelled = try await signal.run(grace: .send) {
            await Task.yield()
            _ = try? await signal.run { signal.stop(.deadline) }  // it may end either way
            return Task.isCancelled
        }
        #expect(!isCancelled)
    }

    @Test func workThatDoesNotWaitIsRemoved() async throws {
        let signal = StopSignal()
        #expect(try await signal.run { 7 } == 7)
        #expect(signal.isIdle)
        signal.stop()
        await #expect(throws: CancellationError.self) { try await signal.run { 7 } }
    }
}
