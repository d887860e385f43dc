import Testing

@testable import Errand

/// The circuit against a naive reference that keeps all events and looks them up.
@Suite(.ownThread)
struct CircuitTests {
    @Test
    func circuitMatchesTheReferenceModel() {
        var generator = SeededGenerator()
        var counts = Counts()
        for _ in 0..<100_000 { runSequence(&generator, &counts) }
        print("circuits: \(counts)")
        #expect(counts.differences == 0)
        #expect(min(counts.opened, counts.shed, counts.probes, counts.closedAgain, counts.late) > 1_000)
    }

    private struct Counts {
        var events = 0, opened = 0, shed = 0, probes = 0, closedAgain = 0, late = 0, differences = 0
    }

    private func runSequence(_ generator: inout SeededGenerator, _ counts: inout Counts) {
        let reference = ReferenceCircuit(
            consecutive: pick([nil, 1, 2, 3], &generator),
            ratio: pick([nil, (1, 2, 2), (1, 4, 4), (2, 3, 3)], &generator),
            windowMilliseconds: pick([10, 100, 1_000], &generator),
            openMilliseconds: pick([0, 1, 50], &generator),
            probes: Int.random(in: 1...3, using: &generator)
        )
        var circuit = Circuit(policy: reference.policy)
        var calls: [(call: ReferenceCircuit.Call, ticket: Circuit.Ticket)] = []
        let failing = Double.random(in: 0...1, using: &generator)
        for _ in 0..<24 {
            counts.events += 1
            let now = Duration.milliseconds(reference.now)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let before = reference.name
                let call = reference.admit()
                switch (circuit.admit(at: now), call) {
                case (.admitted(let ticket), let call?): calls.append((call, ticket))
                case (.shed(let pause), nil):
                    counts.shed += 1
                    if pause != .milliseconds(reference.pause) { counts.differences += 1 }
                default: counts.differences += 1
                }
                if before != "closed", call != nil { counts.probes += 1 }
            case 2, 3:
                guard !calls.isEmpty else { continue }
                let ended = calls.remove(at: Int.random(in: 0..<calls.count, using: &generator))
                let verdict: CircuitBreaker.Verdict =
                    Int.random(in: 0..<8, using: &generator) == 0
                    ? .ignored : Double.random(in: 0..<1, using: &generator) < failing ? .failure : .success
                let before = reference.name
                if ended.call.epoch != reference.epoch { counts.late += 1 }
                reference.end(ended.call, verdict)
                circuit.end(ended.ticket, verdict, at: now)
                if before != "open", reference.name == "open" { counts.opened += 1 }
                if before == "halfOpen", reference.name == "closed" { counts.closedAgain += 1 }
            default:
                reference.now += pick([1, 5, 49, 50, 100, 1_000], &generator)
            }
            if circuit.state(at: .milliseconds(reference.now)) != reference.state { counts.differences += 1 }
        }
    }

    private func pick<Value>(_ values: [Value], _ generator: inout SeededGenerator) -> Value {
        values[Int.random(in: 0..<values.count, using: &generator)]
    }

    @Test
    func anOpenCircuitStaysOpenForItsTimeAndNoLonger() throws {
        var circuit = Circuit(policy: CircuitBreaker.Policy(consecutiveFailures: 1, openDuration: .seconds(30)))
        try circuit.end(circuit.ticket(at: .seconds(1)), .failure, at: .seconds(2))
        #expect(circuit.state(at: .seconds(10)) == .open(retryAfter: .seconds(22)))
        let early = circuit.admit(at: .milliseconds(31_999))
        #expect(early == .shed(retryAfter: .milliseconds(1)))
        let probe = circuit.admit(at: .seconds(32))
        #expect(probe != .shed(retryAfter: .zero))
        #expect(circuit.state(at: .seconds(32)) == .halfOpen)
        let second = circuit.admit(at: .seconds(33))
        #expect(second == .shed(retryAfter: .seconds(29)))
    }

    /// Its code may hang, or it may be a long download.
    @Test
    func probeThatDoesNotEndMakesRoomForAnotherAfterThatTime() throws {
        let policy = CircuitBreaker.Policy(consecutiveFailures: 1, openDuration: .seconds(30), probeCount: 2)
        var circuit = Circuit(policy: policy)
        try circuit.end(circuit.ticket(at: .zero), .failure, at: .zero)
        var tickets: [Circuit.Ticket] = []
        for time in [30, 31, 32, 60, 61, 62, 91] {
            if case .admitted(let ticket) = circuit.admit(at: .seconds(time)) { tickets.append(ticket) }
        }
        #expect(tickets.count == 4)
        circuit.end(tickets[3], .success, at: .seconds(92))
        circuit.end(tickets[0], .success, at: .seconds(93))
        #expect(circuit.state(at: .seconds(93)) == .closed)
    }

    @Test
    func anIgnoredProbeMakesRoomForAnother() throws {
        var circuit = Circuit(policy: CircuitBreaker.Policy(consecutiveFailures: 1, openDuration: .zero))
        for verdict in [CircuitBreaker.Verdict.failure, .ignored, .ignored, .success] {
            try circuit.end(circuit.ticket(at: .zero), verdict, at: .zero)
        }
        #expect(circuit.state(at: .zero) == .closed)
    }
}

extension Circuit {
    /// The ticket of a call that must be admitted.
    mutating func ticket(at now: Duration) throws -> Ticket {
        let admission = admit(at: now)
        guard case .admitted(let ticket) = admission else { throw Unexpected(admission) }
        return ticket
    }
}

/// Keeps every call and every end, counts from the start each time, and knows time in whole milliseconds.
final class ReferenceCircuit {
    struct Call {
        let epoch: Int
        let number: Int
    }

    private struct End {
        let time: Int
        let verdict: CircuitBreaker.Verdict
    }

    private let consecutive: Int?
    private let ratio: (failures: Int, calls: Int, minimum: Int)?
    private let window: Int
    private let openTime: Int
    private let probes: Int
    var now = 0
    /// "closed", "open" or "halfOpen", until the next call.
    private(set) var name = "closed"
    private(set) var epoch = 0
    private var openedAt = 0
    /// The ends of the calls of this epoch, by number; `nil` is under way.
    private var calls: [Int: End?] = [:]
    /// The ends of the calls of this epoch that count, in order.
    private var ends: [End] = []

    init(
        consecutive: Int?,
        ratio: (failures: Int, calls: Int, minimum: Int)?,
        windowMilliseconds: Int,
        openMilliseconds: Int,
        probes: Int
    ) {
        (self.consecutive, self.ratio) = (consecutive, ratio)
        (window, openTime, self.probes) = (windowMilliseconds, openMilliseconds, probes)
    }

    var policy: CircuitBreaker.Policy {
        CircuitBreaker.Policy(
            consecutiveFailures: consecutive,
            failureRatio: ratio.map {
                CircuitBreaker.FailureRatio(
                    Double($0.failures) / Double($0.calls),
                    of: $0.minimum,
                    in: .milliseconds(window)
                )
            },
            openDuration: .milliseconds(openTime),
            probeCount: probes
        )
    }

    /// The time that a call that is rejected now should wait.
    var pause: Int { name == "open" ? openedAt + openTime - now : lastProbe + max(openTime, 1_000) - now }
    private var lastProbe = 0

    var state: CircuitBreaker.State {
        if name == "closed" { return .closed }
        return name == "open" && now < openedAt + openTime
            ? .open(retryAfter: .milliseconds(openedAt + openTime - now)) : .halfOpen
    }

    func admit() -> Call? {
        if name == "open", now - openedAt >= openTime { become("halfOpen") }
        if name == "open" { return nil }
        if name == "halfOpen" {
            let taken = calls.values.filter { $0 == nil || $0?.verdict == .success }.count
            if taken >= probes, now < lastProbe + max(openTime, 1_000) { return nil }
            lastProbe = now
        }
        calls[calls.count] = .some(nil)
        return Call(epoch: epoch, number: calls.count - 1)
    }

    func end(_ call: Call, _ verdict: CircuitBreaker.Verdict) {
        guard call.epoch == epoch else { return }
        calls[call.number] = End(time: now, verdict: verdict)
        if verdict != .ignored { ends.append(End(time: now, verdict: verdict)) }
        switch (name, verdict) {
        case ("halfOpen", .failure): open()
        case ("halfOpen", .success): if ends.count == probes { become("closed") }
        case ("closed", .failure): if failedTooOften { open() }
        default: break
        }
    }

    private var failedTooOften: Bool {
        if let consecutive, ends.reversed().prefix(while: { $0.verdict == .failure }).count >= consecutive {
            return true
        }
        guard let ratio else { return false }
        let slice = window / 10
        let recent = ends.filter { now / slice - $0.time / slice < 10 }
        let failures = recent.filter { $0.verdict == .failure }.count
        return recent.count >= ratio.minimum && failures * ratio.calls >= ratio.failures * recent.count
    }

    private func open() {
        openedAt = now
        become("open")
    }

    private func become(_ name: String) {
        self.name = name
        epoch += 1
        calls = [:]
        ends = []
    }
}
