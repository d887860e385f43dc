public import Errand
public import Foundation

/// A ``Transport`` without a network: one closure, or a table of routes, answers every request, and a log keeps them.
///
/// ```swift
/// let transport = StubTransport { request in .json(#"{"id": 7, "name": "Ada"}"#) }
/// let routed = StubTransport(routes: [.get("/users/7"): .json(#"{"id": 7}"#), .post("/users"): .status(201)])
/// let agent = Agent(config: config, transport: transport)
/// ```
///
/// A send that is cancelled ends at once with `CancellationError`, also while the closure still runs; the closure's own
/// task is cancelled then.
public final class StubTransport: Transport {
    /// Makes the answer to a request; what it throws is what the agent sees.
    public typealias Handler = @Sendable (OutgoingRequest) async throws -> TransportResponse

    private struct Log {
        var requests: [OutgoingRequest] = []
        var count = 0
        var waiters = CountWaiters()
    }

    private let handler: Handler
    private let maximumLogCount: Int
    private let log = Lock(Log())

    /// - Parameters:
    ///   - maximumLogCount: How many requests ``requests`` holds at most; beyond that the oldest are dropped.
    ///   - handler: Makes the answer to each request; called concurrently, never under a lock.
    public init(maximumLogCount: Int = 10_000, _ handler: @escaping Handler) {
        self.maximumLogCount = max(0, maximumLogCount)
        self.handler = handler
    }

    /// - Parameters:
    ///   - routes: The answers; a request that fits none fails with ``UnansweredRequest``.
    ///   - maximumLogCount: How many requests ``requests`` holds at most; beyond that the oldest are dropped.
    public convenience init(routes: [Route: TransportResponse], maximumLogCount: Int = 10_000) {
        self.init(maximumLogCount: maximumLogCount) { request in
            let fitting = routes.keys.filter { $0.fits(request) }
            // The most exact one, so that the order of a dictionary does not matter.
            guard let route = fitting.max(by: { $0.exactness < $1.exactness }), let answer = routes[route] else {
                throw UnansweredRequest(request, routes: routes.keys.map(\.description).sorted())
            }
            return answer
        }
    }

    /// The requests that arrived, in their order, at most the last of the log's maximum.
    public var requests: [OutgoingRequest] { log.withLock { Array($0.requests.suffix(maximumLogCount)) } }

    /// How many requests arrived, logged or not.
    public var requestCount: Int { log.withLock { $0.count } }

    /// Waits until ``requestCount`` is at least `count`; ends early when the task is cancelled.
    public func waitForRequests(_ count: Int = 1) async {
        await log.wait(until: count, reached: { $0.count >= count }, \.waiters)
    }

    /// Logs a request and answers it; `options` are not looked at.
    public func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        try Task.checkCancellation()
        for waiter in record(request) { waiter.resume() }
        let exchange = StubExchange()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchange.start(continuation) { [handler] in try await handler(request) }
            }
        } onCancel: {
            exchange.cancel()
        }
    }

    private func record(_ request: OutgoingRequest) -> [CheckedContinuation<Void, Never>] {
        log.withLock { log in
            log.count += 1
            log.requests.append(request)
            // Now and then, so that dropping one does not move all others each time.
            if log.requests.count >= 2 * max(1, maximumLogCount) {
                log.requests.removeFirst(log.requests.count - maximumLogCount)
            }
            return log.waiters.removeReached(log.count)
        }
    }
}

/// One exchange: the race of the closure's answer against cancellation.
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
    /// A method and a path, or a whole URL, that a request must have.
    ///
    /// The path is compared as on the wire, percent-encoding kept, and with the query only where the route has one. A
    /// `*` at its end stands for any rest. A text that begins with a scheme is compared with the whole URL.
    public struct Route: Sendable, Hashable, CustomStringConvertible {
        let method: HTTPMethod
        let text: String

        /// A route of any method.
        public init(_ method: HTTPMethod, _ path: String) {
            self.method = method
            text = path
        }

        /// A route of GET.
        public static func get(_ path: String) -> Route { Route(.get, path) }
        /// A route of HEAD.
        public static func head(_ path: String) -> Route { Route(.head, path) }
        /// A route of POST.
        public static func post(_ path: String) -> Route { Route(.post, path) }
        /// A route of PUT.
        public static func put(_ path: String) -> Route { Route(.put, path) }
        /// A route of PATCH.
        public static func patch(_ path: String) -> Route { Route(.patch, path) }
        /// A route of DELETE.
        public static func delete(_ path: String) -> Route { Route(.delete, path) }

        /// Method and path.
        public var description: String { "\(method) \(text)" }

        /// A whole text before a beginning, a long one before a short one.
        var exactness: Int { text.utf8.count * 2 + (text.hasSuffix("*") ? 0 : 1) }

        func fits(_ request: OutgoingRequest) -> Bool {
            guard request.method == method else { return false }
            var target = request.url.absoluteString
            if !text.contains("://") {
                target = request.url.path()
                if text.contains("?"), let query = request.url.query() { target += "?\(query)" }
            }
            return text.hasSuffix("*") ? target.hasPrefix(text.dropLast()) : target == text
        }
    }

    /// A request for which the table of a ``StubTransport`` has no route.
    public struct UnansweredRequest: Error, Sendable, CustomStringConvertible, LocalizedError {
        /// The method of the request.
        public let method: HTTPMethod
        /// The path, percent-encoding kept.
        public let path: String
        /// The routes that there are, in words.
        public let routes: [String]

        init(_ request: OutgoingRequest, routes: [String]) {
            method = request.method
            path = request.url.path()
            self.routes = routes
        }

        /// Names method and path, and the routes that there are.
        public var description: String {
            "no route of the StubTransport answers \(method) \(path); it has "
                + (routes.isEmpty ? "none" : routes.joined(separator: ", "))
        }

        /// The same as ``description``.
        public var errorDescription: String? { description }
    }
}

extension TransportResponse {
    /// Answers with JSON text and `Content-Type: application/json`; the text is not checked.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "application/json", status: status, headers: headers)
    }

    /// Answers with plain UTF-8 text.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "text/plain; charset=utf-8", status: status, headers: headers)
    }

    /// Answers with an HTML page in UTF-8.
    public static func html(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> TransportResponse {
        data(Data(text.utf8), contentType: "text/html; charset=utf-8", status: status, headers: headers)
    }

    /// Answers with bytes.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - contentType: The value of `Content-Type`; `nil` sends none, and one among `headers` wins.
    ///   - status: The status code.
    ///   - headers: Further fields; one given here replaces the content type.
    /// - Returns: The answer, with a body that is there already.
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

    /// Answers with a status and no body.
    public static func status(_ code: Int, headers: HTTPHeaders = [:]) -> TransportResponse {
        TransportResponse(statusCode: code, headers: headers)
    }
}

extension OutgoingRequest {
    /// The whole body, also one that is made while it is sent; empty when there is none.
    ///
    /// - Throws: What reading a ``BodySource`` throws.
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

    /// The whole body as text; bytes that are no UTF-8 become replacement characters.
    ///
    /// - Throws: What reading a ``BodySource`` throws.
    public func bodyText() throws -> String { String(decoding: try bodyData(), as: UTF8.self) }
}
