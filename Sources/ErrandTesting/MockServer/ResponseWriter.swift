import Foundation

/// Sends one response.
struct ResponseWriter {
    /// What happens to the connection after a response.
    enum Ending {
        case keepOpen
        case close
        case reset
    }

    /// The maximum size of a body that is sent in one write with its header section.
    static let joinedByteCount = 65_536

    let socket: Socket
    let answer: MockResponse
    let isHead: Bool
    /// Whether the client keeps the connection open.
    let keepsAlive: Bool

    /// Returns the bytes of a plain response to any method but HEAD on a connection that stays open.
    static func wire(_ answer: MockResponse) -> [UInt8]? {
        guard answer.isPlain, answer.body.count <= joinedByteCount else { return nil }
        let framing = answer.mayHaveBody ? Framing.length(answer.body.count) : .none
        var bytes = WireHead(answer, framing, closes: false).ended()
        if answer.mayHaveBody { bytes.append(contentsOf: answer.body) }
        return bytes
    }

    /// Sends the response with all its delays and faults.
    func write() throws(ConnectionEnded) -> Ending {
        if answer.delay > .zero { try socket.pause(for: answer.delay) }
        if let fault = answer.fault { return try write(fault) }
        let closes = answer.closesConnection || !keepsAlive
        try sendWhole(head(closes: closes))
        return closes ? .close : .keepOpen
    }

    /// Returns the header section without a fault.
    func head(closes: Bool) -> WireHead { WireHead(answer, framing, closes: closes) }

    var framing: Framing {
        if !answer.mayHaveBody { return .none }
        return answer.isChunked ? .chunked : .length(answer.body.count)
    }

    /// Sends a header section, given without its empty line, and the whole body.
    func sendWhole(_ head: WireHead) throws(ConnectionEnded) {
        let hasBody = answer.mayHaveBody && !isHead
        try sendHead(head.ended(), then: hasBody ? answer.body : Data())
        if hasBody, answer.isChunked { try socket.send(Array("0\r\n\r\n".utf8)) }
    }

    /// Sends the bytes of a header section and a body or a part of it, in chunks and pieces as the response defines.
    func sendHead(_ head: [UInt8], then body: Data) throws(ConnectionEnded) {
        guard answer.drip == nil, !answer.isChunked, body.count <= ResponseWriter.joinedByteCount else {
            try socket.send(head)
            return try sendBody(body)
        }
        var bytes = head
        bytes.append(contentsOf: body)
        try socket.send(bytes)
    }

    /// Sends a body or a part of it, in chunks and pieces as the response defines, without the last chunk.
    func sendBody(_ body: Data) throws(ConnectionEnded) {
        guard let drip = answer.drip else { return try sendPiece(body) }
        var rest = body[...]
        while !rest.isEmpty {
            try sendPiece(rest.prefix(max(1, drip.byteCount)))
            rest = rest.dropFirst(max(1, drip.byteCount))
            if !rest.isEmpty { try socket.pause(for: drip.interval) }
        }
    }

    private func sendPiece(_ piece: Data) throws(ConnectionEnded) {
        guard answer.isChunked else {
            let outcome = piece.withUnsafeBytes { part in Result { () throws(ConnectionEnded) in try socket.send(part) }
            }
            return try outcome.get()
        }
        var rest = piece[...]
        while !rest.isEmpty {
            let size = min(rest.count, max(1, answer.chunkByteCount ?? rest.count))
            var chunk = Array("\(String(size, radix: 16))\r\n".utf8)
            chunk.append(contentsOf: rest.prefix(size))
            chunk.append(contentsOf: "\r\n".utf8)
            try socket.send(chunk)
            rest = rest.dropFirst(size)
        }
    }
}
