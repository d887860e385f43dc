import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Guarantee G12: what the table of ``CacheRulesTests`` does not show of the rules of RFC 9111, over real sockets.
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
        agent = server.agent(cache)
    }

    private typealias Text = GeneralRequest<DefaultFormatter<String>>
    private let get = GeneralRequest("/x").expecting(String.self)
    private let seconds60: HTTPHeaders = ["Cache-Control": "max-age=60"]

    /// Sends, and returns the body with its source.
    private func send(_ request: Text? = nil, after wait: Double = 0) async throws -> String {
        clock.advance(by: wait)
        let response = try await agent.response(for: request ?? get)
        await cache.flush()
        return response.model + response.source.suffix
    }

    /// Responds with `a`, then `b`, with these fields.
    private func script(_ headers: HTTPHeaders, _ second: MockResponse? = nil) {
        server.enqueue(.text("a", headers: headers), second ?? .text("b", headers: headers))
    }

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

    @Test func storedResponseHasItsAge() async throws {
        script(["Cache-Control": "max-age=60", "Age": "5"])
        _ = try await send()
        clock.advance(by: 10)
        #expect(try await agent.response(for: get).headers.values(for: "Age") == ["15"])
    }

    // MARK: Vary (section 4.1)

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

    // MARK: Stale responses (section 4.2.4, RFC 5861)

    @Test func staleWhileRevalidateReturnsAtOnceAndRevalidates() async throws {
        script(["Cache-Control": "max-age=60, stale-while-revalidate=30", "ETag": "\"1\""])
        #expect(try await [send(), send(after: 80)] == ["a", "a cache"])
        await server.waitForRequests(2)
        #expect(server.requests.last?.headers["If-None-Match"] == "\"1\"")
        var last = "a cache"
        while last == "a cache" { last = try await send() }
        #expect(last == "b cache")
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
        let (clock, before) = (clock, server.connectionCount)
        let disk = DiskStore(directory: folder.url)
        let launched = ResponseCache(memory: MemoryStore(), disk: disk, patience: 600_000) { clock.now }
        let response = try await server.agent(launched).response(for: get)
        #expect(response.model == "a" && response.source.isFromCache)
        #expect(server.connectionCount == before)
    }
}
