/// The circuit of one host; every change is a function of state, event and time.
///
/// ```
/// closed ── too many failures ──▶ open ── its time is over: the next attempt ───▶ half-open
///    ▲                             ▲                                                  │
///    │                             └──────────────── a probe fails ───────────────────┤
///    └──────────────────────────────────────── all probes succeed ────────────────────┘
/// ```
struct Circuit: Sendable {
    /// Identifies an admitted call when it ends, so that a call from before a change no longer counts after it.
    struct Ticket: Sendable, Equatable {
        fileprivate let generation: Int
    }

    enum Decision: Sendable, Equatable {
        case admitted(Ticket)
        case shed(retryAfter: Duration)
    }

    private enum Phase: Sendable {
        case closed(consecutiveFailures: Int, window: SlidingWindow?)
        case open(end: Duration)
        case halfOpen(underWay: Int, successes: Int)
    }

    /// The minimum time that is left to a probe before another one is admitted.
    private static let shortestPatience = Duration.seconds(1)

    private let policy: CircuitBreaker.Policy
    private var phase: Phase
    /// When the last probe was admitted.
    private var lastProbe = Duration.zero
    /// Counts changes of the phase.
    private(set) var generation: Int

    /// - Parameters:
    ///   - policy: The rules for when it opens and closes.
    ///   - generation: A number that no earlier circuit of the same host has had.
    init(policy: CircuitBreaker.Policy, generation: Int = .random(in: 0...(.max >> 1))) {
        self.policy = policy
        self.generation = generation
        phase = .closed(consecutiveFailures: 0, window: policy.window)
    }

    /// Returns the phase as a caller sees it at a time.
    func state(at now: Duration) -> CircuitBreaker.State {
        switch phase {
        case .closed: .closed
        case .open(let end): now < end ? .open(retryAfter: end - now) : .halfOpen
        case .halfOpen: .halfOpen
        }
    }

    /// Whether it is open, or a probe is under way, so that it must not be forgotten.
    func isBusy(at now: Duration) -> Bool {
        switch phase {
        case .closed: false
        case .open(let end): now < end
        case .halfOpen(let underWay, _): underWay > 0 && now < nextProbe
        }
    }

    /// The time when another probe is admitted although one is in flight, which may take long, or never end.
    private var nextProbe: Duration { lastProbe + max(policy.openDuration.clamped, Self.shortestPatience) }

    /// Admits or rejects a call.
    mutating func admit(at now: Duration) -> Decision {
        if case .open(let end) = phase, now >= end { enter(.halfOpen(underWay: 0, successes: 0)) }
        switch phase {
        case .closed: break
        case .open(let end): return .shed(retryAfter: end - now)
        case .halfOpen(let underWay, let successes):
            guard underWay < policy.probeCount - successes || now >= nextProbe else {
                return .shed(retryAfter: nextProbe - now)
            }
            lastProbe = now
            phase = .halfOpen(underWay: underWay + 1, successes: successes)
        }
        return .admitted(Ticket(generation: generation))
    }

    /// Records how an admitted call ended.
    mutating func end(_ ticket: Ticket, _ verdict: CircuitBreaker.Verdict, at now: Duration) {
        guard ticket.generation == generation else { return }
        switch phase {
        case .closed(let failures, var window):
            guard verdict != .ignored else { return }
            window?.add(calls: 1, marked: verdict == .failure ? 1 : 0, at: now)
            let consecutive = verdict == .failure ? min(failures, .max - 1) + 1 : 0
            phase = .closed(consecutiveFailures: consecutive, window: window)
            let isTooMany = policy.consecutiveFailures.map { consecutive >= $0 } ?? false
            if verdict == .failure, isTooMany || policy.failureRatio?.isReached(in: window) ?? false {
                enter(.open(end: now + policy.openDuration.clamped))
            }
        case .open: break  // No ticket is issued while it is open.
        case .halfOpen(let underWay, let successes):
            switch verdict {
            case .failure: enter(.open(end: now + policy.openDuration.clamped))
            case .ignored: phase = .halfOpen(underWay: underWay - 1, successes: successes)
            case .success where successes + 1 == policy.probeCount:
                enter(.closed(consecutiveFailures: 0, window: policy.window))
            case .success: phase = .halfOpen(underWay: underWay - 1, successes: successes + 1)
            }
        }
    }

    private mutating func enter(_ phase: Phase) {
        self.phase = phase
        generation &+= 1
    }
}

extension CircuitBreaker.Policy {
    fileprivate var window: SlidingWindow? { failureRatio.map { SlidingWindow(step: $0.window / 10, count: 10) } }
}

extension CircuitBreaker.FailureRatio {
    fileprivate func isReached(in window: SlidingWindow?) -> Bool {
        guard let window, window.calls >= minimumCount else { return false }
        return Double(window.marked) >= fraction * Double(window.calls)
    }
}
