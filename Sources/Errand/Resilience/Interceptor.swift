/// Wraps one attempt: sees and may replace what goes out and what comes back.
///
/// The config's interceptors run in their order, the first outermost, then the service's; inside them redirects are
/// followed and bytes sent. For handshakes, circuit breakers and mocks.
public protocol Interceptor: Sendable {
    /// - Parameters:
    ///   - request: What is about to be sent, adapters done.
    ///   - context: Which send it belongs to, and which attempt this is.
    ///   - next: Sends a request on; may be called again, as for a handshake, or never.
    /// - Returns: The answer to go on with, of any status.
    /// - Throws: What reaches the retry policy, and the caller unchanged.
    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: @Sendable (OutgoingRequest) async throws -> RawResponse
    ) async throws -> RawResponse
}

/// Wraps a whole send, from admission to the cache: before and after success and failure, once, whatever was retried.
public protocol SendInterceptor: Sendable {
    /// - Parameters:
    ///   - context: Which send it is.
    ///   - next: Runs the send; must be awaited, and may be called again.
    /// - Throws: What reaches the caller unchanged, in place of what `next` threw.
    func intercept(_ context: RequestContext, next: @Sendable () async throws -> Void) async throws
}

extension PreparedRequest {
    /// Runs a send inside its send interceptors, and at once where it has none.
    func intercepted(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        guard !sendInterceptors.isEmpty else { return try await work() }
        let answer = Lock(Answer?.none)
        try await intercept(sendInterceptors[...]) {
            let new = try await work()
            answer.withLock { $0 = new }
        }
        guard let answer = answer.withLock({ $0 }) else {
            throw NetworkError(.interceptedWithoutAnswer).placed(at: outgoing.url, method: outgoing.method)
        }
        return answer
    }

    private func intercept(
        _ interceptors: ArraySlice<any SendInterceptor>,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let first = interceptors.first else { return try await work() }
        try await first.intercept(context) { try await intercept(interceptors.dropFirst(), work) }
    }
}
