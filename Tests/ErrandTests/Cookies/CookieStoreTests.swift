import Foundation
import Testing

@testable import Errand

@Suite struct CookieStoreTests {
    private static let now = CookieTests.now
    private var store = CookieStore()

    private mutating func set(_ line: String, from url: String, after seconds: Double = 0) throws {
        let url = try #require(URL(string: url))
        let origin = try #require(CookieOrigin(url))
        let now = Self.now.addingTimeInterval(seconds)
        if let cookie = Cookie(line, from: origin, at: now) {
            _ = store.set(cookie, isSecure: origin.isSecure, at: now)
        }
    }

    private mutating func sent(to url: String, after seconds: Double = 0) throws -> [String] {
        let url = try #require(URL(string: url))
        let origin = try #require(CookieOrigin(url))
        return store.cookies(for: origin, at: Self.now.addingTimeInterval(seconds)).map { "\($0.name)=\($0.value)" }
    }

    @Test mutating func longerPathsAreFirstThenOlderCookies() throws {
        try set("a=1; Path=/", from: "https://a.example/")
        try set("b=1; Path=/x", from: "https://a.example/")
        try set("c=1; Path=/; Domain=example.org", from: "https://x.example.org/")
        try set("c=1; Path=/", from: "https://a.example/")
        // A replaced cookie keeps its place.
        try set("a=2; Path=/", from: "https://a.example/")
        #expect(try sent(to: "https://a.example/x/y") == ["b=1", "a=2", "c=1"])
        #expect(store.count == 4)
    }

    @Test mutating func expiredCookiesAreNotSentAndRemoveTheOldOne() throws {
        try set("a=1; Max-Age=60", from: "https://a.example/")
        try set("b=1", from: "https://a.example/")
        #expect(try sent(to: "https://a.example/", after: 59) == ["a=1", "b=1"])
        #expect(try sent(to: "https://a.example/", after: 60) == ["b=1"])
        try set("b=; Max-Age=0", from: "https://a.example/")
        #expect(try sent(to: "https://a.example/", after: 60) == [] && store.count == 1)
    }

    @Test mutating func atMostFiftyOfADomainAreKept() throws {
        for number in 0..<50 { try set("a\(number)=1", from: "https://a.example/") }
        try set("other=1", from: "https://b.example/")
        // All are used, then one that is set again, so that the second is the one that was not used for the longest time.
        _ = try sent(to: "https://a.example/")
        try set("a0=2", from: "https://a.example/")
        try set("new=1", from: "https://a.example/")
        let names = try sent(to: "https://a.example/")
        #expect(names.count == 50 && names.contains("a0=2") && names.contains("new=1") && !names.contains("a1=1"))
        #expect(store.count == 51)
    }

    @Test mutating func atMostThreeThousandAreKept() throws {
        try set("first=1", from: "https://first.example/")
        for number in 0..<4_000 {
            try set("a\(number % 40)=1", from: "https://h\(number / 40).example/")
            _ = try sent(to: "https://first.example/")
            #expect(store.count <= CookieStore.maximumCount)
        }
        #expect(store.count > 2_500 && store.count == store.cookies(at: Self.now).count)
        #expect(try sent(to: "https://first.example/") == ["first=1"])
        #expect(try sent(to: "https://h99.example/").count == 40)
        #expect(try sent(to: "https://h0.example/") == [])
    }

    @Test mutating func insecureResponseDoesNotReplaceOrCoverASecureCookie() throws {
        try set("sid=1; Secure; Domain=shop.example; Path=/x", from: "https://shop.example/")
        try set("sid=2; Path=/x", from: "http://shop.example/")
        try set("sid=3; Path=/x/y", from: "http://www.shop.example/")
        try set("sid=4; Path=/", from: "http://www.shop.example/")
        #expect(try sent(to: "https://www.shop.example/x/y") == ["sid=1", "sid=4"])
        try set("inner=1; Secure; Path=/", from: "https://b.shop.example/")
        try set("inner=2; Domain=shop.example; Path=/", from: "http://a.shop.example/")
        #expect(try sent(to: "https://b.shop.example/") == ["inner=1"])
    }

    @Test mutating func expiredSecureCookieCoversNone() throws {
        try set("sid=1; Secure; Path=/; Max-Age=60", from: "https://shop.example/")
        try set("wide=1; Secure; Domain=shop.example; Path=/; Max-Age=60", from: "https://shop.example/")
        try set("sid=2; Path=/", from: "http://shop.example/", after: 59)
        try set("wide=2; Path=/", from: "http://www.shop.example/", after: 59)
        #expect(try sent(to: "http://shop.example/", after: 59) == [])
        #expect(try sent(to: "http://www.shop.example/", after: 59) == [])
        try set("sid=3; Path=/", from: "http://shop.example/", after: 60)
        try set("wide=3; Path=/", from: "http://www.shop.example/", after: 60)
        #expect(try sent(to: "http://shop.example/", after: 60) == ["sid=3"])
        #expect(try sent(to: "http://www.shop.example/", after: 60) == ["wide=3"])
    }

    @Test func settingManyCookiesIsLinear() throws {
        let url = try #require(URL(string: "http://a.example/"))
        let origin = try #require(CookieOrigin(url))
        expectLinear(1_500) { count in
            var store = CookieStore()
            for number in 0..<count {
                guard let cookie = Cookie("a\(number)=1; Max-Age=60", from: origin, at: Self.now) else { continue }
                _ = store.set(cookie, isSecure: false, at: Self.now)
            }
            #expect(store.count == 50)
        }
    }

    @Test mutating func fieldThatWouldBeTooLargeOmitsWhatWasNotUsedForTheLongestTime() throws {
        let value = String(repeating: "x", count: 4_000)
        for number in 0..<20 {
            try set("a\(number)=\(value); Path=/\(number % 2 == 0 ? "" : "p")", from: "https://a.example/")
        }
        _ = try sent(to: "https://a.example/")
        let cookies = try sent(to: "https://a.example/p")
        #expect(cookies.reduce(-2) { $0 + $1.utf8.count + 2 } <= CookieStore.maximumFieldByteCount)
        // The cookies of the path /p were not used; of the others, the last ones were used last.
        #expect(
            cookies.map { String($0.prefix { $0 != "=" }) } == ["a4", "a6", "a8", "a10", "a12", "a14", "a16", "a18"]
        )
        try set("a1=\(value); Path=/p", from: "https://a.example/")
        #expect(try sent(to: "https://a.example/p").first?.hasPrefix("a1=") == true)
        #expect(store.count == 20)
    }

    /// A host can set cookies of a domain that its neighbors send, but must not displace their own.
    @Test(arguments: ["https", "http"]) mutating func largeCookiesOfADomainOmitNoCookieOfAHost(scheme: String) throws {
        try set("sid=1; Path=/; Secure", from: "https://shop.example.org/")
        let value = String(repeating: "x", count: 4_000)
        for number in 0..<50 {
            try set("a\(number)=\(value); Domain=example.org; Path=/", from: "\(scheme)://evil.example.org/")
        }
        let cookies = try sent(to: "https://shop.example.org/")
        #expect(cookies.contains("sid=1") && cookies.count == 9)
    }

    @Test mutating func changesOfTheFileAreRecognized() throws {
        func change(_ line: String, after seconds: Double = 0) throws -> Bool {
            let url = try #require(URL(string: "https://a.example/"))
            let origin = try #require(CookieOrigin(url))
            let now = Self.now.addingTimeInterval(seconds)
            let cookie = try #require(Cookie(line, from: origin, at: now))
            return store.set(cookie, isSecure: true, at: now)
        }
        #expect(try !change("session=1"))
        #expect(try change("a=1; Max-Age=600"))
        #expect(try !change("a=1; Max-Age=600"))
        // The dates add up: the file is behind by less than a minute.
        let changes = try (1...7).map { try change("a=1; Max-Age=600", after: Double($0) * 10) }
        #expect(changes == [false, false, false, false, false, true, false])
        #expect(try change("a=2; Max-Age=600", after: 70))
        #expect(try change("a=2; Max-Age=600; Secure", after: 71))
        #expect(try change("a=2; Secure", after: 71))
        #expect(try !change("a=2; Max-Age=0", after: 72))
        #expect(try change("kept=1; Max-Age=600", after: 72))
        for number in 0..<48 { #expect(try !change("b\(number)=1", after: 73)) }
        // It takes the place of the session cookie, then of the one in the file.
        #expect(try !change("c=1", after: 73))
        #expect(try change("d=1", after: 73))
        #expect(store.count == 50)
    }

    /// An attacker on the way to an http URL cannot displace what only https may set (RFC 6265bis, section 5.7).
    @Test(arguments: [true, false]) mutating func cookiesOverHTTPDoNotDisplaceSecureOnes(isSameSite: Bool) throws {
        try set("sid=good; Secure; Path=/", from: "https://a.example/")
        for number in 0..<3300 {
            try set("c\(number)=1; Path=/", from: isSameSite ? "http://a.example/" : "http://s\(number % 90).example/")
        }
        try set("sid=evil; Path=/", from: "http://a.example/")
        #expect(try sent(to: "https://a.example/").contains("sid=good"))
        #expect(try !sent(to: "https://a.example/").contains("sid=evil"))
        #expect(store.count <= 3000)
    }
}
