import Errand
import Foundation

/// The state of a server: routes, script, log and open connections.
struct ServerState: Sendable {
    /// An open connection.
    struct Connection: Sendable {
        let socket: Socket
        /// The thread that serves it, or `nil` before it runs.
        var thread: ObjectIdentifier?
    }

    private struct Route: Sendable {
        let method: HTTPMethod
        let path: String
        let isPrefix: Bool
        let hasQuery: Bool
        let responder: Responder

        func fits(_ request: MockRequest) -> Bool {
            let place = hasQuery ? request.target : request.path
            return isPrefix ? place.hasPrefix(path) : place == path
        }
    }

    var keepsLog = true
    var maximumLogCount = 10_000
    var maximumBodyByteCount = 64 << 20
    var connections: [Int: Connection] = [:]
    var requestWaiters = CountWaiters()
    /// The descriptor to close so that the accept loop ends, or `nil` once that has been done.
    var wakeWriter: Int32?
    private(set) var connectionCount = 0
    private(set) var requestCount = 0
    private(set) var isStopped = false
    private var routes: [Route] = []
    private var script: ArraySlice<MockResponse> = []
    private var log: [MockRequest] = []
    private var fallback: ServerCore.Handler?

    init(fallback: ServerCore.Handler?) { self.fallback = fallback }

    /// The log, oldest first.
    var requests: [MockRequest] { Array(log.suffix(maximumLogCount)) }

    mutating func addRoute(_ method: HTTPMethod, _ path: String, _ responder: Responder) {
        guard !isStopped else { return }
        let isPrefix = path.hasSuffix("*")
        let place = path.beginningWithSlash
        routes.append(
            Route(
                method: method,
                path: isPrefix ? String(place.dropLast()) : place,
                isPrefix: isPrefix,
                hasQuery: place.contains("?"),
                responder: responder
            )
        )
    }

    mutating func enqueue(_ responses: [MockResponse]) { script.append(contentsOf: responses) }

    /// Counts a request and, if enabled, logs it.
    mutating func record(_ request: MockRequest) {
        requestCount += 1
        guard keepsLog, maximumLogCount > 0 else { return }
        log.append(request)
        // Not each time, because dropping one moves all others.
        if log.count >= 2 * maximumLogCount { log.removeFirst(log.count - maximumLogCount) }
    }

    /// Returns the responder: the script, then the routes from the last to the first, then the handler of the server.
    mutating func responder(for request: MockRequest) -> Responder {
        if let response = script.popFirst() { return .response(response, wire: nil) }
        if let route = route(request.method, request) { return route.responder }
        // The response to HEAD has the header section of the response to GET (RFC 9110, section 9.3.2).
        if request.method == .head, let route = route(.get, request) { return route.responder }
        if let fallback { return .handler(fallback) }
        return .response(ServerState.unknown(request), wire: nil)
    }

    /// Returns a number for a new connection, or `nil` if the server has been stopped.
    mutating func addConnection(_ socket: Socket) -> Int? {
        guard !isStopped else { return nil }
        connectionCount += 1
        connections[connectionCount] = Connection(socket: socket)
        return connectionCount
    }

    /// Ends everything that blocks on a connection.
    func shutDownConnections() { for connection in connections.values { connection.socket.shutDown() } }

    /// Removes the log, the script and the routes, and resets the number of requests.
    mutating func reset() {
        (routes, script, log) = ([], [], [])
        requestCount = 0
    }

    /// Refuses new connections and removes all responders, because a handler may keep the server alive.
    ///
    /// - Returns: The descriptor to close so that the accept loop ends; `nil` if it is called again.
    mutating func stop() -> Int32? {
        isStopped = true
        (routes, script, fallback) = ([], [], nil)
        shutDownConnections()
        defer { wakeWriter = nil }
        return wakeWriter
    }

    private func route(_ method: HTTPMethod, _ request: MockRequest) -> Route? {
        routes.last { $0.method == method && $0.fits(request) }
    }

    private static func unknown(_ request: MockRequest) -> MockResponse {
        let (method, path) = (quoted(request.method.rawValue), quoted(request.path))
        return .json("{\"error\":\"no response is set for this\",\"method\":\(method),\"path\":\(path)}", status: 404)
    }

    /// Returns a JSON string literal.
    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.value < 0x20: "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}
