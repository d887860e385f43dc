import Foundation
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
    func absoluteURLsAreSplit(text: String, origin: String, path: String, query: String?) throws {
        let parts = try #require(try URLParts(absolute: text))
        #expect(parts.origin == Origin(origin))
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
    func unsupportedSchemesAreAnError(text: String, reason: NetworkError.Reason) {
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
    func invalidHostsAreAnError(host: String) throws {
        let parts = try URLParts(absolute: "http://\(host)/x")
        #expect(throws: NetworkError.self, "\(host)") { _ = try parts?.url() }
    }

    @Test(arguments: [
        "https://ada:s3/cret@a.example", "https://ada:s3?cret@a.example", "https://ada:s3#cret@a.example",
    ])
    func errorOfAPasswordThatCutsOffTheHostDoesNotContainIt(_ text: String) throws {
        let error = #expect(throws: NetworkError.self) { _ = try BaseURL(text) }
        let words = "\(try #require(error))"
        #expect(!words.contains("s3") && !words.contains("ada") && words.contains("percent-encoded"))
    }

    /// The host is spelled in ASCII once it was part of a `URL`.
    @Test(arguments: [
        "https://b\u{FC}cher.example", "https://B\u{DC}CHER.example:443/x", "https://xn--bcher-kva.example",
    ])
    func internationalizedHostIsOneOrigin(_ text: String) throws {
        let parts = try #require(try URLParts(absolute: text))
        #expect(parts.origin.description == "https://xn--bcher-kva.example")
        #expect(try URLParts(absolute: parts.url().absoluteString)?.origin == parts.origin)
    }

    /// RFC 3986, sections 5.2.4, 5.4.1 and 5.4.2, and escaped dots.
    @Test(arguments: [
        ("/a/b/c/./../../g", "/a/g"), ("/mid/content=5/../6", "/mid/6"), ("/b/c/..", "/b/"), ("/b/c/.", "/b/c/"),
        ("/../g", "/g"), ("/..", "/"), ("/.", "/"), ("/./g", "/g"), ("/b/../../../g", "/g"), ("/g.", "/g."),
        ("/.g", "/.g"), ("/..g", "/..g"), ("/...", "/..."), ("", ""), ("/", "/"), ("//", "//"), ("/a//../b", "/a/b"),
        ("/a/%2e%2E/b", "/b"), ("/a/.%2e/b", "/b"), ("/a/%2e/b", "/a/b"), ("/a%2e/b", "/a%2e/b"),
        ("/a/%2e%2e%2e/b", "/a/%2e%2e%2e/b"), ("/a%2F../b", "/a%2F../b"), ("/a/..;x/b", "/a/..;x/b"),
    ])
    func dotSegmentsAreRemoved(path: String, result: String) {
        #expect(URLParts.removingDotSegments(path) == result)
        #expect((URLParts.dotSegments(in: path) == .absent) == (path == result))
    }

    @Test(arguments: ["http://[::1]/", "http://[2001:db8::1]:8080/x"])
    func literalIPv6AddressesAreHosts(text: String) throws {
        #expect(try #require(try URLParts(absolute: text)).url().absoluteString == text)
    }
}
