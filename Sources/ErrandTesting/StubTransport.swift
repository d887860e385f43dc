public import Errand
public import Foundation

/// A ``Transport`` without a network, which logs every request and responds from typed mocks, routes or one closure.
///
/// ```swift
/// let stub = StubTransport()
/// stub.on(GetUser.self) { request in User(id: request.id, name: "Ada") }
/// stub.on(.get, "/orders/:id", .json(#"{"id": 7}"#))
/// let agent = Agent(config: config, transport: stub)
///
/// let transport = StubTransport { request in .json(#"{"id": 7, "name": "Ada"}"#) }
/// ```
///
/// The response comes from the first of these: the mock or route that was added last, of those that match; the closure; or
/// the error ``UnhandledRequest``, which ``MockService/verify()`` reports too.
///
/// A cancelled send fails at once with `CancellationError`, even while the closure is running; the closure's own task
/// is cancelled then.
public final class StubTransport: RequestReadingTransport, MockService {
    /// A function that returns the response to a request, or throws an error that the agent receives.
    public typealias Handler = @Sendable (OutgoingRequest) async throws -> TransportResponse

    private struct Log {
        var requests: [OutgoingRequest] = []
        var count = 0
        var waiters = CountWaiters()

        var description: String {
            CountWait.seen(count, requests.suffix(5).map { "\($0.method) \($0.url.path())" })
        }
    }

    /// The routes, and what was sent; use the functions of ``MockService``.
    public let script: MockScript
    private let handler: Handler?
    private let maximumLogCount: Int
    private let log = Lock(Log())

    /// Creates a transport without responses.
    ///
    /// - Parameter maximumLogCount: The maximum number of ``requests``; beyond that the oldest are dropped.
    public convenience init(maximumLogCount: Int = 10_000) {
        self.init(maximumLogCount: maximumLogCount, reporting: { _ in }, nil)
    }

    /// Creates a transport with a closure.
    ///
    /// - Parameters:
    ///   - maximumLogCount: The maximum number of ``requests``; beyond that the oldest are dropped.
    ///   - handler: Returns the response to each request. It is called concurrently, never under a lock.
    public convenience init(maximumLogCount: Int = 10_000, _ handler: @escaping Handler) {
        self.init(maximumLogCount: maximumLogCount, reporting: { _ in }, handler)
    }

    /// Creates a transport that calls a closure for each request that nobody expects.
    package init(
        maximumLogCount: Int = 10_000,
        reporting report: @escaping @Sendable (String) -> Void,
        _ handler: Handler?
    ) {
        self.maximumLogCount = max(0, maximumLogCount)
        self.handler = handler
        script = MockScript(report: report)
    }

    /// Creates a transport with a table of routes.
    ///
    /// - Parameters:
    ///   - routes: The responses. A request that matches no route fails with ``UnhandledRequest``.
    ///   - maximumLogCount: The maximum number of ``requests``; beyond that the oldest are dropped.
    public convenience init(routes: [Route: TransportResponse], maximumLogCount: Int = 10_000) {
        self.init(maximumLogCount: maximumLogCount)
        // The most specific one last, so that the order of a dictionary does not matter.
        for (route, response) in routes.sorted(by: { $0.key.pattern.precedence < $1.key.pattern.precedence }) {
            let pattern = route.pattern
            let responder = Responder.transport { _ in response }
            script.add(
                MockRoute(pattern.description, .pattern(pattern), [responder]) { pattern.match($0, as: $1) }
            )
        }
    }

    /// The requests that were received, in their order, at most the last `maximumLogCount`.
    public var requests: [OutgoingRequest] { log.withLock { Array($0.requests.suffix(maximumLogCount)) } }

    /// The number of requests that were received, logged or not.
    public var requestCount: Int { log.withLock { $0.count } }

    /// Waits until ``requestCount`` is at least `count`; ends early if the task is cancelled.
    ///
    /// By default, it waits for at most 30 seconds of real time, or longer on a busy machine, and then writes the
    /// requests that it has seen to the standard error. `try #require(await transport.waitForRequests(2))` also fails
    /// the test.
    ///
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - limit: The maximum time to wait, on the system's clock.
    ///   - file: The file that the failure names.
    ///   - line: The line that the failure names.
    /// - Returns: Whether there were as many; `false` at the limit or if the task was cancelled.
    @discardableResult
    public func waitForRequests(
        _ count: Int = 1,
        within limit: Duration = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> Bool {
        let wait = CountWait(function: "waitForRequests", count: count, limit: limit, file: file, line: line)
        return await log.wait(for: wait, reached: { $0.count >= count }, \.waiters, seen: \.description)
    }

    /// Logs a request and returns its response; the limits of `options` do not apply.
    public func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try Task.checkCancellation()
        for waiter in record(request) { waiter.resume(returning: true) }
        let exchange = StubExchange()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchange.start(continuation) { try await self.respond(to: request, options.request) }
            }
        } onCancel: {
            exchange.cancel()
        }
    }

    private func respond(to request: OutgoingRequest, _ sent: SentRequest?) async throws -> TransportResponse {
        if let sent { _ = script.note(sent) }
        if script.isEmpty, let handler { return try await handler(request) }
        var received = try request.received()
        received.sent = sent
        guard let responder = script.responder(for: &received) ?? handler.map(Responder.transport) else {
            throw UnhandledRequest(request, description: script.noteUnexpected(received))
        }
        let response: MockResponse
        switch responder {
        case .transport(let handler):
            let response = try await handler(request)
            return try await script.nextFault().applied { response }
        case .response(let ready, _): response = ready
        case .handler(let handler): response = handler(received)
        case .asyncHandler(let handler):
            do { response = try await handler(received) } catch let thrown as MockResponse { response = thrown }
        }
        return try await script.withFault(response).transported(to: request.method)
    }

    private func record(_ request: OutgoingRequest) -> [CheckedContinuation<Bool, Never>] {
        log.withLock { log in
            log.count += 1
            log.requests.append(request)
            // Not each time, because dropping one moves all others.
            if log.requests.count >= 2 * max(1, maximumLogCount) {
                log.requests.removeFirst(log.requests.count - maximumLogCount)
            }
            return log.waiters.removeReached(log.count)
        }
    }
}

extension StubTransport {
    /// A method and a path, or an absolute URL, that a request must have.
    ///
    /// The path is compared percent-encoded, and with the query only if the route has one; its first slash may be omitted. A
    /// `*` at its end matches any rest. A text that contains a scheme is compared with the absolute URL.
    public struct Route: Sendable, Hashable, CustomStringConvertible {
        let pattern: RoutePattern

        /// Creates a route of a method and a path.
        public init(_ method: HTTPMethod, _ path: String) { pattern = RoutePattern(method, path) }

        /// Returns a route of GET.
        public static func get(_ path: String) -> Route { Route(.get, path) }
        /// Returns a route of HEAD.
        public static func head(_ path: String) -> Route { Route(.head, path) }
        /// Returns a route of POST.
        public static func post(_ path: String) -> Route { Route(.post, path) }
        /// Returns a route of PUT.
        public static func put(_ path: String) -> Route { Route(.put, path) }
        /// Returns a route of PATCH.
        public static func patch(_ path: String) -> Route { Route(.patch, path) }
        /// Returns a route of DELETE.
        public static func delete(_ path: String) -> Route { Route(.delete, path) }

        /// The method and the path.
        public var description: String { pattern.description }
    }

    /// The error for a request that matches no route of a ``StubTransport``.
    public struct UnhandledRequest: Error, Sendable, CustomStringConvertible, LocalizedError {
        /// The method of the request.
        public let method: HTTPMethod
        /// The path, percent-encoded.
        public let path: String
        /// The method, the path, and the existing routes.
        public let description: String

        init(_ request: OutgoingRequest, description: String) {
            (method, path, self.description) = (request.method, request.url.path(), description)
        }

        /// The same as ``description``.
        public var errorDescription: String? { description }
    }
}
