import Dispatch
import Errand
import ErrandTesting
import Foundation
import Testing

/// Code of the user's own that ignores its cancellation, in each place where it can run, and each way in which its send ends.
///
/// The send returns the error of its end once that code has returned. Everything that others wait for is free at once: the permit
/// of the host, the entry of the request in flight, the other requests of a batch, and a refresh of the credential.
@Suite(.timing, .serialized, .limit(seconds: 120))
struct CooperativeEndingTests {
    enum Place: String, CaseIterable, Sendable { case adapter, interceptor, gate, accessory, formatter, transport }
    enum Way: String, CaseIterable, Sendable { case deadline, cancel, cancelAll, batchDeadline, scope }

    /// When the send has to end, and when the code returns.
    private static let (end, deafness) = (Duration.milliseconds(150), Duration.milliseconds(700))
    /// How late something may be that waits for nothing.
    private static let allowance = Duration.milliseconds(50)

    @Test(arguments: Place.allCases, Way.allCases)
    func codeThatIgnoresItsCancellationDelaysOnlyItsOwnSend(_ place: Place, _ way: Way) async throws {
        let server = try Self.server()
        defer { server.stop() }
        let deafness = Deafness(in: place, for: Self.deafness)
        let agent = Self.agent(server, deafness)
        #expect(try await agent.send(GeneralRequest("/warm").expecting(Int.self)) == 1)
        let began = ContinuousClock.now
        let run = Run(agent, Self.request("/x", deafness).duplicatePolicy(.rejectNew), deafness)
        run.begin(way, endingAfter: Self.end)
        try await Task.sleep(until: began + Self.end)
        run.end(way)
        let ended = ContinuousClock.now
        // A deadline begins with its send, a little later, and its timer may be late.
        if way == .deadline || way == .batchDeadline { try await Task.sleep(for: .milliseconds(10)) }
        #expect(!deafness.hasReturned, "\(place) \(way): it began too late")
        // It needs the only permit of its host, and the entry in flight of an equal request.
        let follower = Self.request("/x", deafness).duplicatePolicy(.rejectNew)
        #expect(try await agent.send(follower) == 1)
        let free = ContinuousClock.now
        #expect(free - ended < Self.allowance, "\(place) \(way): free after \(free - ended)")
        // Its credential is rejected, and refreshed.
        #expect(try await agent.send(Self.request("/private", deafness)) == 1)
        let refreshed = ContinuousClock.now - free
        #expect(refreshed < Self.allowance, "\(place) \(way): refreshed after \(refreshed)")
        #expect(!deafness.hasReturned, "\(place) \(way): free after the code has returned")

        let (error, delay) = await run.result(since: began)
        switch way {
        case .deadline, .batchDeadline:
            #expect(error?.isDeadline(of: Self.end) == true, "\(place) \(way): \(error as Any)")
        case .cancel, .cancelAll: #expect(error is CancellationError, "\(place) \(way): \(error as Any)")
        // No callback is called.
        case .scope: #expect(error == nil, "\(place): \(error as Any)")
        }
        let due = way == .batchDeadline ? Self.end : Self.deafness
        #expect(delay > due - .milliseconds(20) && delay < due + Self.allowance * 2, "\(place) \(way): \(delay)")
        while !deafness.hasReturned { try await Task.sleep(for: .milliseconds(5)) }
        #expect(server.requests.filter { $0.path == "/x" }.count <= 2)
    }

    private static func server() throws -> MockServer {
        let server = try MockServer()
        server.on(.get, "/warm", .json("1"))
        server.on(.get, "/x", .json("1"))
        server.on(.get, "/sibling", .json("1"))
        server.on(.get, "/private") { $0.authorization?.token == "2" ? .json("1") : .status(401) }
        server.on(.get, "/token", .json("2"))
        return server
    }

    private static func agent(_ server: MockServer, _ deafness: Deafness) -> Agent {
        var config = NetworkConfig(baseURL: server.baseURL)
        config.throttle = Throttle(maximumPerHost: 1)
        config.authentication = .session(AuthenticationSession(NumberedTokens(), credential: 1))
        config.adapters = [DeafAdapter(deafness: deafness)]
        config.interceptors = [DeafInterceptor(deafness: deafness)]
        config.sendGates = [DeafGate(deafness: deafness)]
        config.accessories = [DeafAccessory(deafness: deafness)]
        let transport = TransportUnderTest.make()
        guard deafness.place == .transport else { return Agent(config: config, transport: transport) }
        return Agent(config: config, transport: DeafTransport(base: transport, deafness: deafness))
    }

    private static func request(_ path: String, _ deafness: Deafness) -> GeneralRequest<DeafFormatter> {
        GeneralRequest(path, formatter: DeafFormatter(deafness: deafness)).tag(path)
    }
}

extension Error {
    fileprivate func isDeadline(of limit: Duration) -> Bool {
        (self as? NetworkError)?.reason == .deadlineExceeded(limit)
    }
}

/// The send that meets the code, and when it returned.
private final class Run: Sendable {
    private typealias Ended = (error: (any Error)?, at: ContinuousClock.Instant)

    private let agent: Agent
    private let request: GeneralRequest<DeafFormatter>
    private let deafness: Deafness
    private let task = Lock<Task<Int, any Error>?>(nil)
    private let scope = Lock<RequestScope?>(nil)
    private let (ends, ended) = AsyncStream<Ended>.makeStream()

    init(_ agent: Agent, _ request: GeneralRequest<DeafFormatter>, _ deafness: Deafness) {
        (self.agent, self.request, self.deafness) = (agent, request, deafness)
    }

    func begin(_ way: CooperativeEndingTests.Way, endingAfter limit: Duration) {
        switch way {
        case .deadline: send { [agent, request] in try await agent.send(request.deadline(limit)) }
        case .cancel, .cancelAll: send { [agent, request] in try await agent.send(request) }
        case .batchDeadline:
            let sibling = GeneralRequest("/sibling").expecting(Int.self)
            let batch = BatchRequest(request, sibling).deadline(limit)
            send { [agent] in try await agent.send(batch).0 }
        case .scope:
            let scope = RequestScope()
            let handle = agent.start(request, in: scope, on: DispatchQueue(label: "ending")) { [ended] result in
                if case .failure(let error) = result { ended.yield((error, .now)) }
            }
            self.scope.withLock { $0 = scope }
            Task { [ended] in
                await handle.waitUntilFinished()
                ended.yield((nil, .now))
            }
        }
    }

    private func send(_ work: @escaping @Sendable () async throws -> Int) {
        let task = Task { try await work() }
        self.task.withLock { $0 = task }
        Task { [ended] in
            let result = await task.result
            if case .failure(let error) = result { ended.yield((error, .now)) } else { ended.yield((nil, .now)) }
        }
    }

    func end(_ way: CooperativeEndingTests.Way) {
        switch way {
        case .deadline, .batchDeadline: break
        case .cancel: task.withLock { $0 }?.cancel()
        case .cancelAll: agent.cancelAll()
        case .scope:
            // Deallocated outside of the lock.
            _ = scope.withLock { $0.take() }
        }
    }

    func result(since began: ContinuousClock.Instant) async -> (error: (any Error)?, delay: Duration) {
        for await end in ends { return (end.error, end.at - began) }
        return (nil, .zero)
    }
}

/// Ignores the cancellation of the first `/x` in one place.
private final class Deafness: Sendable {
    let place: CooperativeEndingTests.Place
    private let duration: Duration
    private let state = Lock((hasBegun: false, hasReturned: false))

    init(in place: CooperativeEndingTests.Place, for duration: Duration) {
        (self.place, self.duration) = (place, duration)
    }

    var hasReturned: Bool { state.withLock { $0.hasReturned } }

    private func begins(in place: CooperativeEndingTests.Place, of path: String?) -> Bool {
        guard place == self.place, path == "/x" else { return false }
        return state.withLock { state in
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
    }

    func wait(in place: CooperativeEndingTests.Place, of path: String?) async {
        guard begins(in: place, of: path) else { return }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + duration.seconds) { continuation.resume() }
        }
        state.withLock { $0.hasReturned = true }
    }

    func block(in place: CooperativeEndingTests.Place, of path: String?) {
        guard begins(in: place, of: path) else { return }
        Thread.sleep(forTimeInterval: duration.seconds)
        state.withLock { $0.hasReturned = true }
    }
}

extension Duration {
    fileprivate var seconds: Double { self / .seconds(1) }
}

private struct DeafAdapter: RequestAdapter {
    let deafness: Deafness
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
        await deafness.wait(in: .adapter, of: context.tag)
    }
}

private struct DeafInterceptor: Interceptor {
    let deafness: Deafness
    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse {
        await deafness.wait(in: .interceptor, of: context.tag)
        return try await next(request)
    }
}

private struct DeafGate: SendGate {
    let deafness: Deafness
    func admit(_ context: RequestContext) async throws { await deafness.wait(in: .gate, of: context.tag) }
}

private struct DeafAccessory: Accessory {
    let deafness: Deafness
    func request(_ context: RequestContext, did event: AccessoryEvent) {
        if case .willStart = event { deafness.block(in: .accessory, of: context.tag) }
    }
}

struct DeafFormatter: ResponseFormatter, Sendable {
    fileprivate let deafness: Deafness
    func format(_ payload: Payload) throws -> Int {
        // The follower's response is formatted after the response of the send that meets the code.
        deafness.block(in: .formatter, of: "/x")
        return payload.data.count
    }
}

private struct DeafTransport: Transport {
    let base: any Transport
    let deafness: Deafness
    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        await deafness.wait(in: .transport, of: request.url.path())
        return try await base.send(request, options: options)
    }
}
