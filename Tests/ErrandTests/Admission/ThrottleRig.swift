import ErrandTesting
import Foundation

@testable import Errand

/// Records when each request arrives, and how many are on the wire; it responds in the task of the send.
///
/// Not a stub, which neither logs the request of a cancelled task nor waits for its closure then.
final class ThrottledWire: Transport {
    private let clock: ManualClock
    private let response: StubTransport.Handler
    private let state = Lock((arrivals: [Duration](), paths: [String](), running: 0, most: 0))

    init(_ clock: ManualClock, _ response: @escaping StubTransport.Handler) {
        (self.clock, self.response) = (clock, response)
    }

    var arrivals: [Duration] { state.withLock { $0.arrivals } }
    var paths: [String] { state.withLock { $0.paths } }
    var most: Int { state.withLock { $0.most } }

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        let now = clock.now.offset
        state.withLock { state in
            state.arrivals.append(now)
            state.paths.append(request.url.path())
            state.running += 1
            state.most = max(state.most, state.running)
        }
        defer { state.withLock { $0.running -= 1 } }
        return try await response(request)
    }

    /// Only the limit of the test ends it early, which fails the test.
    func waitForArrivals(_ count: Int) async { await wait { state.withLock { $0.arrivals.count } >= count } }
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
