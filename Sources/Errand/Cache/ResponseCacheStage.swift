/// Stages 5 and 9: answers from the cache and stores what arrives, as the request's ``CachePolicy`` says.
///
/// Still to come: the cache. Today every policy goes to the network and nothing is stored.
struct ResponseCacheStage: Sendable {
    func answer(
        to prepared: PreparedRequest,
        _ identity: () -> RequestIdentity,
        _ fetch: () async throws -> Answer
    ) async throws -> Answer {
        try await fetch()
    }
}
