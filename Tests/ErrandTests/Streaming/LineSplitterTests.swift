import Foundation
import Testing

@testable import Errand

@Suite struct LineSplitterTests {
    /// The lines of a body that arrives in these chunks.
    private func lines(
        of chunks: [Data],
        at terminator: LineSplitter.Terminator = .lineFeed,
        limit: Int = 100
    ) throws -> [String] {
        var splitter = LineSplitter(at: terminator, limit: limit)
        var lines: [String] = []
        for chunk in chunks {
            splitter.append(chunk)
            while let line = try splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        if let last = try splitter.last() { lines.append(String(decoding: last, as: UTF8.self)) }
        #expect(splitter.count == lines.count)
        return lines
    }

    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\nb", ["a", "b"]), ("a\r\nb\r\n", ["a", "b"]), ("\n", [""]),
        ("\n\n", ["", ""]), ("\r\n\r\n", ["", ""]), ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]),
        ("a\n\nb", ["a", "", "b"]),
        ("ä€😀\n😀", ["ä€😀", "😀"]), ("a\u{2028}b\n", ["a\u{2028}b"]),
    ])
    func linesEndWithLineFeedOrBoth(body: String, expected: [String]) throws {
        #expect(try lines(of: [Data(body.utf8)]) == expected)
    }

    @Test(arguments: [
        ("a\rb\r", ["a", "b"]), ("a\r\nb", ["a", "b"]), ("a\n\rb", ["a", "", "b"]), ("\r\r\n\n", ["", "", ""]),
        ("a\r", ["a"]),
    ])
    func aCarriageReturnAloneEndsALineIfChosen(body: String, expected: [String]) throws {
        #expect(try lines(of: [Data(body.utf8)], at: .any) == expected)
    }

    @Test func aLimitMayBeTheLargestNumber() throws {
        #expect(try lines(of: [Data("a\r".utf8), Data("\nb\r\n\r".utf8)], limit: .max) == ["a", "b", "\r"])
    }

    @Test(arguments: [LineSplitter.Terminator.lineFeed, .any])
    func everySplitGivesTheSameLines(terminator: LineSplitter.Terminator) throws {
        let body = Data("one\r\ntwo ä€😀\n\n\r\nthree\rfour\r\r\nend".utf8)
        let whole = try lines(of: [body], at: terminator)
        for first in 0...body.count {
            for second in first...body.count {
                let chunks = [body[..<first], body[first..<second], body[second...]]
                #expect(try lines(of: chunks, at: terminator) == whole, "\(first), \(second)")
            }
        }
        #expect(try lines(of: body.map { Data([$0]) }, at: terminator) == whole)
    }

    @Test func aLineOfTheLimitIsAcceptedAndALongerOneIsNot() throws {
        for end in ["", "\n", "\r\n"] {
            #expect(try lines(of: [Data(("12345" + end).utf8)], limit: 5) == ["12345"])
            #expect(try lines(of: ("12345" + end).utf8.map { Data([$0]) }, limit: 5) == ["12345"])
            expect(throwing: .lineTooLong(limit: 5)) { _ = try lines(of: [Data(("123456" + end).utf8)], limit: 5) }
        }
        expect(throwing: .lineTooLong(limit: 5)) { _ = try lines(of: [Data("123".utf8), Data("456".utf8)], limit: 5) }
    }

    @Test func randomBodiesAreSplitCompletely() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let body = Data(
                (0..<Int.random(in: 0..<60, using: &generator)).map { _ in
                    Array("ab\r\n\n".utf8).randomElement(using: &generator) ?? 0
                }
            )
            var chunks: [Data] = []
            var rest = body[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...4, using: &generator)
                chunks.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            var expected = String(decoding: body, as: UTF8.self).replacing("\r\n", with: "\n").unicodeScalars
                .split(separator: "\n", omittingEmptySubsequences: false).map { String(String.UnicodeScalarView($0)) }
            if expected.last == "" { expected.removeLast() }
            #expect(try lines(of: chunks) == expected, "seed \(seed)")
        }
    }

    /// The lines before the end, or before the first line that is too long.
    private func reference(
        _ body: Data,
        _ terminator: LineSplitter.Terminator,
        limit: Int
    ) -> (lines: [Data], isTooLong: Bool) {
        var (lines, line): ([Data], Data) = ([], Data())
        var bytes = Array(body)[...]
        while let byte = bytes.popFirst() {
            let isEnd = byte == 0x0A || terminator == .any && byte == 0x0D
            if !isEnd {
                line.append(byte)
                continue
            }
            if byte == 0x0D, bytes.first == 0x0A { bytes.removeFirst() }
            if terminator == .lineFeed, line.last == 0x0D { line.removeLast() }
            if line.count > limit { return (lines, true) }
            lines.append(line)
            line = Data()
        }
        if line.count > limit { return (lines, true) }
        return (line.isEmpty ? lines : lines + [line], false)
    }

    @Test(arguments: [LineSplitter.Terminator.lineFeed, .any])
    func noLineIsLongerThanTheLimit(terminator: LineSplitter.Terminator) throws {
        var random = SeededGenerator()
        for round in 0..<2_000 {
            let letters = Array("aaab\r\r\n\n".utf8)
            let body = Data(
                (0..<Int.random(in: 0..<30, using: &random)).map { _ in letters.randomElement(using: &random) ?? 0 }
            )
            let limit = Int.random(in: 0...6, using: &random)
            let expected = reference(body, terminator, limit: limit)
            for size in [1, 2, 3, 100] {
                var splitter = LineSplitter(at: terminator, limit: limit)
                var (lines, isTooLong, rest): ([Data], Bool, Data) = ([], false, body)
                do {
                    while !rest.isEmpty {
                        splitter.append(rest.prefix(size))
                        rest = rest.dropFirst(size)
                        while let line = try splitter.next() { lines.append(line) }
                    }
                    if let last = try splitter.last() { lines.append(last) }
                } catch {
                    isTooLong = true
                }
                #expect(lines == expected.lines, "round \(round), \(Array(body)), \(limit) in \(size)")
                #expect(isTooLong == expected.isTooLong, "round \(round), \(Array(body)), \(limit) in \(size)")
            }
        }
    }
}
