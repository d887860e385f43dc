import Errand
import ErrandTesting
import Foundation

/// An agent on a clock that jumps to the next sleeper by itself, over a transport that a closure plays.
final class RetryRig: Sendable {
    /// The number of an exchange, from 1, and its request.
    typealias Wire = @Sendable (Int, OutgoingRequest) throws -> TransportResponse

    let clock: ManualClock
    let transport: StubTransport
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
        let number = Lock(0)
        transport = StubTransport { try wire(number.next(), $0) }
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
