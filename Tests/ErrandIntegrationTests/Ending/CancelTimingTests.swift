import Errand
import ErrandTesting
import Foundation
import Testing

/// A send that is cancelled ends soon, whatever it is doing: waiting for its permit or its credential, pausing, on the wire,
/// formatting.
///
/// 1,000 sends by default, 64 in flight; `ERRAND_CANCELS=10000` makes them as many.
@Suite(.timing, .serialized, .limit(seconds: 300))
struct CancelTimingTests {
    private static let count = ProcessInfo.processInfo.environment["ERRAND_CANCELS"].flatMap { Int($0) } ?? 1000

    /// Takes a few milliseconds, as a model of some size does, and ends when it is cancelled.
    private struct SlowFormatter: ResponseFormatter, Sendable {
        func format(_ payload: Payload) throws -> Int {
            let began = ContinuousClock.now
            while ContinuousClock.now - began < .milliseconds(2) { try Task.checkCancellation() }
            return payload.data.count
        }
    }

    private struct Outcome: Sendable {
        /// From the cancellation to the end; `nil` for a send that was over before.
        let delay: Duration?
        let isExpected: Bool
    }

    private static func serve(on server: MockServer) {
        server.keepsLog = false
        server.on(.get, "/fast", .json("1"))
        server.on(.get, "/late", .json("1").delayed(by: .milliseconds(30)))
        server.on(.get, "/drip", .json(String(repeating: " ", count: 300) + "1").dripping(20, every: .milliseconds(3)))
        // No JSON: a debug build would search it for tens of milliseconds, in which others wait for the thread.
        server.on(.get, "/large", .data(Data(repeating: 1, count: 100_000)))
        server.on(.get, "/busy", .status(503))
        server.on(.get, "/private/x") { $0.authorization?.token == "2" ? .status(401) : .json("1") }
        server.on(.get, "/token", .json("2").delayed(by: .milliseconds(20)))
    }

    private static func request(_ index: Int) -> GeneralRequest<SlowFormatter> {
        let paths = ["/fast", "/late", "/drip", "/large", "/busy", "/private/x"]
        return GeneralRequest(paths[index % paths.count], formatter: SlowFormatter())
    }

    @Test
    func aCancelledSendEndsWithin50Milliseconds() async throws {
        let server = try MockServer()
        defer { server.stop() }
        Self.serve(on: server)
        var config = NetworkConfig(baseURL: server.baseURL)
        config.authentication = .session(AuthenticationSession(NumberedTokens(), credential: 2))
        config.throttle = Throttle(maximumPerHost: 8)
        let agent = Agent(config: config)
        var generator = SystemRandomNumberGenerator()
        let pauses = (0..<Self.count).map { _ in Int.random(in: 0..<80_000, using: &generator) }
        let delays = try await {
            var delays: [Duration] = []
            try await withThrowingTaskGroup(of: Outcome.self) { group in
                for index in 0..<Self.count {
                    if index >= 64, let outcome = try await group.next() { Self.note(outcome, in: &delays) }
                    group.addTask { await Self.cancelled(Self.request(index), after: pauses[index], by: agent) }
                }
                for try await outcome in group { Self.note(outcome, in: &delays) }
            }
            return delays.sorted()
        }()
        let slow = try #require(delays.isEmpty ? nil : delays[delays.count * 99 / 100])
        print("\(delays.count) of \(Self.count) cancelled in time: 99 % within \(slow)")
        #expect(delays.count > Self.count / 10)
        #expect(slow < .milliseconds(50))
        #expect(try await agent.send(GeneralRequest("/fast").expecting(Int.self)) == 1)
    }

    private static func note(_ outcome: Outcome, in delays: inout [Duration]) {
        #expect(outcome.isExpected)
        if let delay = outcome.delay { delays.append(delay) }
    }

    private static func cancelled(
        _ request: GeneralRequest<SlowFormatter>,
        after pause: Int,
        by agent: Agent
    ) async -> Outcome {
        let send = Task { try await agent.send(request) }
        // The random moment is the point of this test; no policy is proved by the pause.
        try? await Task.sleep(for: .microseconds(pause))
        let cancelled = ContinuousClock.now
        send.cancel()
        switch await send.result {
        case .success, .failure(is NetworkError): return Outcome(delay: nil, isExpected: true)
        case .failure(is CancellationError): return Outcome(delay: ContinuousClock.now - cancelled, isExpected: true)
        case .failure: return Outcome(delay: nil, isExpected: false)
        }
    }

    /// Sends that wait for a connection are cancelled before the sends whose connections they would take over.
    ///
    /// To cancel 500 takes longer than the pause in which a transport collects them.
    @Test(arguments: [true, false], [50, 500])
    func aWaitingRequestIsNotSentAfterItsCancellation(byAgent: Bool, count: Int) async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.post, "/pay", .json("1").delayed(by: .milliseconds(400)))
        let agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
        let request = GeneralRequest("/pay").method(.post).parameters(["amount": 1]).expecting(Int.self)
        let counts = try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { _ = try await agent.send(request) } }
            while server.requestCount < 8 { try await Task.sleep(for: .milliseconds(1)) }
            try await Task.sleep(for: .milliseconds(50))
            let before = server.requestCount
            if byAgent { agent.cancelAll() } else { group.cancelAll() }
            var cancelled = 0
            while let result = await group.nextResult() {
                if case .failure(is CancellationError) = result { cancelled += 1 }
            }
            try await Task.sleep(for: .milliseconds(200))
            return (before: before, after: server.requestCount, cancelled: cancelled)
        }
        #expect(counts.cancelled == count)
        #expect(counts.after <= counts.before + 1, "\(counts)")
    }
}
