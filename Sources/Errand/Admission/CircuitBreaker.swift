internal import Foundation

/// Leaves a host alone that fails all the time, so that callers learn it at once and the host can recover.
///
/// ```swift
/// config.interceptors.append(CircuitBreaker())
/// ```
///
/// Each host and port has a circuit of its own. It is closed until a ``Policy`` finds too many failures, then open:
/// attempts fail at once with ``NetworkError/Reason/circuitOpen(retryAfter:)``, which is not retried. When that time is
/// over, some attempts are let through as probes; if all succeed it closes, if one fails it opens again. The host is
/// the one that a request is sent to, not one that it is redirected to.
///
/// One breaker is shared by everything that has it in its config; breakers in two configs know nothing of each other.
public final class CircuitBreaker: Interceptor {
    /// When a circuit opens, and how it closes again.
    public struct Policy: Sendable {
        /// How many failures in a row open it, 1 at least; `nil` does not count them.
        public var consecutiveFailures: Int? { didSet { consecutiveFailures = consecutiveFailures.map { max(1, $0) } } }
        /// Which share of failures opens it; `nil` does not count it.
        public var failureRatio: FailureRatio?
        /// How long it stays open.
        public var openDuration: Duration { didSet { openDuration = max(.zero, openDuration) } }
        /// How many probes must succeed before it closes, 1 at least; as many at most are under way at a time.
        public var probeCount: Int { didSet { probeCount = max(1, probeCount) } }

        /// Opens after five failures in a row, stays open for 30 seconds and closes after one good probe, unless you say
        /// otherwise.
        public init(
            consecutiveFailures: Int? = 5,
            failureRatio: FailureRatio? = nil,
            openDuration: Duration = .seconds(30),
            probeCount: Int = 1
        ) {
            self.consecutiveFailures = consecutiveFailures.map { max(1, $0) }
            self.failureRatio = failureRatio
            self.openDuration = max(.zero, openDuration)
            self.probeCount = max(1, probeCount)
        }
    }

    /// A share of failures among the calls of the last while.
    public struct FailureRatio: Sendable {
        /// The share that opens a circuit, 0 to 1.
        public let fraction: Double
        /// Fewer calls than this in the window open nothing.
        public let minimumCount: Int
        /// How far back calls count, to a tenth of it.
        public let window: Duration

        /// - Parameters:
        ///   - fraction: The share that opens a circuit, 0 to 1.
        ///   - minimumCount: Fewer calls than this in the window open nothing.
        ///   - window: How far back calls count, to a tenth of it; 10 milliseconds at least.
        public init(_ fraction: Double, of minimumCount: Int, in window: Duration) {
            self.fraction = fraction
            self.minimumCount = max(1, minimumCount)
            self.window = max(.milliseconds(10), window)
        }
    }

    /// What a circuit lets through.
    public enum State: Sendable, Hashable {
        /// Every attempt.
        case closed
        /// No attempt, for this long from now.
        case open(retryAfter: Duration)
        /// Probes only.
        case halfOpen
    }

    /// What an attempt says about its host.
    public enum Verdict: Sendable, Hashable {
        /// The host is well.
        case success
        /// The host fails.
        case failure
        /// Nothing, as when it was cancelled.
        case ignored
    }

    private let policy: Policy
    private let timeline: Timeline
    private let judge: @Sendable (Result<RawResponse, any Error>) -> Verdict
    private let state = Lock(Circuits())

    /// - Parameters:
    ///   - policy: When a circuit opens, and how it closes again.
    ///   - clock: Measures its times; a clock of your own is for tests.
    ///   - judge: What an attempt says about its host.
    public init<C: Clock>(
        _ policy: Policy = Policy(),
        clock: C = ContinuousClock(),
        judge: @escaping @Sendable (Result<RawResponse, any Error>) -> Verdict = CircuitBreaker.usualVerdict
    ) where C.Duration == Duration {
        self.policy = policy
        self.judge = judge
        timeline = Timeline(clock)
    }

    /// What most hosts mean.
    ///
    /// A host fails with a status from 500 to 599, and when it cannot be reached, breaks off, stays silent or does not
    /// speak HTTP. Other answers are successes, and other errors say nothing about it.
    public static func usualVerdict(_ result: Result<RawResponse, any Error>) -> Verdict {
        switch result {
        case .success(let response): return (500..<600).contains(response.statusCode) ? .failure : .success
        case .failure(let error as NetworkError):
            switch error.kind {
            case .unreachable, .connectionLost, .timedOut, .invalidResponse: return .failure
            default: return .ignored
            }
        case .failure: return .ignored
        }
    }

    /// How many hosts are remembered.
    var hostCount: Int { state.withLock { $0.count } }

    /// The state of a host's circuit.
    ///
    /// - Parameter host: The host, with its port where URLs name one: `api.example`, `127.0.0.1:8080`.
    /// - Returns: Closed for a host that was never called.
    public func state(of host: String) -> State {
        let now = timeline.now()
        return state.withLock { $0[host.lowercased()]?.state(at: now) } ?? .closed
    }

    /// Lets an attempt through while the circuit of its host allows it.
    ///
    /// - Returns: The answer, unchanged.
    /// - Throws: ``NetworkError/Reason/circuitOpen(retryAfter:)``, or what the attempt throws.
    public func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse {
        let host = (request.url.host() ?? "").lowercased() + (request.url.port.map { ":\($0)" } ?? "")
        let ticket = try admit(to: host)
        do {
            let response = try await next(request)
            end(ticket, judge(.success(response)), at: host)
            return response
        } catch {
            end(ticket, judge(.failure(error)), at: host)
            throw error
        }
    }

    private func admit(to host: String) throws(NetworkError) -> Circuit.Ticket {
        let now = timeline.now()
        let answer = state.withLock { $0.change(host, policy, at: now) { $0.admit(at: now) } }
        switch answer {
        case .admitted(let ticket): return ticket
        case .shed(let pause): throw NetworkError(.circuitOpen(retryAfter: pause))
        }
    }

    private func end(_ ticket: Circuit.Ticket, _ verdict: Verdict, at host: String) {
        let now = timeline.now()
        state.withLock { $0.change(host, policy, at: now) { $0.end(ticket, verdict, at: now) } }
    }
}

/// The circuits of all hosts.
struct Circuits {
    /// The most hosts that are known at once.
    ///
    /// Beyond it those are forgotten that have nothing to remember, and then those without a call for the longest time,
    /// whatever their state.
    static let maximumCount = 10_000

    private var circuits: [String: Circuit] = [:]
    private var limit = 1_000
    /// Of a circuit that begins: no ticket of one that was forgotten is as young.
    private var firstGeneration = 0

    var count: Int { circuits.count }

    subscript(host: String) -> Circuit? { circuits[host] }

    /// Changes the circuit of a host; others are forgotten when there are many.
    mutating func change<Value>(
        _ host: String,
        _ policy: CircuitBreaker.Policy,
        at now: Duration,
        _ body: (inout Circuit) -> Value
    ) -> Value {
        if circuits.count >= limit, circuits[host] == nil { forget(at: now) }
        return body(&circuits[host, default: Circuit(policy: policy, generation: firstGeneration)])
    }

    private mutating func forget(at now: Duration) {
        firstGeneration = max(firstGeneration, (circuits.values.lazy.map(\.generation).max() ?? 0) &+ 1)
        circuits = circuits.filter { !$0.value.isAtRest(at: now) }
        // Half of them, so that it is rarely done.
        let surplus = circuits.count - Self.maximumCount / 2
        if surplus > 0 {
            let uses = circuits.map { (host: $0.key, time: $0.value.lastUse) }.sorted { $0.time < $1.time }
            for use in uses.prefix(surplus) { circuits[use.host] = nil }
        }
        limit = min(max(1_000, 2 * circuits.count), Self.maximumCount)
    }
}
