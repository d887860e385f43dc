import Foundation

/// Sends one response.
struct ResponseWriter {
    /// The state of the connection after a response.
    enum Ending {
        case keepOpen
        case close
        case reset
    }

    /// The maximum size of a body that is sent in one write with its header section.
    static let joinedByteCount = 65_536

    let socket: Socket
    let response: MockResponse
    let isHead: Bool
    /// Whether the client keeps the connection open.
    let keepsAlive: Bool

    /// Returns the bytes of a plain response to any method but HEAD on a connection that stays open.
    static func wire(_ response: MockResponse) -> [UInt8]? {
        guard response.isPlain, response.body.count <= joinedByteCount else { return nil }
        let framing = response.mayHaveBody ? Framing.length(response.body.count) : .none
        var bytes = WireHead(response, framing, closes: false).ended()
        if response.mayHaveBody { bytes.append(contentsOf: response.body) }
        return bytes
    }

    /// Sends the response with all its delays and faults.
    func write() throws(ConnectionEnded) -> Ending {
        if response.delay > .zero { try socket.pause(for: response.delay) }
        if let fault = response.fault { return try write(fault) }
        let closes = response.closesConnection || !keepsAlive
        if let stream = response.stream, response.mayHaveBody, !isHead {
            return try write(stream.connect(), closes: closes)
        }
        try sendWhole(head(closes: closes))
        return closes ? .close : .keepOpen
    }

    /// Sends what a test sends, as long as the client is there.
    private func write(_ reader: MockStreamReader, closes: Bool) throws(ConnectionEnded) -> Ending {
        defer { reader.cancel() }
        try socket.send(WireHead(response, .chunked, closes: closes).ended())
        while true {
            // Before it takes a piece, which is for the next client then.
            if socket.hasEnded { throw ConnectionEnded() }
            switch reader.next(within: .milliseconds(10)) {
            case .bytes(let bytes): try sendChunk(bytes[...])
            case .end(.complete):
                try socket.send(Array("0\r\n\r\n".utf8))
                return closes ? .close : .keepOpen
            case .end(.cut): return .close
            case .end(.reset): return .reset
            case nil: continue
            }
        }
    }

    /// Returns the header section without a fault.
    func head(closes: Bool) -> WireHead { WireHead(response, framing, closes: closes) }

    var framing: Framing {
        if !response.mayHaveBody { return .none }
        return response.isChunked ? .chunked : .length(response.body.count)
    }

    /// Sends a header section, given without its empty line, and the complete body.
    func sendWhole(_ head: WireHead) throws(ConnectionEnded) {
        let hasBody = response.mayHaveBody && !isHead
        try sendHead(head.ended(), then: hasBody ? response.body : Data())
        if hasBody, response.isChunked { try socket.send(Array("0\r\n\r\n".utf8)) }
    }

    /// Sends the bytes of a header section and a body or a part of it, in chunks and pieces as the response defines.
    func sendHead(_ head: [UInt8], then body: Data) throws(ConnectionEnded) {
        guard response.drip == nil, !response.isChunked, body.count <= ResponseWriter.joinedByteCount else {
            try socket.send(head)
            return try sendBody(body)
        }
        var bytes = head
        bytes.append(contentsOf: body)
        try socket.send(bytes)
    }

    /// Sends a body or a part of it, in chunks and pieces as the response defines, without the last chunk.
    func sendBody(_ body: Data) throws(ConnectionEnded) {
        guard let drip = response.drip else { return try sendPiece(body) }
        var rest = body[...]
        while !rest.isEmpty {
            try sendPiece(rest.prefix(max(1, drip.byteCount)))
            rest = rest.dropFirst(max(1, drip.byteCount))
            if !rest.isEmpty { try socket.pause(for: drip.interval) }
        }
    }

    private func sendPiece(_ piece: Data) throws(ConnectionEnded) {
        guard response.isChunked else {
            let outcome = piece.withUnsafeBytes { part in Result { () throws(ConnectionEnded) in try socket.send(part) }
            }
            return try outcome.get()
        }
        var rest = piece[...]
        while !rest.isEmpty {
            let size = min(rest.count, max(1, response.chunkByteCount ?? rest.count))
            try sendChunk(rest.prefix(size))
            rest = rest.dropFirst(size)
        }
    }

    private func sendChunk(_ bytes: Data) throws(ConnectionEnded) {
        // An empty chunk would end the body.
        guard !bytes.isEmpty else { return }
        var chunk = Array("\(String(bytes.count, radix: 16))\r\n".utf8)
        chunk.append(contentsOf: bytes)
        chunk.append(contentsOf: "\r\n".utf8)
        try socket.send(chunk)
    }
}
