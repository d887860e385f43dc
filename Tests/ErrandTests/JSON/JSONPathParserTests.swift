import Testing

@testable import Errand

@Suite struct JSONPathParserTests {
    @Test func stepsAreReadInOrder() throws {
        let parts = try JSONPath(#"~.data.list[-1](2,3)().*."a.b"|json"#).get()
        #expect(parts.anchor == .root)
        #expect(
            parts.steps == [
                .member("data"), .member("list"), .element(-1), .range(start: 2, count: 3), .anArray, .every,
                .member("a.b"), .json,
            ]
        )
    }

    @Test(arguments: [
        ("a.", 2), ("a..b", 2), (".a", 0), (".", 0), ("#.", 2), ("~#a", 1), ("#~", 1), ("a[", 2), ("a[0", 3),
        ("[a]", 1), ("[]", 1), ("a[0)", 3), ("a(0]", 3), ("a(1,-2)", 4), ("a(1,2,3)", 5), ("a(1", 3), ("a[1.5]", 3),
        ("a[99999999999999999999]", 2), ("a[-]", 2), ("a]", 1), ("a)b", 1), ("a\"b\"", 1), ("\"a", 0), ("\"a\\n\"", 2),
        ("\"a\"b", 3), ("a*", 1), ("a?", 1), ("a?b", 1), ("a|", 1), ("a|xml", 1), ("a|jsonx", 6), (" a", 0),
        ("a .b", 0),
        ("a\tb", 1), ("a.#b", 2), ("**", 1), ("a[1]b", 4), ("a|js", 1),
    ])
    func mistakesAreReportedWithTheirOffset(text: String, offset: Int) throws {
        let error = try #require(throws: JSONError.self) { try JSONPath(text) }
        #expect(error.offset == offset)
        guard case .pathSyntax(let what) = error.reason else { throw Unexpected(error.reason) }
        #expect(!what.isEmpty)
    }

    @Test func literalKeepsItsErrorAndThrowsItAtEveryUse() throws {
        let path: JSONPath = "list[0"
        #expect(path.description == "list[0")
        for _ in 0..<2 {
            let error = try #require(throws: JSONError.self) {
                try Array("{}".utf8).withUnsafeBytes { _ = try path.range(in: $0) }
            }
            #expect(error.offset == 6)
        }
        #expect(throws: JSONError.self) {
            try Array("{}".utf8).withUnsafeBytes { _ = try path.optionalRange(in: $0) }
        }
    }

    @Test(arguments: ["a", "a.b", "~a[0]", "#", "'x'.*|json(1,2)"])
    func descriptionIsTheTextAsWritten(text: String) throws {
        #expect(try JSONPath(text).description == text)
    }

    /// A quote with a combining mark after it is one Character, and was spelled without its backslash.
    @Test(arguments: [
        "\"\u{301}", "\\\u{301}", "a\"\u{FE0F}b", "a\"b\\c", "", "*", "a.b", " a", "#a", "a\nb", "e\u{301}",
    ])
    func aNameIsSpelledSoThatItIsReadBack(name: String) throws {
        let path = JSONPath(names: [name, "x", name])
        let members = [name, "x", name].map { JSONPath.Step.member(JSONName($0)) }
        #expect(try JSONPath(path.description).get().steps == members)
    }

    @Test func randomTextNeverTraps() {
        var random = SeededGenerator()
        let alphabet = Array("ab.[]()\"'*|json,-01 #~?\\é")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...12, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" }
            )
            guard let path = try? JSONPath(text) else { continue }  // A refusal is fine here.
            _ = try? Array(#"{"a":[1,{"b":"[2]"}],"b":{"a":null}}"#.utf8).withUnsafeBytes { try path.range(in: $0) }
        }
    }
}
