import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct PollingTests {
    @Test func requestIsRepeatedAfterEachPauseUntilTheConditionHolds() async throws {
        let clock = ManualClock()
        let count = Lock(0)
        let rig = Rig(clock: clock) { _ in .json("\(count.next())") }
        let task = Task {
            var seen: [Int] = []
            for try await response in rig.agent.poll(GetNumber(), every: .seconds(10), until: { $0.model == 3 }) {
                seen.append(response.model)
            }
            return seen
        }
        for number in 1...2 {
            await clock.waitForSleepers()
            #expect(rig.transport.requestCount == number)
            clock.advance(by: .seconds(9))
            #expect(clock.sleeperCount == 1)
            clock.advance(by: .seconds(1))
        }
        #expect(try await task.value == [1, 2, 3])
    }

    /// The seconds of `Retry-After`, and those after which the next request is sent.
    @Test(arguments: [("30", 30), ("3", 10), ("99999999", 3600)])
    func anIntervalIsNotShorterThanTheServerOfPendingWorkAsks(_ field: String, seconds: Int) async throws {
        let clock = ManualClock()
        let rig = Rig(clock: clock) { _ in .json("1", status: 202, headers: ["Retry-After": field]) }
        let task = Task { for try await _ in rig.agent.poll(GetNumber(), every: .seconds(10)) {} }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(seconds) - .milliseconds(1))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        await rig.transport.waitForRequests(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aFailureEndsIt() async throws {
        let rig = Rig.numbers()
        await expect(throwing: .status(503)) {
            for try await _ in rig.agent.poll(GetNumber.failing(), every: .zero) { Issue.record("it had a value") }
        }
        #expect(rig.transport.requestCount == 1)
    }

    @Test func errorOfTheConditionArrivesUnchanged() async throws {
        await #expect(throws: Boom()) {
            for try await _ in Rig.numbers().agent.poll(GetNumber(), every: .zero, until: { _ in throw Boom() }) {}
        }
    }

    @Test func aCancelledPauseEndsIt() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let task = Task { for try await _ in rig.agent.poll(GetNumber(), every: .seconds(10)) {} }
        await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func theIntervalBeginsWithTheResponseAndNotWithItsReader() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        var iterator = rig.agent.poll(GetNumber(), every: .seconds(2)).makeAsyncIterator()
        _ = try await iterator.next()
        clock.advance(by: .seconds(3))
        _ = try await iterator.next()
        #expect(rig.transport.requestCount == 2)
    }
}
