import Errand
import ErrandTesting
import Foundation

/// An agent on a clock that jumps to the next sleeper by itself, over a transport that a closure plays.
final class RetryRig: Sendable {
    /// The number of an exchange, from 1, and its request.
    typealias Wire = @Sendable (Int, OutgoingRequest) throws -> TransportResponse

    let clock: ManualClock
    let transport: WireTransport
    let events = EventLog()
    let agent: Agent
    private let driver: Task<Void, Never>?

    /// - Parameters:
    ///   - policy: The config's.
    ///   - drivesClock: Whether the clock moves by itself; a test of deadlines moves it by hand.
    ///   - wire: Plays the server.
    init(policy: RetryPolicy = .inherited, drivesClock: Bool = true, _ wire: @escaping Wire) {
        let clock = ManualClock()
        self.clock = clock
        transport = WireTransport(wire)
        var config = NetworkConfig(baseURL: "https://api.example")
        config.retryPolicy = policy
        config.accessories = [events]
        agent = Agent(config: config, transport: transport, clock: clock)
        driver =
            drivesClock
            ? Task {
                while !Task.isCancelled {
                    await clock.waitForSleepers()
                    clock.advanceToNextSleeper()
                    await Task.yield()
                }
            } : nil
    }

    deinit { driver?.cancel() }

    static func status(_ code: Int, _ headers: HTTPHeaders = [:]) -> TransportResponse {
        TransportResponse(statusCode: code, headers: headers, body: ResponseBody(Data("{}".utf8)))
    }
}

final class WireTransport: Transport {
    private let log = Lock<[OutgoingRequest]>([])
    private let wire: RetryRig.Wire

    init(_ wire: @escaping RetryRig.Wire) { self.wire = wire }

    var requests: [OutgoingRequest] { log.withLock { $0 } }
    var count: Int { log.withLock { $0.count } }

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        let number = log.withLock { log in
            log.append(request)
            return log.count
        }
        return try wire(number, request)
    }
}

/// Records the retries that an accessory is notified of.
final class EventLog: Accessory {
    struct Retry: Sendable {
        let context: RequestContext
        let pause: Duration
        let error: any Error
    }

    private let log = Lock<[Retry]>([])
    var retries: [Retry] { log.withLock { $0 } }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        guard case .willRetry(let pause, let error) = event else { return }
        log.withLock { $0.append(Retry(context: context, pause: pause, error: error)) }
    }
}
