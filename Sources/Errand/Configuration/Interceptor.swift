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
        next: AttemptChain
    ) async throws -> RawResponse
}

/// The rest of an attempt: the interceptors inside this one, redirects, and the transport.
///
/// A value and not a closure, so that an ``Interceptor`` is spelled alike in every module, whatever its default isolation
/// and upcoming features are. It is called like a function: `try await next(request)`. A test of an interceptor creates
/// one from a closure that returns the response that the interceptor is to see.
public struct AttemptChain: Sendable {
    private let send: @Sendable (OutgoingRequest) async throws -> RawResponse

    /// Creates a chain that consists of a closure, such as for a test of an interceptor.
    ///
    /// - Parameter send: Returns the response to a request, or throws what the attempt fails with.
    public init(_ send: @escaping @Sendable (OutgoingRequest) async throws -> RawResponse) {
        self.send = send
    }

    /// Sends a request through the rest of the attempt.
    ///
    /// May be called any number of times, also at the same time. Each call sends the request.
    ///
    /// - Parameter request: The request to send, as received or changed. It is validated like one that adapters changed.
    /// - Returns: The response, of any status.
    /// - Throws: The failure of the attempt: a ``NetworkError``, a `CancellationError`, or what an interceptor inside this
    ///   one throws.
    public func callAsFunction(_ request: OutgoingRequest) async throws -> RawResponse {
        try await send(request)
    }
}

/// Wraps a whole send, from reading the cache to writing it: before and after success and failure, once, whatever was retried.
public protocol SendInterceptor: Sendable {
    /// - Parameters:
    ///   - context: Which send it is.
    ///   - next: Runs the send; must be awaited, and may be called again.
    /// - Throws: What reaches the caller unchanged, in place of what `next` threw.
    func intercept(_ context: RequestContext, next: SendChain) async throws
}

/// The rest of a send: the send interceptors inside this one, cache, admission, and attempts.
///
/// A value and not a closure, for the same reason as ``AttemptChain``. It is called like a function: `try await next()`.
public struct SendChain: Sendable {
    private let run: @Sendable () async throws -> Void

    /// Creates a chain that consists of a closure, such as for a test of a send interceptor.
    ///
    /// - Parameter run: Runs the send, or throws what it fails with.
    public init(_ run: @escaping @Sendable () async throws -> Void) {
        self.run = run
    }

    /// Runs the rest of the send.
    ///
    /// The response isn't returned: the agent keeps that of the last call that succeeded.
    ///
    /// - Throws: What the send fails with.
    public func callAsFunction() async throws {
        try await run()
    }
}

extension PreparedRequest {
    /// Runs a send inside its send interceptors, and at once where it has none.
    func intercepted(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        guard !sendInterceptors.isEmpty else { return try await work() }
        let last = Lock(Result<Answer, any Error>?.none)
        try await intercept(sendInterceptors[...]) { [stop] in
            try stop.check()
            do {
                let answer = try await work()
                last.withLock { $0 = .success(answer) }
            } catch {
                // An interceptor that swallows an error has no response to go on with.
                last.withLock { last in if case .success? = last {} else { last = .failure(error) } }
                throw error
            }
        }
        guard let last = last.withLock({ $0 }) else {
            try stop.check()
            throw NetworkError(.interceptedWithoutAnswer).placed(at: outgoing.url, method: outgoing.method)
        }
        return try last.get()
    }

    private func intercept(
        _ interceptors: ArraySlice<any SendInterceptor>,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let first = interceptors.first else { return try await work() }
        try await first.intercept(
            context,
            next: SendChain { [self] in try await intercept(interceptors.dropFirst(), work) }
        )
    }
}
