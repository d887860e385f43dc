#if !canImport(Darwin)
import Foundation

extension Socket {
    /// With this flag, a write to a closed connection returns an error and raises no signal.
    static let sendFlags = Int32(MSG_NOSIGNAL)

    /// `POLLRDHUP`, which means that the other end has closed; the C header hides it without `_GNU_SOURCE`.
    static let endEvents: Int16 = 0x2000

    /// The maximum single wait in milliseconds; -1 would be unlimited, but a number can be compared.
    static let longestPause = Int32.max

    /// Returns whether a poll for ``endEvents`` detected the end; pending request bytes do not matter.
    func hasEnded(_ events: Int16) -> Bool {
        events & (Socket.endEvents | Int16(POLLHUP) | Int16(POLLERR) | Int16(POLLNVAL)) != 0
    }

    /// The number of written bytes that the other end has not acknowledged yet.
    var unsentByteCount: Int32 {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? count : 0
    }

    /// Creates a stream socket, or returns -1 and sets `errno`.
    static func makeStream() -> Int32 {
        #if canImport(Glibc)
        socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        #else
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
        #endif
    }

    /// Sets the options of every connection.
    func configure() {
        closeInChildProcesses()
        setOption(Int32(IPPROTO_TCP), Int32(TCP_NODELAY), 1)
    }
}

extension sockaddr_in {
    /// Creates the loopback address with a port.
    init(loopbackPort: UInt16) {
        self.init()
        sin_family = sa_family_t(AF_INET)
        sin_port = loopbackPort.bigEndian
        sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    }
}
#endif
