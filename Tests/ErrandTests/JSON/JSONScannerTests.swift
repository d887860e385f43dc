import Testing

@testable import Errand

@Suite(.ownThread) struct JSONScannerTests {
    @Test(arguments: [
        "0", "-0", "-1", "10", "1.5", "1e5", "1E+5", "1.25e-3", "true", "false", "null", "\"\"", "\"a\"", "[]", "{}",
        " [ ] ", "\t{\n}\r\n", "[1]", "[1,2]", "[ 1 , 2 ]", "[[],{}]", "{\"a\":1}", "{ \"a\" : 1 , \"b\" : [ ] }",
        "\"\\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u0041\"", "\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00 \\uFFFF\"",
        "\"é 山 😀\"",
        "\"\u{7F}\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}\"", "{\"a\":1,\"a\":2}", "{\"\":0}",
        "123456789012345678901234567890123456789012345678901234567890", "[true,false,null]", "1e400",
    ])
    func validTextIsAccepted(text: String) throws {
        #expect(throws: Never.self) { try validate(text) }
    }

    @Test(arguments: [
        ("", JSONError.Reason.unexpectedEnd, 0),
        ("  ", .unexpectedEnd, 2),
        ("[", .unexpectedEnd, 1),
        ("[1", .unexpectedEnd, 2),
        ("[1,", .unexpectedEnd, 3),
        ("{", .unexpectedEnd, 1),
        ("{\"a", .unexpectedEnd, 3),
        ("{\"a\"", .unexpectedEnd, 4),
        ("{\"a\":", .unexpectedEnd, 5),
        ("\"\\", .unexpectedEnd, 2),
        ("\"\\u00", .unexpectedEnd, 5),
        ("tru", .unexpectedEnd, 3),
        ("-", .unexpectedEnd, 1),
        ("1.", .unexpectedEnd, 2),
        ("1e", .unexpectedEnd, 2),
        ("[1,]", .syntax(expected: "a value"), 3),
        ("{\"a\":1,}", .syntax(expected: "a member name in quotes"), 7),
        ("[1 2]", .syntax(expected: "a comma or the end of the array or object"), 3),
        ("[1}", .syntax(expected: "a comma or the end of the array or object"), 2),
        ("{\"a\" 1}", .syntax(expected: "a colon"), 5),
        ("{a:1}", .syntax(expected: "a member name in quotes"), 1),
        ("+1", .syntax(expected: "a value"), 0),
        ("-a", .syntax(expected: "a digit"), 1),
        (".5", .syntax(expected: "a value"), 0),
        ("1.a", .syntax(expected: "a digit"), 2),
        ("NaN", .syntax(expected: "a value"), 0),
        ("nul1", .syntax(expected: "a value"), 0),
        ("'a'", .syntax(expected: "a value"), 0),
        ("//a\n1", .syntax(expected: "a value"), 0),
        ("\"\\x\"", .syntax(expected: "one of \" \\ / b f n r t u after a backslash"), 2),
        ("\"\\u00g0\"", .syntax(expected: "four hexadecimal digits after \\u"), 5),
        ("01", .trailingText, 1),
        ("1 2", .trailingText, 2),
        ("{}}", .trailingText, 2),
        ("truefalse", .trailingText, 4),
        ("\"a\nb\"", .controlCharacter, 2),
        ("\"\\ud800\"", .invalidUTF8, 1),
        ("\"\\udc00\"", .invalidUTF8, 1),
        ("\"\\ud800\\ud800\"", .invalidUTF8, 1),
        ("\"\\ud800a\"", .invalidUTF8, 1),
        ("\u{FEFF}1", .invalidUTF8, 0),
        ("[\u{A0}1]", .invalidUTF8, 1),
    ])
    func invalidTextIsRejectedWithReasonAndOffset(text: String, reason: JSONError.Reason, offset: Int) throws {
        let error = try #require(throws: JSONError.self) { try validate(text) }
        #expect(error == JSONError(reason, offset: offset))
    }

    @Test func zeroBytesAreRejected() throws {
        let texts: [(String, JSONError)] = [
            ("1\u{0}", JSONError(.trailingText, offset: 1)),
            ("\"\u{0}\"", JSONError(.controlCharacter, offset: 1)),
            ("\u{0}", JSONError(.syntax(expected: "a value"), offset: 0)),
            ("[\u{0}]", JSONError(.syntax(expected: "a value"), offset: 1)),
        ]
        for (text, error) in texts { #expect(throws: error) { try validate(text) } }
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x20], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE1, 0x80], [0xEF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF7, 0xBF, 0xBF, 0xBF],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xF0, 0x9F, 0x98], [0xC3, 0xA9, 0xA9],
        ] as [[UInt8]]
    )
    func bytesThatAreNotUTF8AreRejectedAtEveryPosition(sequence: [UInt8]) throws {
        for padding in 0..<20 {
            let before = [UInt8](repeating: 0x61, count: padding)
            let texts = [
                [0x22] + before + sequence + [0x22],
                [0x22] + before + sequence + [0x62, 0x62, 0x62, 0x62, 0x62, 0x62, 0x62, 0x62, 0x22],
            ]
            for text in texts {
                let error = try #require(throws: JSONError.self) { try validate(text) }
                #expect(error.reason == .invalidUTF8)
            }
            #expect(throws: JSONError.self) { try validate([0x22] + before + sequence) }
        }
    }

    @Test func shortStringsAreValidatedAsByTheStandardLibrary() {
        for first in UInt8.min ... .max where first != 0x22 && first != 0x5C {
            for second in UInt8.min ... .max where second != 0x22 && second != 0x5C {
                let isValid =
                    first >= 0x20 && second >= 0x20 && String(validating: [first, second], as: UTF8.self) != nil
                #expect(((try? validate([0x22, first, second, 0x22])) != nil) == isValid)
            }
        }
    }

    @Test func everyScalarIsAccepted() throws {
        var text: [UInt8] = [0x22]
        for value in UInt32(0x20)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value), scalar != "\"", scalar != "\\" else { continue }
            text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
        text.append(0x22)
        #expect(try validate(text) == 0..<text.count)
    }

    @Test func specialBytesAreFoundAtEveryPositionOfAWord() throws {
        for count in 0..<34 {
            let plain = String(repeating: "a", count: count)
            #expect(try validate("\"\(plain)\"") == 0..<count + 2)
            #expect(try validate("[\"\(plain)é\(plain)\\n\"]").count == 2 * count + 8)
            let error = try #require(throws: JSONError.self) { try validate("\"\(plain)\u{1F}\"") }
            #expect(error == JSONError(.controlCharacter, offset: count + 1))
        }
    }

    @Test(arguments: [(128, 128), (1, 1), (512, 512), (10_000, 512), (0, 1), (-5, 1), (.max, 512), (.min, 1)])
    func depthIsLimited(asked: Int, limit: Int) throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deepest = String(repeating: open, count: limit) + "1" + String(repeating: close, count: limit)
            #expect(throws: Never.self) { try validate(deepest, maximumDepth: asked) }
            let error = try #require(throws: JSONError.self) {
                try validate(open + deepest + close, maximumDepth: asked)
            }
            #expect(error == JSONError(.tooDeep(limit: limit), offset: limit * open.utf8.count))
        }
    }

    @Test func kindsOfContainersAreRememberedAtEveryDepth() throws {
        var random = SeededGenerator()
        for _ in 0..<200 {
            let kinds = (0..<Int.random(in: 1...512, using: &random)).map { _ in Bool.random(using: &random) }
            let open = kinds.map { $0 ? "{\"\":" : "[" }.joined()
            let close = kinds.reversed().map { $0 ? "}" : "]" }
            #expect(throws: Never.self) { try validate(open + "0" + close.joined(), maximumDepth: 512) }
            var wrong = close
            let index = Int.random(in: 0..<wrong.count, using: &random)
            wrong[index] = wrong[index] == "}" ? "]" : "}"
            #expect(throws: JSONError.self) { try validate(open + "0" + wrong.joined(), maximumDepth: 512) }
        }
    }

    @Test(arguments: [
        String(repeating: "[", count: 513),
        "{\"data\":" + String(repeating: "[", count: 512),
        String(repeating: "[", count: 1_000_000) + String(repeating: "]", count: 1_000_000),
        String(repeating: "{\"a\":", count: 1_000_000),
    ])
    func bodiesThatEndOtherParsersAreRejected(text: String) throws {
        for depth in [128, 512] {
            let error = try #require(throws: JSONError.self) { try validate(text, maximumDepth: depth) }
            #expect(error.reason == .tooDeep(limit: depth))
        }
    }

    @Test func rangeExcludesSurroundingWhitespace() throws {
        #expect(try validate(" \n\t [1, 2] \r\n         ") == 4..<10)
    }

    private func validate(_ text: String, maximumDepth: Int = 128) throws -> Range<Int> {
        try validate(Array(text.utf8), maximumDepth: maximumDepth)
    }

    private func validate(_ bytes: [UInt8], maximumDepth: Int = 128) throws -> Range<Int> {
        try bytes.withUnsafeBytes { try JSONScanner.validate($0, maximumDepth: maximumDepth) }
    }
}
