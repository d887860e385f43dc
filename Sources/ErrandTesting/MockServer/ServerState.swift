import Errand
import Foundation

/// The state of a server: its queue of responses, its log and its open connections.
struct ServerState: Sendable {
    /// An open connection.
    struct Connection: Sendable {
        let socket: Socket
        /// The thread that serves it, or `nil` before it runs.
        var thread: ObjectIdentifier?
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
    private var queue: ArraySlice<MockResponse> = []
    private var log: [MockRequest] = []
    private(set) var fallback: ServerCore.Handler?

    init(fallback: ServerCore.Handler?) { self.fallback = fallback }

    /// The log, oldest first.
    var requests: [MockRequest] { Array(log.suffix(maximumLogCount)) }

    mutating func enqueue(_ responses: [MockResponse]) { queue.append(contentsOf: responses) }

    /// Returns the next response of the queue, or `nil` if it is empty.
    mutating func dequeue() -> MockResponse? { queue.popFirst() }

    /// Counts a request and, if enabled, logs it.
    mutating func record(_ request: MockRequest) {
        requestCount += 1
        guard keepsLog, maximumLogCount > 0 else { return }
        log.append(request)
        // Not each time, because dropping one moves all others.
        if log.count >= 2 * maximumLogCount { log.removeFirst(log.count - maximumLogCount) }
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

    /// Removes the log and the queue, and resets the number of requests.
    mutating func reset() {
        (queue, log) = ([], [])
        requestCount = 0
    }

    /// Refuses new connections and removes all responders, because a handler may keep the server alive.
    ///
    /// - Returns: The descriptor to close so that the accept loop ends; `nil` if it is called again.
    mutating func stop() -> Int32? {
        isStopped = true
        (queue, fallback) = ([], nil)
        shutDownConnections()
        defer { wakeWriter = nil }
        return wakeWriter
    }
}
