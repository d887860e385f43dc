import Testing

@testable import Errand

@Suite struct StopSignalTests {
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
        // Until both have their places: the outer one takes its own only when the inner one waits.
        while signal.waitCount < 2 { await Task.yield() }
        signal.stop(reason)
        return try await seen
    }

    @Test func aDeadlineEndsWhatIsInnermostAndLeavesTheRestItsGrace() async throws {
        #expect(try await run(endedBy: .deadline) == Seen(innerWasCancelled: true, outerWasCancelled: false))
    }

    @Test func cancellationEndsAllOfIt() async throws {
        #expect(try await run(endedBy: .cancelled) == Seen(innerWasCancelled: true, outerWasCancelled: true))
    }

    @Test func workThatDoesNotWaitLeavesNothingBehind() async throws {
        let signal = StopSignal()
        #expect(try await signal.run { 7 } == 7)
        #expect(signal.waitCount == 0)
        signal.stop()
        await #expect(throws: CancellationError.self) { try await signal.run { 7 } }
    }
}
