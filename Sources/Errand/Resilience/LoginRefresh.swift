/// Around an attempt, inside the retries: refreshes a refused credential and replays the attempt once.
///
/// Still to come. Today an attempt's refusal goes on to the retry policy.
struct LoginRefresh: Sendable {
    func run(
        _ prepared: PreparedRequest,
        _ attempt: () async throws -> Answer
    ) async throws -> Answer {
        try await attempt()
    }
}
