import ErrandTesting
import Foundation

@testable import Errand

/// Records when each request arrives, and how many are on the wire.
final class ThrottledWire: Transport {
    private struct State {
        var arrivals: [Duration] = []
        var paths: [String] = []
        var running = 0
        var most = 0
        var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?

        /// The waiter, if its condition is met.
        mutating func reached() -> CheckedContinuation<Void, Never>? {
            guard let waiter, waiter.count <= arrivals.count else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }
    private let clock: ManualClock
    private let state = Lock(State())
    private let response: @Sendable (OutgoingRequest) async throws -> TransportResponse

    init(_ clock: ManualClock, _ response: @escaping @Sendable (OutgoingRequest) async throws -> TransportResponse) {
        self.clock = clock
        self.response = response
    }

    var arrivals: [Duration] { state.withLock { $0.arrivals } }
    var paths: [String] { state.withLock { $0.paths } }
    var most: Int { state.withLock { $0.most } }

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        let now = clock.now.offset
        let waiter = state.withLock { state in
            state.arrivals.append(now)
            state.paths.append(request.url.path())
            state.running += 1
            state.most = max(state.most, state.running)
            return state.reached()
        }
        waiter?.resume()
        defer { state.withLock { $0.running -= 1 } }
        return try await response(request)
    }

    func waitForArrivals(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let reached = state.withLock { state in
                state.waiter = (count, continuation)
                return state.reached()
            }
            reached?.resume()
        }
    }
}

/// A suite with an agent over a throttle.
protocol ThrottleSuite {
    var clock: ManualClock { get }
}

extension ThrottleSuite {
    func rig(
        _ throttle: Throttle,
        _ config: NetworkConfig = .test,
        responding response: @escaping @Sendable (OutgoingRequest) async throws -> TransportResponse = { _ in .json("7")
        }
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
