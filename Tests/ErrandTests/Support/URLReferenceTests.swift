import Foundation
import Testing

@testable import Errand

/// References as servers write them (RFC 3986, sections 2.4 and 5).
@Suite struct URLReferenceTests {
    private static let base = URL(string: "https://api.example/items?page=1#top")

    @Test(arguments: [
        ("?filter[name]=a%20b&page[no]=2", "https://api.example/items?filter%5Bname%5D=a%20b&page%5Bno%5D=2"),
        ("?a=1%7C2|3", "https://api.example/items?a=1%7C2%7C3"),
        ("?q=a%20b c", "https://api.example/items?q=a%20b%20c"),
        ("?q=a%20é", "https://api.example/items?q=a%20%C3%A9"),
        ("?q=100%&x=%20y", "https://api.example/items?q=100%25&x=%20y"),
        ("/items/a%20b[1]?page=2", "https://api.example/items/a%20b%5B1%5D?page=2"),
        ("/it{e}ms/a%2Fb", "https://api.example/it%7Be%7Dms/a%2Fb"),
        ("/café/a%20b", "https://api.example/caf%C3%A9/a%20b"),
        (" /items?page=2 ", "https://api.example/items?page=2"),
        ("x/../y%2e", "https://api.example/y%2e"),
        ("", "https://api.example/items?page=1"), ("a%20b:c/d[", "https://api.example/a%20b:c/d%5B"),
        ("10:30%20", "https://api.example/10:30%20"), ("?a=10:30%20[", "https://api.example/items?a=10:30%20%5B"),
        ("#a b%20c#[", "https://api.example/items?page=1#a%20b%20c%23%5B"),
        ("//h.example/a|%20?#", "https://h.example/a%7C%20?#"),
        ("https://bücher.example/[1]%20", "https://xn--bcher-kva.example/%5B1%5D%20"),
        ("http://[::1]:80/[x]%20", "http://[::1]:80/%5Bx%5D%20"),
        ("http://h.example?[%20", "http://h.example?%5B%20"),
        ("mailto:a%20b|@c.example", "mailto:a%20b%7C@c.example"),
    ])
    func nothingIsEncodedTwice(reference: String, url: String) {
        #expect(URL(reference: reference, relativeTo: Self.base)?.absoluteString == url)
    }

    @Test func whatIsNoReferenceIsNil() {
        #expect(URL(reference: "http://[::1", relativeTo: Self.base) == nil)
        #expect(URL(reference: "") == nil && URL(reference: " ") == nil)
        #expect(URL(reference: "/a%20[b]")?.absoluteString == "/a%20%5Bb%5D")
    }

    @Test func anyTextIsReadWithoutATrap() {
        var random = SeededGenerator()
        let signs = Array("ht:/?#[]@% 2F|é\u{301}.\"<\\")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0..<24, using: &random)).map { _ in signs.randomElement(using: &random) ?? "/" }
            )
            let url = URL(reference: text, relativeTo: Self.base)
            // What is written once is not encoded again.
            if let url { #expect(URL(reference: url.absoluteString) == url, "\(text)") }
        }
    }

    @Test func fragmentIsReplacedAndRemoved() throws {
        let base = try #require(Self.base)
        #expect(base.withoutFragment.absoluteString == "https://api.example/items?page=1")
        #expect(base.withoutFragment.withFragment(of: base) == base)
        #expect(base.withoutFragment.withFragment(of: nil) == base.withoutFragment)
    }
}
