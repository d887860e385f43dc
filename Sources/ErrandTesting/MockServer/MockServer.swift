public import Errand
public import Foundation

/// A real HTTP/1.1 server on a loopback port, for tests.
///
/// It responds from a queue, from routes or from one handler, logs the requests, and can send every fault of
/// ``MockFault``. It starts with its initializer and stops with ``stop()`` or when it is deallocated.
///
/// ```swift
/// let server = try MockServer()
/// server.on(.get, "/users/1", .json(#"{"name": "Ada"}"#))
/// server.on(.post, "/users") { request in .json(request.text, status: 201) }
/// server.enqueue(.status(503), .status(503))
/// ```
///
/// The response to a request comes from the first of these: the queue of `enqueue`, the matching route that was added
/// last (a HEAD request uses a GET route if no HEAD route matches), the handler of the initializer, a 404 in JSON, which
/// ``MockService/verify()`` reports. Handlers run on the thread of their connection, several at a time, and may block.
public final class MockServer: MockService {
    /// The port on 127.0.0.1.
    public let port: UInt16
    /// `http://127.0.0.1:` and the port, without a slash at the end.
    public let baseURL: URL

    private let core: ServerCore

    /// The routes, and what was sent; use the functions of ``MockService``.
    public var script: MockScript { core.script }

    /// Creates and starts a server.
    ///
    /// - Parameters:
    ///   - port: The port to listen on, or 0 for a free one.
    ///   - handler: Returns the response if neither the script nor a route has one, or `nil` to respond with 404.
    /// - Throws: ``MockServerError`` if it cannot listen on the port.
    public convenience init(port: UInt16 = 0, _ handler: (@Sendable (MockRequest) -> MockResponse)? = nil) throws {
        try self.init(port: port, reporting: { _ in }, handler)
    }

    /// Creates and starts a server that calls a closure for each request that nobody expects.
    package init(
        port: UInt16,
        reporting report: @escaping @Sendable (String) -> Void,
        _ handler: (@Sendable (MockRequest) -> MockResponse)?
    ) throws {
        let listener = try Listener(port: port)
        var address = URLComponents()
        (address.scheme, address.host, address.port) = ("http", "127.0.0.1", Int(listener.port))
        guard let url = address.url else { preconditionFailure("an address of digits and dots is a URL") }
        self.port = listener.port
        baseURL = url
        core = ServerCore(fallback: handler, reporting: report)
        core.state.withLock { $0.wakeWriter = listener.wakeWriter }
        core.startThread { [core] in core.acceptConnections(listener) }
    }

    deinit { stop() }

    /// Returns a transport that notes the requests as values for this server, for typed mocks and ``MockService/sent(_:)``.
    ///
    /// It adds a header field, `Errand-Mock-Request`, to what is sent.
    ///
    /// - Parameter transport: The transport that sends the requests. By default, one session of URLSession.
    /// - Returns: The transport for an agent.
    public func transport(over transport: any Transport = URLSessionTransport()) -> any Transport {
        NotingTransport(script: script, transport: transport)
    }

    /// Appends responses to the queue, which are sent to the next requests one by one, whatever they are.
    public func enqueue(_ responses: MockResponse...) { enqueue(responses) }

    /// Appends responses to the queue, which are sent to the next requests one by one, whatever they are.
    public func enqueue(_ responses: [MockResponse]) { core.state.withLock { $0.enqueue(responses) } }

    /// The requests that were received completely, in their order, at most the last ``maximumLogCount``.
    ///
    /// A request is logged before its response is created. Requests that the server itself rejects (400, 413, 431) are
    /// not.
    public var requests: [MockRequest] { core.state.withLock { $0.requests } }

    /// The number of requests that were received completely since the start or the last ``reset()``, logged or not.
    public var requestCount: Int { core.state.withLock { $0.requestCount } }

    /// The number of connections that were accepted since the start.
    public var connectionCount: Int { core.state.withLock { $0.connectionCount } }

    /// The number of open connections.
    public var openConnectionCount: Int { core.state.withLock { $0.connections.count } }

    /// Whether requests are kept in ``requests``.
    ///
    /// The default is `true`.
    public var keepsLog: Bool {
        get { core.state.withLock { $0.keepsLog } }
        set { core.state.withLock { $0.keepsLog = newValue } }
    }

    /// The maximum number of ``requests``; beyond that the oldest are dropped.
    ///
    /// The default is 10,000.
    public var maximumLogCount: Int {
        get { core.state.withLock { $0.maximumLogCount } }
        set { core.state.withLock { $0.maximumLogCount = max(0, newValue) } }
    }

    /// The maximum size of a request body in bytes; a larger one is rejected with 413.
    ///
    /// The default is 64 MiB.
    public var maximumBodyByteCount: Int {
        get { core.state.withLock { $0.maximumBodyByteCount } }
        set { core.state.withLock { $0.maximumBodyByteCount = max(0, newValue) } }
    }

    /// Waits until ``requestCount`` is at least `count`; ends early if the task is cancelled or the server stops.
    ///
    /// By default, it waits for at most 30 seconds of real time, or longer on a busy machine, and then writes the
    /// requests that it has seen to the standard error. `try #require(await server.waitForRequests(2))` also fails the
    /// test.
    ///
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - limit: The maximum time to wait, on the system's clock.
    ///   - file: The file that the failure names.
    ///   - line: The line that the failure names.
    /// - Returns: Whether there were as many; `false` at the limit or if the task was cancelled, or the server stopped.
    @discardableResult
    public func waitForRequests(
        _ count: Int = 1,
        within limit: Duration = .seconds(30),
        file: StaticString = #fileID,
        line: UInt = #line
    ) async -> Bool {
        let wait = CountWait(function: "waitForRequests", count: count, limit: limit, file: file, line: line)
        let isOver = await core.state.wait(
            for: wait,
            reached: { $0.isStopped || $0.requestCount >= count },
            \.requestWaiters,
            seen: { CountWait.seen($0.requestCount, $0.requests.suffix(5).map { "\($0.method) \($0.target)" }) }
        )
        return isOver && !core.state.withLock { $0.isStopped && $0.requestCount < count }
    }

    /// Removes the log, the queue, the routes and their faults, and resets ``requestCount``.
    ///
    /// The initializer's handler and the connections are kept.
    public func reset() {
        core.state.withLock { $0.reset() }
        script.reset()
    }

    /// Closes all connections immediately; the server continues to listen.
    public func closeConnections() { core.state.withLock { $0.shutDownConnections() } }

    /// Closes the port and all connections, and removes the queue, the routes and the handlers; the log is kept.
    ///
    /// Waits until the threads of the server have ended, at most 5 seconds: a handler that blocks is not interrupted.
    /// If it is called from a handler, it does not wait. Calling it again has no effect.
    public func stop() { core.stop(within: .seconds(5)) }
}

/// A transport that notes each request by its value, and sends what the note is found by.
private struct NotingTransport: RequestReadingTransport {
    let script: MockScript
    let transport: any Transport

    var identity: String { transport.identity }

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        guard let note = options.request.flatMap(script.note) else {
            return try await transport.send(request, options: options)
        }
        var request = request
        request.headers.add(MockScript.field, note)
        return try await transport.send(request, options: options)
    }
}
