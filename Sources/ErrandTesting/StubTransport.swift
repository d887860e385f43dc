public import Errand
public import Foundation

/// A ``Transport`` without a network, which logs every request and responds from one closure or a table of routes.
///
/// ```swift
/// let transport = StubTransport { request in .json(#"{"id": 7, "name": "Ada"}"#) }
/// let routed = StubTransport(routes: [.get("/users/7"): .json(#"{"id": 7}"#), .post("/users"): .status(201)])
/// let agent = Agent(config: config, transport: transport)
/// ```
///
/// A cancelled send fails at once with `CancellationError`, even while the closure is running; the closure's own task
/// is cancelled then.
public final class StubTransport: Transport {
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

    private let handler: Handler
    private let maximumLogCount: Int
    private let log = Lock(Log())

    /// Creates a transport with a closure.
    ///
    /// - Parameters:
    ///   - maximumLogCount: The maximum number of ``requests``; beyond that the oldest are dropped.
    ///   - handler: Returns the response to each request. It is called concurrently, never under a lock.
    public init(maximumLogCount: Int = 10_000, _ handler: @escaping Handler) {
        self.maximumLogCount = max(0, maximumLogCount)
        self.handler = handler
    }

    /// Creates a transport with a table of routes.
    ///
    /// - Parameters:
    ///   - routes: The responses. A request that matches no route fails with ``UnhandledRequest``.
    ///   - maximumLogCount: The maximum number of ``requests``; beyond that the oldest are dropped.
    public convenience init(routes: [Route: TransportResponse], maximumLogCount: Int = 10_000) {
        self.init(maximumLogCount: maximumLogCount) { request in
            let fitting = routes.keys.filter { $0.fits(request) }
            // The most specific one, so that the order of a dictionary does not matter.
            guard let route = fitting.max(by: { $0.precedence < $1.precedence }), let response = routes[route] else {
                throw UnhandledRequest(request, routes: routes.keys.map(\.description).sorted())
            }
            return response
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

    /// Logs a request and returns its response; `options` are ignored.
    public func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try Task.checkCancellation()
        for waiter in record(request) { waiter.resume(returning: true) }
        let exchange = StubExchange()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchange.start(continuation) { [handler] in try await handler(request) }
            }
        } onCancel: {
            exchange.cancel()
        }
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

/// One exchange, which ends with the closure's response or with cancellation.
private final class StubExchange: Sendable {
    private struct State {
        var waiter: CheckedContinuation<TransportResponse, any Error>?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Lock(State())

    func start(
        _ continuation: CheckedContinuation<TransportResponse, any Error>,
        _ work: @escaping @Sendable () async throws -> TransportResponse
    ) {
        state.withLock { $0.waiter = continuation }
        let task = Task { [self] in
            do { settle(.success(try await work())) } catch { settle(.failure(error)) }
        }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
        settle(.failure(CancellationError()))
    }

    private func settle(_ result: Result<TransportResponse, any Error>) {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }
}

extension StubTransport {
    /// A method and a path, or an absolute URL, that a request must have.
    ///
    /// The path is compared percent-encoded, and with the query only if the route has one; its first slash may be omitted. A
    /// `*` at its end matches any rest. A text that contains a scheme is compared with the absolute URL.
    public struct Route: Sendable, Hashable, CustomStringConvertible {
        let method: HTTPMethod
        let text: String

        /// Creates a route of a method and a path.
        public init(_ method: HTTPMethod, _ path: String) {
            self.method = method
            text = path.contains("://") ? path : path.beginningWithSlash
        }

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
        public var description: String { "\(method) \(text)" }

        private var isPrefix: Bool { text.hasSuffix("*") }

        /// Numbers that order routes: exact ones before prefixes, then long ones before short ones.
        var precedence: (Int, Int) { (isPrefix ? 0 : 1, text.utf8.count) }

        func fits(_ request: OutgoingRequest) -> Bool {
            guard request.method == method else { return false }
            var target = request.url.absoluteString
            if !text.contains("://") {
                target = request.url.path()
                if text.contains("?"), let query = request.url.query() { target += "?\(query)" }
            }
            return isPrefix ? target.hasPrefix(text.dropLast()) : target == text
        }
    }

    /// The error for a request that matches no route of a ``StubTransport``.
    public struct UnhandledRequest: Error, Sendable, CustomStringConvertible, LocalizedError {
        /// The method of the request.
        public let method: HTTPMethod
        /// The path, percent-encoded.
        public let path: String
        /// The descriptions of the existing routes.
        public let routes: [String]

        init(_ request: OutgoingRequest, routes: [String]) {
            method = request.method
            path = request.url.path()
            self.routes = routes
        }

        /// The method, the path, and the existing routes.
        public var description: String {
            "no route of the StubTransport is for \(method) \(path); it has "
                + (routes.isEmpty ? "none" : routes.joined(separator: ", "))
        }

        /// The same as ``description``.
        public var errorDescription: String? { description }
    }
}

extension String {
    /// The path of a route, with its first slash; `*`, which matches everything, has none.
    var beginningWithSlash: String { hasPrefix("/") || isEmpty || self == "*" ? self : "/\(self)" }
}

extension TransportResponse {
    /// Returns a response with JSON text and `Content-Type: application/json`; the text is not validated.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// Returns a response with plain UTF-8 text.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with an HTML page in UTF-8.
    public static func html(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "text/html; charset=utf-8", status: status, headers: headers)
    }

    /// Returns a response with bytes.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of `Content-Type`, or `nil` for none; `headers` can override it.
    ///   - status: The status code.
    ///   - headers: Further header fields, which override the content type.
    /// - Returns: The response; its body is available at once.
    public static func data(
        _ body: Data,
        contentType: String? = "application/octet-stream",
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> TransportResponse {
        var fields = HTTPHeaders()
        fields["Content-Type"] = contentType
        return TransportResponse(statusCode: status, headers: fields.merging(headers), body: ResponseBody(body))
    }

    /// Returns a response with a status and no body.
    public static func status(_ code: Int, headers: HTTPHeaders = [:]) -> TransportResponse {
        TransportResponse(statusCode: code, headers: headers)
    }
}

extension OutgoingRequest {
    /// Returns the complete body, even if it is created while it is sent; empty if there is none.
    ///
    /// - Throws: The error of a ``BodySource``.
    public func bodyData() throws -> Data {
        guard case .source(let source) = body else { return body.data ?? Data() }
        let reader = try source.makeReader()
        var data = Data()
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
            guard count > 0 else { return data }
            data.append(contentsOf: piece[..<count])
        }
    }

    /// Returns the complete body as text; bytes that are not UTF-8 become replacement characters.
    ///
    /// - Throws: The error of a ``BodySource``.
    public func bodyText() throws -> String { String(decoding: try bodyData(), as: UTF8.self) }
}
