import Errand
import Foundation

/// How the end of a body is indicated.
enum Framing {
    case length(Int)
    case chunked
    /// By the end of the connection, or because there is no body.
    case none
}

/// Builds the status line and header section of a response, byte by byte.
struct WireHead {
    private(set) var bytes: [UInt8] = []
    private var lineEnd: [UInt8] = [.carriageReturn, .lineFeed]

    /// Continues after complete lines.
    init(bytes: [UInt8], lineEnd: [UInt8]) {
        self.bytes = bytes
        self.lineEnd = lineEnd
    }

    init(_ firstLine: String, reserving byteCount: Int = 512) {
        bytes.reserveCapacity(byteCount)
        line(firstLine)
    }

    /// Creates the status line and header section of a response, without the empty line.
    init(_ response: MockResponse, _ framing: Framing, closes: Bool) {
        bytes.reserveCapacity(512)
        bytes.append(contentsOf: "HTTP/1.1 ".utf8)
        bytes.append(contentsOf: String(response.status).utf8)
        bytes.append(.space)
        line(response.reason)
        fields(of: response, framing, closes: closes)
    }

    /// Adds the response's own header fields and those that follow from its framing.
    mutating func fields(of response: MockResponse, _ framing: Framing, closes: Bool) {
        for header in response.headers { field(header.name, header.value) }
        let isFramed = response.headers.contains("Content-Length") || response.headers.contains("Transfer-Encoding")
        switch framing {
        case .length(let count) where !isFramed: field("Content-Length", String(count))
        case .chunked where !isFramed: field("Transfer-Encoding", "chunked")
        default: break
        }
        if closes, !response.headers.contains("Connection") { field("Connection", "close") }
    }

    mutating func field(_ name: String, _ value: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(.colon)
        bytes.append(.space)
        line(value)
    }

    /// Adds a complete line, with its end.
    mutating func line(_ text: String) {
        bytes.append(contentsOf: text.utf8)
        endLine()
    }

    /// Adds bytes unchanged.
    mutating func raw(_ more: [UInt8]) { bytes.append(contentsOf: more) }

    /// Adds the end of a line; after a complete line it ends the header section.
    mutating func endLine() { bytes.append(contentsOf: lineEnd) }

    /// Returns the bytes including the empty line.
    func ended() -> [UInt8] {
        var head = self
        head.endLine()
        return head.bytes
    }
}
