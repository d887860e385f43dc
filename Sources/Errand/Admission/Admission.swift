/// Stage 4: lets a send go on, or makes it join another or fail.
///
/// Gates first, then ``Flights``: the minimum interval and duplicates. Turns on the wire are taken by each attempt, see
/// ``Turns``.
struct Admission: Sendable {
    let timeline: Timeline
    let flights: Flights
    let turns: Turns

    init(timeline: Timeline) {
        self.timeline = timeline
        turns = Turns(timeline: timeline)
        flights = Flights(timeline: timeline)
    }

    /// Runs the stages 5 to 8, or waits for another send that runs them.
    ///
    /// Throws what a gate or these stages throw, a ``NetworkError`` of kind ``NetworkError/Kind/rejected``, or
    /// `CancellationError`.
    func admit(
        _ prepared: PreparedRequest,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> Answer
    ) async throws -> Answer {
        let began = timeline.now()
        for gate in prepared.sendGates { try await gate.admit(prepared.context) }
        try Task.checkCancellation()
        let passed = timeline.now()
        var answer = try await flights.run(prepared, isPassing: turns.isPassedBy, fetch)
        if !prepared.sendGates.isEmpty { answer.metrics.queue += passed - began }
        return answer
    }
}

extension PreparedRequest {
    /// Whether a send has anything to ask before it goes on.
    var needsAdmission: Bool {
        duplicatePolicy != .allow || choices.minimumInterval.value != nil || !sendGates.isEmpty
    }
}
