import Testing

@testable import Errand

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("application/json", "application/json", nil), ("Application/JSON", "application/json", nil),
        ("text/html; charset=UTF-8", "text/html", "utf-8"),
        ("text/html;charset=\"ISO-8859-1\"", "text/html", "iso-8859-1"),
        (" text/plain ; format=flowed ;\tCharset = utf-8 ", "text/plain", "utf-8"), ("text/plain;", "text/plain", nil),
        ("text/plain; charset", "text/plain", nil), ("text/plain; charset=", "text/plain", nil),
        ("application/vnd.api+json", "application/vnd.api+json", nil),
    ])
    func typeAndCharsetAreRead(field: String, essence: String, charset: String?) throws {
        let type = try #require(MediaType(field))
        #expect(type.essence == essence)
        #expect(type.charset == charset)
    }

    @Test(arguments: ["", "json", "/", "a/", "/b", "a/b/c", "te xt/plain", "text/pl ain", ";charset=utf-8"])
    func textWithoutTypeAndSubtypeIsNil(field: String) {
        #expect(MediaType(field) == nil)
    }

    @Test(arguments: [
        ("application/json", true), ("text/json", true), ("application/problem+json; charset=utf-8", true),
        ("text/html", false), ("application/jsonp", false), ("application/xml", false),
    ])
    func jsonIsRecognized(field: String, isJSON: Bool) {
        #expect(MediaType(field)?.isJSON == isJSON)
    }

    @Test(arguments: [
        ("jpg", "image/jpeg"), ("JSON", "application/json"), ("txt", "text/plain"),
        ("7Z", "application/x-7z-compressed"),
    ])
    func extensionOfAFileHasAType(fileExtension: String, essence: String) throws {
        #expect(MediaType(forFileExtension: fileExtension)?.essence == essence)
        #expect(MediaType(forFileExtension: fileExtension.dropLast(0))?.charset == nil)
        // The initializer for fields can still be passed as a function.
        #expect(Optional("a/b").flatMap(MediaType.init)?.essence == "a/b")
    }

    @Test(arguments: ["", ".", "exe2", ".jpg", "a\u{0}b"])
    func unknownExtensionHasNoType(fileExtension: String) {
        #expect(MediaType(forFileExtension: fileExtension) == nil)
    }

    @Test func descriptionKeepsItsSpelling() throws {
        #expect(try #require(MediaType("Text/HTML; a=b; Charset=\"UTF-8\"")).description == "text/html; charset=utf-8")
        #expect(try #require(MediaType("a/b")).description == "a/b")
    }

    @Test func semicolonInAQuotedParameterSeparatesNothing() {
        #expect(MediaType(#"text/plain; title="x;charset=utf-16""#)?.charset == nil)
        #expect(MediaType(#"text/plain; title="\"x;charset=a"; charset="UTF-8""#)?.charset == "utf-8")
        #expect(MediaType(#"text/plain; title="x"#)?.essence == "text/plain")
    }
}
