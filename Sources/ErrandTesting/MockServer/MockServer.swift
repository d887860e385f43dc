public import Errand
public import Foundation

/// A real HTTP/1.1 server on a loopback port, for tests.
///
/// It answers from a script, from routes or from one handler, keeps what it received, and can break an answer in every
/// way of ``MockFault``. It starts with its initializer and ends with ``stop()`` or when nobody holds it any more.
///
/// ```swift
/// let server = try MockServer()
/// server.on(.get, "/users/1", .json(#"{"name": "Ada"}"#))
/// server.on(.post, "/users") { request in .json(request.text, status: 201) }
/// server.enqueue(.status(503), .status(503))
/// ```
///
/// A request is answered by the first of these: the script of `enqueue`, the route that fits and was set last
/// (a HEAD request takes a GET route where no HEAD route fits), the handler of the initializer, a 404 in JSON.
/// Handlers run on the thread of their connection, several at a time, and may block.
public final class MockServer: Sendable {
    /// The port on 127.0.0.1.
    public let port: UInt16
    /// `http://127.0.0.1:` and the port, without a slash at the end.
    public let baseURL: URL

    private let core: ServerCore

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - port: The port to listen on; 0 takes a free one.
    ///   - handler: Answers what neither script nor route answers; `nil` answers it with 404.
    /// - Throws: ``MockServerError`` when the port cannot be had.
    public init(port: UInt16 = 0, _ handler: (@Sendable (MockRequest) -> MockAnswer)? = nil) throws {
        let listener = try Listener(port: port)
        var address = URLComponents()
        (address.scheme, address.host, address.port) = ("http", "127.0.0.1", Int(listener.port))
        guard let url = address.url else { preconditionFailure("an address of digits and dots is a URL") }
        self.port = listener.port
        baseURL = url
        core = ServerCore(fallback: handler)
        core.state.withLock { $0.wakeWriter = listener.wakeWriter }
        core.startThread { [core] in core.acceptConnections(listener) }
    }

    deinit { stop() }

    /// Lets a closure answer a method and a path.
    ///
    /// - Parameters:
    ///   - method: The method; it is compared with its case.
    ///   - path: The path as on the wire, without the query; with a `*` at its end all paths that begin so.
    ///   - handler: Makes the answer; runs on the thread of the connection, never under a lock of the server.
    public func on(
        _ method: HTTPMethod,
        _ path: String,
        _ handler: @escaping @Sendable (MockRequest) -> MockAnswer
    ) {
        core.state.withLock { $0.addRoute(method, path, .handler(handler)) }
    }

    /// Sets the answer to a method and a path.
    ///
    /// - Parameters:
    ///   - method: The method; it is compared with its case.
    ///   - path: The path as on the wire, without the query; with a `*` at its end all paths that begin so.
    ///   - answer: The answer, the same each time.
    public func on(_ method: HTTPMethod, _ path: String, _ answer: MockAnswer) {
        let responder = Responder.answer(answer, wire: AnswerWriter.wire(answer))
        core.state.withLock { $0.addRoute(method, path, responder) }
    }

    /// Appends answers to the script, which the next requests get one by one, whatever they ask for.
    public func enqueue(_ answers: MockAnswer...) { enqueue(answers) }

    /// Appends answers to the script, which the next requests get one by one, whatever they ask for.
    public func enqueue(_ answers: [MockAnswer]) { core.state.withLock { $0.enqueue(answers) } }

    /// The requests received whole, in their order, at most the last ``maximumLogCount``.
    ///
    /// A request is here before its answer is made. What the server refused by itself (400, 413, 431) is not.
    public var requests: [MockRequest] { core.state.withLock { $0.requests } }

    /// How many requests were received whole since the start or the last ``reset()``, logged or not.
    public var requestCount: Int { core.state.withLock { $0.requestCount } }

    /// How many connections were accepted since the start.
    public var connectionCount: Int { core.state.withLock { $0.connectionCount } }

    /// How many connections are open.
    public var openConnectionCount: Int { core.state.withLock { $0.connections.count } }

    /// Whether requests are kept in ``requests``; they are, unless this is set to `false`.
    public var keepsLog: Bool {
        get { core.state.withLock { $0.keepsLog } }
        set { core.state.withLock { $0.keepsLog = newValue } }
    }

    /// How many requests ``requests`` holds at most, 10,000 at first; beyond that the oldest are dropped.
    public var maximumLogCount: Int {
        get { core.state.withLock { $0.maximumLogCount } }
        set { core.state.withLock { $0.maximumLogCount = max(0, newValue) } }
    }

    /// The largest request body in bytes, 64 MiB at first; a larger one is refused with 413.
    public var maximumBodyByteCount: Int {
        get { core.state.withLock { $0.maximumBodyByteCount } }
        set { core.state.withLock { $0.maximumBodyByteCount = max(0, newValue) } }
    }

    /// Waits until ``requestCount`` is at least `count`; ends early when the task is cancelled or the server stops.
    public func waitForRequests(_ count: Int = 1) async {
        await core.state.wait(until: count, reached: { $0.isStopped || $0.requestCount >= count }, \.requestWaiters)
    }

    /// Forgets log, script and routes and counts requests anew; the initializer's handler and connections stay.
    public func reset() { core.state.withLock { $0.reset() } }

    /// Closes all connections, whatever happens on them; the server goes on listening.
    public func closeConnections() { core.state.withLock { $0.shutDownConnections() } }

    /// Closes the port and all connections, and forgets script, routes and handlers; the log stays.
    ///
    /// Waits until the threads of the server have ended, at most 5 seconds: a handler that blocks is not broken off.
    /// Called from a handler it does not wait. Calling it again does nothing.
    public func stop() { core.stop(within: .seconds(5)) }
}
