import ErrandTesting
import Testing

@testable import Errand

/// A send that is cancelled while a hook runs without suspending.
@Suite struct CancelledHookTests {
    private struct Hook: RequestAdapter, Interceptor, SendInterceptor, SendGate {
        let work: @Sendable () -> Void

        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws { work() }

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            work()
            return try await next(request)
        }

        func intercept(_ context: RequestContext, next: SendChain) async throws {
            work()
            try await next()
        }

        func admit(_ context: RequestContext) async throws { work() }
    }

    enum Place: CaseIterable { case adapter, interceptor, sendInterceptor, gate }

    @Test(arguments: Place.allCases)
    func nothingIsSent(place: Place) async throws {
        let caller = Lock<Task<JSONValue, any Error>?>(nil)
        let hook = Hook { caller.withLock { $0 }?.cancel() }
        let rig = Rig(
            config: .test { config in
                switch place {
                case .adapter: config.adapters = [hook]
                case .interceptor: config.interceptors = [hook]
                case .sendInterceptor: config.sendInterceptors = [hook]
                case .gate: config.sendGates = [hook]
                }
            }
        )
        let begin = Delivery<Void>()
        let task = Task {
            await begin.value()
            return try await rig.agent.send(GeneralRequest("/x"))
        }
        caller.withLock { $0 = task }
        begin.deliver(())
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(rig.transport.requests.isEmpty)
    }

    private struct Failing: ResponseFormatter, Sendable {
        struct Own: Error {}
        let cancel: @Sendable () -> Void

        func format(_ payload: Payload) throws -> Int {
            cancel()
            throw Own()
        }
    }

    @Test func anErrorOfAFormatterDoesNotHideTheCancellation() async {
        let rig = Rig()
        let request = GeneralRequest("/x", formatter: Failing { rig.agent.cancelAll() })
        await #expect(throws: CancellationError.self) { try await rig.agent.send(request) }
        await #expect(throws: Failing.Own.self) {
            try await rig.agent.send(GeneralRequest("/x", formatter: Failing {}))
        }
    }
}
