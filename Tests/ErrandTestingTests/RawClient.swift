import Foundation

@testable import ErrandTesting

/// A client that shows every byte of a response: one TCP connection to the loopback address.
///
/// A read that takes more than 30 seconds fails, so that no test hangs.
final class RawClient {
    /// The end of a stream.
    enum Ending: Equatable {
        case closed
        case reset
        case timedOut
    }

    struct Failure: Error { let text: String }

    let socket: Socket
    private var buffer: [UInt8] = []

    init(port: UInt16, receiveBufferByteCount: Int32? = nil) throws {
        let descriptor = Socket.makeStream()
        guard descriptor >= 0 else { throw Failure(text: "socket") }
        socket = Socket(descriptor: descriptor)
        socket.configure()
        if let receiveBufferByteCount { socket.setOption(SOL_SOCKET, SO_RCVBUF, receiveBufferByteCount) }
        var patience = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in(loopbackPort: port)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(text: "connect") }
    }

    deinit { close(socket.descriptor) }

    func send(_ text: String) throws { try socket.send(Array(text.utf8)) }

    /// Sends a request without a body; names and values of further fields alternate.
    func get(_ target: String, method: String = "GET", _ lines: String...) throws {
        try send("\(method) \(target) HTTP/1.1\r\nHost: mock\r\n\(lines.map { "\($0)\r\n" }.joined())\r\n")
    }

    /// Reads up to and with a text.
    func read(through mark: String) throws -> String {
        let mark = Array(mark.utf8)
        while true {
            if let range = buffer.firstRange(of: mark) { return take(range.upperBound) }
            guard try fill() == nil else { throw Failure(text: "no \(mark.count) byte mark in \(take(buffer.count))") }
        }
    }

    /// Reads so many bytes, as text.
    func read(_ count: Int) throws -> String { String(decoding: try readBytes(count), as: UTF8.self) }

    /// Reads so many bytes.
    func readBytes(_ count: Int) throws -> [UInt8] {
        while buffer.count < count {
            guard try fill() == nil else { throw Failure(text: "only \(buffer.count) bytes") }
        }
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
    }

    /// Reads a header section with its empty line.
    func readHead() throws -> String { try read(through: "\r\n\r\n") }

    /// Reads a header section and the body that its `Content-Length` announces.
    func readResponse() throws -> (head: String, body: String) {
        let head = try readHead()
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        return (head, try read(length.flatMap { Int($0.dropFirst(16)) } ?? 0))
    }

    /// Reads all that comes, up to a limit, and how it ended.
    func readAll(limit: Int = .max) throws -> (bytes: [UInt8], ending: Ending) {
        while buffer.count < limit {
            if let ending = try fill() {
                defer { buffer = [] }
                return (buffer, ending)
            }
        }
        defer { buffer = [] }
        return (buffer, .timedOut)
    }

    /// Like ``readAll(limit:)``, as text.
    func readText() throws -> (text: String, ending: Ending) {
        let (bytes, ending) = try readAll()
        return (String(decoding: bytes, as: UTF8.self), ending)
    }

    private func take(_ count: Int) -> String {
        defer { buffer.removeFirst(count) }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    private func fill() throws -> Ending? {
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket.descriptor, &part, part.count, 0)
            if count > 0 {
                buffer.append(contentsOf: part.prefix(count))
                return nil
            }
            if count == 0 { return .closed }
            switch errno {
            case EINTR: continue
            case ECONNRESET: return .reset
            case EAGAIN: return .timedOut
            default: throw Failure(text: String(cString: strerror(errno)))
            }
        }
    }
}
