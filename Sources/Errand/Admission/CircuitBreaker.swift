internal import Foundation

/// An interceptor that stops sending to a host that keeps failing, so that callers fail at once and the host can recover.
///
/// ```swift
/// config.interceptors.append(CircuitBreaker())
/// ```
///
/// Each host and port has a circuit of its own. It is closed until a ``Policy`` finds too many failures, and then open:
/// attempts fail at once with ``NetworkError/Reason/circuitOpen(retryAfter:)``, which is not retried. After
/// ``Policy/openDuration``, some attempts are admitted as probes; if all succeed it closes, if one fails it opens again. If a
/// probe has no result after that time, but at least a second, another one is admitted. The host is the host of the request,
/// not of a redirect. A ``ResponseStream`` counts when its body begins, and not again when it ends.
///
/// A breaker is shared by every config that contains it; breakers in two configs are independent.
public final class CircuitBreaker: Interceptor {
    /// The rules for when a circuit opens and closes.
    public struct Policy: Sendable {
        /// The number of consecutive failures that open it, at least 1, or `nil` not to count them.
        ///
        /// The default is 5.
        public var consecutiveFailures: Int? { didSet { consecutiveFailures = consecutiveFailures.map { max(1, $0) } } }
        /// The ratio of failures that opens it, or `nil` not to count it.
        ///
        /// The default is `nil`.
        public var failureRatio: FailureRatio?
        /// The time that it stays open, at least zero.
        ///
        /// The default is 30 seconds.
        public var openDuration: Duration { didSet { openDuration = max(.zero, openDuration) } }
        /// The number of probes that must succeed before it closes, at least 1, and the maximum number of probes at a time.
        ///
        /// The default is 1.
        public var probeCount: Int { didSet { probeCount = max(1, probeCount) } }

        /// Creates a policy.
        ///
        /// By default, a circuit opens after five consecutive failures, stays open for 30 seconds and closes after one
        /// successful probe.
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

    /// A ratio of failures among recent calls.
    public struct FailureRatio: Sendable {
        /// The ratio of failures that opens a circuit, from 0 to 1.
        public let fraction: Double
        /// The number of calls in the window, at least 1, below which a circuit does not open.
        public let minimumCount: Int
        /// The time for which calls count, at least 10 milliseconds, exact to a tenth of it.
        public let window: Duration

        /// Creates a failure ratio.
        ///
        /// - Parameters:
        ///   - fraction: The ratio of failures that opens a circuit, from 0 to 1.
        ///   - minimumCount: The number of calls in the window, at least 1, below which a circuit does not open.
        ///   - window: The time for which calls count, at least 10 milliseconds, exact to a tenth of it.
        public init(_ fraction: Double, of minimumCount: Int, in window: Duration) {
            self.fraction = fraction
            self.minimumCount = max(1, minimumCount)
            self.window = max(.milliseconds(10), window)
        }
    }

    /// The state of a circuit.
    public enum State: Sendable, Hashable {
        /// Every attempt is admitted.
        case closed
        /// No attempt is admitted for this time from now.
        case open(retryAfter: Duration)
        /// Only probes are admitted.
        case halfOpen
    }

    /// The result of an attempt for its host.
    public enum Verdict: Sendable, Hashable {
        /// The host works.
        case success
        /// The host fails.
        case failure
        /// The attempt does not count, such as a cancelled one.
        case ignored
    }

    private let policy: Policy
    private let timeline: Timeline
    private let judge: @Sendable (Result<RawResponse, any Error>) -> Verdict
    /// The circuits; beyond their maximum number, the least recently used closed ones are forgotten.
    private let circuits = Lock(HostTable<Origin, Circuit>(limit: CircuitBreaker.maximumHostCount))
    static let maximumHostCount = 1_000

    /// Creates a circuit breaker.
    ///
    /// - Parameters:
    ///   - policy: The rules for when a circuit opens and closes.
    ///   - clock: The clock for its times. Pass another one in tests.
    ///   - judge: Returns the result of an attempt for its host.
    public init<C: Clock>(
        _ policy: Policy = Policy(),
        clock: C = ContinuousClock(),
        judge: @escaping @Sendable (Result<RawResponse, any Error>) -> Verdict = CircuitBreaker.usualVerdict
    ) where C.Duration == Duration {
        self.policy = policy
        self.judge = judge
        timeline = Timeline(clock)
    }

    /// Returns the default verdict on an attempt.
    ///
    /// A status from 500 to 599 or 408 is a failure of the host, and so is an unreachable host, a lost connection, an exceeded
    /// time limit or an invalid response. Other responses are successes, and other errors, such as a proxy's, are ignored.
    public static func usualVerdict(_ result: Result<RawResponse, any Error>) -> Verdict {
        switch result {
        case .success(let response): FailureFacts.ofStatus(response.statusCode).isOfHost ? .failure : .success
        case .failure(let error as NetworkError):
            error.facts.isOfHost && error.kind != .insecureConnection ? .failure : .ignored
        case .failure: .ignored
        }
    }

    /// The number of known hosts.
    var hostCount: Int { circuits.withLock { $0.count } }

    /// Returns the state of a host's circuit.
    ///
    /// - Parameter host: The host and its port: `api.example:443`, `127.0.0.1:8080`. The default port is https's, or http's if
    ///   https was never called.
    /// - Returns: The state, which is closed for a host that was never called.
    public func state(of host: String) -> State {
        let now = timeline.now()
        let keys = ["https", "http"].map { Origin("\($0)://\(host)") }
        return circuits.withLock { circuits in
            for key in keys {
                if let circuit = circuits[key] { return circuit.state(at: now) }
            }
            return .closed
        }
    }

    /// Sends an attempt if the circuit of its host admits it.
    ///
    /// - Returns: The response, unchanged.
    /// - Throws: ``NetworkError/Reason/circuitOpen(retryAfter:)``, or the error of the attempt.
    public func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse {
        let host = request.url.origin
        let ticket = try admit(to: host)
        let beginning = context.beginning.flatMap { $0.isStream ? $0 : nil }
        let stream = beginning?.observe { [self] in end(ticket, judge(.success($0)), at: host) }
        defer { if let stream { beginning?.remove(stream) } }
        do {
            let response = try await next(request)
            if stream?.hasBegun != true { end(ticket, judge(.success(response)), at: host) }
            return response
        } catch {
            if stream?.hasBegun != true { end(ticket, judge(.failure(error)), at: host) }
            throw error
        }
    }

    /// It adds no credential.
    public func credentialScope(for context: RequestContext) -> String? { "" }

    private func admit(to host: Origin) throws(NetworkError) -> Circuit.Ticket {
        switch change(host, { $0.admit(at: $1) }) {
        case .admitted(let ticket): return ticket
        case .shed(let pause): throw NetworkError(.circuitOpen(retryAfter: pause))
        }
    }

    private func end(_ ticket: Circuit.Ticket, _ verdict: Verdict, at host: Origin) {
        change(host) { $0.end(ticket, verdict, at: $1) }
    }

    private func change<Value>(_ host: Origin, _ body: (inout Circuit, Duration) -> Value) -> Value {
        let now = timeline.now()
        let isBusy = { (circuit: Circuit) in circuit.isBusy(at: now) }
        return circuits.withLock { circuits in
            circuits.change(host, default: Circuit(policy: policy), isBusy: isBusy) { body(&$0, now) }
        }
    }
}
