import Dispatch
import Errand
import Foundation

/// The state that the threads of a server share.
///
/// It is separate from ``MockServer`` so that the threads do not keep the server itself alive.
final class ServerCore: Sendable {
    typealias Handler = @Sendable (MockRequest) -> MockResponse

    let state: Lock<ServerState>
    let script: MockScript
    private let threads = DispatchGroup()

    init(fallback: Handler?, reporting report: @escaping @Sendable (String) -> Void) {
        state = Lock(ServerState(fallback: fallback))
        script = MockScript(report: report)
    }

    /// Runs a closure on a thread of its own, which ``stop(within:)`` waits for.
    func startThread(_ body: @escaping @Sendable () -> Void) {
        let threads = threads
        threads.enter()
        let thread = Thread {
            body()
            threads.leave()
        }
        thread.name = "MockServer"
        thread.start()
    }

    /// Accepts connections until the listener is woken.
    func acceptConnections(_ listener: Listener) {
        while let socket = listener.accept() {
            guard let id = state.withLock({ $0.addConnection(socket) }) else {
                close(socket.descriptor)
                continue
            }
            startThread { MockConnection(id: id, socket: socket, core: self).run() }
        }
        listener.closeDescriptors()
    }

    /// Records a request, and completes what is known about it.
    ///
    /// - Returns: The responder to it: the queue, then the routes, then the handler of the server.
    func receive(_ request: inout MockRequest) -> Responder {
        request.sent = script.noted(for: request)
        let (queued, fallback, reached) = state.withLock { [request] state in
            state.record(request)
            return (state.dequeue(), state.fallback, state.requestWaiters.removeReached(state.requestCount))
        }
        for waiter in reached { waiter.resume(returning: true) }
        if let queued { return .response(queued, wire: nil) }
        if let responder = script.responder(for: &request) { return responder }
        if let fallback { return .handler(fallback) }
        let reason = script.noteUnexpected(request)
        let body = JSONValue.object([
            "error": .string("no response is set for this"), "method": .string(request.method.rawValue),
            "path": .string(request.path), "reason": .string(reason),
        ])
        return .response(.data(body.data, contentType: "application/json", status: 404), wire: nil)
    }

    /// Closes a connection; its number is removed before the client sees the end, and before the descriptor can be reused,
    /// so that no other is shut down.
    func closeConnection(_ id: Int, _ socket: Socket, resets: Bool) {
        state.withLock { $0.connections[id] = nil }
        // A child process may have been started between accept and FD_CLOEXEC and have a copy: closing alone would not
        // end the connection then.
        if !resets { socket.shutDown() }
        close(socket.descriptor)
    }

    /// Ends the accept loop and all connections and waits for their threads.
    ///
    /// - Parameter limit: The maximum time to wait; none on a thread of the server itself.
    func stop(within limit: DispatchTimeInterval) {
        let thread = ObjectIdentifier(Thread.current)
        let (wakeWriter, waiters, isOwnThread) = state.withLock { state in
            let isOwnThread = state.connections.values.contains { $0.thread == thread }
            return (state.stop(), state.requestWaiters.removeReached(.max), isOwnThread)
        }
        script.finish()
        for waiter in waiters { waiter.resume(returning: false) }
        if let wakeWriter { Listener.wake(wakeWriter) }
        if !isOwnThread { _ = threads.wait(timeout: .now() + limit) }
    }
}
