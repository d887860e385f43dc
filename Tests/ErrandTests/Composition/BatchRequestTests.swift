import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct BatchRequestTests {
    @Test func modelsComeInTheOrderOfTheRequests() async throws {
        let rig = Rig.numbers()
        let (one, text, three) = try await rig.agent.send(
            BatchRequest(GetNumber(number: 1), GetText(number: 2), GetNumber(number: 3))
        )
        #expect(one == 1 && text == "2" && three == 3)
        #expect(rig.transport.requestCount == 3)
    }

    @Test func theRequestsRunAtOnce() async throws {
        let gate = Record<CheckedContinuation<Void, Never>>()
        let rig = Rig { _ in
            await withCheckedContinuation { gate.add($0) }
            return .json("1")
        }
        let task = Task { try await rig.agent.send(BatchRequest(GetNumber(), GetNumber(), GetNumber())) }
        await wait { gate.all.count == 3 }
        for waiter in gate.all { waiter.resume() }
        #expect(try await task.value == (1, 1, 1))
    }

    @Test func anEmptyBatchSucceedsAtOnce() async throws {
        let recorder = CompositionRecorder()
        let rig = Rig.numbers()
        let nothing: Void = try await rig.agent.send(BatchRequest().accessory(recorder))
        #expect(nothing == ())
        #expect(recorder.events.all == ["willStart", "willStop success", "didStop success"])
        #expect(recorder.contexts.all.last?.progress.fractionCompleted == 1)
        let none: [Result<Int, any Error>] = await rig.agent.results(of: [GetNumber]())
        #expect(none.isEmpty)
    }

    @Test func aBatchOfOneYieldsItsModel() async throws {
        let number: Int = try await Rig.numbers().agent.send(BatchRequest(GetNumber(number: 5)))
        #expect(number == 5)
    }

    @Test(arguments: [DuplicatePolicy.allow, .share, .cancelPrevious, .rejectNew]) func aBatchOfTwoEqualURLsFinishes(
        policy: DuplicatePolicy
    ) async throws {
        let request = GeneralRequest("/ok/4").duplicatePolicy(policy)
        let rig = Rig.numbers()
        let (one, two) = await rig.agent.results(of: request, request)
        #expect([one, two].contains { (try? $0.get()) == 4 })
    }

    @Test func theFirstFailureIsThrownUnchangedAndEndsTheOthers() async throws {
        let recorder = CompositionRecorder()
        let events = Record<String>()
        let rig = Rig.numbers(config: .test { $0.accessories = [AccessoryPathsTests.Recorder(events: events)] })
        let batch = BatchRequest(GetNumber.waiting(), Refusing(), GetNumber.waiting(2)).accessory(recorder)
        await #expect(throws: Boom()) { try await rig.agent.send(batch) }
        let failed = recorder.contexts.all.last?.progress.failed
        #expect(failed?.index == 1)
        #expect(failed?.typeName == "Refusing")
        #expect(recorder.events.all == ["willStart", "willStop failure", "didStop failure"])
        #expect(
            events.all.filter { $0.hasPrefix("willStart") }.count == events.all.filter { $0.hasPrefix("didStop") }.count
        )
    }

    @Test func accessoriesReceiveTheMembersThatFinished() async throws {
        let recorder = CompositionRecorder()
        let gate = Record<CheckedContinuation<Void, Never>>()
        let rig = Rig { request in
            guard request.url.path() == "/status/1" else { return .json("2") }
            await withCheckedContinuation { gate.add($0) }
            return .status(503)
        }
        let batch = BatchRequest(GetNumber.failing(), GetText(number: 2), GetNumber(number: 2)).accessory(recorder)
        let task = Task { try await rig.agent.send(batch) }
        await wait { recorder.contexts.all.last?.progress.finished.count == 2 && gate.all.count == 1 }
        #expect(recorder.contexts.all.last?.progress.total == 3)
        gate.all.first?.resume()
        await expect(throwing: .status(503)) { try await task.value }
        #expect(Set(recorder.contexts.all.last?.progress.finished.map(\.index) ?? []) == [1, 2])
        #expect(recorder.contexts.all.last?.progress.failed == recorder.contexts.all.last.flatMap(\.progress.failed))
        #expect(recorder.contexts.all.last?.progress.failed?.index == 0)
    }

    @Test func aFailureThatIsIgnoredYieldsNil() async throws {
        let recorder = CompositionRecorder()
        let (one, two, three) = try await Rig.numbers().agent.send(
            BatchRequest(
                GetNumber(number: 1),
                GetNumber.failing().ignoringFailure(),
                GetText(number: 3).ignoringFailure()
            ).accessory(recorder)
        )
        #expect(one == 1 && two == nil && three == "3")
        #expect(recorder.contexts.all.last?.progress.finished.count == 3)
    }

    @Test func aCancelledBatchCompletesWithOneCancellationError() async throws {
        let recorder = CompositionRecorder()
        let events = Record<String>()
        let rig = Rig.numbers(config: .test { $0.accessories = [AccessoryPathsTests.Recorder(events: events)] })
        let task = Task {
            try await rig.agent.send(
                BatchRequest(GetNumber.waiting(1), GetNumber.waiting(2).ignoringFailure(), GetNumber(number: 3))
                    .accessory(recorder)
            )
        }
        await rig.transport.waitForRequests(3)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(recorder.events.all.last == "didStop cancelled")
        #expect(recorder.contexts.all.last?.progress.failed == nil)
        #expect(events.all.filter { $0.hasPrefix("didStop") }.count == 3)
    }

    /// Cancels a send when its batch or chain is about to end.
    private struct Canceller: CompositionAccessory {
        let cancel: @Sendable () -> Void

        func composition(_ context: CompositionContext, did event: CompositionEvent) {
            if case .willStop = event { cancel() }
        }
    }

    @Test(arguments: [false, true]) @MainActor
    func startedBatchOrChainThatIsCancelledBeforeItsCallbackIsReportedAsCancelled(_ isChain: Bool) async {
        let rig = Rig.numbers()
        let recorder = CompositionRecorder()
        let results = Record<any Error>()
        let handle = Lock<RequestHandle<Void>?>(nil)
        let canceller = Canceller { handle.withLock { $0 }?.cancel() }
        let complete: @MainActor (Result<Int, any Error>) -> Void = { $0.failure.map(results.add) }
        let (one, batch) = (GetNumber(), ArrayBatchRequest([GetNumber(), GetNumber(number: 2)]))
        let started =
            isChain
            ? rig.agent.start(ChainRequest(one).accessory(recorder).accessory(canceller), completion: complete)
            : rig.agent.start(batch.accessory(recorder).accessory(canceller)) { complete($0.map(\.count)) }
        // The main actor is not left before this, so nothing has begun.
        handle.withLock { $0 = started }
        await started.waitUntilFinished()
        #expect(results.all.count == 1 && results.all.first is CancellationError)
        #expect(recorder.events.all.suffix(2) == ["willStop success", "didStop cancelled"])
    }

    @Test func aChildThatIsCancelledAloneFailsTheBatchUnlessItIsIgnored() async throws {
        let rig = Rig.numbers()
        let batch = BatchRequest(GetNumber(number: 1, kind: "wait", tag: "x"), GetNumber(number: 2))
        let strict = Task { try await rig.agent.send(batch) }
        await rig.transport.waitForRequests(2)
        rig.agent.cancelAll { $0.tag == "x" }
        await #expect(throws: CancellationError.self) { try await strict.value }
        let lenient = Task {
            try await rig.agent.send(
                BatchRequest(GetNumber(number: 1, kind: "wait", tag: "x").ignoringFailure(), GetNumber(number: 2))
            )
        }
        await rig.transport.waitForRequests(4)
        rig.agent.cancelAll { $0.tag == "x" }
        #expect(try await lenient.value == (nil, 2))
    }

    @Test func batchCanBeAMemberOfABatch() async throws {
        let agent = Rig.numbers().agent
        let (a, (b, c), d) = try await agent.send(
            BatchRequest(
                GetNumber(number: 1),
                BatchRequest(GetNumber(number: 2), GetText(number: 3)),
                BatchRequest(GetNumber.waiting(), Refusing()).ignoringFailure()
            )
        )
        #expect(a == 1 && b == 2 && c == "3" && d == nil)
    }

    @Test func childrenInheritTheRemainingDeadline() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let batch = BatchRequest(
            GetNumber.waiting(1),
            GetNumber(number: 2, kind: "wait", own: Limits(deadline: .seconds(60)))
        ).deadline(.seconds(5))
        let task = Task { try await rig.agent.send(batch) }
        await clock.waitForSleepers(2)
        #expect(clock.nextDeadline?.offset == .seconds(5))
        clock.advance(by: .seconds(5))
        await expect(throwing: .deadlineExceeded(.seconds(5))) { try await task.value }
    }

    @Test func aShorterDeadlineOfAChildStays() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let own = GetNumber(number: 2, kind: "wait", own: Limits(deadline: .seconds(1)))
        let task = Task { try await rig.agent.send(BatchRequest(GetNumber.waiting(1), own).deadline(.seconds(5))) }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        await expect(throwing: .deadlineExceeded(.seconds(1))) { try await task.value }
    }

    @Test func deadlineOfABatchIsNotIgnoredWithTheFailureOfAChild() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let own = GetNumber(number: 2, kind: "wait", own: Limits(deadline: .seconds(1))).ignoringFailure()
        let batch = BatchRequest(GetNumber.waiting(1).ignoringFailure(), own).deadline(.seconds(5))
        let task = Task { try await rig.agent.send(batch) }
        await clock.waitForSleepers(3)
        clock.advance(by: .seconds(1))
        // The deadlines of the batch and of its first request.
        await wait { clock.sleeperCount == 2 }
        clock.advance(by: .seconds(4))
        await expect(throwing: .deadlineExceeded(.seconds(5))) { try await task.value }
        // Its own is.
        let other = Task { try await rig.agent.send(BatchRequest(GetNumber(), own).deadline(.seconds(5))) }
        await clock.waitForSleepers(1)
        await rig.transport.waitForRequests(4)
        clock.advance(by: .seconds(1))
        #expect(try await other.value.1 == nil)
    }

    @Test func nothingStartsAfterTheDeadline() async throws {
        let rig = Rig.numbers()
        await expect(kind: .timedOut) {
            try await rig.agent.send(BatchRequest(GetNumber(), GetNumber()).deadline(.zero))
        }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func methodsForSingleRequestsRejectABatch() async throws {
        let agent = Rig.numbers().agent
        let batch = BatchRequest(GetNumber(), GetNumber())
        await expect(throwing: .notOneRequest("BatchRequest")) { _ = try await agent.plan(for: batch) }
        await expect(throwing: .notOneRequest("BatchRequest")) { _ = try await agent.urlRequest(for: batch) }
        await expect(throwing: .notOneRequest("ChainRequest")) {
            _ = try await agent.response(for: ChainRequest(GetNumber()))
        }
    }

    @Test func handleShowsProgressAndFailuresOfABatch() async throws {
        let rig = Rig.numbers()
        let results = Record<Result<(Int, Int), any Error>>()
        let handle = rig.agent.start(BatchRequest(GetNumber(number: 1), GetNumber.waiting(2)), on: .global()) {
            results.add($0)
        }
        await wait { handle.compositionProgress?.finished.count == 1 }
        #expect(handle.compositionProgress?.total == 2)
        #expect(handle.compositionProgress?.fractionCompleted == 0.5)
        #expect(handle.compositionProgress?.finished.first?.typeName == "GetNumber")
        handle.cancel()
        await handle.waitUntilFinished()
        #expect(results.all.count == 1)
        #expect(throws: CancellationError.self) { try results.all.first?.get() }
        let failing = rig.agent.start(BatchRequest(GetNumber.waiting(), Refusing()))
        await #expect(throws: Boom()) { try await failing.value }
        #expect(failing.compositionProgress?.failed?.index == 1)
    }

    @MainActor @Test func deallocatedScopeEndsABatchWithoutItsCompletion() async {
        let rig = Rig.numbers()
        let results = Record<Bool>()
        var scope: RequestScope? = RequestScope()
        let handle = rig.agent.start(BatchRequest(GetNumber.waiting(), GetNumber.waiting()), in: scope) { _ in
            results.add(true)
        }
        await rig.transport.waitForRequests(2)
        scope = nil
        await handle.waitUntilFinished()
        #expect(results.all.isEmpty)
    }

    @Test func aMemberThatIsSupersededFailsItsBatchWithATypedError() async throws {
        let rig = Rig.numbers()
        let waiting = GeneralRequest("/wait/1").expecting(Int.self).duplicatePolicy(.cancelPrevious)
        let error = await expect(throwing: .superseded) { try await rig.agent.send(BatchRequest(waiting, waiting)) }
        #expect(error?.path == "/wait/1")
        let count = rig.transport.requestCount
        let alone = Task { try await rig.agent.send(waiting) }
        await rig.transport.waitForRequests(count + 1)
        let newer = Task { try await rig.agent.send(waiting) }
        await #expect(throws: CancellationError.self) { try await alone.value }
        newer.cancel()
    }

    @Test func onlyPartsOfABatchOrChainFailWithATypedErrorIfTheyAreSuperseded() async throws {
        let rig = Rig.numbers()
        let waiting = GeneralRequest("/wait/1").expecting(Int.self).duplicatePolicy(.cancelPrevious)
        let scope = RequestScope()
        func isReplaced(_ send: @escaping @Sendable () async throws -> Int) async throws -> (any Error)? {
            let count = rig.transport.requestCount
            let older = Task { try await send() }
            await rig.transport.waitForRequests(count + 1)
            let newer = Task { try await rig.agent.send(waiting) }
            defer { newer.cancel() }
            return await failure { try await older.value }
        }
        let agent = rig.agent
        #expect(try await isReplaced { try await agent.send(waiting, in: scope) } is CancellationError)
        #expect(try await isReplaced { try await agent.send(waiting, in: nil) } is CancellationError)
        #expect(try await isReplaced { try await agent.results(of: [waiting])[0].get() } is CancellationError)
        let error = try await isReplaced { try await agent.send(ChainRequest(waiting)) }
        #expect((error as? NetworkError)?.reason == .superseded)
    }
}
