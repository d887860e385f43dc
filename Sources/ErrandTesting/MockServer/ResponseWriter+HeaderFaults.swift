import Foundation

extension ResponseWriter {
    /// Sends a response with wrong or unusual lengths or chunks.
    func writeFramingFault(_ fault: MockFault) throws(ConnectionEnded) -> Ending {
        let open: Ending = keepsAlive ? .keepOpen : .close
        let count = response.body.count
        switch fault {
        case .wrongLength(let difference):
            try sendBody(announcedAs: [String(max(0, count + difference))])
            return difference > 0 ? .close : open
        case .negativeContentLength: try sendBody(announcedAs: ["-5"])
        case .wordContentLength: try sendBody(announcedAs: ["many"])
        case .hexadecimalContentLength: try sendBody(announcedAs: ["0x10"])
        case .hugeContentLength: try sendBody(announcedAs: ["99999999999999999999"])
        case .duplicateContentLength: try sendBody(announcedAs: [String(count), String(count + 1)])
        case .bodyOn204:
            var empty = response
            (empty.status, empty.reason) = (204, "No Content")
            var head = WireHead(empty, .length(count), closes: !keepsAlive).ended()
            head.append(contentsOf: response.body)
            try socket.send(head)
            return open
        case .lengthAndChunks:
            var head = WireHead(response, .length(count), closes: false)
            head.field("Transfer-Encoding", "chunked")
            try sendChunks(head, end: "0\r\n\r\n")
        case .badChunk: try sendChunks(WireHead(response, .chunked, closes: false), end: "zz\r\n")
        case .unterminatedChunks: try sendChunks(WireHead(response, .chunked, closes: false), end: "")
        default:
            var head = WireHead(response, .chunked, closes: !keepsAlive)
            head.field("Trailer", "X-Trailer")
            try sendChunks(head, end: "0\r\nX-Trailer: late\r\n\r\n")
            return open
        }
        return .close
    }

    /// Sends a response with a wrong or unusual status line or header lines.
    func writeHeadFault(_ fault: MockFault) throws(ConnectionEnded) -> Ending {
        let open: Ending = keepsAlive ? .keepOpen : .close
        var head = head(closes: !keepsAlive)
        switch fault {
        case .http09:
            try sendHead([], then: response.body)
            return .close
        case .garbageStatusLine, .http2StatusLine, .statusBelow100, .noReason:
            try sendWhole(replacingStatusLine(fault))
            return fault == .noReason ? open : .close
        case .endlessHeaders:
            try sendEndlessHeaders(head)
            return .close
        case .bareLF:
            try sendWhole(WireHead(bytes: head.bytes.filter { $0 != .carriageReturn }, lineEnd: [.lineFeed]))
            return open
        case .badHeaderLine: head.line("X-No-Colon")
        case .emptyHeaderName: head.line(": no name")
        case .latin1Header: head.raw(Array("X-Name: J".utf8) + [0xF6] + Array("rg\r\n".utf8))
        case .nulInHeader: head.raw(Array("X-Nul: a".utf8) + [0] + Array("b\r\n".utf8))
        case .foldedHeader:
            head.line("X-Folded: one")
            head.line("  two")
        case .hugeHeaderLine(let count): head.field("X-Huge", String(repeating: "h", count: max(1, count - 8)))
        case .manyHeaders(let count): for number in 0..<max(0, count) { head.field("X-Many-\(number)", "value") }
        default: break
        }
        try sendWhole(head)
        return open
    }

    private func replacingStatusLine(_ fault: MockFault) -> WireHead {
        let line =
            switch fault {
            case .garbageStatusLine: "!!! this is no status line !!!"
            case .http2StatusLine: "HTTP/2 200 OK"
            case .statusBelow100: "HTTP/1.1 099 Low"
            default: "HTTP/1.1 \(response.status)"
            }
        var head = WireHead(line)
        head.fields(of: response, framing, closes: !keepsAlive)
        return head
    }

    private func sendEndlessHeaders(_ head: WireHead) throws(ConnectionEnded) {
        try socket.send(head.bytes)
        var number = 0
        while true {
            var lines = WireHead("X-Endless-\(number): value", reserving: 16_384)
            for next in number + 1..<number + 500 { lines.field("X-Endless-\(next)", "value") }
            number += 500
            try socket.send(lines.bytes)
            if let drip = response.drip { try socket.pause(for: drip.interval) }
        }
    }

    private func sendBody(announcedAs lengths: [String]) throws(ConnectionEnded) {
        var head = WireHead(response, .none, closes: false)
        for length in lengths { head.field("Content-Length", length) }
        try sendHead(head.ended(), then: isHead ? Data() : response.body)
    }

    /// Sends the body as two chunks, followed by `end` in place of the last chunk.
    private func sendChunks(_ head: WireHead, end: String) throws(ConnectionEnded) {
        var chunked = response
        chunked.isChunked = true
        chunked.chunkByteCount = response.chunkByteCount ?? max(1, (response.body.count + 1) / 2)
        let writer = ResponseWriter(socket: socket, response: chunked, isHead: isHead, keepsAlive: keepsAlive)
        try writer.sendHead(head.ended(), then: isHead ? Data() : response.body)
        if !isHead { try socket.send(Array(end.utf8)) }
    }
}
