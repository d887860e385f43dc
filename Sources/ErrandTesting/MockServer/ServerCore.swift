import Dispatch
import Errand
import Foundation

/// The state that the threads of a server share.
///
/// It is separate from ``MockServer`` so that the threads do not keep the server itself alive.
final class ServerCore: Sendable {
    typealias Handler = @Sendable (MockRequest) -> MockResponse

    let state: Lock<ServerState>
    private let threads = DispatchGroup()

    init(fallback: Handler?) { state = Lock(ServerState(fallback: fallback)) }

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

    /// Records a request.
    ///
    /// - Returns: The responder to it.
    func receive(_ request: MockRequest) -> Responder {
        let (responder, reached) = state.withLock { state in
            state.record(request)
            return (state.responder(for: request), state.requestWaiters.removeReached(state.requestCount))
        }
        for waiter in reached { waiter.resume(returning: true) }
        return responder
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
        for waiter in waiters { waiter.resume(returning: false) }
        if let wakeWriter { Listener.wake(wakeWriter) }
        if !isOwnThread { _ = threads.wait(timeout: .now() + limit) }
    }
}

/// The source of the response to a request.
enum Responder: Sendable {
    /// A response, and its bytes if they could be prepared.
    case response(MockResponse, wire: [UInt8]?)
    case handler(ServerCore.Handler)
}
