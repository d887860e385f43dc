import Dispatch
import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct RequestHandleTests {
    private func word<Value>(_ state: RequestHandle<Value>.State) -> String {
        switch state {
        case .running: "running"
        case .paused: "paused"
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    @Test func handleShowsTheStateOfTheSend() async throws {
        let rig = Rig.numbers()
        let waiting = rig.agent.start(GetNumber.waiting(), on: .global()) { _ in }
        #expect(word(waiting.state) == "running")
        waiting.cancel()
        await waiting.waitUntilFinished()
        #expect(word(waiting.state) == "cancelled")
        let failing = rig.agent.start(GetNumber.failing(), on: .global()) { _ in }
        await failing.waitUntilFinished()
        #expect(word(failing.state) == "failed")
        #expect(failing.compositionProgress == nil)
        let request = GeneralRequest("/ok/1").priority(.high).tag("x")
        let good = rig.agent.start(request, on: .global()) { _ in }
        await good.waitUntilFinished()
        #expect(word(good.state) == "succeeded")
        #expect(good.priority == .high && good.tag == "x")
    }

    @Test func stateIsFinalInTheCallback() async {
        let states = Record<RequestHandle<Void>.State>()
        let handles = Record<RequestHandle<Void>>()
        let queue = DispatchQueue(label: "test")
        queue.suspend()
        let handle = Rig.numbers().agent.start(GetNumber(), on: queue) { _ in
            if let handle = handles.all.first { states.add(handle.state) }
        }
        handles.add(handle)
        queue.resume()
        await handle.waitUntilFinished()
        #expect(states.all.map(word) == ["succeeded"])
    }

    @Test func anyNumberOfTasksCanAwaitTheValue() async throws {
        let handle = Rig.numbers().agent.start(GetNumber(number: 4))
        async let one = handle.value
        async let other = handle.value
        #expect(try await (one, other) == (4, 4))
        #expect(try await handle.value == 4)
        #expect(word(handle.state) == "succeeded")
    }

    @Test func aCancelledValueIsACancellationError() async throws {
        let rig = Rig.numbers()
        let handle = rig.agent.start(GetNumber.waiting())
        await rig.transport.waitForRequests()
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await handle.value }
    }

    @Test func valueOfADeallocatedScopeIsACancellationError() async throws {
        let rig = Rig.numbers()
        var scope: RequestScope? = RequestScope()
        let handle = rig.agent.start(GetNumber.waiting(), in: scope)
        await rig.transport.waitForRequests()
        scope = nil
        await #expect(throws: CancellationError.self) { try await handle.value }
    }

    @MainActor @Test func valueCanBeCreatedOnTheMainActor() async throws {
        let handle = Rig.numbers().agent.start(ResultStreamTests.Unsendable(GetNumber(number: 6)))
        #expect(try await handle.value == 6)
    }

    @Test func cancelPreviousEndsSendsOfItsTagOnly() async throws {
        let rig = Rig.numbers()
        let scope = RequestScope()
        let old = (0..<3).map { rig.agent.start(GetNumber(number: $0, kind: "wait", tag: "search"), in: scope) }
        let other = rig.agent.start(GetNumber(number: 9, kind: "wait", tag: "feed"), in: scope)
        await rig.transport.waitForRequests(4)
        scope.cancelPrevious(tag: "search")
        let new = rig.agent.start(GetNumber(number: 1, kind: "ok", tag: "search"), in: scope)
        for handle in old { await #expect(throws: CancellationError.self) { try await handle.value } }
        #expect(try await new.value == 1)
        #expect(word(other.state) == "running")
        scope.cancelAll()
        await other.waitUntilFinished()
    }

    @Test func anAwaitedSendMayBelongToAScope() async throws {
        let rig = Rig.numbers()
        let scope = RequestScope()
        #expect(try await rig.agent.send(GetNumber(number: 3), in: scope) == 3)
        #expect(scope.count == 0)
        let task = Task { try await rig.agent.send(GetNumber.waiting(), in: scope) }
        await rig.transport.waitForRequests(2)
        #expect(scope.count == 1)
        scope.cancelAll()
        await #expect(throws: CancellationError.self) { try await task.value }
        let byItself = Task { try await rig.agent.send(BatchRequest(GetNumber.waiting(), GetNumber()), in: scope) }
        await rig.transport.waitForRequests(4)
        byItself.cancel()
        await #expect(throws: CancellationError.self) { try await byItself.value }
    }

    @Test func aCallbackComesExactlyOnceHoweverCancelRaces() async {
        let rig = Rig.numbers()
        for _ in 0..<500 {
            let calls = Record<Bool>()
            let handle = rig.agent.start(GetNumber(), on: .global()) { _ in calls.add(true) }
            Task.detached { handle.cancel() }
            await handle.waitUntilFinished()
            #expect(calls.all.count == 1)
        }
    }

    @Test func cancellingTheWaitingTaskDoesNotEndTheSend() async throws {
        let rig = Rig.numbers()
        let handle = rig.agent.start(GetNumber.waiting())
        await rig.transport.waitForRequests()
        let waiting = Task { await handle.waitUntilFinished() }
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await handle.waitUntilFinished()
        }
        waiting.cancel()
        await waiting.value
        await cancelled.value
        #expect(!handle.isFinished)
        handle.cancel()
        await handle.waitUntilFinished()
        #expect(handle.isFinished)
    }

    @Test func cancelledTaskCanAwaitTheValueToo() async throws {
        let rig = Rig.numbers()
        let handle = rig.agent.start(GetNumber.waiting())
        await rig.transport.waitForRequests()
        let hasReturned = Lock(false)
        let waiting = Task {
            _ = try? await handle.value
            hasReturned.withLock { $0 = true }
        }
        waiting.cancel()
        for _ in 0..<100 { await Task.yield() }
        #expect(!hasReturned.withLock { $0 })
        handle.cancel()
        await waiting.value
    }
}

@Suite struct RequestDelegateTests {
    @MainActor final class Screen: RequestDelegate {
        let calls: Record<String>
        init(_ calls: Record<String>) { self.calls = calls }

        func request<R: Request>(_ request: R, didReceive response: RawResponse) {
            calls.add("received \(response.statusCode)")
        }
        func request<R: Request>(_ request: R, didFinishWith model: R.Model) {
            MainActor.assertIsolated()
            calls.add("\(R.self) \(model)")
        }
        func request<R: Request>(_ request: R, didFailWith error: any Error) {
            calls.add(error is CancellationError ? "cancelled" : "failed")
        }
    }

    @MainActor @Test func delegateReceivesResponseThenModelBeforeDidStop() async {
        let calls = Record<String>()
        let screen = Screen(calls)
        let config = NetworkConfig.test { $0.accessories = [AccessoryPathsTests.Recorder(events: calls)] }
        await Rig.numbers(config: config).agent.start(GetText(number: 2), delegate: screen).waitUntilFinished()
        #expect(calls.all == ["willStart", "willStop success", "received 200", "GetText 2", "didStop success"])
    }

    @MainActor @Test func delegateReceivesFailuresWithTheirResponse() async {
        let calls = Record<String>()
        let screen = Screen(calls)
        let rig = Rig.numbers()
        await rig.agent.start(GetNumber.failing(), delegate: screen).waitUntilFinished()
        let waiting = rig.agent.start(GetNumber.waiting(), delegate: screen)
        waiting.cancel()
        await waiting.waitUntilFinished()
        await rig.agent.start(BatchRequest(GetNumber(), GetText()), delegate: screen).waitUntilFinished()
        #expect(
            calls.all == ["received 503", "failed", "cancelled", "BatchRequest<Pack{GetNumber, GetText}> (1, \"1\")"]
        )
    }

    /// It is polled ten times a second.
    @MainActor @Test func deallocatedDelegateIsNotCalledAndItsSendEnds() async {
        let calls = Record<String>()
        let rig = Rig.numbers()
        var screen: Screen? = Screen(calls)
        guard let delegate = screen else { return }
        let handle = { (delegate: Screen) in rig.agent.start(GetNumber.waiting(), delegate: delegate) }(delegate)
        await rig.transport.waitForRequests()
        screen = nil
        _ = consume delegate
        await handle.waitUntilFinished()
        #expect(calls.all.isEmpty)
        #expect(screen == nil)
    }

    @Test @MainActor func aSendCancelledBeforeItsCallbackIsDeliveredAsCancelled() async {
        let (began, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let blocking = ClosureAccessory { _, event in
            guard case .willStop = event else { return }
            began.signal()
            goOn.wait()
        }
        let events = Record<String>()
        let rig = Rig.numbers(
            config: .test { $0.accessories = [blocking, AccessoryPathsTests.Recorder(events: events)] }
        )
        let results = Record<Result<Int, any Error>>()
        let handle = rig.agent.start(GetNumber()) { results.add($0) }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                began.wait()
                continuation.resume()
            }
        }
        handle.cancel()
        goOn.signal()
        await handle.waitUntilFinished()
        await wait { events.all.count == 3 }
        #expect(results.all.count == 1)
        #expect(throws: CancellationError.self) { try results.all.first?.get() }
        guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        #expect(events.all.last == "didStop cancelled")
    }
}
