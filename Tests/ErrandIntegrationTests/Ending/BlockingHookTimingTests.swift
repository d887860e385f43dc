import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// Hooks that work without suspending while the deadline of their send passes.
@Suite(.timing, .serialized, .limit(seconds: 60))
struct BlockingHookTimingTests {
    private struct Slow: RequestAdapter {
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            work(milliseconds: 250)
        }

        /// It does not depend on the user; otherwise it would have to run before a stored response is used.
        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    private struct Suspending: SendInterceptor {
        func intercept(_ context: RequestContext, next: SendChain) async throws {
            await Task.yield()
            try await next()
        }
    }

    private struct SlowThenSuspended: Interceptor {
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            work(milliseconds: 200)
            try await Task.sleep(for: .seconds(5))
            return try await next(request)
        }
    }

    private struct Unexpected: Error { let source: ResponseSource }

    private let server: MockServer
    private let request = GeneralRequest("/x").expecting(Int.self)

    init() throws {
        server = try MockServer()
        server.on(.get, "/x", .json("1"))
    }

    @Test(arguments: [true, false])
    func deadlineDuringAnAdapterFallsBackToTheStaleResponseOnDisk(isEnclosed: Bool) async throws {
        let folder = try CacheFolder()
        let agent = server.agent(ResponseCache(directory: folder.url), .networkElseCache(maxStale: nil)) {
            $0.adapters = [Slow()]
            if isEnclosed { $0.sendInterceptors = [Suspending()] }
        }
        #expect(try await agent.send(request) == 1)
        await agent.config.cache?.flush()
        // Another one, so that the entry is read from the disk.
        agent.config.cache = ResponseCache(directory: folder.url)
        let response = try await agent.response(for: request.limits(Limits(deadline: .milliseconds(150))))
        guard case .stale = response.source else { throw Unexpected(source: response.source) }
    }

    @Test func anInterceptorThatSuspendsAfterTheDeadlineIsEndedAtOnce() async throws {
        let agent = server.agent { $0.interceptors = [SlowThenSuspended()] }
        let brief = request.limits(Limits(deadline: .milliseconds(100)))
        let began = ContinuousClock.now
        let error = await #expect(throws: NetworkError.self) { try await agent.send(brief) }
        let elapsed = ContinuousClock.now - began
        #expect(error?.kind == .timedOut)
        // 200 ms of work.
        #expect(elapsed < .milliseconds(260), "\(elapsed)")
    }

    private struct SlowAccessory: Accessory {
        private let isWorking = Lock(false)

        private func block() {
            isWorking.withLock { $0 = true }
            work(milliseconds: 1_500)
            isWorking.withLock { $0 = false }
        }

        func request(_ context: RequestContext, did event: AccessoryEvent) {
            switch event {
            case .didWait, .didRevalidate: block()
            default: break
            }
        }

        /// Waits until it has its thread no longer, which the next test needs.
        func end() async { while isWorking.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(10)) } }
    }

    @Test func accessoryThatBlocksAfterARevalidationDelaysNoOther() async throws {
        let clock = CacheClock()
        let policy = CachePolicy.staleWhileRevalidate(maxAge: .seconds(1), maxStale: .seconds(1_000_000))
        let agent = server.agent(ResponseCache(disk: nil) { clock.now }, policy)
        let accessory = SlowAccessory()
        #expect(try await agent.send(request) == 1)
        clock.advance(by: 2)
        let began = ContinuousClock.now
        #expect(try await agent.send(request.accessory(accessory)) == 1)
        while server.requestCount < 3, ContinuousClock.now - began < .seconds(1) {
            try await Task.sleep(for: .milliseconds(10))
            clock.advance(by: 2)
            #expect(try await agent.send(request) == 1)
        }
        #expect(server.requestCount >= 3)
        try await Task.sleep(for: .milliseconds(200))
        await accessory.end()
    }

    /// Takes long for its last events.
    fileprivate final class SlowAtTheEnd: CompositionAccessory {
        let events = Mutex<[String]>([])
        private let endedCount = Mutex(0)
        private let milliseconds: UInt32

        init(milliseconds: UInt32) { self.milliseconds = milliseconds }

        func composition(_ context: CompositionContext, did event: CompositionEvent) {
            switch event {
            case .willStart, .didFinish: return
            case .willStop: events.withLock { $0.append("willStop") }
            case .didStop: events.withLock { $0.append("didStop") }
            }
            work(milliseconds: milliseconds)
            endedCount.withLock { $0 += 1 }
        }

        /// Waits until it has its thread no longer, which the next test needs.
        func end() async { while endedCount.withLock({ $0 < 2 }) { try? await Task.sleep(for: .milliseconds(10)) } }
    }

    enum Failing: CaseIterable {
        case batch, arrayBatch, chain, nestedBatch, nestedChain

        fileprivate func send(with accessory: SlowAtTheEnd, _ agent: Agent, until end: Duration) async throws {
            let (ok, bad) = (GeneralRequest("/x").expecting(Int.self), GeneralRequest("/bad").expecting(Int.self))
            let slow = GeneralRequest("/slow").expecting(Int.self)
            switch self {
            case .batch: _ = try await agent.send(BatchRequest(ok, bad, slow).accessory(accessory).deadline(end))
            case .arrayBatch:
                _ = try await agent.send(ArrayBatchRequest([bad, slow]).accessory(accessory).deadline(end))
            case .chain:
                _ = try await agent.send(ChainRequest(ok).then { _ in bad }.accessory(accessory).deadline(end))
            case .nestedBatch:
                _ = try await agent.send(BatchRequest(bad, BatchRequest(slow).accessory(accessory)).deadline(end))
            case .nestedChain:
                _ = try await agent.send(BatchRequest(bad, ChainRequest(slow).accessory(accessory)).deadline(end))
            }
        }
    }

    private func failingAgent() -> Agent {
        server.on(.get, "/bad", .status(404).delayed(by: .milliseconds(50)))
        server.on(.get, "/slow", .json("1").delayed(by: .seconds(20)))
        return server.agent()
    }

    @Test(arguments: Failing.allCases)
    func failedBatchOrChainReturnsAfterDidStop(_ failing: Failing) async throws {
        let agent = failingAgent()
        let accessory = SlowAtTheEnd(milliseconds: 250)
        let error = await #expect(throws: NetworkError.self) {
            try await failing.send(with: accessory, agent, until: .seconds(10))
        }
        #expect(error?.statusCode == 404)
        #expect(accessory.events.withLock { $0 } == ["willStop", "didStop"])
        await accessory.end()
    }

    /// Its cancellation handler keeps the thread of whoever cancels.
    private struct BlockedWhenCancelled: Interceptor {
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            try await withTaskCancellationHandler {
                // Longer than the handler: it could not return from here before, and would keep a second thread.
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().asyncAfter(deadline: .now() + 2.5) { continuation.resume() }
                }
                return try await next(request)
            } onCancel: {
                work(milliseconds: 1_500)
            }
        }
    }

    @Test func aBlockingCancellationHandlerDelaysNoDeadline() async throws {
        let agent = failingAgent()
        var service = Service(id: "blocked")
        service.interceptors = [BlockedWhenCancelled()]
        let slow = GeneralRequest("/slow").expecting(Int.self)
        let began = ContinuousClock.now
        let batch = ArrayBatchRequest([slow.service(service), slow, slow]).deadline(.milliseconds(300))
        let error = await #expect(throws: NetworkError.self) { try await agent.send(batch) }
        let elapsed = ContinuousClock.now - began
        #expect(error?.kind == .timedOut && elapsed < .milliseconds(600), "\(elapsed)")
        // Until the handler has its thread no longer, which the next test needs.
        try await Task.sleep(for: .milliseconds(2_500))
    }

    @Test func accessoryThatIsToldOfAWaitKeepsNoPermit() async throws {
        server.on(.get, "/slow", .json("1").delayed(by: .milliseconds(300)))
        let agent = server.agent { $0.throttle = Throttle(maximumPerHost: 1) }
        async let first = agent.send(GeneralRequest("/slow").expecting(Int.self))
        while server.requestCount == 0 { await Task.yield() }
        let accessory = SlowAccessory()
        let brief = request.limits(Limits(deadline: .milliseconds(450))).accessory(accessory)
        let task = Task { try await agent.send(brief) }
        _ = try await first
        let began = ContinuousClock.now
        #expect(try await agent.send(request) == 1)
        let elapsed = ContinuousClock.now - began
        #expect(elapsed < .milliseconds(500), "\(elapsed)")
        await #expect(throws: NetworkError.self) { try await task.value }
        await accessory.end()
    }
}

/// Keeps its thread, as computing does.
private func work(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
