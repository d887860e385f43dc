import Foundation
import Testing

@testable import Errand

@Suite struct ServerSentEventParserTests {
    private func events(
        of chunks: [Data],
        _ parser: ServerSentEventParser = ServerSentEventParser()
    ) throws -> (events: [ServerSentEvent], parser: ServerSentEventParser) {
        var parser = parser
        var events: [ServerSentEvent] = []
        for chunk in chunks {
            parser.append(chunk)
            while let event = try parser.next() { events.append(event) }
        }
        return (events, parser)
    }

    private func events(_ text: String) throws -> [ServerSentEvent] { try events(of: [Data(text.utf8)]).events }

    @Test(arguments: [
        ("data: a\n\n", [ServerSentEvent(data: "a")]),
        ("data:a\n\n", [ServerSentEvent(data: "a")]),
        ("data:  a \n\n", [ServerSentEvent(data: " a ")]),
        ("data\n\n", [ServerSentEvent(data: "")]),
        ("data\ndata\n\n", [ServerSentEvent(data: "\n")]),
        // The examples of the standard, section 9.2.6.
        (
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
            [ServerSentEvent(data: "first event", id: "1"), ServerSentEvent(data: "second event")]
        ),
        ("data\n\ndata\ndata\n\ndata:", [ServerSentEvent(data: ""), ServerSentEvent(data: "\n")]),
        ("data:test\n\ndata: test\n\n", [ServerSentEvent(data: "test"), ServerSentEvent(data: "test")]),
        ("data: YHOO\ndata: +2\ndata: 10\n\n", [ServerSentEvent(data: "YHOO\n+2\n10")]),
        ("event: add\ndata: 7\n\ndata: 8\n\n", [ServerSentEvent(event: "add", data: "7"), ServerSentEvent(data: "8")]),
        ("event: add\n\ndata: 7\n\n", [ServerSentEvent(data: "7")]),
        ("event:\ndata: 7\n\n", [ServerSentEvent(data: "7")]),
        ("id: 1\n\ndata: 7\n\n", [ServerSentEvent(data: "7", id: "1")]),
        ("id: 1\ndata: 7\n\ndata: 8\n\n", [ServerSentEvent(data: "7", id: "1"), ServerSentEvent(data: "8", id: "1")]),
        (
            "id: 1\ndata: 7\n\nid: a\u{0}b\ndata: 8\n\n",
            [ServerSentEvent(data: "7", id: "1"), ServerSentEvent(data: "8", id: "1")]
        ),
        ("id: \u{1}\ndata: 8\n\n", [ServerSentEvent(data: "8")]),
        ("id: ä\ndata: 8\n\n", [ServerSentEvent(data: "8", id: "ä")]),
        ("retry: 250\ndata: 8\n\n", [ServerSentEvent(data: "8", retry: .milliseconds(250))]),
        (
            "retry: 2x\ndata: 8\n\nretry: -1\ndata: 9\n\nretry:\ndata: 10\n\n",
            ["8", "9", "10"].map { ServerSentEvent(data: $0) }
        ),
        ("retry: 99999999999999999999\ndata: 8\n\n", [ServerSentEvent(data: "8", retry: .seconds(86_400))]),
        ("Data: a\ndatum: b\nunknown\ndata : c\n\n", []),
        (":\n:data: a\n\n", []),
        ("data: a", []), ("data: a\n", []), ("", []), ("\n\n\n", []),
        ("\u{FEFF}data: a\n\n", [ServerSentEvent(data: "a")]),
        ("\u{FEFF}\u{FEFF}data: a\n\n", []),
        ("data: a\n\n\u{FEFF}data: b\n\n", [ServerSentEvent(data: "a")]),
        ("data: a\r\rdata: b\r\n\r\ndata: c\n\n", ["a", "b", "c"].map { ServerSentEvent(data: $0) }),
        ("data: a:b: c\n\n", [ServerSentEvent(data: "a:b: c")]),
    ])
    func eventsFollowTheStandard(text: String, expected: [ServerSentEvent]) throws {
        #expect(try events(text) == expected)
    }

    @Test func invalidBytesBecomeReplacementCharacters() throws {
        let bytes = Data("data: a".utf8) + Data([0xFF, 0xE2, 0x82]) + Data("\n\n".utf8)
        #expect(try events(of: [bytes]).events == [ServerSentEvent(data: "a\u{FFFD}\u{FFFD}")])
    }

    private static let sample = Data(
        "\u{FEFF}: hi\r\nid: 7\r\nevent: add\rdata: ä€😀\r\ndata: two\n\r\nretry: 10\n\ndata:x\n\n\rid\rdata: end\r\r"
            .utf8
    )

    @Test func everySplitGivesTheSameEvents() throws {
        let whole = try events(of: [Self.sample])
        #expect(whole.events.map(\.data) == ["ä€😀\ntwo", "x", "end"])
        for first in 0...Self.sample.count {
            for second in first...Self.sample.count {
                let chunks = [Self.sample[..<first], Self.sample[first..<second], Self.sample[second...]]
                #expect(try events(of: chunks).events == whole.events, "\(first), \(second)")
            }
        }
        #expect(try events(of: Self.sample.map { Data([$0]) }).events == whole.events)
    }

    /// Whatever arrives, in whatever pieces: the same events, and never more bytes than arrived.
    @Test func randomStreamsDoNotDependOnTheirChunks() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let words = [
            "data", "data: ", "id: 1", "event: e", "retry: 5", ":", " ", "\n", "\n", "\r", "\r\n", "\n\n", "\u{FEFF}",
            "ä", "\u{0}",
        ]
        for _ in 0..<500 {
            let text = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                words.randomElement(using: &generator) ?? ""
            }
            let bytes = Data(text.joined().utf8)
            var chunks: [Data] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...5, using: &generator)
                chunks.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            let (whole, parts) = (try events(of: [bytes]), try events(of: chunks))
            #expect(whole.events == parts.events, "seed \(seed)")
            #expect(whole.parser.lastEventID == parts.parser.lastEventID, "seed \(seed)")
            #expect(whole.events.reduce(0) { $0 + $1.data.utf8.count } <= bytes.count, "seed \(seed)")
        }
    }

    @Test func anEventIsBounded() throws {
        func parse(_ text: String) throws {
            _ = try events(of: text.utf8.map { Data([$0]) }, ServerSentEventParser(limit: 20))
        }
        try parse("data: 90123456789012\n\n" + String(repeating: "data: 1\n\n", count: 10))
        try parse(String(repeating: ": a comment\n", count: 10))
        for text in [
            "data: 901234567890123", "data: 1\ndata: 2\ndata: 3\n", "id: 1234567\nid: 12345678\n",
            ": 90123456789012345678",
        ] {
            expect(throwing: .eventTooLarge(limit: 20)) { try parse(text) }
        }
    }

    /// Many short lines in one event take linear time, so that a server cannot occupy a processor.
    @Test func manyLinesOfOneEventTakeLinearTime() throws {
        let text = String(repeating: "data:x\n", count: 100_000) + "\n"
        #expect(try events(of: [Data(text.utf8)]).events.first?.data.utf8.count == 199_999)
    }

    @Test func anotherResponseKeepsIDAndReconnectionTimeButNoHalfEvent() throws {
        let first = try events(of: [Data("id: 5\nretry: 70\n\ndata: half".utf8)]).parser
        let (events, parser) = try events(of: [Data("\u{FEFF}data: a\n\n".utf8)], first.afterReconnection)
        #expect(events == [ServerSentEvent(data: "a", id: "5")])
        #expect(parser.reconnectionTime == .milliseconds(70))
    }
}
