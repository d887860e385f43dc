internal import Foundation

/// A type that wraps each attempt, and can replace its request and its response.
///
/// The config's interceptors run in their order, the first outermost, then the service's; inside them redirects are
/// followed and bytes sent. Write one for a handshake, a circuit breaker or a mock.
///
/// It keeps responses from being stored and shared unless it declares a scope, which is empty if it adds no credential
/// (``CredentialScoping/credentialScope(for:)``). A response that it makes, in place of the received one, is never stored or
/// shared.
public protocol Interceptor: CredentialScoping {
    /// Sends the request of an attempt, or returns a response without sending.
    ///
    /// - Parameters:
    ///   - request: The request after adapters.
    ///   - context: The send and the attempt.
    ///   - next: The rest of the attempt. It may be called again, as for a handshake, or not at all.
    /// - Returns: The response to continue with, of any status.
    /// - Throws: An error for the retry policy. It reaches the caller unchanged.
    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        next: AttemptChain
    ) async throws -> RawResponse
}

/// An interceptor of the library that wraps each exchange, inside of all other interceptors: each redirect is an exchange of
/// its own.
///
/// Its context has the URL of the exchange, and allows credentials only for the origin of the attempt's first one.
protocol ExchangeInterceptor: Interceptor {
    /// Whether it is inside of all others, wherever it is in the list.
    var isInnermost: Bool { get }

    /// Returns the credential scope of a request that the interceptor has changed, or `nil` if its response does not belong
    /// to the scope that was identified.
    func credentialScope(of request: OutgoingRequest, isRedirected: Bool) -> String?

    /// Returns the identity of the user of a request to a URL, or `nil` if there is none.
    func identity(for url: URL) -> String?

    /// Returns whether an identity does not belong to an earlier user.
    func isCurrent(_ identity: String) -> Bool

    /// Wraps an exchange of a request that was prepared for an identity.
    ///
    /// - Throws: ``NetworkError/Reason/credentialChanged`` if the identity is another one by now.
    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        as identity: String?,
        next: AttemptChain
    ) async throws -> RawResponse
}

extension ExchangeInterceptor {
    func identity(for url: URL) -> String? { nil }
    func isCurrent(_ identity: String) -> Bool { true }

    func intercept(
        _ request: OutgoingRequest,
        for context: RequestContext,
        as identity: String?,
        next: AttemptChain
    ) async throws -> RawResponse {
        try await intercept(request, for: context, next: next)
    }
}

/// The rest of an attempt: the interceptors inside this one, redirects, and the transport.
///
/// It is a value and not a closure, so that an ``Interceptor`` is written the same way in every module, whatever its default
/// isolation and upcoming features are. It is called like a function: `try await next(request)`. A test of an interceptor
/// creates one from a closure that returns a response.
public struct AttemptChain: Sendable {
    private let send: @Sendable (OutgoingRequest) async throws -> RawResponse

    /// Creates a chain that consists of a closure, such as for a test of an interceptor.
    ///
    /// - Parameter send: Returns the response to a request, or throws the error of the attempt.
    public init(_ send: @escaping @Sendable (OutgoingRequest) async throws -> RawResponse) {
        self.send = send
    }

    /// Sends a request through the rest of the attempt.
    ///
    /// May be called any number of times, also concurrently. Each call sends the request.
    ///
    /// - Parameter request: The request to send, as received or changed. It is validated like one that adapters changed.
    /// - Returns: The response, of any status.
    /// - Throws: The failure of the attempt: a ``NetworkError``, a `CancellationError`, or the error of an interceptor inside
    ///   this one.
    public func callAsFunction(_ request: OutgoingRequest) async throws -> RawResponse {
        try await send(request)
    }
}

/// A type that wraps each send once, from reading the cache to writing it, and including all retries.
public protocol SendInterceptor: Sendable {
    /// Runs a send.
    ///
    /// - Parameters:
    ///   - context: The send.
    ///   - next: The rest of the send. It must be awaited, and may be called again.
    /// - Throws: An error that reaches the caller unchanged, in place of what `next` threw.
    func intercept(_ context: RequestContext, next: SendChain) async throws
}

/// The rest of a send: the send interceptors inside this one, cache, admission, and attempts.
///
/// It is a value and not a closure, for the same reason as ``AttemptChain``. It is called like a function:
/// `try await next()`.
public struct SendChain: Sendable {
    private let run: @Sendable () async throws -> Void

    /// Creates a chain that consists of a closure, such as for a test of a send interceptor.
    ///
    /// - Parameter run: Runs the send, or throws its error.
    public init(_ run: @escaping @Sendable () async throws -> Void) {
        self.run = run
    }

    /// Runs the rest of the send.
    ///
    /// The response isn't returned: the agent keeps the response of the last successful call.
    ///
    /// - Throws: The failure of the send.
    public func callAsFunction() async throws {
        try await run()
    }
}

/// An interceptor of each exchange, and its place among the hooks of the request.
struct ExchangeHook: Sendable {
    let hook: Int
    let interceptor: any ExchangeInterceptor
    /// The identity of the user when the request was prepared, or `nil` if there was none.
    let identity: String?

    /// Whether another one is of the same interceptor.
    func isSame(as other: ExchangeHook) -> Bool { interceptor as AnyObject === other.interceptor as AnyObject }

    /// Whether the interceptor still has the identity.
    var isCurrent: Bool { identity.map(interceptor.isCurrent) ?? true }

    /// Returns the interceptors of a list that wrap each exchange, the outermost first.
    static func hooks(_ interceptors: [any Interceptor], after adapterCount: Int, for url: URL) -> [ExchangeHook] {
        if interceptors.isEmpty { return [] }
        let hooks = interceptors.enumerated().compactMap { place, interceptor in
            (interceptor as? any ExchangeInterceptor).map {
                ExchangeHook(hook: adapterCount + place, interceptor: $0, identity: $0.identity(for: url))
            }
        }
        // A jar of the service replaces the config's jar.
        return hooks.filter { !$0.interceptor.isInnermost } + hooks.filter(\.interceptor.isInnermost).suffix(1)
    }
}
