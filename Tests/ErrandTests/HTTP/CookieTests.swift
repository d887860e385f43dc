import Foundation
import Testing

@testable import Errand

@Suite struct CookieTests {
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func cookie(_ line: String, from url: String) throws -> Cookie? {
        let url = try #require(URL(string: url))
        let origin = try #require(CookieOrigin(url))
        return Cookie(line, from: origin, at: now)
    }

    /// A field, and the name, value, domain and path of its cookie; a domain that hosts share begins with a dot.
    @Test(arguments: [
        ("a=1", "a 1 www.shop.example /x"), (" a = b c ; Path=/y ", "a b c www.shop.example /y"),
        ("a=\"q\"", "a \"q\" www.shop.example /x"), ("a=", "a  www.shop.example /x"),
        ("a=b=c", "a b=c www.shop.example /x"),
        ("a=1; Domain=shop.example", "a 1 .shop.example /x"), ("a=1; domain=.SHOP.example", "a 1 .shop.example /x"),
        ("a=1; Domain=www.shop.example", "a 1 .www.shop.example /x"), ("a=1; Domain=", "a 1 www.shop.example /x"),
        ("a=1; Path=z; Path=", "a 1 www.shop.example /x"), ("a=1; Domain=other.example", nil),
        ("a=1; Domain=x.www.shop.example", nil), ("a=1; Domain=hop.example", nil), ("a=1; Domain=example", nil),
        ("a=1; Domain=example.", nil), ("a=1; Domain=..", nil), ("a", nil), ("=1", nil), ("", nil), (";a=1", nil),
        ("a=1\u{0}", nil), ("a=1\u{7F}; Path=/", nil), ("a=1; Path=/\n", nil),
    ])
    func fieldsAreParsed(line: String, expected: String?) throws {
        let cookie = try Self.cookie(line, from: "https://www.Shop.example/x/y?z=/q/")
        let text = cookie.map { "\($0.name) \($0.value) \($0.isHostOnly ? "" : ".")\($0.domain) \($0.path)" }
        #expect(text == expected)
    }

    /// A field, and after how many seconds its cookie ends: 400 days at most.
    @Test(arguments: [
        ("a=1", nil), ("a=1; Max-Age=60", 60), ("a=1; Max-Age=60; Expires=Wed, 09 Jun 2021 10:18:14 GMT", 60),
        ("a=1; max-age=60; Max-Age=x", 60), ("a=1; Max-Age=+60", nil), ("a=1; Max-Age=", nil),
        ("a=1; Max-Age=99999999999999999999", 34_560_000), ("a=1; Expires=Fri, 15 Jan 2027 08:01:00 GMT", 60),
        ("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", 34_560_000), ("a=1; Expires=never", nil),
        ("a=1; Max-Age=60; Max-Age=0060", 60),
    ])
    func endIsMaxAgeOverExpires(line: String, seconds: Double?) throws {
        let cookie = try #require(try Self.cookie(line, from: "https://a.example/"))
        #expect(cookie.expires?.timeIntervalSince(Self.now) == seconds && !cookie.isExpired(at: Self.now))
    }

    @Test(arguments: ["Max-Age=0", "Max-Age=-1", "Max-Age=-0", "Max-Age=000", "Expires=Wed, 09 Jun 2021 10:18:14 GMT"])
    func pastEndExpiresAtOnce(attribute: String) throws {
        #expect(try Self.cookie("a=1; \(attribute)", from: "https://a.example/")?.isExpired(at: Self.now) == true)
    }

    @Test(arguments: [
        ("__Secure-a=1; Secure", "https://a.example/", true), ("__Secure-a=1", "https://a.example/", false),
        ("__secure-a=1", "https://a.example/", false), ("__Secure-a=1; Secure", "http://a.example/", false),
        ("__Host-a=1; Secure; Path=/", "https://a.example/", true), ("__Host-a=1; Path=/", "https://a.example/", false),
        ("__Host-a=1; Secure", "https://a.example/", false),
        ("__HOST-a=1; Secure; Path=/x", "https://a.example/", false),
        ("__Host-a=1; Secure; Path=/; Domain=a.example", "https://a.example/", false),
        ("a=1; Secure", "http://a.example/", false), ("a=1; Secure", "http://localhost/", true),
        ("a=1; Secure", "https://a.example/", true), ("a=1; Secure", "http://x.localhost:8080/", true),
        ("a=1; Secure", "http://127.0.0.1/", true), ("a=1; Secure", "http://127.9.9.9:1/", true),
        ("a=1; Secure", "http://127.0.0.1.example/", false), ("a=1; Secure", "http://notlocalhost/", false),
        ("a=1; Secure", "http://localhost.example/", false), ("a=1; Secure", "http://128.0.0.1/", false),
        ("__Host-a=1; Secure; Path=/", "http://localhost/", true), ("__Host-a=1; Path=/", "http://localhost/", false),
    ])
    func prefixesAndSecureAreApplied(line: String, url: String, isSet: Bool) throws {
        #expect(try (Self.cookie(line, from: url) != nil) == isSet)
    }

    /// The URLs that a cookie's host, domain and path allow; a single name and an address have no domain of their own.
    @Test(arguments: [
        ("a=1", "https://a.example/", "https://a.example/x", true),
        ("a=1", "https://a.example/", "https://b.a.example/", false),
        ("a=1; Domain=a.example", "https://a.example/", "https://b.a.example:8443/", true),
        ("a=1; Domain=a.example", "https://a.example/", "https://ba.example/", false),
        ("a=1; Domain=localhost", "http://localhost/", "http://x.localhost/", false),
        ("a=1; Domain=localhost", "http://localhost:8080/", "http://LOCALHOST/", true),
        ("a=1; Domain=127.0.0.1", "http://127.0.0.1/", "http://127.0.0.1/", true),
        ("a=1; Path=/x", "https://a.example/", "https://a.example/x", true),
        ("a=1; Path=/x", "https://a.example/", "https://a.example/x/y", true),
        ("a=1; Path=/x", "https://a.example/", "https://a.example/xy", false),
        ("a=1; Path=/x/", "https://a.example/", "https://a.example/x/y", true),
        ("a=1; Path=/x/", "https://a.example/", "https://a.example/x", false),
        ("a=1; Secure", "https://a.example/", "http://a.example/", false),
        ("a=1; Secure", "https://localhost/", "http://localhost/", true),
        ("a=1; Secure", "http://127.0.0.1/", "http://127.0.0.1:8080/", true),
        ("a=1", "https://a.example/", "http://a.example/", true),
    ])
    func cookiesAreSentWhereTheyBelong(line: String, from: String, to: String, isSent: Bool) throws {
        let cookie = try #require(try Self.cookie(line, from: from))
        let url = try #require(URL(string: to))
        let origin = try #require(CookieOrigin(url))
        #expect(cookie.isSent(to: origin) == isSent)
    }

    @Test(arguments: ["0.0.1", "1", "0.1", ".1"])
    func partOfAnAddressIsNoDomain(domain: String) throws {
        #expect(try Self.cookie("a=1; Domain=\(domain)", from: "http://127.0.0.1/") == nil)
    }

    @Test func sizesAreBounded() throws {
        let value = String(repeating: "x", count: 4095)
        #expect(try Self.cookie("a=\(value)", from: "https://a.example/") != nil)
        #expect(try Self.cookie("a=\(value)x", from: "https://a.example/") == nil)
        let path = "/" + String(repeating: "p", count: 1024)
        #expect(try Self.cookie("a=1; Path=\(path)", from: "https://a.example/")?.path == "/")
        let host = String(repeating: "a.", count: 126)
        #expect(try Self.cookie("a=1", from: "https://\(host)b/") != nil)
        let url = try #require(URL(string: "https://\(host)bc/"))
        #expect(CookieOrigin(url) == nil)
        // A path that is longer than an attribute may be.
        #expect(try Self.cookie("a=1", from: "https://a.example\(path)/x") == nil)
    }

    @Test(arguments: ["a=1;", ";", "Path=/;", "=", " ", "Expires=1 1 1;", "1 Jan "])
    func parsingIsLinear(piece: String) {
        guard let url = URL(string: "https://a.example/"), let origin = CookieOrigin(url) else { return }
        expectLinear(2_000) {
            _ = Cookie("a=1; Expires=" + String(repeating: piece, count: $0), from: origin, at: Self.now)
        }
    }

    @Test func descriptionHasNoValue() throws {
        let cookie = try #require(try Self.cookie("sid=hunter2", from: "https://a.example/x/"))
        var text = "\(cookie) \(String(reflecting: cookie))"
        dump(cookie, to: &text)
        #expect("\(cookie)" == "sid of a.example" && !text.contains("hunter2"))
    }

    /// With a mark after it, the hyphen is part of another `Character`.
    @Test func markHidesNoPrefix() throws {
        let jar = CookieJar()
        let url = try #require(URL(string: "http://b.a.example/"))
        for name in ["__Host-\u{301}x", "__Secure-\u{301}x", "__host-x"] {
            #expect(!jar.set("\(name)=1; Domain=a.example", from: url))
        }
    }
}
