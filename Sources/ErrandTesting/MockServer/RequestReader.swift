import Foundation

/// Reads one request after the other from a connection; bytes after a request are kept for the next.
struct RequestReader {
    /// The reason why no request was read.
    enum Failure: Error {
        /// The stream ended, possibly within a request.
        case ended
        /// The response has this status, and the connection is closed.
        case refused(status: Int, reason: String)
    }

    /// The maximum size of a request line and header section.
    static let maximumHeadByteCount = 65_536

    private let socket: Socket
    private var buffer = [UInt8](repeating: 0, count: 16_384)
    private var start = 0
    private var end = 0

    init(_ socket: Socket) { self.socket = socket }

    /// Waits for a complete header section.
    mutating func readHead() throws(Failure) -> RequestHead {
        var searched = 0
        while true {
            if let length = headLength(from: &searched) {
                defer { start += length }
                do throws(RequestHead.Malformed) {
                    return try RequestHead(Array(buffer[start..<start + length]))
                } catch {
                    throw .refused(status: 400, reason: error.reason)
                }
            }
            if end - start >= RequestReader.maximumHeadByteCount {
                throw .refused(
                    status: 431,
                    reason: "the head is longer than \(RequestReader.maximumHeadByteCount) bytes"
                )
            }
            try fill()
        }
    }

    /// Reads the body of a request.
    ///
    /// - Parameters:
    ///   - head: The header section that was read last.
    ///   - limit: The maximum number of bytes; a longer body is rejected with 413.
    ///   - willRead: Called before the server waits for the body; sends `100 Continue`.
    /// - Returns: The body without its transfer coding; empty if there is none.
    /// - Throws: ``Failure``, if the stream ends within the body or the body is to be rejected.
    mutating func readBody(
        of head: RequestHead,
        limit: Int,
        willRead: () throws(ConnectionEnded) -> Void
    ) throws(Failure) -> Data {
        if !head.isChunked && (head.contentLength ?? 0) == 0 { return Data() }
        let tooLarge = Failure.refused(status: 413, reason: "the body is longer than \(limit) bytes")
        if let length = head.contentLength, length > limit { throw tooLarge }
        if head.expectsContinue, start == end {
            do throws(ConnectionEnded) { try willRead() } catch { throw .ended }
        }
        var body = Data()
        if let length = head.contentLength {
            try take(length, into: &body)
            return body
        }
        while true {
            let size = try readChunkSize()
            guard size > 0 else { break }
            guard size <= limit - body.count else { throw tooLarge }
            try take(size, into: &body)
            guard try readLine().isEmpty else { throw .refused(status: 400, reason: "a chunk is longer than its size") }
        }
        while try !readLine().isEmpty {}
        return body
    }

    private mutating func readChunkSize() throws(Failure) -> Int {
        let line = try readLine()
        let digits = line.prefix { $0 != UInt8(ascii: ";") }.trimmed
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else {
            throw .refused(status: 400, reason: "a chunk size is not a hexadecimal number")
        }
        return size
    }

    /// Reads up to the next CR LF, which is omitted.
    private mutating func readLine() throws(Failure) -> ArraySlice<UInt8> {
        while true {
            if let feed = buffer[start..<end].firstIndex(of: .lineFeed) {
                defer { start = feed + 1 }
                guard feed > start, buffer[feed - 1] == .carriageReturn else {
                    throw .refused(status: 400, reason: "a line does not end with CR LF")
                }
                return buffer[start..<feed - 1]
            }
            guard end - start < 8_192 else { throw .refused(status: 400, reason: "a chunk line is too long") }
            try fill()
        }
    }

    private mutating func take(_ count: Int, into body: inout Data) throws(Failure) {
        var rest = count
        // Not all of it at once: the client may announce more than it sends.
        body.reserveCapacity(body.count + min(rest, 1 << 20))
        while rest > 0 {
            if start == end { try fill() }
            let part = min(rest, end - start)
            body.append(contentsOf: buffer[start..<start + part])
            start += part
            rest -= part
        }
    }

    /// Returns the position of the empty line; bytes that have been searched are not searched again.
    private func headLength(from searched: inout Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var place = start + searched
            while place < end, let found = memchr(base + place, Int32(UInt8.lineFeed), end - place) {
                let feed = UnsafeRawPointer(found) - base
                if feed - start >= 3, bytes[feed - 1] == .carriageReturn, bytes[feed - 2] == .lineFeed {
                    return feed + 1 - start
                }
                place = feed + 1
            }
            searched = end - start
            return nil
        }
    }

    private mutating func fill() throws(Failure) {
        if start == end { (start, end) = (0, 0) }
        if end == buffer.count {
            if start > 0 {
                buffer.replaceSubrange(0..<end - start, with: buffer[start..<end])
                (start, end) = (0, end - start)
            } else {
                buffer.append(contentsOf: repeatElement(0, count: buffer.count))
            }
        }
        let place = end
        let count = buffer.withUnsafeMutableBytes { bytes in
            socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: bytes[place...]))
        }
        guard let count else { throw .ended }
        end += count
    }
}
