import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Lines of text and of JSON in a stream.
@Suite(.limit(seconds: 60)) struct ResponseLinesTests {
    private func export() -> GeneralRequest<JSONValueFormatter> { GeneralRequest("/export") }

    @Test func linesAreTextAndTheLastNeedsNoEnd() async throws {
        let body = PushedBody()
        let rig = Rig(response: body.response())
        let stream = try await rig.agent.bytes(for: export())
        for byte in "ä\r\n\n€😀".utf8 { body.send(Data([byte])) }
        body.end()
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

    @Test func bytesThatAreNotTextAreAnErrorWithTheLine() async throws {
        let rig = Rig(response: .data(Data("a\n".utf8) + Data([0xFF, 0x0A])))
        var lines = try await rig.agent.bytes(for: export()).lines.makeAsyncIterator()
        #expect(try await lines.next() == "a")
        let error = await #expect(throws: NetworkError.self) { try await lines.next() }
        #expect(error?.description.contains("line 2") == true)
    }

    private struct Item: Decodable, Sendable, Equatable {
        var itemID: Int
    }

    @Test func jsonLinesAreDecodedOneByOneWithTheConfigsDecoder() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        struct Snake: Decodable, Sendable, Equatable { var itemId: Int }
        let rig = Rig(
            config: .test { $0.decoder = decoder },
            response: .text("{\"item_id\":1}\n\n \t\r\n{\"item_id\":2}\r\n{\"item_id\":3}")
        )
        var items: [Snake] = []
        for try await item in try await rig.agent.bytes(for: export()).jsonLines(of: Snake.self) { items.append(item) }
        #expect(items.map(\.itemId) == [1, 2, 3])
    }

    @Test(arguments: ["{", #"{"itemID":"x"}"#, #"{"itemID":1} 2"#, #"{"itemID":1}}"#, "\u{FEFF}{}"])
    func aLineThatCannotBeDecodedIsNamed(line: String) async throws {
        let rig = Rig(response: .text("{\"itemID\":1}\n\n\(line)\n{\"itemID\":2}"))
        var items = try await rig.agent.bytes(for: export()).jsonLines(of: Item.self).makeAsyncIterator()
        #expect(try await items.next() == Item(itemID: 1))
        let error = await #expect(throws: NetworkError.self) { try await items.next() }
        #expect(error?.description.contains("line 3: ") == true, "\(String(describing: error))")
        #expect(error?.kind == .undecodable)
        #expect(try await items.next() == nil)
    }

    @Test func deepJSONInALineIsRejectedByTheGuard() async throws {
        let rig = Rig(response: .text(String(repeating: "[", count: 100_000) + "\n"))
        var items = try await rig.agent.bytes(for: export()).jsonLines(of: JSONValue.self).makeAsyncIterator()
        await #expect(throws: NetworkError.self) { try await items.next() }
    }
}
