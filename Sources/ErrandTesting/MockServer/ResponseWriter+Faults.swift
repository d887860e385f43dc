import Errand
import Foundation

extension ResponseWriter {
    /// Sends the response with a fault.
    func write(_ fault: MockFault) throws(ConnectionEnded) -> Ending {
        switch fault {
        case .resetBeforeHead: return .reset
        case .closeBeforeHead: return .close
        case .closeInHead(let count):
            let head = head(closes: false).ended()
            try socket.send(Array(head.prefix(max(0, min(count, head.count - 1)))))
            return .close
        case .resetInBody(let count):
            try sendCut(after: count)
            return .reset
        case .closeInBody(let count):
            try sendCut(after: count)
            return .close
        case .closeAfterResponse:
            try sendWhole(head(closes: false))
            return .close
        case .hang: try socket.pause(for: nil)
        case .hangInBody(let count):
            try sendCut(after: count)
            try socket.pause(for: nil)
        case .slowHead(let count, let interval): try sendSlowly(count, interval)
        case .earlyHints:
            var hints = WireHead("HTTP/1.1 103 Early Hints")
            hints.field("Link", "</style.css>; rel=preload; as=style")
            try socket.send(hints.ended())
            try sendWhole(head(closes: !keepsAlive))
        case .continueThenFinal:
            try socket.send(WireHead("HTTP/1.1 100 Continue").ended())
            try sendWhole(head(closes: !keepsAlive))
        case .switchingProtocols:
            var switching = WireHead("HTTP/1.1 101 Switching Protocols")
            switching.field("Connection", "Upgrade")
            switching.field("Upgrade", "mock")
            try socket.send(switching.ended())
            return .close
        case .wrongLength, .negativeContentLength, .wordContentLength, .hexadecimalContentLength, .hugeContentLength,
            .duplicateContentLength,
            .lengthAndChunks, .badChunk, .unterminatedChunks, .trailers, .bodyOn204:
            return try writeFramingFault(fault)
        case .endlessBody, .gzipBomb, .truncatedGzip, .badGzip, .unknownContentEncoding:
            try writeBodyFault(fault)
        default: return try writeHeadFault(fault)
        }
        return keepsAlive ? .keepOpen : .close
    }

    /// Sends the header section and the first bytes of the body, never all of them.
    private func sendCut(after count: Int) throws(ConnectionEnded) {
        let body = isHead ? Data() : response.body
        try sendHead(head(closes: false).ended(), then: body.prefix(max(0, min(count, body.count - 1))))
    }

    private func sendSlowly(_ count: Int, _ interval: Duration) throws(ConnectionEnded) {
        var rest = head(closes: !keepsAlive).ended()[...]
        while !rest.isEmpty {
            try socket.send(Array(rest.prefix(max(1, count))))
            rest = rest.dropFirst(max(1, count))
            if !rest.isEmpty { try socket.pause(for: interval) }
        }
        guard !isHead, response.mayHaveBody else { return }
        try sendBody(response.body)
        if response.isChunked { try socket.send(Array("0\r\n\r\n".utf8)) }
    }

    private func writeBodyFault(_ fault: MockFault) throws(ConnectionEnded) {
        var changed = response
        switch fault {
        case .gzipBomb(let count): return try sendBomb(ZeroBomb(decodedByteCount: count))
        case .endlessBody: return try sendEndlessBody()
        case .truncatedGzip:
            changed = response.gzipped()
            changed.body = changed.body.prefix(changed.body.count / 2)
        case .badGzip:
            changed.headers["Content-Encoding"] = "gzip"
            // Block type 3 does not exist.
            changed.body = Data(Gzip.header + [UInt8](repeating: 0xFF, count: 32))
        default: changed.headers["Content-Encoding"] = "x-unknown"
        }
        let writer = ResponseWriter(socket: socket, response: changed, isHead: isHead, keepsAlive: keepsAlive)
        try writer.sendWhole(writer.head(closes: !keepsAlive))
    }

    private func sendEndlessBody() throws(ConnectionEnded) {
        try socket.send(WireHead(response, response.isChunked ? .chunked : .none, closes: true).ended())
        if isHead { return }
        let pattern = response.body.isEmpty ? Data([.space]) : response.body
        var piece = Data()
        while piece.count < 16_384 { piece.append(pattern) }
        while true {
            try sendBody(piece)
            if let drip = response.drip { try socket.pause(for: drip.interval) }
        }
    }

    private func sendBomb(_ bomb: ZeroBomb) throws(ConnectionEnded) {
        var bare = response
        bare.headers["Content-Encoding"] = "gzip"
        try socket.send(WireHead(bare, .length(bomb.byteCount), closes: !keepsAlive).ended())
        if isHead { return }
        try socket.send(bomb.front)
        let zeros = [UInt8](repeating: 0, count: min(bomb.runByteCount, 65_536))
        var rest = bomb.runByteCount
        while rest > 0 {
            try socket.send(rest < zeros.count ? Array(zeros.prefix(rest)) : zeros)
            rest -= zeros.count
        }
        try socket.send(bomb.back)
    }
}
