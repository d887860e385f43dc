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

/// A transport that responds in the task of the send, and keeps nothing: that the task is cancelled concerns its closure alone.
struct ClosureTransport: Transport {
    var identity = ""
    let respond: @Sendable (OutgoingRequest, TransportOptions) async throws -> TransportResponse

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try await respond(request, options)
    }
}

/// An adapter made of a closure.
struct ClosureAdapter: RequestAdapter {
    var scope: String?
    let change: @Sendable (inout OutgoingRequest, RequestContext) async throws -> Void

    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
        try await change(&request, context)
    }

    func credentialScope(for context: RequestContext) -> String? { scope }
}

/// An interceptor made of a closure.
struct ClosureInterceptor: Interceptor {
    let run: @Sendable (OutgoingRequest, AttemptChain) async throws -> RawResponse

    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse { try await run(request, next) }
}

/// An accessory made of a closure.
struct ClosureAccessory: Accessory {
    let observe: @Sendable (RequestContext, AccessoryEvent) -> Void

    func request(_ context: RequestContext, did event: AccessoryEvent) { observe(context, event) }
}

/// Records the events of sends.
final class EventLog: Accessory {
    let events = Record<(context: RequestContext, event: AccessoryEvent)>()

    /// The names of the events.
    var names: [String] { events.all.map { String($0.event.word.prefix { $0 != " " }) } }
    /// The outcomes of the sends that have ended.
    var outcomes: [SendOutcome] {
        events.all.compactMap { _, event in
            guard case .didStop(let outcome) = event else { return nil }
            return outcome
        }
    }
    /// The retries, with the pauses before them and the errors that they follow.
    var retries: [(context: RequestContext, pause: Duration, error: any Error)] {
        events.all.compactMap { context, event in
            guard case .willRetry(let pause, let error) = event else { return nil }
            return (context: context, pause: pause, error: error)
        }
    }

    func request(_ context: RequestContext, did event: AccessoryEvent) { events.add((context, event)) }
}

/// An error of the user's own.
struct Boom: Error, Equatable, Sendable {
    var id = 1
}

/// The error of a test that has found another value than it expected.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init<Value>(_ value: Value) { description = "\(value)" }
}

/// A list that several threads append to.
final class Record<Element: Sendable>: Sendable {
    private let list = Lock<[Element]>([])
    func add(_ element: Element) { list.withLock { $0.append(element) } }
    var all: [Element] { list.withLock { $0 } }
}

extension Lock<Int> {
    /// Counts, and returns the number: 1 at first.
    @discardableResult func next() -> Int {
        withLock { count in
            count += 1
            return count
        }
    }
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
