import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Guarantee G12: the rules of RFC 9111 for a cache of one user's, each over real sockets.
@Suite struct CacheHTTPTests {
    private let server: MockServer
    private let clock = CacheClock()
    private let folder: CacheFolder
    private let cache: ResponseCache
    private let agent: Agent

    init() throws {
        server = try MockServer()
        folder = try CacheFolder()
        let clock = clock
        cache = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 600_000) { clock.now }
        var config = NetworkConfig(baseURL: server.baseURL)
        config.environment = [:]
        config.retryPolicy = .never
        config.cache = cache
        config.cachePolicy = .http
        agent = Agent(config: config)
    }

    private typealias Text = GeneralRequest<DefaultFormatter<String>>
    private let get = GeneralRequest("/x").expecting(String.self)
    private let seconds60: HTTPHeaders = ["Cache-Control": "max-age=60"]

    /// Sends, and returns the body with its source.
    private func send(_ request: Text? = nil, after wait: Double = 0) async throws -> String {
        clock.advance(by: wait)
        let response = try await agent.response(for: request ?? get)
        await cache.flush()
        switch response.source {
        case .network: return response.model
        case .cache: return "\(response.model) cache"
        case .revalidated: return "\(response.model) revalidated"
        case .stale: return "\(response.model) stale"
        }
    }

    private func kind(_ request: Text? = nil, after wait: Double = 0) async throws -> NetworkError.Kind? {
        clock.advance(by: wait)
        do {
            _ = try await agent.send(request ?? get)
            return nil
        } catch let error as NetworkError {
            return error.kind
        }
    }

    /// Responds with `a`, then `b`, with these fields.
    private func script(_ headers: HTTPHeaders, _ second: MockResponse? = nil) {
        server.enqueue(.text("a", headers: headers), second ?? .text("b", headers: headers))
    }

    private func date(_ seconds: Double) -> String { HTTPDate.text(for: clock.now.addingTimeInterval(seconds)) ?? "" }

    // MARK: What is stored (section 3)

    @Test func methodAndTargetNameAnEntry() async throws {
        server.on(.get, "/x", .text("x", headers: seconds60))
        server.on(.get, "/y", .text("y", headers: seconds60))
        #expect(
            try await [send(), send(GeneralRequest("/y").expecting(String.self)), send()] == ["x", "y", "x cache"]
        )
        #expect(try await send(get.query(["q": 1])) == "x")
        #expect(try await send(get.method(.head)) == "")
    }

    @Test func onlyGETAndHEADAreStored() async throws {
        server.on(.post, "/x", .text("x", headers: seconds60))
        #expect(try await [send(get.method(.post)), send(get.method(.post))] == ["x", "x"])
        #expect(await cache.count == 0)
    }

    @Test func aResponseWithNoStoreIsNeverOnDisk() async throws {
        script(["Cache-Control": "no-store, max-age=60"])
        #expect(try await [send(), send()] == ["a", "b"])
        #expect(folder.paths == [])
    }

    @Test func theResponseToARequestWithNoStoreIsNeverOnDisk() async throws {
        script(seconds60)
        let request = get.header("Cache-Control", "no-store")
        #expect(try await [send(request), send(request)] == ["a", "b"])
        #expect(folder.paths == [])
    }

    @Test func privateResponsesAreStored() async throws {
        script(["Cache-Control": "private, max-age=60"])
        #expect(try await [send(), send()] == ["a", "a cache"])
    }

    @Test func severalRangesAndUnrequestedPartsAreNotStored() async throws {
        let ranges = get.header("Range", "bytes=0-0,2-2")
        let part: HTTPHeaders = ["Content-Range": "bytes 0-0/2", "Cache-Control": "max-age=60"]
        script(seconds60, .text("a", status: 206, headers: part))
        #expect(try await [send(), send(ranges), send()] == ["a", "a", "a cache"])
        #expect(await cache.count == 1)
        server.enqueue(.text("p", status: 206, headers: part), .text("c", headers: seconds60))
        let other = GeneralRequest("/y").expecting(String.self)
        #expect(try await [send(other), send(other)] == ["p", "c"])
    }

    @Test func hopByHopFieldsAreNotStored() async throws {
        script([
            "Cache-Control": "max-age=60", "Connection": "X-Hop", "X-Hop": "1", "X-Kept": "2",
            "Proxy-Authenticate": "Basic",
        ])
        _ = try await send()
        let headers = try await agent.response(for: get).headers
        #expect(headers["X-Kept"] == "2")
        #expect(
            !headers.contains("X-Hop") && !headers.contains("Connection") && !headers.contains("Proxy-Authenticate")
        )
    }

    @Test func cookiesAreNotSetAgain() async throws {
        script(["Cache-Control": "max-age=60", "Set-Cookie": "id=secret"])
        _ = try await send()
        #expect(try await !agent.response(for: get).headers.contains("Set-Cookie"))
        let files = try folder.paths.map { String(decoding: try Data(contentsOf: $0), as: UTF8.self) }
        #expect(files.count == 1 && files.allSatisfy { !$0.contains("secret") })
    }

    @Test func fieldsNamedByNoCacheAreNotReused() async throws {
        script(["Cache-Control": "max-age=60, no-cache=\"X-Once\"", "X-Once": "1"])
        _ = try await send()
        let hit = try await agent.response(for: get)
        #expect(hit.source.isFromCache && !hit.headers.contains("X-Once"))
    }

    // MARK: Freshness (section 4.2)

    @Test func maxAgeTakesPrecedenceOverExpires() async throws {
        script(["Cache-Control": "max-age=60", "Expires": date(-100), "Date": date(0)])
        #expect(try await [send(), send(after: 59), send(after: 2)] == ["a", "a cache", "b"])
    }

    @Test func expiresCountsFromDate() async throws {
        script(["Expires": date(60), "Date": date(0)])
        #expect(try await [send(), send(after: 59), send(after: 2)] == ["a", "a cache", "b"])
    }

    @Test func anInvalidExpiresMeansStale() async throws {
        script(["Expires": "0"])
        #expect(try await [send(), send()] == ["a", "b"])
    }

    @Test func withoutALifetimeATenthOfTheAgeOfTheContentIsUsed() async throws {
        let headers: HTTPHeaders = ["Last-Modified": date(-1_000), "Date": date(0)]
        script(headers, .status(304))
        #expect(try await [send(), send(after: 99), send(after: 2)] == ["a", "a cache", "a revalidated"])
    }

    @Test func theAgeOnArrivalCounts() async throws {
        script(["Cache-Control": "max-age=60", "Age": "50"])
        #expect(try await [send(), send(after: 9), send(after: 2)] == ["a", "a cache", "b"])
    }

    @Test func storedResponseHasItsAge() async throws {
        script(["Cache-Control": "max-age=60", "Age": "5"])
        _ = try await send()
        clock.advance(by: 10)
        #expect(try await agent.response(for: get).headers.values(for: "Age") == ["15"])
    }

    @Test func aStaleResponseWithoutAValidatorIsFetchedAgain() async throws {
        script(seconds60)
        #expect(try await [send(), send(after: 61)] == ["a", "b"])
        #expect(server.requests.last?.headers["If-None-Match"] == nil)
    }

    @Test func anImmutableResponseIsNotRevalidatedByAReload() async throws {
        script(["Cache-Control": "max-age=60, immutable", "ETag": "\"1\""], .status(304))
        #expect(try await [send(), send(get.header("Cache-Control", "max-age=0"), after: 10)] == ["a", "a cache"])
        #expect(try await send(get.header("Cache-Control", "no-cache")) == "a revalidated")
    }

    // MARK: Vary (section 4.1)

    @Test func varyComparesTheFieldsOfTheRequest() async throws {
        server.on(.get, "/x") {
            .text($0.headers["X-Kind"] ?? "-", headers: ["Cache-Control": "max-age=60", "Vary": "X-Kind"])
        }
        let (one, other) = (get.header("X-Kind", "1"), get.header("X-Kind", "2"))
        #expect(
            try await [send(one), send(one), send(other), send(other), send()] == ["1", "1 cache", "2", "2 cache", "-"]
        )
    }

    @Test func aResponseThatVariesByEverythingIsNeverReused() async throws {
        script(["Cache-Control": "max-age=60", "Vary": "*"])
        #expect(try await [send(), send()] == ["a", "b"])
    }

    @Test func usersAreKeptApart() async throws {
        server.on(.get, "/x") { .text($0.headers["Authorization"] ?? "-", headers: ["Cache-Control": "max-age=60"]) }
        func user(_ name: String) -> Text {
            get.authorization(.bearer(name)).cacheIdentity(CacheIdentity(user: name))
        }
        #expect(
            try await [send(user("a")), send(user("b")), send(user("a"))] == ["Bearer a", "Bearer b", "Bearer a cache"]
        )
        // A declared token names its user.
        let (one, other) = (get.authorization(.bearer("c")), get.authorization(.bearer("d")))
        #expect(try await [send(one), send(other), send(one)] == ["Bearer c", "Bearer d", "Bearer c cache"])
    }

    // MARK: Validation (section 4.3)

    @Test func aResponseWithNoCacheIsRevalidatedEachTime() async throws {
        script(["Cache-Control": "no-cache", "ETag": "\"1\""], .status(304, headers: ["ETag": "\"1\""]))
        #expect(try await [send(), send()] == ["a", "a revalidated"])
        #expect(server.requests.last?.headers["If-None-Match"] == "\"1\"")
    }

    @Test func staleResponseIsRevalidatedByETagAndDate() async throws {
        let modified = date(-10)
        script(["Cache-Control": "max-age=60", "ETag": "W/\"1\"", "Last-Modified": modified], .status(304))
        #expect(try await [send(), send(after: 61), send(after: 59)] == ["a", "a revalidated", "a cache"])
        #expect(server.requests.last?.headers["If-None-Match"] == "W/\"1\"")
        #expect(server.requests.last?.headers["If-Modified-Since"] == modified)
        #expect(server.requests.allSatisfy { !$0.headers.contains("If-Range") })
    }

    @Test func a304UpdatesTheFieldsAndKeepsTheBody() async throws {
        let new: HTTPHeaders = ["Cache-Control": "max-age=600", "X-New": "1", "ETag": "\"1\""]
        script(["Cache-Control": "max-age=60", "ETag": "W/\"1\"", "X-Old": "1"], .status(304, headers: new))
        #expect(try await [send(), send(after: 61), send(after: 500)] == ["a", "a revalidated", "a cache"])
        let response = try await agent.response(for: get)
        #expect(response.statusCode == 200 && response.headers["X-New"] == "1" && response.headers["X-Old"] == "1")
    }

    @Test func a304WithAnotherETagCausesANewRequest() async throws {
        script(["Cache-Control": "max-age=60", "ETag": "\"1\""], .status(304, headers: ["ETag": "\"2\""]))
        server.enqueue(.text("c", headers: seconds60))
        #expect(try await [send(), send(after: 61), send()] == ["a", "c", "c cache"])
        #expect(server.requests.last?.headers["If-None-Match"] == nil)
    }

    @Test func aNewResponseReplacesTheStored() async throws {
        script(["Cache-Control": "max-age=60", "ETag": "\"1\""])
        #expect(try await [send(), send(after: 61), send()] == ["a", "b", "b cache"])
    }

    @Test func aRequestWithItsOwnConditionsBypassesTheCache() async throws {
        script(["Cache-Control": "max-age=60", "ETag": "\"1\""], .status(304))
        _ = try await send()
        #expect(try await kind(get.header("If-None-Match", "\"9\"")) == .unacceptableStatus)
        #expect(server.requests.last?.headers["If-None-Match"] == "\"9\"")
    }

    @Test func responseToHEADUpdatesTheStoredGET() async throws {
        script(
            ["Cache-Control": "max-age=60", "ETag": "\"1\""],
            .text("a", headers: ["Cache-Control": "max-age=600", "ETag": "\"1\""])
        )
        _ = try await [send(), send(get.method(.head), after: 61)]
        #expect(try await send(after: 500) == "a cache")
    }

    @Test func aHeadWithAnotherETagInvalidatesTheGet() async throws {
        script(["Cache-Control": "max-age=60", "ETag": "\"1\""], .status(200, headers: ["ETag": "\"2\""]))
        server.enqueue(.text("c"))
        _ = try await [send(), send(get.method(.head))]
        #expect(try await send() == "c")
    }

    // MARK: Stale responses (section 4.2.4, RFC 5861)

    @Test func staleResponseIsUsedOffline() async throws {
        script(["Cache-Control": "max-age=60"])
        _ = try await send()
        server.stop()
        #expect(try await send(after: 61) == "a stale")
    }

    @Test(arguments: ["must-revalidate, max-age=60", "no-cache"]) func mustRevalidateTakesPrecedenceOverOffline(
        rules: String
    ) async throws {
        script(["Cache-Control": rules, "ETag": "\"1\""])
        _ = try await send()
        server.stop()
        #expect(try await kind(after: 61) == .unreachable)
    }

    @Test func aServerErrorIsReplacedByAStaleResponse() async throws {
        script(["Cache-Control": "max-age=60", "ETag": "\"1\""], .text("down", status: 503))
        #expect(try await [send(), send(after: 61)] == ["a", "a stale"])
    }

    @Test func mustRevalidateReportsAFailureOfTheServer() async throws {
        script(["Cache-Control": "max-age=60, must-revalidate", "ETag": "\"1\""], .text("down", status: 503))
        _ = try await send()
        #expect(try await kind(after: 61) == .unacceptableStatus)
    }

    @Test func staleIfErrorIsALimit() async throws {
        let down = MockResponse.text("down", status: 500)
        script(["Cache-Control": "max-age=60, stale-if-error=30"], down)
        server.enqueue(down)
        #expect(try await [send(), send(after: 80)] == ["a", "a stale"])
        #expect(try await kind(after: 20) == .unacceptableStatus)
    }

    @Test func staleWhileRevalidateReturnsAtOnceAndRevalidates() async throws {
        script(["Cache-Control": "max-age=60, stale-while-revalidate=30", "ETag": "\"1\""])
        #expect(try await [send(), send(after: 80)] == ["a", "a cache"])
        await server.waitForRequests(2)
        #expect(server.requests.last?.headers["If-None-Match"] == "\"1\"")
        var last = "a cache"
        while last == "a cache" { last = try await send() }
        #expect(last == "b cache")
    }

    // MARK: Directives of the request (section 5.2.1)

    @Test func directivesOfTheRequestAreFollowed() async throws {
        server.on(.get, "/x", .text("x", headers: seconds60))
        func wish(_ text: String) -> Text { get.header("Cache-Control", text) }
        _ = try await send()
        #expect(try await [send(wish("max-age=20"), after: 30), send(wish("max-age=20"))] == ["x", "x cache"])
        #expect(try await [send(wish("min-fresh=40"), after: 30), send(wish("min-fresh=40"))] == ["x", "x cache"])
        #expect(try await send(wish("max-stale=20"), after: 70) == "x cache")
        #expect(try await send(wish("max-stale=20"), after: 20) == "x")
        #expect(try await [send(wish("no-cache")), send(get.header("Pragma", "no-cache"))] == ["x", "x"])
        #expect(try await send(wish("only-if-cached")) == "x cache")
        #expect(try await kind(wish("only-if-cached"), after: 61) == .cacheMiss)
    }

    // MARK: Invalidation (section 4.4)

    @Test(arguments: [HTTPMethod.post, .put, .patch, .delete]) func anUnsafeRequestInvalidatesWhatIsStored(
        method: HTTPMethod
    ) async throws {
        let location = ["Location": "/made", "Content-Location": "http://other.example/y"] as HTTPHeaders
        for path in ["/x", "/made", "/y"] { server.on(.get, path, .text(path, headers: seconds60)) }
        server.on(method, "/x", .text("done", headers: location))
        let requests = ["/x", "/made", "/y"].map { GeneralRequest($0).expecting(String.self) }
        for request in requests { _ = try await send(request) }
        _ = try await send(get.method(method))
        #expect(try await [send(requests[0]), send(requests[1]), send(requests[2])] == ["/x", "/made", "/y cache"])
    }

    @Test func unsafeRequestThatFailsInvalidatesNothing() async throws {
        server.on(.get, "/x", .text("x", headers: seconds60))
        server.on(.post, "/x", .text("no", status: 409))
        _ = try await send()
        _ = try? await send(get.method(.post))
        #expect(try await send() == "x cache")
    }

    // MARK: Beyond the rules

    @Test func storedResponseNeedsNoSocketOffline() async throws {
        script(seconds60)
        _ = try await send()
        let fresh = try MockServer(port: 0)
        var config = agent.config
        let clock = clock
        config.cache = ResponseCache(memory: MemoryStore(), disk: DiskStore(directory: folder.url), patience: 600_000) {
            clock.now
        }
        let before = server.connectionCount
        let response = try await Agent(config: config).response(for: get)
        #expect(response.model == "a" && response.source.isFromCache)
        #expect(server.connectionCount == before && fresh.connectionCount == 0)
    }
}
