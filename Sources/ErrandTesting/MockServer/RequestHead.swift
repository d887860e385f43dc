import Errand
import Foundation

/// A request line and header section as received, with what the server itself needs of it.
///
/// The header fields are converted to text only if a test accesses them; a benchmark never does.
struct RequestHead: Sendable {
    /// All bytes, including the empty line.
    let bytes: [UInt8]
    let method: HTTPMethod
    let target: String
    private let fieldsStart: Int
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    private(set) var expectsContinue = false
    /// Whether the client keeps the connection open.
    private(set) var keepsAlive: Bool

    /// The reason to reject a request with status 400.
    struct Malformed: Error { let reason: String }

    /// Parses the bytes.
    ///
    /// - Parameter bytes: All bytes, including the empty line at the end.
    /// - Throws: ``Malformed`` if the request is to be rejected with status 400.
    init(_ bytes: [UInt8]) throws(Malformed) {
        self.bytes = bytes
        let lineEnd = RequestHead.lineEnd(in: bytes, from: 0)
        let words = bytes[..<lineEnd].split(separator: .space, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty else {
            throw Malformed(reason: "the request line does not have three words")
        }
        guard words[2].elementsEqual("HTTP/1.1".utf8) || words[2].elementsEqual("HTTP/1.0".utf8) else {
            throw Malformed(reason: "the version is neither HTTP/1.1 nor HTTP/1.0")
        }
        method = HTTPMethod(rawValue: String(decoding: words[0], as: UTF8.self))
        target = String(decoding: words[1], as: UTF8.self)
        keepsAlive = words[2].last == UInt8(ascii: "1")
        fieldsStart = lineEnd + 2
        try readFraming()
    }

    /// The header fields as text; bytes that are not UTF-8 become replacement characters.
    var headers: HTTPHeaders {
        var fields: [HTTPHeaders.Field] = []
        forEachLine { line in
            guard let colon = line.firstIndex(of: .colon) else { return }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            let value = String(decoding: line[(colon + 1)...].trimmed, as: UTF8.self)
            fields.append(HTTPHeaders.Field(name: name, value: value))
        }
        return HTTPHeaders(fields)
    }

    private mutating func readFraming() throws(Malformed) {
        var malformed: Malformed?
        var framing = (length: [Int](), isChunked: false, isExpecting: false, keepsAlive: keepsAlive)
        forEachLine { line in
            guard let colon = line.firstIndex(of: .colon), colon > line.startIndex, line[colon - 1] != .space,
                !line.contains(0)
            else {
                malformed = Malformed(reason: "a header line has no name, a space after its name or a NUL")
                return
            }
            // The length shows without a comparison that most lines are none of the four.
            switch colon - line.startIndex {
            case 6 where line[..<colon].isName("expect"):
                framing.isExpecting = line[(colon + 1)...].trimmed.isName("100-continue")
            case 10 where line[..<colon].isName("connection"):
                if line[(colon + 1)...].trimmed.isName("close") { framing.keepsAlive = false }
            case 14 where line[..<colon].isName("content-length"):
                let text = String(decoding: line[(colon + 1)...].trimmed, as: UTF8.self)
                guard let length = Int(text), length >= 0 else {
                    malformed = Malformed(reason: "Content-Length is not a length")
                    return
                }
                framing.length.append(length)
            case 17 where line[..<colon].isName("transfer-encoding"):
                framing.isChunked = line[(colon + 1)...].trimmed.isName("chunked")
                if !framing.isChunked { malformed = Malformed(reason: "Transfer-Encoding is not chunked") }
            default: break
            }
        }
        if let malformed { throw malformed }
        if Set(framing.length).count > 1 || (framing.isChunked && !framing.length.isEmpty) {
            throw Malformed(reason: "the length of the body is given twice")
        }
        contentLength = framing.length.first
        (isChunked, expectsContinue, keepsAlive) = (framing.isChunked, framing.isExpecting, framing.keepsAlive)
    }

    private func forEachLine(_ body: (ArraySlice<UInt8>) -> Void) {
        var start = fieldsStart
        while start < bytes.count {
            let end = RequestHead.lineEnd(in: bytes, from: start)
            if end == start { return }
            body(bytes[start..<end])
            start = end + 2
        }
    }

    /// Returns the index of the CR that ends the line; there always is one.
    private static func lineEnd(in bytes: [UInt8], from start: Int) -> Int {
        bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress, let end = memchr(base + start, 0x0D, buffer.count - start) else {
                return buffer.count
            }
            return UnsafeRawPointer(end) - base
        }
    }
}

extension UInt8 {
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
}

extension ArraySlice<UInt8> {
    /// The slice without spaces and tabs at its ends.
    var trimmed: ArraySlice<UInt8> {
        var part = self
        while let byte = part.first, byte == .space || byte == 0x09 { part.removeFirst() }
        while let byte = part.last, byte == .space || byte == 0x09 { part.removeLast() }
        return part
    }

    /// Returns whether the slice is a name, which is given in lower case.
    func isName(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        for (place, byte) in enumerated() {
            let letter = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
            if letter != name.utf8Start[place] { return false }
        }
        return true
    }
}
