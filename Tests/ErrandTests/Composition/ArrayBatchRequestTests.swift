import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ArrayBatchRequestTests {
    @Test(arguments: [1, 3, 8, 100, 0, -1])
    func modelsComeInTheOrderOfTheRequests(_ maximumConcurrent: Int) async throws {
        let rig = Rig.numbers()
        let batch = ArrayBatchRequest(
            (1...20).map { GetNumber(number: $0) },
            maximumConcurrent: maximumConcurrent
        )
        #expect(try await rig.agent.send(batch) == Array(1...20))
        #expect(rig.transport.requestCount == 20)
    }

    @Test func runningRequestsNeverExceedTheMaximum() async throws {
        let gate = Record<CheckedContinuation<Void, Never>>()
        let rig = Rig { _ in
            await withCheckedContinuation { gate.add($0) }
            return .json("1")
        }
        let requests = Array(repeating: GetNumber(), count: 7)
        let task = Task { try await rig.agent.send(ArrayBatchRequest(requests, maximumConcurrent: 3)) }
        for expected in 1...7 {
            await wait { gate.all.count == min(7, expected + 2) }
            #expect(rig.transport.requestCount == min(7, expected + 2))
            gate.all[expected - 1].resume()
        }
        #expect(try await task.value == Array(repeating: 1, count: 7))
    }

    @Test func emptyArraySucceedsAtOnce() async throws {
        let recorder = CompositionRecorder()
        #expect(try await Rig.numbers().agent.send(ArrayBatchRequest([GetNumber]()).accessory(recorder)) == [])
        #expect(recorder.events.all == ["willStart", "willStop success", "didStop success"])
    }

    @Test func firstFailureIsThrownUnchangedAndTheRestNeverStarts() async throws {
        let recorder = CompositionRecorder()
        let rig = Rig.numbers(config: .test { $0.retryPolicy = .never })
        let requests = [GetNumber(), .waiting(), .failing(), .waiting()] + (0..<10_000).map { GetNumber(number: $0) }
        let batch = ArrayBatchRequest(requests, maximumConcurrent: 4).accessory(recorder)
        await expect(throwing: .status(503)) { try await rig.agent.send(batch) }
        let progress = recorder.contexts.all.last?.progress
        #expect(progress?.failed?.index == 2)
        #expect(progress?.failed?.typeName == "GetNumber")
        #expect(progress?.total == requests.count)
        #expect(rig.transport.requestCount < 100)
    }

    @Test func failuresThatAreIgnoredYieldNil() async throws {
        let rig = Rig.numbers(config: .test { $0.retryPolicy = .never })
        let requests = [GetNumber(number: 1), .failing(), GetNumber(number: 3)].map { $0.ignoringFailure() }
        #expect(try await rig.agent.send(ArrayBatchRequest(requests)) == [1, nil, 3])
    }

    @Test func cancelledBatchCompletesWithOneCancellationError() async throws {
        let recorder = CompositionRecorder()
        let rig = Rig.numbers()
        let batch = ArrayBatchRequest(Array(repeating: GetNumber.waiting(), count: 9), maximumConcurrent: 2)
        let task = Task { try await rig.agent.send(batch.accessory(recorder)) }
        await rig.transport.waitForRequests(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(recorder.events.all.last == "didStop cancelled")
        #expect(recorder.contexts.all.last?.progress.failed == nil)
        #expect(rig.transport.requestCount == 2)
    }

    @Test func deadlineAppliesToTheCompleteBatch() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let requests = Array(repeating: GetNumber.waiting(), count: 5)
        let batch = ArrayBatchRequest(requests, maximumConcurrent: 2).deadline(.seconds(5))
        let task = Task { try await rig.agent.send(batch) }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        await expect(throwing: .deadlineExceeded(.seconds(5))) { try await task.value }
        #expect(rig.transport.requestCount == 2)
    }

    @Test func canBeAMemberOfBatchesAndChains() async throws {
        let agent = Rig.numbers().agent
        let (numbers, text) = try await agent.send(
            BatchRequest(ArrayBatchRequest([GetNumber(number: 1), GetNumber(number: 2)]), GetText(number: 3))
        )
        #expect(numbers == [1, 2] && text == "3")
        let sums = try await agent.send(
            ChainRequest(GetNumber(number: 4)).then { count in
                ArrayBatchRequest((1...count).map { GetNumber(number: $0) })
            }
        )
        #expect(sums == [1, 2, 3, 4])
    }

    @Test func methodsForSingleRequestsRejectIt() async throws {
        let agent = Rig.numbers().agent
        await expect(throwing: .notOneRequest("ArrayBatchRequest")) {
            _ = try await agent.urlRequest(for: ArrayBatchRequest([GetNumber()]))
        }
    }
}
