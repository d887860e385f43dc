import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ChainRequestTests {
    @Test func eachStepIsCreatedFromThePreviousModel() async throws {
        let rig = Rig.numbers()
        let recorder = CompositionRecorder()
        let text = try await rig.agent.send(
            ChainRequest(GetNumber(number: 1))
                .then { GetNumber(number: $0 + 1) }
                .then { GetText(number: $0 + 1) }
                .accessory(recorder)
        )
        #expect(text == "3")
        #expect(rig.transport.requests.map { $0.url.path() } == ["/ok/1", "/ok/2", "/ok/3"])
        #expect(
            recorder.events.all == [
                "willStart", "didFinish 0 GetNumber", "didFinish 1 GetNumber", "didFinish 2 GetText",
                "willStop success", "didStop success",
            ]
        )
        #expect(recorder.contexts.all.last?.progress.fractionCompleted == 1)
    }

    @Test func stepCanReadAllPreviousModels() async throws {
        let sum = try await Rig.numbers().agent.send(
            ChainRequest(GetNumber(number: 1))
                .then { _ in GetText(number: 5) }
                .thenWithHistory { text, history in
                    #expect(history.count == 2)
                    #expect(history.steps.map(\.typeName) == ["GetNumber", "GetText"])
                    #expect(history.response(of: GetText.self)?.statusCode == 200)
                    #expect(history.model(at: 0, as: Int.self) == 1)
                    #expect(history.model(at: 0, as: String.self) == nil)
                    #expect(history.model(at: 7, as: Int.self) == nil)
                    #expect(history.model(of: Refusing.self) == nil)
                    return GetNumber(number: try #require(history.model(of: GetNumber.self)) + (Int(text) ?? 0))
                }
        )
        #expect(sum == 6)
    }

    @Test func aStepMayBranchOrSendNothing() async throws {
        let rig = Rig.numbers()
        func number(after first: Int) async throws -> Int {
            try await rig.agent.send(
                ChainRequest(GetNumber(number: first)).then { model -> ChainStep<Int> in
                    switch model {
                    case 0: .value(-1)
                    case 1: .send(GetNumber(number: 10))
                    default: .send(ChainRequest(GetText(number: 20)).then { GetNumber(number: (Int($0) ?? 0) + 1) })
                    }
                }
            )
        }
        #expect(try await number(after: 0) == -1)
        #expect(try await number(after: 1) == 10)
        #expect(try await number(after: 2) == 21)
        #expect(rig.transport.requestCount == 6)
    }

    @Test func chainCanChooseEachStepFromItsHistory() async throws {
        let recorder = CompositionRecorder()
        let history = try await Rig.numbers().agent.send(
            ChainRequest(startingWith: GetNumber(number: 1)) { history in
                switch history.count {
                case 1: GetText(number: 2)
                case 2: ChainStep.send(GetNumber(number: 3))
                default: nil
                }
            }.accessory(recorder)
        )
        #expect(history.count == 3)
        #expect(history.model(at: 1, as: String.self) == "2")
        #expect(recorder.contexts.all.last?.progress.total == nil)
        #expect(recorder.contexts.all.last?.progress.finished.map(\.index) == [0, 1, 2])
    }

    @Test func errorOfAStepArrivesUnchangedWithItsIndex() async throws {
        let recorder = CompositionRecorder()
        let rig = Rig.numbers()
        let chain = ChainRequest(GetNumber()).then { _ in Refusing() }.then { _ in GetText() }
        await #expect(throws: Boom()) { try await rig.agent.send(chain.accessory(recorder)) }
        #expect(recorder.contexts.all.last?.progress.failed?.index == 1)
        #expect(recorder.contexts.all.last?.progress.failed?.typeName == "Refusing")
        #expect(recorder.contexts.all.last?.progress.finished.count == 1)
        #expect(rig.transport.requestCount == 1)
    }

    @Test func errorOfAClosureIsTheFailureOfItsStep() async throws {
        let recorder = CompositionRecorder()
        let chain = ChainRequest(GetNumber()).then { _ -> GetText in throw Boom(id: 7) }.accessory(recorder)
        await #expect(throws: Boom(id: 7)) { try await Rig.numbers().agent.send(chain) }
        #expect(recorder.contexts.all.last?.progress.failed?.typeName == "GetText")
        let dynamic = ChainRequest(startingWith: GetNumber()) { _ in throw Boom(id: 8) }.accessory(recorder)
        await #expect(throws: Boom(id: 8)) { _ = try await Rig.numbers().agent.send(dynamic) }
        #expect(recorder.contexts.all.last?.progress.failed?.index == 1)
    }

    @MainActor @Test func aChainCancelledInItsFirstCallbackDoesNotReportSuccess() async throws {
        let rig = Rig.numbers()
        let results = Record<Result<Int, any Error>>()
        let handles = Record<RequestHandle<Void>>()
        let chain = ChainRequest(GetNumber()).then { _ in
            handles.all.first?.cancel()
            return GetNumber(number: 2)
        }
        let handle = rig.agent.start(chain) { results.add($0) }
        handles.add(handle)
        await handle.waitUntilFinished()
        #expect(results.all.count == 1)
        #expect(throws: CancellationError.self) { try results.all.first?.get() }
        #expect(rig.transport.requestCount == 1)
        guard case .cancelled = handle.state else { throw Unexpected(handle.state) }
    }

    @Test func aChainCancelledInItsLastCallbackDoesNotReportSuccess() async throws {
        let rig = Rig.numbers()
        let task = Task {
            try await rig.agent.send(
                ChainRequest(startingWith: GetNumber()) { _ in
                    withUnsafeCurrentTask { $0?.cancel() }
                    return nil
                }
            ).count
        }
        #expect(await task.result.failure is CancellationError)
    }

    @Test func aCancelledChainEndsItsStep() async throws {
        let rig = Rig.numbers()
        let recorder = CompositionRecorder()
        let task = Task {
            try await rig.agent.send(
                ChainRequest(GetNumber()).then { _ in GetNumber.waiting() }.accessory(recorder)
            )
        }
        await rig.transport.waitForRequests(2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(recorder.events.all.last == "didStop cancelled")
        #expect(recorder.contexts.all.last?.progress.failed == nil)
    }

    @Test func stepsShareOneDeadline() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let chain = ChainRequest(GetNumber()).then { _ in
            clock.advance(by: .seconds(3))
            return GetNumber.waiting()
        }.deadline(.seconds(5))
        let task = Task { try await rig.agent.send(chain) }
        await rig.transport.waitForRequests(2)
        await clock.waitForSleepers(1)
        #expect(clock.nextDeadline?.offset == .seconds(5))
        clock.advance(by: .seconds(2))
        await expect(throwing: .deadlineExceeded(.seconds(5))) { try await task.value }
    }

    @Test func expiredDeadlineEndsTheChainBeforeItsNextStep() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let chain = ChainRequest(GetNumber()).then { _ in
            clock.advance(by: .seconds(9))
            return GetNumber()
        }.deadline(.seconds(5))
        await expect(throwing: .deadlineExceeded(.seconds(5))) { try await rig.agent.send(chain) }
        #expect(rig.transport.requestCount == 1)
    }

    @Test func batchesAndChainsCanBeNested() async throws {
        let agent = Rig.numbers().agent
        let (text, (a, b)) = try await agent.send(
            BatchRequest(
                ChainRequest(GetNumber(number: 1)).then { GetText(number: $0 + 1) },
                ChainRequest(GetNumber(number: 3)).then {
                    BatchRequest(GetNumber(number: $0), GetNumber(number: $0 + 1))
                }
            )
        )
        #expect(text == "2" && a == 3 && b == 4)
    }

    @Test func chainContinuesWithNilAfterAnIgnoredFailure() async throws {
        let model = try await Rig.numbers().agent.send(
            ChainRequest(GetNumber.failing().ignoringFailure()).then { GetNumber(number: $0 ?? 9) }
        )
        #expect(model == 9)
    }

    @Test func aChainOfManyStepsNeedsNoStack() async throws {
        let history = try await Rig.numbers().agent.send(
            ChainRequest(startingWith: ChainStep.value(0)) { $0.count < 20_000 ? ChainStep.value($0.count) : nil }
        )
        #expect(history.count == 20_000)
    }

    @Test func historyHasTheRequestsOfStepsUnderTheirOwnTypes() async throws {
        let rig = Rig.numbers()
        let history = try await rig.agent.send(
            ChainRequest(startingWith: GetNumber(number: 1)) { history in
                guard history.count < 5, let last = history.model(of: GetNumber.self), last < 3 else { return nil }
                let next = GetNumber(number: last + 1)
                return last == 1 ? ChainStep<Int>.send(next) : ChainStep.send(ChainStep.send(next.tag("last")))
            }
        )
        #expect(rig.transport.requests.map { $0.url.path() } == ["/ok/1", "/ok/2", "/ok/3"])
        #expect(history.steps.map(\.typeName) == ["GetNumber", "GetNumber", "GetNumber"])
        #expect(history.response(of: GetNumber.self)?.model == 3)
    }
}
