import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Lines of text and of JSON in a stream.
@Suite(.limit(seconds: 60)) struct ResponseLinesTests {
    private func export() -> GeneralRequest<JSONValueFormatter> { GeneralRequest("/export") }

    @Test func linesAreTextAndTheLastNeedsNoEnd() async throws {
        let rig = Rig()
        let body = rig.transport.stream("/export", contentType: "text/plain")
        let stream = try await rig.agent.bytes(for: export())
        for byte in "ä\r\n\n€😀".utf8 { body.send(Data([byte])) }
        body.close()
        var lines: [String] = []
        for try await line in stream.lines { lines.append(line) }
        #expect(lines == ["ä", "", "€😀"])
    }

    @Test func aLineThatIsTooLongEndsTheExchange() async throws {
        let body = PushedBody()
        let rig = Rig(response: body.response())
        let stream = try await rig.agent.bytes(for: export())
        body.send("ok\n0123456789")
        var lines = stream.lines(maximumByteCount: 5).makeAsyncIterator()
        #expect(try await lines.next() == "ok")
        await expect(throwing: .lineTooLong(limit: 5)) { _ = try await lines.next() }
        #expect(try await lines.next() == nil)
        await body.waitUntilCancelled()
    }

    @Test func aLineThatIsCutOffByAnErrorIsNotReturned() async throws {
        let rig = Rig()
        let body = rig.transport.stream("/export", contentType: "text/plain")
        var lines = try await rig.agent.bytes(for: export()).lines.makeAsyncIterator()
        body.send("whole\ncut")
        body.close(.cut)
        #expect(try await lines.next() == "whole")
        await expect(throwing: .closedInBody) { _ = try await lines.next() }
        #expect(try await lines.next() == nil)
    }

    @Test func bytesThatAreNotTextAreAnErrorWithTheLine() async throws {
        let rig = Rig(response: .data(Data("a\n".utf8) + Data([0xFF, 0x0A])))
        var lines = try await rig.agent.bytes(for: export()).lines.makeAsyncIterator()
        #expect(try await lines.next() == "a")
        let error = await #expect(throws: NetworkError.self) { try await lines.next() }
        #expect(error?.description.contains("line 2") == true)
    }

    @Test(arguments: [
        ("iso-8859-1", Data([0xE4, 0x0A, 0xFC, 0x0D, 0x0A, 0xDF]), ["ä", "ü", "ß"]),
        ("ISO-8859-15", Data([0xA4, 0x0A]), ["€"]),
        ("shift_jis", Data([0x93, 0xFA, 0x0A, 0x83, 0x5C, 0x0A]), ["日", "ソ"]),
        ("gbk", Data([0xC4, 0xE3, 0x0D, 0x0A, 0xBA, 0xC3]), ["你", "好"]),
        ("iso-2022-jp", Data([0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x0A, 0x61]), ["日", "a"]),
        ("UTF8", Data("ä\nö".utf8), ["ä", "ö"]), ("utf-8", Data("\u{FEFF}a\n\u{FEFF}b\n".utf8), ["a", "\u{FEFF}b"]),
        ("utf-8", Data("\u{FEFF}\na".utf8), ["", "a"]), ("latin1", Data([0x93, 0x0A, 0x80, 0x0A]), ["“", "€"]),
        ("klingon", Data("ä\nö".utf8), ["ä", "ö"]),
    ])
    func linesAreInTheCharsetOfTheResponse(charset: String, body: Data, expected: [String]) async throws {
        let rig = Rig(response: .data(body, contentType: "text/plain; charset=\(charset)"))
        var lines: [String] = []
        for try await line in try await rig.agent.bytes(for: export()).lines { lines.append(line) }
        #expect(lines == expected)
    }

    @Test(arguments: [
        ("utf-16", Data("a\nb".utf8)), ("utf-16le", Data([0x61, 0, 0x0A, 0, 0x62, 0])), ("UTF-32", Data("a\n".utf8)),
        ("klingon", Data([0xE4, 0x0A])), ("utf-7", Data("a\n".utf8)), ("gbk", Data([0xE4, 0x0A])),
        ("shift_jis", Data([0x83, 0x0A])),
    ])
    func aCharsetThatCannotBeReadInLinesIsAnError(charset: String, body: Data) async throws {
        let rig = Rig(response: .data(body, contentType: "text/plain; charset=\(charset)"))
        var lines = try await rig.agent.bytes(for: export()).lines.makeAsyncIterator()
        let error = await expect(kind: .undecodable) { try await lines.next() }
        #expect(error?.description.contains(charset.lowercased()) == true, "\(String(describing: error))")
        #expect(try await lines.next() == nil)
    }

    private struct Item: Decodable, Sendable, Equatable {
        var itemID: Int
    }

    @Test(arguments: [true, false])
    func jsonLinesAreDecodedOneByOneWithTheServicesDecoderOrTheConfigs(hasOwn: Bool) async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        struct Snake: Decodable, Sendable, Equatable { var itemId: Int }
        let rig = Rig(
            config: .test { $0.decoder = hasOwn ? JSONDecoder() : decoder },
            response: .text("{\"item_id\":1}\n\n \t\r\n{\"item_id\":2}\r\n{\"item_id\":3}")
        )
        var service = Service(id: "s")
        if hasOwn { service.decoder = decoder }
        let request = GeneralRequest("/export").service(service)
        var items: [Snake] = []
        for try await item in try await rig.agent.bytes(for: request).jsonLines(of: Snake.self) { items.append(item) }
        #expect(items.map(\.itemId) == [1, 2, 3])
    }

    @Test func aCarriageReturnAloneIsALineWithoutValue() async throws {
        let rig = Rig(response: .text("1\n\r\r\n2\r\n\r"))
        var items: [Int] = []
        for try await item in try await rig.agent.bytes(for: export()).jsonLines(of: Int.self) { items.append(item) }
        #expect(items == [1, 2])
    }

    @Test(arguments: ["{", #"{"itemID":"x"}"#, #"{"itemID":1} 2"#, #"{"itemID":1}}"#, "\u{FEFF}\u{FEFF}{}"])
    func aLineThatCannotBeDecodedIsNamed(line: String) async throws {
        let rig = Rig(response: .text("{\"itemID\":1}\n\n\(line)\n{\"itemID\":2}"))
        var items = try await rig.agent.bytes(for: export()).jsonLines(of: Item.self).makeAsyncIterator()
        #expect(try await items.next() == Item(itemID: 1))
        let error = await expect(kind: .undecodable) { try await items.next() }
        #expect(error?.description.contains("line 3: ") == true, "\(String(describing: error))")
        #expect(try await items.next() == nil)
    }

    @Test func deepJSONInALineIsRejectedByTheGuard() async throws {
        let rig = Rig(response: .text(String(repeating: "[", count: 100_000) + "\n"))
        var items = try await rig.agent.bytes(for: export()).jsonLines(of: JSONValue.self).makeAsyncIterator()
        await #expect(throws: NetworkError.self) { try await items.next() }
    }
}
