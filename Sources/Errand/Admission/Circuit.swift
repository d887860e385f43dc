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
        case closed(consecutiveFailures: Int, window: FailureWindow?)
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
    ///   - generation: A number larger than that of any earlier circuit of the same host.
    init(policy: CircuitBreaker.Policy, generation: Int = 0) {
        self.policy = policy
        self.generation = generation
        phase = .closed(consecutiveFailures: 0, window: policy.failureRatio.map(FailureWindow.init))
    }

    /// Returns the phase as a caller sees it at a time.
    func state(at now: Duration) -> CircuitBreaker.State {
        switch phase {
        case .closed: .closed
        case .open(let end): now < end ? .open(retryAfter: end - now) : .halfOpen
        case .halfOpen: .halfOpen
        }
    }

    /// The time when a call was last admitted, rejected or counted.
    private(set) var lastUse = Duration.zero

    /// Whether it is equivalent to a new circuit.
    func isAtRest(at now: Duration) -> Bool {
        guard case .closed(0, let window) = phase else { return false }
        return window?.isEmpty(at: now) ?? true
    }

    /// Admits or rejects a call.
    mutating func admit(at now: Duration) -> Decision {
        lastUse = max(lastUse, now)
        if case .open(let end) = phase, now >= end { enter(.halfOpen(underWay: 0, successes: 0)) }
        switch phase {
        case .closed: break
        case .open(let end): return .shed(retryAfter: end - now)
        case .halfOpen(let underWay, let successes):
            // A probe may take long, or never end.
            let next = lastProbe + max(policy.openDuration.clamped, Self.shortestPatience)
            guard underWay < policy.probeCount - successes || now >= next else {
                return .shed(retryAfter: next - now)
            }
            lastProbe = now
            phase = .halfOpen(underWay: underWay + 1, successes: successes)
        }
        return .admitted(Ticket(generation: generation))
    }

    /// Records how an admitted call ended.
    mutating func end(_ ticket: Ticket, _ verdict: CircuitBreaker.Verdict, at now: Duration) {
        lastUse = max(lastUse, now)
        guard ticket.generation == generation else { return }
        switch phase {
        case .closed(let failures, var window):
            guard verdict != .ignored else { return }
            window?.count(isFailure: verdict == .failure, at: now)
            let consecutive = verdict == .failure ? min(failures, .max - 1) + 1 : 0
            phase = .closed(consecutiveFailures: consecutive, window: window)
            let isTooMany = policy.consecutiveFailures.map { consecutive >= $0 } ?? false
            if verdict == .failure, isTooMany || window?.isTooMany(at: now) ?? false {
                enter(.open(end: now + policy.openDuration.clamped))
            }
        case .open: break  // No ticket is issued while it is open.
        case .halfOpen(let underWay, let successes):
            switch verdict {
            case .failure: enter(.open(end: now + policy.openDuration.clamped))
            case .ignored: phase = .halfOpen(underWay: underWay - 1, successes: successes)
            case .success where successes + 1 == policy.probeCount:
                enter(.closed(consecutiveFailures: 0, window: policy.failureRatio.map(FailureWindow.init)))
            case .success: phase = .halfOpen(underWay: underWay - 1, successes: successes + 1)
            }
        }
    }

    private mutating func enter(_ phase: Phase) {
        self.phase = phase
        generation &+= 1
    }
}

/// Recent calls and failures in ten slices, so that its size does not grow with the traffic.
struct FailureWindow: Sendable {
    private struct Slice: Sendable {
        var number: Int64
        var calls = 0
        var failures = 0
    }

    static let sliceCount: Int64 = 10

    private let ratio: CircuitBreaker.FailureRatio
    private var slices: [Slice] = []

    init(_ ratio: CircuitBreaker.FailureRatio) { self.ratio = ratio }

    mutating func count(isFailure: Bool, at now: Duration) {
        let number = ratio.sliceNumber(at: now)
        if slices.last?.number != number {
            slices.removeAll { $0.number <= number - Self.sliceCount }
            slices.append(Slice(number: number))
        }
        slices[slices.count - 1].calls &+= 1
        if isFailure { slices[slices.count - 1].failures &+= 1 }
    }

    func isTooMany(at now: Duration) -> Bool {
        let recent = slices.filter { $0.number > ratio.sliceNumber(at: now) - Self.sliceCount }
        let calls = recent.reduce(0) { $0 + $1.calls }
        let failures = recent.reduce(0) { $0 + $1.failures }
        return calls >= ratio.minimumCount && Double(failures) >= ratio.fraction * Double(calls)
    }

    func isEmpty(at now: Duration) -> Bool {
        slices.allSatisfy { $0.number <= ratio.sliceNumber(at: now) - Self.sliceCount }
    }
}

extension CircuitBreaker.FailureRatio {
    /// Returns the tenth of a window that a time lies in.
    func sliceNumber(at now: Duration) -> Int64 {
        let number = now / (window / FailureWindow.sliceCount)
        return number > 0 ? Int64(min(number, 1e18)) : 0
    }
}
