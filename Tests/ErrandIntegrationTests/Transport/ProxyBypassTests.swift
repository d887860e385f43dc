#if os(Linux)
import Foundation
import Testing

@testable import ErrandCurl

/// Which hosts bypass a proxy.
@Suite struct ProxyBypassTests {
    @Test(arguments: [
        ("example", "example", true), ("example", "a.example", true), ("example", "b.a.example", true),
        ("example", "anexample", false), ("a.example", "example", false), ("a.example", "b.example", false),
        (".example", "a.example", true), (".example", "example", true), ("example.", "a.example", true),
        ("example", "a.example.", true), ("Example", "A.EXAMPLE", true), ("example", "%65xample", true),
        ("my_host", "my_host", true), ("b\u{FC}cher.example", "b\u{FC}cher.example", true),
        ("localhost", "127.0.0.1", false),
        ("*", "a.example", true), ("*", "[::1]", true), ("*", "127.0.0.1", true),
        ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "127.1", true), ("127.0.0.1", "0x7f.1", true),
        ("127.0.0.1", "2130706433", true), ("127.1", "127.0.0.1", true), ("127.0.0.1", "127.0.0.2", false),
        ("127.0.0.1", "127.0.0.1.", true), ("0.0.1", "127.0.0.1", false), ("127.0.0.1", "a.127.0.0.1.example", false),
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3/8", "10.0.0.1", true),
        ("10.0.0.0/9", "10.127.0.1", true), ("10.0.0.0/9", "10.128.0.1", false), ("10.0.0.1/32", "10.0.0.1", true),
        ("10.0.0.1/32", "10.0.0.0", false), ("0.0.0.0/0", "192.0.2.1", true), ("0.0.0.0/0", "[::1]", false),
        ("0.0.0.0/0", "a.example", false), ("10.0.0.0/8", "10.example", false),
        ("::1", "[::1]", true), ("::1", "[0:0:0:0:0:0:0:1]", true), ("0:0::1", "[::1]", true), ("::1", "[::2]", false),
        ("FD00::1", "[fd00::1]", true), ("fe80::1", "[fe80::1%25eth0]", true), ("fd00::/8", "[fdab::1]", true),
        ("fd00::/8", "[fe00::1]", false), ("fd00::/7", "[fc00::1]", true), ("::/0", "[2001:db8::1]", true),
        ("::/0", "192.0.2.1", false), ("2001:db8::/127", "[2001:db8::1]", true),
        ("2001:db8::/127", "[2001:db8::2]", false),
    ])
    func aHostBypassesTheProxy(_ entry: String, _ host: String, _ bypasses: Bool) throws {
        let url = try #require(URL(string: "http://\(host):8080/x"))
        #expect(ProxyBypass.Rule(entry) != nil)
        #expect(ProxyBypass([entry]).includes(url) == bypasses)
        // Whatever else there is.
        #expect(ProxyBypass(["other.example", entry, "192.0.2.9"]).includes(url) == bypasses)
        #expect(!ProxyBypass([]).includes(url))
    }

    @Test(arguments: [
        "", ".", "*.example", "a,b", "a b", " a", "a.example:80", "10.0.0.1:80", "[::1]", "http://a.example",
        "a.example/x",
        "ada@a.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/0008",
        "10/8", "a.example/8", "fd00::/129", "10.0.0.0/8/8", "10.0.0.1\u{0}", "*/0",
    ])
    func anEntryThatNamesNoHostIsNone(_ entry: String) { #expect(ProxyBypass.Rule(entry) == nil) }
}
#endif
