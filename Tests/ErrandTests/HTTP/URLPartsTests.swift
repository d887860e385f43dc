import Testing

@testable import Errand

@Suite struct URLPartsTests {
    @Test(arguments: [
        ("https://api.example", "https://api.example", "", nil),
        ("HTTPS://api.example/v1", "https://api.example", "/v1", nil),
        ("http://api.example:8080/a?b=c", "http://api.example:8080", "/a", "b=c"),
        ("http://user:pw@api.example/", "http://api.example", "/", nil),
        ("http://a@b@api.example/", "http://api.example", "/", nil),
        ("http://api.example?x", "http://api.example", "", "x"),
        ("http://api.example#f", "http://api.example", "", nil),
        ("http://api.example/a#f?g", "http://api.example", "/a", nil),
        ("http://api.example/a?b#c", "http://api.example", "/a", "b"),
        ("http://api.example/@x?y@z", "http://api.example", "/@x", "y@z"),
    ])
    func absoluteURLsAreTakenApart(text: String, origin: String, path: String, query: String?) throws {
        let parts = try #require(try URLParts(absolute: text))
        #expect(parts.origin == origin)
        #expect(parts.path == path)
        #expect(parts.query == query)
    }

    @Test(arguments: [
        "", "/", "/users", "users", "users:search", "//host/path", "?a=b", ":x", "1a://x", "a/b://c", "é://x", "x:",
    ])
    func everythingElseIsAPath(text: String) throws {
        #expect(try URLParts(absolute: text) == nil)
    }

    @Test(arguments: [
        ("ftp://x/y", NetworkError.Reason.unsupportedScheme("ftp")), ("FTP:x", .unsupportedScheme("ftp")),
        ("mailto:a@b", .unsupportedScheme("mailto")), ("data:text/plain,x", .unsupportedScheme("data")),
        ("file:///etc/passwd", .unsupportedScheme("file")), ("javascript:alert(1)", .unsupportedScheme("javascript")),
        ("ws://x", .unsupportedScheme("ws")), ("my-app+x://open", .unsupportedScheme("my-app+x")),
        ("https:///x", .invalidURL("it has no host")), ("https://", .invalidURL("it has no host")),
        ("https://:80/", .invalidURL("it has no host")), ("https://user@/x", .invalidURL("it has no host")),
        ("https:/x", .invalidURL("'https:' is not followed by '//' and a host")),
        ("http:x", .invalidURL("'http:' is not followed by '//' and a host")),
    ])
    func whatIsNotSpokenIsAnError(text: String, reason: NetworkError.Reason) {
        expect(throwing: reason) { _ = try URLParts(absolute: text) }
    }

    @Test(arguments: [
        ("", "", "https://a.example"), ("", "/", "https://a.example/"), ("", "x", "https://a.example/x"),
        ("/v1", "x", "https://a.example/v1/x"), ("/v1/", "/x", "https://a.example/v1/x"),
        ("/v1//", "//x", "https://a.example/v1/x"),
        ("/v1", "", "https://a.example/v1"), ("/v1/", "", "https://a.example/v1/"),
        ("/v1", "x/", "https://a.example/v1/x/"),
        ("/v1", "a//b", "https://a.example/v1/a//b"), ("/v1?k=1", "x?p=2", "https://a.example/v1/x?k=1&p=2"),
        ("/v1?k=1", "?p=2", "https://a.example/v1?k=1&p=2"), ("/v1", "x?", "https://a.example/v1/x"),
        ("?", "x?p", "https://a.example/x?p"),
    ])
    func pathsAreJoinedWithOneSlash(base: String, path: String, whole: String) throws {
        var parts = try #require(try URLParts(absolute: "https://a.example" + base))
        try parts.append(path)
        #expect(parts.text == whole)
    }

    @Test(arguments: [
        "a b", "a\u{0}", "a\nb", "a%zz", "a:port", "a:65536", "a:99999999", "a:99999999999999999999", "a:-1", "[::1",
        "a<b", "a\\b", "a|b",
    ])
    func hostsThatCannotBeAreAnError(host: String) throws {
        let parts = try URLParts(absolute: "http://\(host)/x")
        #expect(throws: NetworkError.self, "\(host)") { _ = try parts?.url() }
    }

    #if canImport(FoundationNetworking)
    @Test(arguments: ["http://[::1]/", "http://[2001:db8::1]:8080/x"])
    func literalIPv6AddressesAreAClearErrorOnLinux(text: String) throws {
        let parts = try #require(try URLParts(absolute: text))
        let error = try #require(throws: NetworkError.self) { _ = try parts.url() }
        #expect(error.kind == .invalidRequest)
        #expect(error.description.contains("use a host name"))
    }
    #endif
}
