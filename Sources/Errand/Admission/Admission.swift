internal import Synchronization

/// Stage 5: admits a send to the network, or makes it join another one or fail.
///
/// Gates come first, then ``InFlightFetches``: the minimum interval and duplicates. Permits are acquired by each attempt, in
/// ``ThrottlePermits``.
struct Admission: Sendable {
    let timeline: Timeline
    let fetches: InFlightFetches
    let permits: ThrottlePermits

    init(timeline: Timeline) {
        self.timeline = timeline
        permits = ThrottlePermits(timeline: timeline)
        fetches = InFlightFetches(timeline: timeline)
    }

    /// Runs the attempts, or waits for another send that runs them.
    ///
    /// Throws the error of a gate or of these stages, a ``NetworkError`` of kind ``NetworkError/Kind/rejected``, or
    /// `CancellationError`.
    func admit(
        _ prepared: PreparedRequest,
        _ fetch: @escaping @Sendable (PreparedRequest) async throws -> AcceptedResponse
    ) async throws -> AcceptedResponse {
        let began = timeline.now()
        // A send whose stored response turned out to be unusable is admitted twice.
        let isAdmitted = prepared.isAdmitted.load(ordering: .relaxed)
        let gates = isAdmitted ? [] : prepared.sendGates.filter { prepared.cacheUse == nil || !$0.guardsCache }
        for gate in gates {
            do {
                try await gate.admit(prepared.context)
            } catch {
                throw error is CancellationError ? error : GateRejection(error: error)
            }
        }
        prepared.isAdmitted.store(true, ordering: .relaxed)
        try Task.checkCancellation()
        let passed = timeline.now()
        var accepted = try await fetches.run(prepared, isPassing: permits.isPassedBy, fetch)
        if !gates.isEmpty { accepted.times.queue += passed - began }
        return accepted
    }
}

extension PreparedRequest {
    /// Whether a gate, a minimum interval or a duplicate policy applies to the send.
    var needsAdmission: Bool {
        duplicatePolicy != .allow || settings.minimumInterval.value != nil || !self.sendGates.isEmpty
    }
}
