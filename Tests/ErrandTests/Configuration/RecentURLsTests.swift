import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct RecentURLsTests {
    private struct Get: Request {
        typealias Model = Data
        var path = "/x"
        var service = Service.default
        var usesCDN = false
        var query = Parameters()
        var method = HTTPMethod.get
        var parameters = Parameters()
    }

    private static func config(base: BaseURL = "https://api.example") -> NetworkConfig {
        NetworkConfig(baseURL: base, cdnURL: "https://cdn.example/files")
    }

    @Test func aURLDependsOnItsRequestOnly() async throws {
        var random = SeededGenerator()
        let agent = Agent(config: Self.config())
        let services = [
            Service.default, Service(id: "s", baseURL: "https://s.example/v1"),
            Service(id: "s", baseURL: "https://s.example/v2"),
            Service(id: "cdn", baseURL: "https://s.example/v1", cdnURL: "https://files.example"),
        ]
        let paths = [
            "/x", "x", "/x/", "/x?a=1", "/ä", "/a\u{308}", "/K", "/\u{212A}", "/x y", "", "/",
            "https://other.example/x", "/users/7",
        ]
        for _ in 0..<2_000 {
            var request = Get(path: paths.randomElement(using: &random) ?? "/")
            request.service = services.randomElement(using: &random) ?? .default
            request.usesCDN = Bool.random(using: &random) && request.service.id != "s"
            if Bool.random(using: &random) { request.query = ["q": "\(Int.random(in: 0..<3, using: &random))"] }
            if Bool.random(using: &random) { request.parameters = ["p": "ä&\(Int.random(in: 0..<2, using: &random))"] }
            if Bool.random(using: &random) { request.method = .post }
            let url = try await agent.urlRequest(for: request).url
            let expected = try await Agent(config: Self.config()).urlRequest(for: request).url
            #expect(url == expected)
        }
    }

    @Test func anotherBaseURLOfTheConfigAppliesAtOnce() async throws {
        let agent = Agent(config: Self.config())
        for host in ["a", "b", "a"] {
            agent.config.baseURL = BaseURL(try #require(URL(string: "https://\(host).example/v1")))
            for _ in 0..<2 {
                #expect(try await agent.urlRequest(for: Get()).url?.absoluteString == "https://\(host).example/v1/x")
            }
        }
    }

    @Test func aFilterIsCalledForEachRequest() async throws {
        struct Counting: URLFilter {
            let calls = Record<URL>()
            func filter(_ url: URL, for context: RequestContext) throws -> URL {
                calls.add(url)
                return url.appending(path: "\(calls.all.count)")
            }
        }
        let agent = Agent(config: Self.config())
        let filter = Counting()
        agent.config.urlFilters = [filter]
        for number in 1...3 {
            #expect(try await agent.urlRequest(for: Get()).url?.path() == "/x/\(number)")
        }
        #expect(filter.calls.all.allSatisfy { $0.absoluteString == "https://api.example/x" })
    }

    @Test func equalBaseURLsAreEqualWhereverTheyAreFrom() throws {
        let (one, other) = (BaseURL("https://a.example/v1"), try BaseURL(String("https://a.example/v1")))
        #expect(one == other)
        #expect(Set([one, other, "https://b.example"]).count == 2)
    }
}
