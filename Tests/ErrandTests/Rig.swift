import Errand
import ErrandTesting
import Foundation

/// An agent over a stub, with helpers for tests.
struct Rig: Sendable {
    let agent: Agent
    let transport: StubTransport

    init(
        config: NetworkConfig = .test,
        clock: any Clock<Duration> = ContinuousClock(),
        responding handler: @escaping StubTransport.Handler = { _ in .json("{}") }
    ) {
        transport = StubTransport(handler)
        agent = Agent(config: config, transport: transport, clock: clock)
    }

    /// Creates a rig whose transport returns the same response to every request.
    init(config: NetworkConfig = .test, response: TransportResponse) {
        self.init(config: config) { _ in response }
    }

    /// Creates a rig whose transport never responds.
    static func silent(config: NetworkConfig = .test) -> Rig {
        Rig(config: config) { _ in
            try await Task.sleep(for: .seconds(3600))
            return .status(500)
        }
    }

    /// Sends a request and returns what the transport got.
    func wire(_ request: some Request & Sendable) async throws -> OutgoingRequest {
        let agent = agent
        try await Self.settle(request, on: agent)
        guard let sent = transport.requests.last else { throw NothingSent() }
        return sent
    }

    private static func settle<R: Request & Sendable>(_ request: R, on agent: Agent) async throws {
        _ = try await agent.response(for: request)
    }

    struct NothingSent: Error {}
}

extension NetworkConfig {
    /// `https://api.example`, no environment, and one attempt: retries have tests of their own.
    static var test: NetworkConfig {
        var config = NetworkConfig(baseURL: "https://api.example")
        config.environment = [:]
        config.retryPolicy = .never
        return config
    }

    static func test(_ change: (inout NetworkConfig) -> Void) -> NetworkConfig {
        var config = NetworkConfig.test
        change(&config)
        return config
    }
}

/// An error of the user's own.
struct Boom: Error, Equatable, Sendable {
    var id = 1
}

/// A list that several threads append to.
final class Record<Element: Sendable>: Sendable {
    private let list = Lock<[Element]>([])
    func add(_ element: Element) { list.withLock { $0.append(element) } }
    var all: [Element] { list.withLock { $0 } }
}

/// The error that a closure throws.
func failure<T>(of work: () async throws -> T) async -> (any Error)? {
    do {
        _ = try await work()
        return nil
    } catch {
        return error
    }
}
