/// Stage 4: lets a send go on, or makes it wait, join another or fail.
///
/// Still to come: send gate, minimum interval, duplicates, slots and rate per host. Today everything goes on at once.
struct Admission: Sendable {
    let timeline: Timeline

    func admit(
        _ prepared: PreparedRequest,
        _ identity: () -> RequestIdentity,
        _ next: () async throws -> Answer
    ) async throws -> Answer {
        try await next()
    }
}
