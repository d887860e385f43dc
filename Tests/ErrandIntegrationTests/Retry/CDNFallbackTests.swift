import Errand
import ErrandTesting
import Foundation
import Testing

/// The URLs of a CDN, tried in order.
@Suite struct CDNFallbackTests {
    /// Nobody listens there, and no server that asks for a free port gets it.
    private static let closedPort: BaseURL = "http://127.0.0.1:1"

    private static func request(_ method: HTTPMethod = .get) -> GeneralRequest<DefaultFormatter<String>> {
        GeneralRequest("/a/file.txt").method(method).query(["v": 1]).usingCDN().expecting(String.self)
    }

    private static func agent(_ urls: [BaseURL], _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        var config = NetworkConfig(baseURL: "https://api.example", retryPolicy: .never)
        (config.cdnURL, config.cdnFallbacks) = (urls[0], Array(urls.dropFirst()))
        change(&config)
        return Agent(config: config)
    }

    @Test(arguments: ["closed", "500", "lost", "silent"])
    func theNextURLIsUsedIfOneFails(fault: String) async throws {
        let failing = try MockServer { _ in
            switch fault {
            case "500": .status(503)
            case "lost": .text("x").faulted(.closeInBody(after: 0))
            default: .text("late").faulted(.hang)
            }
        }
        let working = try MockServer { .text("found \($0.target)") }
        let last = try MockServer { _ in .text("unused") }
        defer { for server in [failing, working, last] { server.stop() } }
        let first = fault == "closed" ? Self.closedPort : BaseURL(failing.baseURL)
        let agent = Self.agent([first, BaseURL(working.baseURL), BaseURL(last.baseURL)]) {
            // It applies to the server that works too.
            $0.limits.timeout = fault == "silent" ? .seconds(3) : .seconds(30)
        }
        let response = try await agent.response(for: Self.request())
        #expect(response.model == "found /a/file.txt?v=1")
        #expect(response.url.port == Int(working.port))
        #expect(response.metrics.attempts.map(\.origin) == [first.description, working.baseURL.absoluteString])
        #expect(
            failing.requestCount == (fault == "closed" ? 0 : 1) && working.requestCount == 1 && last.requestCount == 0
        )
    }

    @Test func eachURLIsUsedOnceAndTheLastOneIsRetried() async throws {
        let servers = try (0..<3).map { _ in try MockServer { _ in .status(503) } }
        defer { for server in servers { server.stop() } }
        let urls = servers.map { BaseURL($0.baseURL) }
        let once = await #expect(throws: NetworkError.self) {
            try await Self.agent(urls + urls).send(Self.request())
        }
        #expect(servers.map(\.requestCount) == [1, 1, 1])
        #expect(once?.attempts == 3 && once?.host?.hasSuffix("\(servers[2].port)") == true)
        let retrying = Self.agent(urls) {
            $0.retryPolicy = RetryPolicy(maximumAttempts: 5, baseDelay: .milliseconds(1))
        }
        await #expect(throws: NetworkError.self) { try await retrying.send(Self.request()) }
        #expect(servers.map(\.requestCount) == [2, 2, 4])
    }

    @Test func aServerThatRespondsIsBelieved() async throws {
        let server = try MockServer { _ in .status(404) }
        let other = try MockServer { _ in .text("unused") }
        defer { for server in [server, other] { server.stop() } }
        let agent = Self.agent([server, other].map { BaseURL($0.baseURL) })
        let error = await #expect(throws: NetworkError.self) { try await agent.send(Self.request()) }
        #expect(error?.statusCode == 404 && other.requestCount == 0)
    }

    @Test func unsafeRequestsAndOthersUseTheirFirstURLOnly() async throws {
        let server = try MockServer { _ in .status(500) }
        let other = try MockServer { _ in .text("unused") }
        defer { for server in [server, other] { server.stop() } }
        let agent = Self.agent([server, other].map { BaseURL($0.baseURL) }) { $0.baseURL = BaseURL(server.baseURL) }
        let absolute = GeneralRequest(server.baseURL.absoluteString).usingCDN().expecting(String.self)
        for request in [Self.request(.put), Self.request().usingCDN(false), absolute] {
            await #expect(throws: NetworkError.self) { try await agent.send(request) }
        }
        #expect(server.requestCount == 3 && other.requestCount == 0)
    }

    @Test func theFallbacksOfAServiceReplaceTheConfigs() async throws {
        let working = try MockServer { .text($0.headers["Authorization"] ?? "-") }
        let other = try MockServer { _ in .text("unused") }
        defer { for server in [working, other] { server.stop() } }
        let agent = Self.agent([Self.closedPort, BaseURL(other.baseURL)]) {
            $0.authorization = .bearer("token")
        }
        let service = Service(id: "s", cdnURL: Self.closedPort, cdnFallbacks: [BaseURL(working.baseURL)])
        #expect(try await agent.send(Self.request().service(service)) == "Bearer token")
        #expect(other.requestCount == 0)
        let plan = try await agent.plan(for: Self.request().service(service))
        #expect(plan["cdnFallbacks"]?.value == "\(working.baseURL.absoluteString)/a/file.txt")
        #expect(plan["cdnFallbacks"]?.source == .service)
    }

    @Test func aResponseOfAFallbackIsStoredForTheFirstURL() async throws {
        let failing = try MockServer { _ in .status(503) }
        let working = try MockServer { _ in .text("file", headers: ["ETag": "\"1\""]) }
        defer { for server in [failing, working] { server.stop() } }
        let agent = Self.agent([failing, working].map { BaseURL($0.baseURL) }) {
            $0.cache = ResponseCache(disk: nil)
            $0.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
        }
        #expect(try await agent.response(for: Self.request()).source.isFromCache == false)
        #expect(try await agent.response(for: Self.request()).source.isFromCache)
        #expect(failing.requestCount == 1 && working.requestCount == 1)
    }

    @Test func adaptersAndURLFiltersApplyToEachURL() async throws {
        struct Versioned: URLFilter {
            func filter(_ url: URL, for context: RequestContext) throws -> URL { url.appending(path: "v2") }
        }
        struct Signed: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.headers["X-Signed"] = "\(request.url.port ?? 0) \(context.url?.port ?? 0)"
            }
        }
        let failing = try MockServer { _ in .status(503) }
        let working = try MockServer { .text("\($0.target) \($0.headers["X-Signed"] ?? "-")") }
        defer { for server in [failing, working] { server.stop() } }
        let agent = Self.agent([failing, working].map { BaseURL($0.baseURL) }) {
            $0.urlFilters = [Versioned()]
            $0.adapters = [Signed()]
        }
        let port = working.port
        #expect(try await agent.send(Self.request()) == "/a/file.txt/v2?v=1 \(port) \(port)")
    }

    /// A source that can be read once, and counts its readers.
    private struct Once: BodySource {
        let readers = Lock(0)
        let byteCount: Int64?
        var isReplayable: Bool { false }
        func makeReader() -> any BodyReader {
            readers.withLock { $0 += 1 }
            return Reader()
        }
        final class Reader: BodyReader {
            private var left = 4
            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                defer { left = 0 }
                for place in 0..<left { buffer[place] = UInt8(ascii: "x") }
                return left
            }
        }
    }

    @Test(arguments: [nil, 4] as [Int64?]) func aBodyThatCanBeReadOnceIsNotSentToTheNextURL(count: Int64?) async throws
    {
        let failing = try MockServer { _ in .status(503) }
        let other = try MockServer { .text("got \($0.text)") }
        let source = Once(byteCount: count)
        let agent = Self.agent([BaseURL(failing.baseURL), BaseURL(other.baseURL)])
        let method = HTTPMethod("QUERY", isSafe: true, isIdempotent: true)
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(Self.request(method).body(.source(source, contentType: "text/plain")))
        }
        #expect(error?.statusCode == 503 && source.readers.withLock { $0 } == 1 && other.requestCount == 0)
    }

    @Test func aHostThatIsLeftAloneMovesOn() async throws {
        let failing = try MockServer { _ in .status(503) }
        let other = try MockServer { _ in .text("fallback") }
        let agent = Self.agent([BaseURL(failing.baseURL), BaseURL(other.baseURL)]) {
            $0.interceptors = [CircuitBreaker()]
        }
        for _ in 0..<8 { #expect(try await agent.send(Self.request()) == "fallback") }
        #expect(failing.requestCount < 8)
    }

    @Test func anErrorOfTheServiceMovesOnByItsStatus() async throws {
        let failing = try MockServer { _ in .json(#"{"code": 7, "msg": "down"}"#, status: 503) }
        let other = try MockServer { _ in .json(#"{"code": 0, "data": ["up"]}"#) }
        let agent = Self.agent([BaseURL(failing.baseURL), BaseURL(other.baseURL)]) {
            $0.filter = EnvelopeFilter(code: "code", message: "msg", data: "data")
        }
        let request = GeneralRequest("/x").usingCDN().expecting([String].self)
        #expect(try await agent.send(request) == ["up"])
    }

    @Test func whatHTTPSProtectsIsNotSentWithoutIt() async throws {
        let plain = try MockServer { _ in .text("plain") }
        let agent = Self.agent(["https://127.0.0.1:1", BaseURL(plain.baseURL)])
        await #expect(throws: NetworkError.self) { try await agent.send(Self.request()) }
        #expect(plain.requestCount == 0)
    }

    @Test func aURLThatAFilterRejectsIsLeftOut() async throws {
        struct Rejecting: URLFilter {
            struct No: Error {}
            let port: Int?
            func filter(_ url: URL, for context: RequestContext) throws -> URL {
                if url.port == port { throw No() }
                return url
            }
        }
        let server = try MockServer { _ in .text("first") }
        let other = try MockServer { _ in .text("other") }
        let agent = Self.agent([BaseURL(server.baseURL), BaseURL(other.baseURL)]) {
            $0.urlFilters = [Rejecting(port: other.baseURL.port)]
        }
        #expect(try await agent.send(Self.request()) == "first")
    }
}
