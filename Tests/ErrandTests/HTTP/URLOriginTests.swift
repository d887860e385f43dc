import Foundation
import Testing

@testable import Errand

/// The origin of a URL, by which redirects, permits and circuits are told apart.
@Suite struct URLOriginTests {
    @Test(arguments: [
        ("https://api.example/x", "https://api.example:443"), ("HTTPS://API.example:443", "https://api.example:443"),
        ("http://api.example", "http://api.example:80"), ("http://[::1]:8080/", "http://[::1]:8080"),
        ("https://bücher.example/a", "https://xn--bcher-kva.example:443"),
        ("https://BÜCHER.example:8443/a", "https://xn--bcher-kva.example:8443"),
        ("https://xn--bcher-kva.example/a", "https://xn--bcher-kva.example:443"),
    ])
    func originHasTheHostAsItIsSent(text: String, origin: String) throws {
        let url = try #require(URL(string: text))
        #expect(url.origin == origin)
        #expect(URL(string: "/other", relativeTo: url)?.origin == origin)
        // What is compared with it has another source.
        let key = try #require(try URLParts(absolute: url.absoluteString)).originKey
        #expect(URL(string: key)?.origin == origin)
    }

    @Test func anIPv6LiteralHasBracketsInErrors() throws {
        let url = try #require(URL(string: "http://[2001:DB8::1]:81/a"))
        let error = NetworkError(.connectionRefused).with(url: url, method: .get, path: DeclaredPath("/a"))
        #expect(error.host == "[2001:db8::1]:81")
        #expect(error.description.hasPrefix("GET [2001:db8::1]:81/a: the connection was refused"))
    }
}
