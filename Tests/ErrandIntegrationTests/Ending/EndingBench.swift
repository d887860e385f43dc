import Dispatch
import Errand
import ErrandTesting
import Foundation

/// One row of the table of `EndingTimingTests`: a server, and an agent whose send waits in one place.
struct EndingBench: Sendable {
    struct Result: Sendable {
        let late: Duration
        let completions: Int
        let outcome: Swift.Result<Int, any Error>
        let isExpected: Bool
    }

    let server: MockServer
    let log = EndingLog()
    private let agent: Agent
    private let row: EndingTimingTests.Row
    private let request: GeneralRequest<CountFormatter>
    private static let pause = Duration.milliseconds(300)

    init(_ row: EndingTimingTests.Row) throws {
        self.row = row
        server = try MockServer()
        Self.serve(row, on: server)
        var config = NetworkConfig(baseURL: server.baseURL)
        config.retryPolicy = RetryPolicy(maximumAttempts: 5, baseDelay: .zero)
        config.accessories = [log]
        var request = GeneralRequest("/x", formatter: CountFormatter()).tag("main")
        switch row.place {
        case .gate: config.sendGates = [WaitingGate()]
        case .queue: config.throttle = Throttle(maximumPerHost: 1)
        case .adapter: config.adapters = [WaitingAdapter(attempt: row.attempt)]
        case .interceptor: config.interceptors = [WaitingInterceptor(attempt: row.attempt)]
        case .sendInterceptor: config.sendInterceptors = [WaitingSendInterceptor()]
        case .refresh: config.authentication = .session(AuthenticationSession(SlowTokens(), credential: 1))
        case .cacheRead:
            config.cache = ResponseCache(memory: nil, disk: SlowStore(isSlowToRead: true))
            request = request.cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
        case .cacheWrite:
            config.cache = ResponseCache(disk: SlowStore(isSlowToRead: false))
            request = request.cachePolicy(.reload)
        case .backOff, .redirect, .headerSection, .body: break
        }
        if row.way == .deadline { request = request.limits(Limits(deadline: Self.pause)) }
        self.request = request
        agent = Agent(config: config)
    }

    /// The first attempt fails where the second is to wait.
    private static func serve(_ row: EndingTimingTests.Row, on server: MockServer) {
        let slow = MockResponse.json("1").delayed(by: .seconds(10))
        server.on(.get, "/slow", slow)
        server.on(.get, "/token", slow)
        let last: MockResponse =
            switch row.place {
            case .headerSection: slow
            case .body: .json(String(repeating: " ", count: 3000) + "1").dripping(10, every: .milliseconds(40))
            case .redirect: .redirect(to: "/slow", status: 307)
            case .backOff: .status(503, headers: ["Retry-After": "10"])
            case .refresh: .status(401)
            default: .json("1")
            }
        let failure = MockResponse.status(503, headers: ["Retry-After": "0"])
            .delayed(by: row.place == .queue ? .milliseconds(100) : .zero)
        server.on(.get, "/x", row.attempt == 1 ? last : failure, last)
    }

    func run() async throws -> Result {
        let occupier = Task { try await occupyTheOnlySlot() }
        defer { occupier.cancel() }
        if row.attempt == 1, row.place == .queue { await server.waitForRequests(1) }
        let completions = Lock(0)
        let began = ContinuousClock.now
        let outcome: Swift.Result<Int, any Error>
        switch row.way {
        case .deadline:
            outcome = await Task { try await agent.send(request) }.result
            completions.withLock { $0 += 1 }
        case .task:
            let task = Task { try await agent.send(request) }
            try await Task.sleep(for: Self.pause)
            task.cancel()
            outcome = await task.result
            completions.withLock { $0 += 1 }
        case .handle, .scope, .cancelAll:
            let scope = RequestScope()
            let (results, ended) = AsyncStream.makeStream(of: Swift.Result<Int, any Error>.self)
            let handle = agent.start(request, in: scope, on: DispatchQueue(label: "ending")) { ended.yield($0) }
            try await Task.sleep(for: Self.pause)
            switch row.way {
            case .handle: handle.cancel()
            case .scope: scope.cancelAll()
            default: agent.cancelAll()
            }
            var iterator = results.makeAsyncIterator()
            outcome = await iterator.next() ?? .failure(CancellationError())
            completions.withLock { $0 += 1 }
            await handle.waitUntilFinished()
            ended.finish()
            while await iterator.next() != nil { completions.withLock { $0 += 1 } }
        }
        return Result(
            late: ContinuousClock.now - began - Self.pause,
            completions: completions.withLock { $0 },
            outcome: outcome,
            isExpected: isExpected(outcome)
        )
    }

    /// A write to the cache holds up nobody, and a slow read leaves half of the time until the deadline to the network.
    private func isExpected(_ outcome: Swift.Result<Int, any Error>) -> Bool {
        switch outcome {
        case .success: return row.place == .cacheWrite || row.place == .cacheRead && row.way == .deadline
        case .failure(is CancellationError): return row.way != .deadline
        case .failure(let error as NetworkError):
            if case .deadlineExceeded = error.reason { return row.way == .deadline }
            // A pause that would not end before the deadline is not begun.
            return row.place == .backOff && row.way == .deadline && error.statusCode == 503
        case .failure: return false
        }
    }

    /// In the second attempt, the permit is taken between the attempts.
    private func occupyTheOnlySlot() async throws {
        guard row.place == .queue else { return }
        if row.attempt == 2 { await server.waitForRequests(1) }
        try await agent.send(GeneralRequest("/slow").expecting(Void.self))
    }
}

/// The first and the last events of the send that is measured.
final class EndingLog: Accessory {
    private let log = Lock<[String]>([])
    var endings: [String] { log.withLock { $0 } }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        guard context.tag == "main" else { return }
        switch event {
        case .willStart: log.withLock { $0.append("willStart") }
        case .willStop: log.withLock { $0.append("willStop") }
        case .didStop: log.withLock { $0.append("didStop") }
        default: break
        }
    }
}

private func wait() async throws { try await Task.sleep(for: .seconds(10)) }

private struct WaitingGate: SendGate {
    func admit(_ context: RequestContext) async throws { if context.tag == "main" { try await wait() } }
}

private struct WaitingAdapter: RequestAdapter {
    let attempt: Int
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
        if context.attempt == attempt { try await wait() }
    }
}

private struct WaitingInterceptor: Interceptor {
    let attempt: Int
    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse {
        if context.attempt == attempt { try await wait() }
        return try await next(request)
    }
}

private struct WaitingSendInterceptor: SendInterceptor {
    func intercept(_ context: RequestContext, next: SendChain) async throws {
        try await wait()
        try await next()
    }
}

private struct SlowTokens: Authenticator {
    func appliesTo(_ url: URL) -> Bool { true }
    func apply(_ token: Int, to request: inout OutgoingRequest, for context: RequestContext) {}
    func refresh(_ token: Int, with agent: Agent) async throws -> Int {
        try await agent.send(GeneralRequest("/token").expecting(Int.self))
    }
}

/// The login of `/private`, whose tokens are numbers.
struct NumberedTokens: Authenticator {
    func appliesTo(_ url: URL) -> Bool { url.path().hasPrefix("/private") }
    func apply(_ token: Int, to request: inout OutgoingRequest, for context: RequestContext) {
        request.headers["Authorization"] = "Bearer \(token)"
    }
    func refresh(_ token: Int, with agent: Agent) async throws -> Int {
        try await agent.send(GeneralRequest("/token").expecting(Int.self))
    }
    func scope(of token: Int) -> String? { "one" }
}

struct CountFormatter: ResponseFormatter, Sendable {
    func format(_ payload: Payload) throws -> Int { payload.data.count }
}

private struct SlowStore: CacheStore {
    let isSlowToRead: Bool

    func entry(for key: CacheKey) throws -> CacheEntry? {
        if isSlowToRead { Thread.sleep(forTimeInterval: 10) }
        return nil
    }

    func store(_ entry: CacheEntry, for key: CacheKey) throws {
        if !isSlowToRead { Thread.sleep(forTimeInterval: 10) }
    }

    func remove(for key: CacheKey) throws {}
    func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) throws {}
    func trim(toBytes limit: Int) throws {}
    func totals() throws -> (count: Int, size: Int) { (0, 0) }
}
