import Foundation
import Testing

@testable import Errand

@Suite struct OriginTests {
    @Test(arguments: [
        ("https://api.example/x", "https://api.example", "api.example", "api.example"),
        ("HTTPS://API.example:443", "https://api.example", "api.example", "api.example"),
        ("https://api.example:/x", "https://api.example", "api.example", "api.example"),
        ("http://api.example:80/", "http://api.example", "api.example", "api.example"),
        ("http://user:pw@api.example:443", "http://api.example:443", "api.example:443", "api.example"),
        ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080", "[2001:db8::1]:8080", "[2001:db8::1]"),
        ("http://[::1]/", "http://[::1]", "[::1]", "[::1]"),
        (
            "https://b\u{FC}cher.example/a", "https://xn--bcher-kva.example", "xn--bcher-kva.example",
            "xn--bcher-kva.example"
        ),
        ("http://a?x=http://b/c@d", "http://a", "a", "a"),
        ("https://u:p@a.example#f?@/x", "https://a.example", "a.example", "a.example"),
        ("ftp://user:pw@files.example/secret", "ftp://files.example", "files.example", "files.example"),
    ])
    func everySpellingOfAnOriginIsOne(text: String, origin: String, authority: String, host: String) throws {
        let url = try #require(URL(string: text))
        #expect(url.origin.description == origin)
        #expect(url.origin.authority == authority)
        #expect(url.origin.host == host)
        #expect(url.origin.isSecure == origin.hasPrefix("https:"))
        #expect(URL(string: "/other", relativeTo: url)?.origin == url.origin)
        #expect(Origin(url.origin.description) == url.origin)
    }

    @Test func anIPv6LiteralHasBracketsInErrors() throws {
        let url = try #require(URL(string: "http://[2001:DB8::1]:81/a"))
        let error = NetworkError(.connectionRefused).with(url: url, method: .get, path: DeclaredPath("/a"))
        #expect(error.host == "[2001:db8::1]:81")
        #expect(error.description.hasPrefix("GET [2001:db8::1]:81/a: the connection was refused"))
    }
}
