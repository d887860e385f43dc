import ErrandTesting
import Foundation

@testable import Errand

/// A stub that records when each request arrives, and how many are on the wire.
final class ThrottledWire: Transport {
    private let clock: ManualClock
    private let stub: StubTransport
    private let state = Lock((arrivals: [Duration](), running: 0, most: 0))

    init(_ clock: ManualClock, _ response: @escaping StubTransport.Handler) {
        self.clock = clock
        stub = StubTransport(response)
    }

    var arrivals: [Duration] { state.withLock { $0.arrivals } }
    var paths: [String] { stub.requests.map { $0.url.path() } }
    var most: Int { state.withLock { $0.most } }

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        let now = clock.now.offset
        state.withLock { state in
            state.arrivals.append(now)
            state.running += 1
            state.most = max(state.most, state.running)
        }
        defer { state.withLock { $0.running -= 1 } }
        return try await stub.send(request, options: options)
    }

    func waitForArrivals(_ count: Int) async { await stub.waitForRequests(count) }
}

/// A suite with an agent over a throttle.
protocol ThrottleSuite {
    var clock: ManualClock { get }
}

extension ThrottleSuite {
    func rig(
        _ throttle: Throttle,
        _ config: NetworkConfig = .test,
        responding response: @escaping StubTransport.Handler = { _ in .json("7") }
    ) -> (agent: Agent, wire: ThrottledWire) {
        let wire = ThrottledWire(clock, response)
        var config = config
        config.throttle = throttle
        return (Agent(config: config, transport: wire, clock: clock), wire)
    }

    func start(_ agent: Agent, _ request: GeneralRequest<DefaultFormatter<Int>>) -> Task<Int, any Error> {
        Task { try await agent.send(request) }
    }

    func waitForQueue(_ agent: Agent, _ count: Int) async {
        await wait { agent.pipeline.admission.permits.waitingCount == count }
    }
}
