#if os(Linux)
import Errand
import ErrandTesting
import Foundation

/// A server that sends an endless body as fast as it is read, and counts the bytes.
final class ByteServer: Sendable {
    let url: URL
    private let listener: SharedListener
    private let state = Lock(State())

    private struct State {
        var sent = 0
        var ended = 0
        var connections: Set<Int32> = []
    }

    /// The number of bytes of bodies that the system has taken to send.
    var sentByteCount: Int { state.withLock { $0.sent } }
    /// The number of connections that the client has closed.
    var endedCount: Int { state.withLock { $0.ended } }

    /// Creates and starts a server.
    ///
    /// - Parameter byteCount: The size of a body, or `nil` for an endless one; byte n of a body is n modulo 251.
    /// - Throws: `POSIXError`.
    init(byteCount: Int? = nil) throws {
        listener = try SharedListener()
        url = URL(string: "http://127.0.0.1:\(listener.port)/bytes") ?? URL(filePath: "/")
        Thread.detachNewThread { [self] in
            listener.acceptAll { connection in
                state.withLock { _ = $0.connections.insert(connection) }
                Thread.detachNewThread { self.serve(connection, byteCount) }
            }
        }
    }

    func stop() {
        listener.stop()
        state.withLock { state in for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    private func serve(_ connection: Int32, _ byteCount: Int?) {
        var request = [UInt8](repeating: 0, count: 65_536)
        guard recv(connection, &request, request.count, 0) > 0 else { return }
        let length = byteCount.map { "Content-Length: \($0)\r\n" } ?? ""
        let head = Array("HTTP/1.1 200 OK\r\n\(length)Connection: close\r\n\r\n".utf8)
        send(connection, head, head.count, Int32(MSG_NOSIGNAL))
        let pattern = (0..<251 * 261).map { UInt8($0 % 251) }
        var sent = 0
        while sent < byteCount ?? .max {
            let start = sent % 251
            let count = min(pattern.count - start, (byteCount ?? .max) - sent)
            let done = pattern.withUnsafeBytes { bytes in
                bytes.baseAddress.map { send(connection, $0 + start, count, Int32(MSG_NOSIGNAL)) } ?? -1
            }
            guard done > 0 else { break }
            sent += done
            state.withLock { $0.sent += done }
        }
        shutdown(connection, Int32(SHUT_WR))
        _ = recv(connection, &request, request.count, 0)
        state.withLock { state in
            state.ended += 1
            // From here on, another socket may have its number.
            state.connections.remove(connection)
            close(connection)
        }
    }
}
#endif
