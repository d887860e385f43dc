import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// `cancelAll` between two sends that follow one another, when none is running.
@Suite(.limit(seconds: 60)) struct SendSequenceTests {
    /// A request that calls a function once its response has been formatted.
    private struct Noticed: Request, Sendable {
        typealias Model = Int
        var tag = "noticed"
        let didArrive: @Sendable () -> Void
        var path: String { "/ok/1" }
        func didProduce(_ model: Int, from response: RawResponse) { didArrive() }
    }

    /// Whether nothing is running, once the tasks have ended whose caller did not wait for them.
    private func isOver(_ rig: Rig) async -> Bool {
        while !rig.agent.pipeline.sends.isEmpty, !Task.isCancelled { await Task.yield() }
        return rig.agent.pipeline.sends.isEmpty
    }

    // MARK: Polls

    @Test func pollThatWaitsEndsAtOnce() async throws {
        let clock = ManualClock()
        let rig = Rig.numbers(clock: clock)
        let task = Task {
            for try await _ in rig.agent.poll(GetNumber(tag: "status"), every: .seconds(10)) {}
        }
        await clock.waitForSleepers()
        rig.agent.cancelAll { $0.tag == "other" }
        #expect(!rig.agent.pipeline.sends.isEmpty)
        rig.agent.cancelAll { $0.tag == "status" && $0.url?.path() == "/ok/1" }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(rig.transport.requestCount == 1)
        #expect(await isOver(rig))
    }

    @Test func pollIsEndedByItsReader() async throws {
        let rig = Rig.numbers()
        var count = 0
        await #expect(throws: CancellationError.self) {
            for try await _ in rig.agent.poll(GetNumber(), every: .zero) {
                count += 1
                rig.agent.cancelAll()
            }
        }
        #expect(count == 1 && rig.transport.requestCount == 1)
        #expect(await isOver(rig))
    }

    @Test func pollEndsIfItsLastResponseCameTooSoonToBeCancelled() async throws {
        let rig = Rig.numbers()
        let poll = rig.agent.poll(Noticed { rig.agent.cancelAll() }, every: .zero)
        var count = 0
        await #expect(throws: CancellationError.self) { for try await _ in poll { count += 1 } }
        #expect(count == 1 && rig.transport.requestCount == 1)
    }

    @Test func pollThatIsNoLongerReadIsForgotten() async throws {
        let rig = Rig.numbers()
        for try await _ in rig.agent.poll(GetNumber(), every: .zero) { break }
        #expect(await isOver(rig))
        _ = try await rig.agent.poll(GetNumber(), every: .zero) { _ in true }.last()
        #expect(await isOver(rig))
    }

    // MARK: Pages

    @Test func noPageIsRequestedAfterTheReaderCancels() async throws {
        let rig = Rig.numbers()
        var count = 0
        await #expect(throws: CancellationError.self) {
            for try await page in rig.agent.pages(of: GetNumber(), next: { GetNumber(number: $0.model + 1) }) {
                count += 1
                if page.model == 2 { rig.agent.cancelAll { $0.url?.path() == "/ok/2" } }
            }
        }
        #expect(count == 2 && rig.transport.requestCount == 2)
        #expect(await isOver(rig))
    }

    @Test func noPageIsRequestedAfterItsRuleCancels() async throws {
        let rig = Rig.numbers()
        let pages = rig.agent.pages(of: GetNumber()) { last in
            rig.agent.cancelAll()
            return GetNumber(number: last.model + 1)
        }
        await #expect(throws: CancellationError.self) { for try await _ in pages {} }
        #expect(rig.transport.requestCount == 1)
    }

    // MARK: Chains

    @Test(arguments: [false, true])
    func chainEndsBeforeItsNextSend(_ isNested: Bool) async throws {
        let rig = Rig.numbers()
        let chain = ChainRequest(GetNumber(tag: "first")).then { number in
            rig.agent.cancelAll()
            return GetNumber(number: number + 1)
        }
        await #expect(throws: CancellationError.self) {
            if isNested {
                return try await rig.agent.send(ChainRequest(chain).then { GetNumber(number: $0) })
            }
            return try await rig.agent.send(chain)
        }
        #expect(rig.transport.requestCount == 1)
        #expect(await isOver(rig))
    }

    @Test func chainEndsAfterABatchOrAChainInIt() async throws {
        for isBatch in [false, true] {
            let rig = Rig.numbers()
            let batch = ArrayBatchRequest([GetNumber(), GetNumber(number: 2)])
            let chain = ChainRequest(GetNumber()).then { GetNumber(number: $0) }
            let first = isBatch ? ChainRequest(batch).then { ChainStep.value($0.count) } : ChainRequest(chain)
            await #expect(throws: CancellationError.self) {
                try await rig.agent.send(
                    first.then { _ in
                        rig.agent.cancelAll()
                        return GetNumber()
                    }
                )
            }
            #expect(rig.transport.requestCount == 2)
            #expect(await isOver(rig))
        }
    }

    @Test func chainEndsIfItsSendCameTooSoonToBeCancelled() async throws {
        let rig = Rig.numbers()
        await #expect(throws: CancellationError.self) {
            try await rig.agent.send(
                ChainRequest(Noticed { rig.agent.cancelAll() }).then { GetNumber(number: $0) }
            )
        }
        #expect(rig.transport.requestCount == 1)
    }

    @Test func chainContinuesAfterACancelledStepWhoseFailureItIgnores() async throws {
        let rig = Rig.numbers()
        let task = Task {
            try await rig.agent.send(
                ChainRequest(GetNumber()).then { _ in GetNumber(kind: "wait", tag: "optional").ignoringFailure() }
                    .then { GetNumber(number: $0 ?? 9) }
            )
        }
        await rig.transport.waitForRequests(2)
        rig.agent.cancelAll { $0.tag == "optional" }
        #expect(try await task.value == 9)
        #expect(await isOver(rig))
    }

    @Test func chainOfAnotherTagIsNotEnded() async throws {
        let rig = Rig.numbers()
        let number = try await rig.agent.send(
            ChainRequest(GetNumber(tag: "first")).then { number in
                rig.agent.cancelAll { $0.tag == "other" }
                return GetNumber(number: number + 1)
            }
        )
        #expect(number == 2)
    }

    // MARK: Many requests

    /// A request that stays on its caller.
    private final class Staying: Request {
        typealias Model = Int
        let path: String
        init(path: String = "/wait/1") { self.path = path }
    }

    /// A request that stays on its caller, and calls a function before it is sent.
    private final class Ending: Request {
        typealias Model = Int
        let path = "/ok/1"
        private let willBeSent: () -> Void
        init(_ willBeSent: @escaping () -> Void) { self.willBeSent = willBeSent }
        func check() { willBeSent() }
    }

    @Test(arguments: [true, false])
    func whatHasNotBegunIsNotSentAfterAllSendsAreCancelled(_ mayLeave: Bool) async throws {
        let rig = Rig.numbers()
        async let ended =
            mayLeave
            ? rig.agent.results(of: (0..<9).map { _ in GetNumber(kind: "wait") }, maximumConcurrent: 2)
            : rig.agent.results(of: (0..<9).map { _ in Staying() }, maximumConcurrent: 2)
        await rig.transport.waitForRequests(2)
        rig.agent.cancelAll()
        let results = await ended
        #expect(results.count == 9 && results.allSatisfy { $0.failure is CancellationError })
        #expect(rig.transport.requestCount == 2)
        #expect(await isOver(rig))
    }

    @Test func streamOfResultsEndsAfterAllSendsAreCancelled() async throws {
        let rig = Rig.numbers()
        let requests = (0...).lazy.map { GetNumber(kind: $0 < 2 ? "ok" : "wait") }
        var results: [Result<Int, any Error>] = []
        async let isCancelled: Void = {
            await rig.transport.waitForRequests(4)
            rig.agent.cancelAll()
        }()
        for await one in rig.agent.resultStream(of: requests, maximumConcurrent: 2) { results.append(one.result) }
        await isCancelled
        #expect(results.count == 4 && results[2...].allSatisfy { $0.failure is CancellationError })
        #expect(rig.transport.requestCount == 4)
        #expect(await isOver(rig))
    }

    @Test func cancellationOfSomeLeavesWhatHasNotBegun() async throws {
        let rig = Rig.numbers()
        let requests = (0..<4).map { GetNumber(kind: $0 < 2 ? "wait" : "ok", tag: "\($0)") }
        async let ended = rig.agent.results(of: requests, maximumConcurrent: 2)
        await rig.transport.waitForRequests(2)
        rig.agent.cancelAll { ["0", "1"].contains($0.tag) }
        let results = await ended
        #expect(results[..<2].allSatisfy { $0.failure is CancellationError })
        #expect(results[2...].allSatisfy { $0.failure == nil })
        #expect(await isOver(rig))
    }

    @Test func agentSendsAgainAfterAllSendsAreCancelled() async throws {
        let rig = Rig.numbers()
        rig.agent.cancelAll()
        let results = await rig.agent.results(of: [GetNumber(), GetNumber()], maximumConcurrent: 1)
        #expect(results.allSatisfy { $0.failure == nil })
    }

    @Test(arguments: [true, false])
    func batchEndsBetweenTwoOfItsRequests(_ isNested: Bool) async throws {
        let rig = Rig.numbers()
        let batch = ArrayBatchRequest(
            (0..<3).map { _ in Noticed { rig.agent.cancelAll() } },
            maximumConcurrent: 1
        )
        await #expect(throws: CancellationError.self) {
            isNested ? try await rig.agent.send(ChainRequest(batch)) : try await rig.agent.send(batch)
        }
        #expect(rig.transport.requestCount == 1)
        #expect(await isOver(rig))
    }

    @Test func batchContinuesIfOneOfSeveralCameTooSoonToBeCancelled() async throws {
        let gate = Gate()
        let rig = Rig { request in
            if request.url.path() == "/held/2" { try await gate.pass() }
            return .json("1")
        }
        let noticed = Noticed {
            rig.agent.cancelAll { $0.tag == "noticed" }
            gate.open()
        }
        let models = try await rig.agent.send(BatchRequest(noticed, GetNumber(number: 2, kind: "held")))
        #expect(models == (1, 1))
        #expect(await isOver(rig))
    }

    @Test func resultThatCameTooSoonToBeCancelledLeavesWhatHasNotBegun() async throws {
        let rig = Rig.numbers()
        let requests = (0..<3).map { index in
            Noticed(tag: "\(index)") { rig.agent.cancelAll { $0.tag == "0" } }
        }
        let results = await rig.agent.results(of: requests, maximumConcurrent: 1)
        #expect(results.allSatisfy { $0.failure == nil } && rig.transport.requestCount == 3)
    }

    @Test func compositionsThatHaveNotBegunAreNotSentAfterAllSendsAreCancelled() async throws {
        let rig = Rig.numbers()
        let batches = (0..<3).map { _ in ArrayBatchRequest([GetNumber.waiting()]) }
        async let results = rig.agent.results(of: batches, maximumConcurrent: 1)
        await rig.transport.waitForRequests(1)
        rig.agent.cancelAll()
        #expect(await results.allSatisfy { $0.failure is CancellationError })
        #expect(rig.transport.requestCount == 1)
        #expect(await isOver(rig))
    }

    @Test(arguments: [true, false])
    func ignoredFailuresAreNotFollowedByOthersAfterAllSendsAreCancelled(_ isBatch: Bool) async throws {
        let rig = Rig.numbers()
        let requests = (0..<3).map { GetNumber.waiting($0).ignoringFailure() }
        async let error =
            isBatch
            ? failure(of: { try await rig.agent.send(ArrayBatchRequest(requests, maximumConcurrent: 1)) })
            : failure(of: { try await rig.agent.send(ChainRequest(requests[0]).then { _ in GetNumber() }) })
        await rig.transport.waitForRequests(1)
        rig.agent.cancelAll()
        #expect(await error is CancellationError)
        #expect(rig.transport.requestCount == 1)
        #expect(await isOver(rig))
    }

    @Test func ignoredFailuresDoNotHideThatAllSendsAreCancelled() async throws {
        let (one, other) = (GetNumber.waiting(1).ignoringFailure(), GetNumber.waiting(2).ignoringFailure())
        let sends: [(Agent) async throws -> Void] = [
            { _ = try await $0.send(BatchRequest(one, other)) },
            { _ = try await $0.response(for: BatchRequest(one, other)) },
            { _ = try await $0.send(ArrayBatchRequest([one, other])) },
            { _ = try await $0.send(ArrayBatchRequest([one, other], maximumConcurrent: 2)) },
            { _ = try await $0.send(BatchRequest(BatchRequest(one).ignoringFailure(), other)) },
            {
                let first = ChainRequest(BatchRequest(one, other).ignoringFailure())
                _ = try await $0.send(first.then { _ in GetNumber() })
            },
        ]
        for (index, send) in sends.enumerated() {
            let rig = Rig.numbers()
            async let error = failure(of: { try await send(rig.agent) })
            await rig.transport.waitForRequests(2)
            rig.agent.cancelAll()
            #expect(await error is CancellationError, "\(index)")
            #expect(rig.transport.requestCount == 2)
            #expect(await isOver(rig))
        }
    }

    @Test func cancellationOfAllThatRunsByTheirContextsIsIgnoredAsAFailure() async throws {
        let (one, other) = (GetNumber.waiting(1).ignoringFailure(), GetNumber.waiting(2).ignoringFailure())
        let rig = Rig.numbers()
        async let models = rig.agent.send(BatchRequest(one, other))
        await rig.transport.waitForRequests(2)
        rig.agent.cancelAll { _ in true }
        #expect(try await models == (nil, nil))
        #expect(await isOver(rig))
    }

    @Test func requestsOfSeveralTypesAreNotSentAfterAllSendsAreCancelled() async throws {
        let rig = Rig.numbers()
        let (_, other) = await rig.agent.results(of: Ending { rig.agent.cancelAll() }, Staying(path: "/ok/2"))
        #expect(other.failure is CancellationError)
        #expect(!rig.transport.requests.contains { $0.url.path() == "/ok/2" })
        #expect(await isOver(rig))
    }

    // MARK: Two responses

    @Test func freshResponseIsNotRequestedAfterTheReaderCancels() async throws {
        let rig = CachedRig(.cacheThenNetwork(maxAge: .seconds(60))) { _ in .json("1") }
        let request = GeneralRequest("/x").expecting(Int.self)
        _ = try await rig.agent.send(request)
        var count = 0
        await #expect(throws: CancellationError.self) {
            for try await _ in rig.agent.responses(for: request) {
                count += 1
                rig.agent.cancelAll()
            }
        }
        #expect(count == 1 && rig.count == 1)
    }

    // MARK: Handles

    /// None of them needs to have begun when all sends are cancelled.
    @MainActor @Test func whatHasJustBeenStartedEndsWithAllSends() async throws {
        for _ in 0..<50 {
            let rig = Rig.numbers()
            let results = Record<Bool>()
            let number = GetNumber.waiting()
            let handles = [
                rig.agent.start(number) { results.add($0.failure is CancellationError) },
                rig.agent.start(number.formattingContext(.caller)) { results.add($0.failure is CancellationError) },
                rig.agent.start(BatchRequest(number, number)) { results.add($0.failure is CancellationError) },
                rig.agent.start(ChainRequest(number)) { results.add($0.failure is CancellationError) },
                rig.agent.start(number, on: .global()) { results.add($0.failure is CancellationError) },
            ]
            let download = rig.agent.startDownload(number, to: URL(filePath: "/tmp/errand-\(UUID().uuidString)"))
            rig.agent.cancelAll()
            for handle in handles { await handle.waitUntilFinished() }
            #expect(results.all == Array(repeating: true, count: 5))
            await #expect(throws: CancellationError.self) { try await download.value }
            #expect(await isOver(rig))
        }
    }

    @Test func idsOfSendsAreUniqueInTheProcess() {
        let (one, other) = (Rig.numbers().agent, Rig.numbers().agent)
        #expect(one.pipeline.makeID() < other.pipeline.makeID())
    }
}
