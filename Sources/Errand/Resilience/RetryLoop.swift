/// The loop around an attempt.
///
/// Still to come: retries and login refresh. Today there is one attempt.
struct RetryLoop: Sendable {
    let timeline: Timeline

    func run(_ prepared: PreparedRequest, _ attempt: (Int) async throws -> Answer) async throws -> Answer {
        do {
            return try await attempt(1)
        } catch let error as NetworkError {
            throw error.placed(at: prepared.outgoing.url, method: prepared.outgoing.method).tried(1)
        }
    }
}

extension NetworkError {
    /// This error with the number of attempts that reached the wire.
    func tried(_ count: Int) -> NetworkError {
        guard kind != .invalidRequest else { return self }
        var copy = self
        copy.attempts = count
        return copy
    }
}
