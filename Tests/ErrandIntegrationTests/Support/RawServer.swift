#if os(Linux)
import Errand
import ErrandTesting
import Foundation

/// A server that sends given bytes in response to each request, and keeps what it was sent.
final class RawServer: Sendable {
    /// The bytes for one connection, and its end.
    struct Reply: Sendable {
        var bytes: Data
        /// Whether the connection is reset, and not closed, when the client's system has the bytes.
        var isReset = false
        /// Whether the connection is closed after the bytes; otherwise it is when the client closes it.
        var isClosed = true

        init(_ bytes: Data, isReset: Bool = false, isClosed: Bool = true) {
            (self.bytes, self.isReset, self.isClosed) = (bytes, isReset, isClosed)
        }

        init(_ text: String, isClosed: Bool = true) { self.init(Data(text.utf8), isClosed: isClosed) }

        static let ok = Reply("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", isClosed: false)
    }

    private let listener: SharedListener
    private let received = Lock<[String]>([])
    private let connections = Lock<Set<Int32>>([])
    private let reply: @Sendable () -> Reply

    /// The port, or 0 for a Unix socket.
    var port: UInt16 { listener.port }
    /// The requests, header sections and bodies as far as they came with them.
    var requests: [String] { received.withLock { $0 } }
    var url: URL { URL(string: "http://127.0.0.1:\(port)/x") ?? URL(filePath: "/") }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - path: The path of a Unix socket, or `nil` for a port of 127.0.0.1.
    ///   - reply: Returns what the next request is sent.
    /// - Throws: `POSIXError`.
    init(path: String? = nil, _ reply: @escaping @Sendable () -> Reply) throws {
        self.reply = reply
        listener = try SharedListener(path: path)
        Thread.detachNewThread { [self] in
            listener.acceptAll { connection in Thread.detachNewThread { self.serve(connection) } }
        }
    }

    func stop() { listener.stop() }

    /// The number of connections that neither side has closed.
    var connectionCount: Int { connections.withLock(\.count) }

    /// Sends unsolicited bytes on all connections.
    func push(_ text: String) {
        connections.withLock { connections in
            for connection in connections { send(connection, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }
        }
    }

    private func serve(_ connection: Int32) {
        connections.withLock { _ = $0.insert(connection) }
        defer {
            connections.withLock { _ = $0.remove(connection) }
            close(connection)
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            received.withLock { $0.append(String(decoding: buffer[..<count], as: UTF8.self)) }
            let reply = reply()
            reply.bytes.withUnsafeBytes { bytes in
                if let start = bytes.baseAddress { send(connection, start, bytes.count, Int32(MSG_NOSIGNAL)) }
            }
            if reply.isReset {
                var left: Int32 = 0
                while ioctl(connection, UInt(TIOCOUTQ), &left) == 0, left > 0 { usleep(1_000) }
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            }
            if reply.isClosed || reply.isReset { return }
        }
    }
}

/// A listening socket that one thread accepts on and another stops.
///
/// It is closed by the thread that accepts: if the other one closed it, another socket could have its number by the next call
/// of accept.
final class SharedListener: Sendable {
    /// The port, or 0 for a Unix socket.
    let port: UInt16
    private let descriptor: Int32
    private let isOpen = Lock(true)

    /// Listens at a Unix socket, or, without a path, at a port of 127.0.0.1.
    init(path: String? = nil) throws {
        descriptor = socket(path == nil ? AF_INET : AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if let path {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
            try Self.start(descriptor, at: &address)
            port = 0
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            try Self.start(descriptor, at: &address)
            port = UInt16(bigEndian: address.sin_port)
        }
    }

    /// Binds a socket to an address, which is then the one that it has got, and listens.
    private static func start<Address>(_ descriptor: Int32, at address: inout Address) throws {
        var size = socklen_t(MemoryLayout<Address>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptor, address, size) == 0, listen(descriptor, 200) == 0,
                    getsockname(descriptor, address, &size) == 0
                else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
            }
        }
    }

    /// Passes each connection to a closure until the socket is stopped.
    func acceptAll(_ serve: (Int32) -> Void) {
        while true {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            // Processes that other tests start would hold it open.
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            serve(connection)
        }
        isOpen.withLock { isOpen in
            isOpen = false
            close(descriptor)
        }
    }

    /// Refuses connections from now on.
    func stop() { isOpen.withLock { if $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } } }
}
#endif
