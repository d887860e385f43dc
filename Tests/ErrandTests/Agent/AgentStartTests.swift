import Dispatch
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct AgentStartTests {
    typealias Completions = Record<Result<JSONValue, any Error>>

    private let request = GeneralRequest("/x")

    @Test func theCompletionIsCalledOnceOnItsQueue() async {
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "test")
        queue.setSpecific(key: key, value: true)
        let calls = Record<Bool>()
        let handle = Rig().agent.start(request, on: queue) { _ in
            calls.add(DispatchQueue.getSpecific(key: key) ?? false)
        }
        await wait { handle.isFinished }
        handle.cancel()
        #expect(calls.all == [true])
    }

    @MainActor @Test func theCompletionIsCalledOnceOnTheMainActor() async {
        let calls = Completions()
        let handle = Rig().agent.start(request) { result in
            MainActor.assertIsolated()
            calls.add(result)
        }
        await wait { handle.isFinished }
        #expect(calls.all.count == 1)
    }

    @Test func cancelGivesOneCancellationError() async throws {
        let rig = Rig.silent()
        let calls = Completions()
        let handle = rig.agent.start(request, on: .global()) { calls.add($0) }
        await rig.transport.waitForRequests()
        #expect(!handle.isFinished)
        handle.cancel()
        handle.cancel()
        await wait { handle.isFinished }
        #expect(calls.all.count == 1)
        #expect(throws: CancellationError.self) { try calls.all.first?.get() }
    }

    @Test func callbackAfterABlockingAccessoryPrecedesTheEndOfTheHandle() async throws {
        let (begun, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let end = DispatchSemaphore(value: 0)
        // It blocks before the callback.
        let blocking = ClosureAccessory { _, event in
            guard case .willStop = event else { return }
            begun.signal()
            cancelled.wait()
            _ = end.wait(timeout: .now() + 2)
        }
        let calls = Completions()
        let rig = Rig(config: .test { $0.accessories = [blocking] })
        let handle = rig.agent.start(request, on: .global()) { calls.add($0) }
        // Not by a task, nor on a queue that shares its threads with tasks, because they may all be blocked.
        Thread.detachNewThread {
            begun.wait()
            handle.cancel()
            cancelled.signal()
        }
        await handle.waitUntilFinished()
        #expect(calls.all.count == 1)
        #expect(throws: CancellationError.self) { try calls.all.first?.get() }
        guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        end.signal()
        await wait { rig.agent.pipeline.sends.isEmpty }
        #expect(calls.all.count == 1)
    }

    @Test func cancelRightAfterTheStartGivesOneCancellationError() async throws {
        for _ in 0..<100 {
            let rig = Rig.silent()
            let calls = Completions()
            let handle = rig.agent.start(request, on: .global()) { calls.add($0) }
            handle.cancel()
            await wait { handle.isFinished }
            #expect(calls.all.count == 1)
            #expect(throws: CancellationError.self) { try calls.all.first?.get() }
        }
    }

    @Test func handleNeedNotBeRetained() async {
        let calls = Completions()
        Rig().agent.start(request, on: .global()) { calls.add($0) }
        await wait { calls.all.count == 1 }
    }

    @Test func cancelledScopeGivesEachSendOneCancellationError() async throws {
        let rig = Rig.silent()
        let scope = RequestScope()
        let calls = Completions()
        let handles = (0..<10).map { _ in rig.agent.start(request, in: scope, on: .global()) { calls.add($0) } }
        await rig.transport.waitForRequests(10)
        #expect(scope.count == 10)
        scope.cancelAll()
        await wait { handles.allSatisfy(\.isFinished) }
        await wait { scope.count == 0 }
        #expect(calls.all.count == 10)
        for result in calls.all { #expect(throws: CancellationError.self) { try result.get() } }
        let later = rig.agent.start(request, in: scope, on: .global()) { _ in }
        await rig.transport.waitForRequests(11)
        #expect(scope.count == 1)
        later.cancel()
    }

    @Test func deallocatedScopeEndsItsSendsWithoutCompletions() async {
        let events = Record<String>()
        let recorder = AccessoryPathsTests.Recorder(events: events)
        let rig = Rig.silent(config: .test { $0.accessories = [recorder] })
        let calls = Completions()
        var handle: RequestHandle<Void>?
        do {
            let scope = RequestScope()
            handle = rig.agent.start(request, in: scope, on: .global()) { calls.add($0) }
            await rig.transport.waitForRequests()
            #expect(scope.count == 1)
        }
        await wait { handle?.isFinished ?? true }
        #expect(calls.all.isEmpty)
        #expect(events.all == ["willStart", "willStop cancelled", "didStop cancelled"])
    }

    @Test func scopeRemovesEndedSends() async {
        let scope = RequestScope()
        let rig = Rig()
        for _ in 0..<50 {
            let handles = (0..<20).map { _ in rig.agent.start(request, in: scope, on: .global()) { _ in } }
            for handle in handles { await handle.waitUntilFinished() }
            #expect(scope.count == 0)
        }
    }

    @MainActor final class Screen {
        var results = 0
    }

    @MainActor @Test func ownerIsPassedToTheCompletion() async {
        let screen = Screen()
        let handle = Rig().agent.start(request, owner: screen) { screen, result in
            MainActor.assertIsolated()
            if case .success = result { screen.results += 1 }
        }
        await wait { handle.isFinished }
        #expect(screen.results == 1)
    }

    /// The owner is polled ten times a second: this is the one test that waits for a real clock, for a tenth of a second.
    @MainActor @Test func deallocatedOwnerCancelsWithoutItsCompletion() async {
        let events = Record<String>()
        let recorder = AccessoryPathsTests.Recorder(events: events)
        let rig = Rig.silent(config: .test { $0.accessories = [recorder] })
        let calls = Completions()
        var screen: Screen? = Screen()
        guard let owner = screen else { return }
        let handle = { (owner: Screen) in rig.agent.start(request, owner: owner) { _, result in calls.add(result) } }(
            owner
        )
        await rig.transport.waitForRequests()
        #expect(!handle.isFinished)
        screen = nil
        _ = consume owner
        await wait { handle.isFinished }
        guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        #expect(calls.all.isEmpty)
        #expect(events.all == ["willStart", "willStop cancelled", "didStop cancelled"])
        #expect(screen == nil)
    }

    /// The response arrives before the poll has found that the owner is gone.
    @MainActor @Test func sendWhoseOwnerIsGoneIsCancelled() async {
        let (events, gate, calls) = (Record<String>(), Gate(), Completions())
        let rig = Rig(config: .test { $0.accessories = [AccessoryPathsTests.Recorder(events: events)] }) { _ in
            try await gate.pass()
            return .json("1")
        }
        var screen: Screen? = Screen()
        guard let owner = screen else { return }
        let handle = { (owner: Screen) in rig.agent.start(request, owner: owner) { _, result in calls.add(result) } }(
            owner
        )
        await gate.waitForArrivals(1)
        screen = nil
        _ = consume owner
        gate.open()
        await handle.waitUntilFinished()
        guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        #expect(calls.all.isEmpty && screen == nil)
        await wait { events.all.last == "didStop cancelled" }
    }

    @Test func cancelAllEndsMatchingSends() async throws {
        let rig = Rig.silent()
        let (feed, other) = (Completions(), Completions())
        let feeds = (0..<3).map { _ in rig.agent.start(request.tag("feed"), on: .global()) { feed.add($0) } }
        let kept = rig.agent.start(request.tag("other"), on: .global()) { other.add($0) }
        await rig.transport.waitForRequests(4)
        rig.agent.cancelAll { $0.tag == "feed" }
        await wait { feeds.allSatisfy(\.isFinished) }
        #expect(feed.all.count == 3)
        for result in feed.all { #expect(throws: CancellationError.self) { try result.get() } }
        #expect(!kept.isFinished)
        rig.agent.cancelAll()
        await wait { kept.isFinished }
        #expect(other.all.count == 1)
    }

    @Test func aSendThatIsAwaitedIsCancelledByItsTask() async throws {
        let rig = Rig.silent()
        let task = Task { try await rig.agent.send(request) }
        await rig.transport.waitForRequests()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    private final class Owner: Sendable { let scope = RequestScope() }

    @Test func aSuspendedSendDoesNotKeepItsScopeAlive() async throws {
        let rig = Rig.silent()
        var screen: Owner? = Owner()
        weak let weakScreen = screen
        let send = Task { [agent = rig.agent, weak screen] in
            guard let scope = screen?.scope else { throw Boom() }
            return try await agent.send(GeneralRequest("/x").expecting(Int.self), in: consume scope)
        }
        await rig.transport.waitForRequests()
        screen = nil
        #expect(weakScreen == nil)
        await #expect(throws: CancellationError.self) { try await send.value }
    }

    private struct OnCaller: Request {
        typealias Model = Bool
        let key = DispatchSpecificKey<Bool>()
        var path: String { "/x" }
        var formattingContext: FormattingContext { .caller }
        var headers: HTTPHeaders { ["X-Prepared-On-Queue": "\(DispatchQueue.getSpecific(key: key) ?? false)"] }
        var formatter: ClosureFormatter<Bool> {
            ClosureFormatter { [key] _ in DispatchQueue.getSpecific(key: key) ?? false }
        }
    }

    @Test func callerContextIsTheQueueOfTheCallback() async throws {
        let rig = Rig()
        let queue = DispatchQueue(label: "caller")
        let request = OnCaller()
        queue.setSpecific(key: request.key, value: true)
        let results = Record<Bool>()
        let handle = rig.agent.start(request, on: queue) { result in
            if case .success(let isThere) = result { results.add(isThere) }
        }
        await handle.waitUntilFinished()
        #expect(results.all == [true])
        #expect(rig.transport.requests.first?.headers["X-Prepared-On-Queue"] == "true")
    }

    private struct OnMain: Request {
        typealias Model = Int
        var path: String { "/x" }
        var formattingContext: FormattingContext { .caller }
        var formatter: ClosureFormatter<Int> {
            ClosureFormatter { _ in
                MainActor.assertIsolated()
                return 1
            }
        }
    }

    @Test func callerContextIsTheMainActorOfTheCallback() async throws {
        let results = Record<Int>()
        let handle = Rig().agent.start(OnMain()) { result in if case .success(let one) = result { results.add(one) } }
        await handle.waitUntilFinished()
        #expect(results.all == [1])
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero])
    func noDeadlineTraps(limit: Duration) async throws {
        let rig = Rig(response: .json("1"))
        let request = GeneralRequest("/x").expecting(Int.self).limits(Limits(timeout: limit, deadline: limit))
        if limit > .zero {
            #expect(try await rig.agent.send(request) == 1)
            #expect(try await rig.agent.send(BatchRequest(request, request).deadline(limit)) == (1, 1))
        } else {
            await expect(throwing: .deadlineExceeded(limit)) { try await rig.agent.send(request) }
        }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min)])
    func noOtherDurationTraps(time: Duration) async throws {
        let clock = ManualClock()
        var policy = CircuitBreaker.Policy(consecutiveFailures: 1)
        policy.openDuration = time
        let breaker = CircuitBreaker(policy, clock: clock)
        let rig = Rig(config: .test { $0.interceptors = [breaker] }, response: .status(503))
        _ = await failure { try await rig.agent.send(request) }
        _ = await failure { try await rig.agent.send(request) }
        let stale = CachePolicy.staleWhileRevalidate(maxAge: time, maxStale: time)
        let now = Date(timeIntervalSince1970: 1_800_000_005)
        let decision = stale.decision(on: .sample("x"), for: [:], at: now)
        #expect(decision == (time > .zero ? .use(age: .seconds(5)) : .miss(.expired)))
        var window = RefreshWindow(maximumCount: 1, duration: time)
        let isAdmitted = window.admit(at: .zero)
        #expect(isAdmitted)
        let polling = Rig(clock: clock).agent.poll(request, every: time)
        var polls = polling.makeAsyncIterator()
        _ = try await polls.next(isolation: nil)
        let second = Task { [agent = Rig(clock: clock).agent, request] in
            for try await _ in agent.poll(request, every: time) {}
        }
        if time > .zero { await clock.waitForSleepers() }
        second.cancel()
        _ = await second.result
    }
}

@Suite struct CompositionProgressTests {
    @Test func aHandleRecordsTheProgressOfABatchInLinearTime() {
        expectLinear(5_000) { count in
            let handle = RequestHandle<Void>(GeneralRequest("/"))
            handle.note(.started(total: count))
            for index in 0..<count { handle.note(.finished(CompositionChild(index: index, typeName: "GetUser"))) }
            #expect(handle.compositionProgress?.finished.count == count)
        }
    }
}
