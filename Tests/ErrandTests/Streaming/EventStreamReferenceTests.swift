import Foundation
import Testing

@testable import Errand

/// The parser against a second one, which reads a complete stream as the standard describes it, step by step.
@Suite struct EventStreamReferenceTests {
    private struct Reading: Equatable {
        var events: [[Data]] = []
        var retries: [Duration?] = []
        var lastEventID = Data()
        var reconnectionTime: Duration?

        mutating func add(_ event: String, _ data: String, _ id: String, _ retry: Duration?) {
            // Bytes, because equal strings may differ in them.
            events.append([event, data, id].map { Data($0.utf8) })
            retries.append(retry)
        }
    }

    /// HTML, sections 9.2.5 and 9.2.6, and what the library adds: an ID that cannot be sent is ignored, and so is a `retry` beyond
    /// a day.
    private static func reference(_ bytes: Data) -> Reading {
        var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        var (lines, line, place): ([[UnicodeScalar]], [UnicodeScalar], Int) = ([], [], 0)
        while place < scalars.count {
            let scalar = scalars[place]
            place += 1
            guard scalar == "\r" || scalar == "\n" else {
                line.append(scalar)
                continue
            }
            if scalar == "\r", place < scalars.count, scalars[place] == "\n" { place += 1 }
            lines.append(line)
            line = []
        }
        func text(_ scalars: some Sequence<UnicodeScalar>) -> String {
            var view = String.UnicodeScalarView()
            view.append(contentsOf: scalars)
            return String(view)
        }
        var reading = Reading()
        var (data, event, id, last, retry) = ([UnicodeScalar](), "", "", "", Duration?.none)
        for line in lines {
            if line.isEmpty {
                last = id
                if !data.isEmpty {
                    reading.add(event.isEmpty ? "message" : event, text(data.dropLast()), last, retry)
                }
                (data, event, retry) = ([], "", nil)
                continue
            }
            let colon = line.firstIndex(of: ":")
            if colon == 0 { continue }
            let field = text(line[..<(colon ?? line.count)])
            var value = colon.map { line[($0 + 1)...] } ?? []
            if value.first == " " { value.removeFirst() }
            switch field {
            case "data": data += value + ["\n"]
            case "event": event = text(value)
            case "id":
                let isSendable = !value.contains { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }
                if isSendable { id = text(value) }
            case "retry":
                let digits = text(value)
                guard !value.isEmpty, value.allSatisfy({ ("0"..."9").contains($0) }) else { break }
                let time = min(Int64(digits) ?? .max, 86_400_000)
                (retry, reading.reconnectionTime) = (.milliseconds(time), .milliseconds(time))
            default: break
            }
        }
        reading.lastEventID = Data(last.utf8)
        return reading
    }

    private static func parse(_ chunks: [Data]) throws -> Reading {
        var parser = ServerSentEventParser()
        var reading = Reading()
        for chunk in chunks {
            parser.append(chunk)
            while let event = try parser.next() { reading.add(event.event, event.data, event.id, event.retry) }
        }
        reading.lastEventID = Data(parser.lastEventID.utf8)
        reading.reconnectionTime = parser.reconnectionTime
        return reading
    }

    private static let words: [Data] =
        [
            "data", "data:", "data: ", "id", "id: 1", "id:\u{1}", "event: e", "event", "retry: 5", "retry:",
            "retry: 007",
            "retry: 9223372036854775807", "retry: 99999999999999999999", "retry: ٣", ":", ": c", " ", "  ", "\t", "\n",
            "\n",
            "\r", "\r", "\r\n", "\r\n", "\n\n", "\u{FEFF}", "ä", "e\u{301}", "é", "\u{0}", "\u{85}", "\u{2028}", "😀",
            "x", "id: ä\u{0}",
        ].map { Data($0.utf8) } + [0xFF, 0xE2, 0x82, 0xF0, 0x9F, 0xC0, 0x80, 0xBF, 0xEF, 0xBB].map { Data([$0]) }

    @Test func everyStreamIsReadAsTheStandardDescribes() throws {
        var random = SeededGenerator()
        for round in 0..<2_000 {
            var bytes = Data()
            for _ in 0..<Int.random(in: 0..<40, using: &random) {
                bytes += Self.words.randomElement(using: &random) ?? Data()
            }
            let expected = Self.reference(bytes)
            var (chunks, rest): ([Data], Data) = ([], bytes)
            while !rest.isEmpty {
                let count = Int.random(in: 0...6, using: &random)
                chunks.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            for chunks in [[bytes], bytes.map { Data([$0]) }, chunks] {
                #expect(try Self.parse(chunks) == expected, "round \(round): \(bytes.map { $0 })")
            }
        }
    }
}
