#if canImport(Darwin)
import Foundation

extension Socket {
    /// None: `SO_NOSIGPIPE` is set on the socket instead.
    static let sendFlags: Int32 = 0

    /// None: Darwin has no event that only means that the other end has closed.
    static let endEvents: Int16 = 0

    /// The maximum single wait in milliseconds, after which the end is checked for.
    static let longestPause: Int32 = 10

    /// Returns whether the end was detected; pending request bytes hide it.
    func hasEnded(_ events: Int16) -> Bool {
        if events & (Int16(POLLHUP) | Int16(POLLERR) | Int16(POLLNVAL)) != 0 { return true }
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT)
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
    }

    /// The number of written bytes that the other end has not acknowledged yet.
    var unsentByteCount: Int32 {
        var count: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? count : 0
    }

    /// Creates a stream socket, or returns -1 and sets `errno`.
    static func makeStream() -> Int32 { socket(AF_INET, SOCK_STREAM, 0) }

    /// Sets the options of every connection.
    func configure() {
        closeInChildProcesses()
        setOption(IPPROTO_TCP, TCP_NODELAY, 1)
        setOption(SOL_SOCKET, SO_NOSIGPIPE, 1)
    }
}

extension sockaddr_in {
    /// Creates the loopback address with a port.
    init(loopbackPort: UInt16) {
        self.init()
        sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
        sin_family = sa_family_t(AF_INET)
        sin_port = loopbackPort.bigEndian
        sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }
}
#endif
