#if os(Linux)
import Errand
import ErrandCurl
import Foundation
import Testing

/// Failures of connections that may be made through a proxy.
@Suite(.limit(seconds: 60))
struct CurlProxyTests {
    @Test(arguments: [
        "http://127.1:1/", "http://0x7f.1:1/", "http://2130706433:1/", "http://LOCALHOST:1/", "http://%6cocalhost:1/",
        "http://[::1]:1/", "http://[0:0:0:0:0:0:0:1]:1/", "http://[fe80::1%25lo]:1/", "http://[::FFFF:7F00:1]:1/",
        "http://a.example.:1/", "http://a.example:01/", "https://a.example/",
    ])
    func anOriginThatRefusesIsNotTheProxyHoweverItsHostIsWritten(_ text: String) async throws {
        let url = try #require(URL(string: text))
        let transport = try CurlTransport.make {
            $0.proxy = .url("http://127.0.0.1:3", bypass: ["*"])
            $0.addresses = ["a.example": ["127.0.0.1"]]
        }
        let error = await #expect(throws: NetworkError.self) { try await transport.get(url) }
        #expect(error?.kind == .unreachable)
        #expect(error?.reason != .proxyConnectionRefused)
    }

    @Test(arguments: [2, 4, 5])
    func whatASOCKSProxyRepliesIsItsRefusal(_ code: UInt8) async throws {
        let count = Lock(0)
        let proxy = try RawServer {
            let isGreeting = count.withLock { count in
                count += 1
                return count == 1
            }
            return RawServer.Reply(Data(isGreeting ? [5, 0] : [5, code, 0, 1, 0, 0, 0, 0, 0, 0]), isClosed: false)
        }
        defer { proxy.stop() }
        let transport = try CurlTransport.make { $0.proxy = .url("socks5h://127.0.0.1:\(proxy.port)") }
        let url = try #require(URL(string: "http://shop.example/"))
        let error = await #expect(throws: NetworkError.self) { try await transport.get(url) }
        #expect(error?.reason == .proxyRefused(statusCode: Int(code)) && error?.kind == .unreachable)
    }

    @Test(arguments: ["http", "https", "socks5", "socks5h"])
    func aProxyThatIsDownOrUnknownIsNamed(_ scheme: String) async throws {
        for (host, reason) in [
            ("127.0.0.1", NetworkError.Reason.proxyConnectionRefused), ("[::1]", .proxyConnectionRefused),
            ("no-such-proxy.invalid", .proxyNotFound),
        ] {
            let transport = try CurlTransport.make { $0.proxy = .url("\(scheme)://\(host):3") }
            for text in ["http://127.0.0.1:1/", "http://shop.example:3/", "https://shop.example/"] {
                let url = try #require(URL(string: text))
                let error = await #expect(throws: NetworkError.self, "\(text)") { try await transport.get(url) }
                let isUnreachable = error?.reason == .noConnection && host == "[::1]"
                #expect(error?.reason == reason || isUnreachable, "\(host) \(text)")
            }
        }
    }
}
#endif
