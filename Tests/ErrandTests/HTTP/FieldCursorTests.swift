import TestSupport
import Testing

@testable import Errand

@Suite(.ownThread) struct FieldCursorTests {
    @Test(arguments: [
        (#""a b" ; c"#, "a b", " ; c"), (#" "a\"b\\" x"#, #"a"b\"#, " x"), (#""C:\x\"y""#, #"C:x"y"#, ""),
        ("  a b\t;c", "a b", ";c"),
        ("", "", ""), (#""open"#, "open", ""), (#""open\"#, #"open\"#, ""), ("é;", "é", ";"),
    ])
    func valueIsAQuotedStringOrTextUpToASeparator(text: String, value: String, rest: String) {
        var cursor = FieldCursor(text)
        let (found, left) = (cursor.value(upTo: ";"), cursor.text { _ in true })
        #expect(found == value && left == rest)
        #expect(cursor.hasOpenQuote == text.contains("open"))
    }

    @Test func pathOfWindowsIsKept() {
        var cursor = FieldCursor(#""C:\x\"y""#)
        let path = cursor.value(upTo: ";", keepsPaths: true)
        #expect(path == #"C:\x"y"#)
    }

    @Test(arguments: [
        ("a, b", ["a", "b"]), (#""a,b",c"#, [#""a,b""#, "c"]), (#""\",",c"#, [#""\",""#, "c"]), (",", ["", ""]),
        ("", [""]),
        (#""a, b"#, [#""a, b"#]), (#"a\,b"#, [#"a\"#, "b"]),
    ])
    func partsAreSeparatedOutsideQuotedStrings(text: String, parts: [String]) {
        #expect(FieldCursor.parts(of: text, at: UInt8(ascii: ",")) == parts)
    }

    @Test(
        arguments: [
            ("12x", 12, 12), ("x", nil, nil), ("", nil, nil), ("99999999999999999999", nil, .max), ("-1", nil, nil),
        ]
            as [(String, Int?, Int?)]
    )
    func numbersThatAreTooLargeAreInvalidOrClamped(text: String, number: Int?, clamped: Int?) {
        var (one, other) = (FieldCursor(text), FieldCursor(text))
        let found = (one.number(), other.number(clamping: true))
        #expect(found.0 == number && found.1 == clamped)
    }

    /// All that reads the fields of a response.
    @Test(arguments: [",", ";", "\"", "\\", "a=\"", "<a>,", "<", "a, ", "a=1;", "Basic ", " ", "a/b;", "\"\\", "1-"])
    func aHostileFieldIsReadInLinearTime(piece: String) {
        expectLinear((1 << 13) / piece.utf8.count) { count in
            let text = String(repeating: piece, count: count)
            let headers = HTTPHeaders(
                ["Link", "WWW-Authenticate", "Cache-Control"].map { HTTPHeaders.Field(name: $0, value: text) }
            )
            _ = (headers.values(for: "Link"), headers.challenges, CacheDirectives(headers), MediaType("a/b;" + text))
            _ = (ContentDisposition("a;" + text), FieldList.cookies.values(of: text), ByteRange(text))
            _ = FieldCursor.parts(of: text, at: UInt8(ascii: ";"))
        }
    }
}
