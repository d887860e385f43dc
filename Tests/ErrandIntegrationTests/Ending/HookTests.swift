import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// Adapters, interceptors and accessories that send for themselves, or come late: what becomes of their own send, and of the
/// others.
@Suite(.limit(seconds: 60))
struct HookTests {
    private struct Adapting: RequestAdapter {
        let work: @Sendable (inout OutgoingRequest) async throws -> Void
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            try await work(&request)
        }
    }

    private struct Intercepting: Interceptor {
        let work: @Sendable (OutgoingRequest, AttemptChain) async throws -> RawResponse
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse { try await work(request, next) }
    }

    private struct Enclosing: SendInterceptor {
        let work: @Sendable (SendChain) async throws -> Void
        func intercept(_ context: RequestContext, next: SendChain) async throws { try await work(next) }
    }

    private struct NotLoggedIn: Error {}

    private struct Refusing: SendGate {
        func admit(_ context: RequestContext) async throws { throw NotLoggedIn() }
    }

    /// Pauses, whether it is cancelled or not.
    private static func pauseRegardless(_ milliseconds: Int) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
        }
    }

    /// Pauses until something is so, whether it is cancelled or not.
    private static func pauseRegardless(until isSo: @escaping @Sendable () -> Bool) async {
        while !isSo() { await pauseRegardless(5) }
    }

    private let server: MockServer
    private let agent: Agent
    private let request = GeneralRequest("/x").expecting(Int.self)

    init() throws {
        server = try MockServer()
        server.on(.get, "/x", .json("1"))
        server.on(.post, "/x", .json("1"))
        agent = server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .milliseconds(10)) }
    }

    // MARK: Permits

    @Test func sharedRequestOfAnAdapterIsRetriedAheadOfThoseThatWaitForIt() async throws {
        let count = Atomic(0)
        // The first response waits until its caller is cancelled, however long that takes on a busy machine.
        let release = DispatchSemaphore(value: 0)
        defer { release.signal() }
        server.on(.get, "/token") { _ in
            guard count.add(1, ordering: .relaxed).newValue == 1 else { return .json("7") }
            release.wait()
            return .status(503)
        }
        agent.config.throttle = Throttle(maximumPerHost: 2)
        agent.config.adapters = [
            Adapting { [agent] request in
                guard request.url.path() != "/token" else { return }
                let token = GeneralRequest("/token").duplicatePolicy(.share).expecting(Int.self)
                request.headers["X-Token"] = String(try await agent.send(token))
            }
        ]
        let first = Task { [agent, request] in try await agent.send(request) }
        while count.load(ordering: .relaxed) == 0 { try await Task.sleep(for: .milliseconds(5)) }
        let others = (0..<4).map { _ in Task { [agent, request] in try await agent.send(request) } }
        try await Task.sleep(for: .milliseconds(50))
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        release.signal()
        for other in others { #expect(try await other.value == 1) }
        agent.config.adapters = []
    }

    @Test func interceptorThatSendsTwoAtOnceNeedsOnePermit() async throws {
        agent.config.throttle = Throttle(maximumPerHost: 1)
        agent.config.interceptors = [
            Intercepting { request, next in
                async let other = next(request)
                let response = try await next(request)
                _ = try await other
                return response
            }
        ]
        let sends = (0..<4).map { _ in Task { [agent, request] in try await agent.send(request) } }
        for send in sends { #expect(try await send.value == 1) }
        #expect(server.requestCount == 8)
    }

    @Test func codeThatIgnoresItsCancellationHoldsNoPermit() async throws {
        let (hasBegun, isReleased, clock) = (Lock(false), Lock(false), ManualClock())
        defer { isReleased.withLock { $0 = true } }
        let agent = Agent(config: agent.config, transport: TransportUnderTest.make(), clock: clock)
        agent.config.throttle = Throttle(maximumPerHost: 1)
        agent.config.adapters = [
            Adapting { request in
                guard request.url.path() == "/late" else { return }
                hasBegun.withLock { $0 = true }
                await Self.pauseRegardless { isReleased.withLock { $0 } }
            }
        ]
        let late = GeneralRequest("/late").limits(Limits(deadline: .seconds(1))).expecting(Int.self)
        let task = Task { try await agent.send(late) }
        while !hasBegun.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        // The code still runs.
        #expect(try await agent.send(request) == 1)
        isReleased.withLock { $0 = true }
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.reason == .deadlineExceeded(.seconds(1)))
    }

    // MARK: Ends

    /// How a send ends while its interceptor still runs.
    enum End: String, CaseIterable, Sendable {
        case task, cancelAll, deadline
    }

    @Test(arguments: End.allCases)
    func nothingIsSentOnceTheSendHasEnded(_ end: End) async throws {
        let errors = AsyncStream.makeStream(of: Bool.self)
        let hasBegun = AsyncStream.makeStream(of: Void.self)
        let (hasEnded, clock) = (Lock(false), ManualClock())
        let agent = Agent(config: agent.config, transport: TransportUnderTest.make(), clock: clock)
        agent.config.interceptors = [
            Intercepting { request, next in
                let late = Task.detached {
                    hasBegun.continuation.yield()
                    await Self.pauseRegardless { hasEnded.withLock { $0 } }
                    do {
                        let response = try await next(request)
                        errors.continuation.yield(false)
                        return response
                    } catch {
                        errors.continuation.yield(true)
                        throw error
                    }
                }
                return try await withTaskCancellationHandler {
                    try await late.value
                } onCancel: {
                    hasEnded.withLock { $0 = true }
                }
            }
        ]
        let limits = Limits(deadline: end == .deadline ? .seconds(1) : nil)
        let post = GeneralRequest("/x").method(.post).limits(limits).expecting(Int.self)
        let task = Task { try await agent.send(post) }
        for await _ in hasBegun.stream { break }
        if end == .task { task.cancel() }
        if end == .cancelAll { agent.cancelAll() }
        if end == .deadline {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        _ = await task.result
        for await isError in errors.stream {
            #expect(isError)
            break
        }
        #expect(server.requestCount == 0)
    }

    @Test(arguments: End.allCases)
    func sendInterceptorThatCatchesTheEndDoesNotHideIt(_ end: End) async throws {
        server.on(.get, "/slow", .json("1").delayed(by: .seconds(20)))
        agent.config.sendInterceptors = [Enclosing { next in try? await next() }]
        let limits = Limits(deadline: end == .deadline ? .milliseconds(200) : nil)
        let slow = GeneralRequest("/slow").limits(limits).expecting(Int.self)
        let task = Task { [agent] in try await agent.send(slow) }
        while server.requestCount == 0, end != .deadline { try await Task.sleep(for: .milliseconds(5)) }
        if end == .task { task.cancel() }
        if end == .cancelAll { agent.cancelAll() }
        let error = await #expect(throws: (any Error).self) { try await task.value }
        if end == .deadline {
            #expect((error as? NetworkError)?.reason == .deadlineExceeded(.milliseconds(200)))
        } else {
            #expect(error is CancellationError)
        }
    }

    @Test func sendInterceptorSeesTheErrorOfAGate() async throws {
        let isSeen = Atomic(false)
        agent.config.sendGates = [Refusing()]
        agent.config.sendInterceptors = [
            Enclosing { next in
                do { try await next() } catch let error as NotLoggedIn {
                    isSeen.store(true, ordering: .relaxed)
                    throw error
                }
            }
        ]
        await #expect(throws: NotLoggedIn.self) { try await agent.send(request) }
        let wasSeen = isSeen.load(ordering: .relaxed)
        #expect(wasSeen)
    }

    @Test func accessoryThatWorksBeyondTheDeadlineInWillStopChangesNoOutcome() async throws {
        agent.config.accessories = [Slow()]
        let timely = GeneralRequest("/x").limits(Limits(deadline: .seconds(1))).expecting(Int.self)
        #expect(try await agent.send(timely) == 1)
    }

    /// Where a hook works without suspending, as one does that signs; here it cancels the send meanwhile.
    enum Busy: CaseIterable { case adapter, interceptor, sendInterceptor }

    @Test(arguments: Busy.allCases)
    func sendCancelledDuringAHookIsNotSent(hook: Busy) async throws {
        let sender = Lock<Task<Int, any Error>?>(nil)
        let work: @Sendable () -> Void = { sender.withLock { $0 }?.cancel() }
        switch hook {
        case .adapter: agent.config.adapters = [Adapting { _ in work() }]
        case .interceptor:
            agent.config.interceptors = [
                Intercepting { request, next in
                    work()
                    return try await next(request)
                }
            ]
        case .sendInterceptor:
            agent.config.sendInterceptors = [
                Enclosing { next in
                    work()
                    try await next()
                }
            ]
        }
        // A request that is sent by mistake is stopped soon, and does not always arrive.
        for _ in 0..<20 {
            let (ready, begin) = AsyncStream.makeStream(of: Void.self)
            let task = Task { [agent, request] in
                _ = await ready.first { true }
                return try await agent.send(request.method(.post))
            }
            sender.withLock { $0 = task }
            begin.yield()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(server.requestCount == 0)
    }

    private struct Slow: Accessory {
        func request(_ context: RequestContext, did event: AccessoryEvent) {
            if case .willStop = event { Thread.sleep(forTimeInterval: 1.1) }
        }
    }

    // MARK: Repetitions

    /// The hook that adds a new key to each request.
    @Test(arguments: [true, false])
    func retriedPostKeepsTheKeyOfItsFirstAttempt(isAdapter: Bool) async throws {
        server.enqueue(.status(503), .status(503), .json("1"))
        let field = "Idempotency-Key"
        if isAdapter {
            agent.config.adapters = [Adapting { $0.headers[field] = UUID().uuidString }]
        } else {
            agent.config.interceptors = [
                Intercepting { request, next in
                    var request = request
                    request.headers[field] = UUID().uuidString
                    return try await next(request)
                }
            ]
        }
        #expect(try await agent.send(GeneralRequest("/x").method(.post).expecting(Int.self)) == 1)
        #expect(server.requestCount == 3)
        #expect(Set(server.requests.map { $0.headers[field] }).count == 1)
    }
}
