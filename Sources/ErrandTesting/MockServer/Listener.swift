import Foundation

/// The listening socket on the loopback address, and the pipe that ends the accept loop.
struct Listener: Sendable {
    let socket: Socket
    let port: UInt16
    /// The descriptor that ``wake(_:)`` needs to end ``accept()``.
    let wakeWriter: Int32
    private let wakeReader: Int32

    /// Binds and listens.
    ///
    /// - Parameter port: The port, or 0 for a free one.
    /// - Throws: ``MockServerError`` with the name of the call that failed.
    init(port: UInt16) throws(MockServerError) {
        let descriptor = Socket.makeStream()
        guard descriptor >= 0 else { throw MockServerError("socket") }
        socket = Socket(descriptor: descriptor)
        do throws(MockServerError) {
            // Connections inherit the options, which cannot be set any more when the other end has reset one.
            socket.configure()
            socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
            self.port = try Listener.bind(descriptor, port)
            // Not blocking: a client that disconnects between poll and accept must not block the loop.
            guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { throw MockServerError("fcntl") }
            guard listen(descriptor, SOMAXCONN) == 0 else { throw MockServerError("listen") }
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw MockServerError("pipe") }
            (wakeReader, wakeWriter) = (ends[0], ends[1])
            for end in ends { Socket(descriptor: end).closeInChildProcesses() }
        } catch {
            _ = close(descriptor)
            throw error
        }
    }

    /// Waits for the next connection.
    ///
    /// - Returns: The connection, or `nil` if it has been woken.
    func accept() -> Socket? {
        while true {
            var watched = [pollfd(wakeReader, events: Int16(POLLIN)), pollfd(socket.descriptor, events: Int16(POLLIN))]
            if poll(&watched, 2, -1) < 0, errno != EINTR { return nil }
            if watched[0].revents != 0 { return nil }
            guard watched[1].revents != 0 else { continue }
            let descriptor = systemAccept(socket.descriptor)
            guard descriptor < 0 else {
                let connection = Socket(descriptor: descriptor)
                // On Darwin, accepted sockets inherit the listener's mode.
                _ = fcntl(descriptor, F_SETFL, 0)
                connection.configure()
                return connection
            }
            // Out of descriptors: the connection stays in the queue, so polling at once would spin.
            if errno == EMFILE || errno == ENFILE { _ = poll(&watched, 1, 10) }
        }
    }

    /// Ends ``accept()`` and closes the descriptor.
    static func wake(_ wakeWriter: Int32) {
        var byte: UInt8 = 0
        // A byte, not only closing: a child process may have a copy of this descriptor. The pipe has room for it.
        _ = write(wakeWriter, &byte, 1)
        _ = close(wakeWriter)
    }

    /// Closes all but the descriptor for waking; only the accept loop may call it, at its end.
    func closeDescriptors() {
        // A child process that is being started has a copy for a moment and would continue to listen.
        socket.shutDown()
        _ = close(socket.descriptor)
        _ = close(wakeReader)
    }

    private static func bind(_ descriptor: Int32, _ port: UInt16) throws(MockServerError) -> UInt16 {
        var address = sockaddr_in(loopbackPort: port)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { systemBind(descriptor, $0, size) == 0 }
        }
        guard isBound else { throw MockServerError("bind to 127.0.0.1:\(port)") }
        let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
        }
        guard isNamed else { throw MockServerError("getsockname") }
        return UInt16(bigEndian: address.sin_port)
    }
}

private func systemAccept(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }

private func systemBind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    bind(descriptor, address, size)
}
