import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What a newer response says about variants and about storing replaces what older ones said, also on a slow disk.
@Suite(.limit(seconds: 60)) struct CacheStaleVariantTests {
    private static let age = CachePolicy.cacheElseNetwork(maxAge: .seconds(600))
    private let request = GeneralRequest("/x").expecting(String.self)
    private let clock = CacheClock()
    private let responses = Lock<[MockResponse]>([])
    private let server: MockServer

    init() throws {
        let responses = responses
        server = try MockServer { _ in
            responses.withLock { $0.isEmpty ? .status(404) : $0.removeFirst() }
        }
    }

    private func agent(_ policy: CachePolicy, _ cache: ResponseCache? = nil) -> Agent {
        let clock = clock
        var config = NetworkConfig(baseURL: server.baseURL)
        config.environment = [:]
        config.retryPolicy = .never
        config.cache = cache ?? ResponseCache(disk: nil) { clock.now }
        config.cachePolicy = policy
        return Agent(config: config)
    }

    private func respond(_ next: MockResponse...) { responses.withLock { $0 = next } }

    @Test func aVariantReplacesTheResponseThatItsRequestSelectedBefore() async throws {
        respond(.text("old"), .text("new", headers: ["Vary": "X-Kind"]))
        let (agent, request) = (agent(Self.age), request.header("X-Kind", "1"))
        #expect(try await agent.send(request) == "old")
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == "new")
        #expect(try await agent.send(request) == "new")
    }

    @Test func aResponseWithoutVariantsReplacesThemAll() async throws {
        respond(.text("old", headers: ["Vary": "X-Kind"]), .text("new"))
        let (agent, request) = (agent(Self.age), request.header("X-Kind", "1"))
        #expect(try await agent.send(request) == "old")
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == "new")
        // As if the limits had evicted it.
        agent.config.cache?.remove(for: try agent.cacheKey(for: request))
        await #expect(throws: NetworkError.self) { try await agent.send(request.cachePolicy(.cacheOnly)) }
    }

    @Test(
        arguments: [
            ["Cache-Control": "max-age=60", "Vary": "*"], ["Cache-Control": "no-store, max-age=60"],
        ] as [HTTPHeaders]
    )
    func aValidationThatForbidsStoringRemovesTheStoredResponse(headers: HTTPHeaders) async throws {
        let validated: HTTPHeaders = headers.merging(["ETag": "\"1\""])
        respond(
            .text("a", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]),
            .status(304, headers: validated),
            .text("b")
        )
        let agent = agent(.http)
        #expect(try await agent.send(request) == "a")
        clock.advance(by: 1)
        #expect(try await agent.response(for: request).source.isFromCache)
        #expect(try await agent.send(request.header("X-Kind", "other")) == "b")
    }

    @Test func aValidationOfARequestThatAnInterceptorChangedForbidsStoring() async throws {
        struct Changing: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var request = request
                request.headers["X-Kind"] = context.tag
                return try await next(request)
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        respond(
            .text("a", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]),
            .status(304, headers: ["Cache-Control": "max-age=60", "Vary": "X-Kind"]),
            .text("b")
        )
        var config = agent(.http).config
        config.interceptors = [Changing()]
        let agent = Agent(config: config)
        #expect(try await agent.send(request.tag("1")) == "a")
        clock.advance(by: 1)
        #expect(try await agent.send(request.tag("1")) == "a")
        #expect(try await agent.send(request.tag("2")) == "b")
    }

    @Test func aHeadThatNamesOtherVariantsRemovesTheStoredResponse() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
        respond(
            .text("one", headers: headers),
            MockResponse(status: 200, headers: headers.merging(["Vary": "X-Kind", "Content-Length": "3"])),
            .text("two")
        )
        let agent = agent(.http)
        #expect(try await agent.send(request.header("X-Kind", "one")) == "one")
        let head = GeneralRequest("/x").expecting(Void.self).method(.head)
        try await agent.send(head.header("X-Kind", "one"))
        #expect(try await agent.send(request.header("X-Kind", "two")) == "two")
    }

    // MARK: Hostile and unusual fields

    /// Thousands of names would cost much time with each send.
    @Test(arguments: [17, 5_000])
    func aResponseThatDependsOnTooManyFieldsIsNotStored(count: Int) async throws {
        let names = (0..<count).map { "x" + String($0, radix: 36) }
        var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
        for start in stride(from: 0, to: count, by: 10_000) {
            headers.add("Vary", names[start..<min(count, start + 10_000)].joined(separator: ","))
        }
        respond(.text("a", headers: headers))
        let agent = agent(.http)
        #expect(try await agent.send(request) == "a")
        #expect(await agent.config.cache?.count == 0)
    }

    @Test func aNameThatIsNoTokenIsNotStored() async throws {
        respond(.text("a", headers: ["Vary": ":variants", "Cache-Control": "max-age=60"]))
        let agent = agent(.http)
        #expect(try await agent.send(request) == "a")
        #expect(await agent.config.cache?.count == 0)
    }

    /// Only its own definition says whether a field is a list.
    @Test func valuesOfUnknownFieldsAreComparedAsTheyAreWritten() async throws {
        let headers: HTTPHeaders = ["Vary": "X-Columns", "Cache-Control": "max-age=60"]
        respond(.text("three", headers: headers), .text("two", headers: headers))
        let agent = agent(.http)
        #expect(try await agent.send(request.header("X-Columns", "a,,b")) == "three")
        #expect(try await agent.send(request.header("X-Columns", "a,b")) == "two")
    }

    // MARK: Slow stores, and none in memory

    /// A store whose reads take a time.
    private struct SlowStore: CacheStore {
        let base = MemoryStore()
        let delay: Lock<Double>
        let readCount = Lock(0)
        func entry(for key: CacheKey) throws -> CacheEntry? {
            readCount.withLock { $0 += 1 }
            defer { readCount.withLock { $0 -= 1 } }
            Thread.sleep(forTimeInterval: delay.withLock { $0 })
            return base.entry(for: key)
        }
        func store(_ entry: CacheEntry, for key: CacheKey) throws { base.store(entry, for: key) }
        func remove(for key: CacheKey) throws { base.remove(for: key) }
        func removeAll(
            among keys: @Sendable (CacheKey) -> Bool,
            where isMeant: @Sendable (StoredEntry) -> Bool
        ) throws { base.removeAll(among: keys, where: isMeant) }
        func trim(toBytes limit: Int) throws { base.trim(toBytes: limit) }
        func totals() throws -> CacheTotals { base.totals() }
    }

    @Test func aResponseThatIsNotStoredRemovesOneThatCouldNotBeRead() async throws {
        let delay = Lock(0.0)
        respond(
            .text("old", headers: ["Cache-Control": "max-age=600"]),
            .text("new", headers: ["Cache-Control": "no-store"]),
            .text("newest")
        )
        let store = SlowStore(delay: delay)
        let cache = ResponseCache(memory: nil, disk: store)
        let agent = agent(.http, cache)
        #expect(try await agent.send(request) == "old")
        await cache.flush()
        delay.withLock { $0 = 0.7 }
        let response = try await agent.response(for: request)
        #expect(response.model == "new" && response.metrics.cacheMiss == .tooSlow)
        delay.withLock { $0 = 0 }
        while store.readCount.withLock({ $0 }) > 0 { await Task.yield() }
        await cache.flush()
        #expect(try await agent.send(request) == "newest")
    }

    @Test func aHeadRemovesAResponseThatCouldNotBeRead() async throws {
        let delay = Lock(0.0)
        respond(
            .text("old", headers: ["Cache-Control": "max-age=600", "ETag": "\"1\""]),
            .status(200, headers: ["ETag": "\"2\""]),
            .text("new")
        )
        let store = SlowStore(delay: delay)
        let cache = ResponseCache(memory: nil, disk: store)
        let agent = agent(.http, cache)
        #expect(try await agent.send(request) == "old")
        await cache.flush()
        delay.withLock { $0 = 0.7 }
        try await agent.send(GeneralRequest("/x").expecting(Void.self).method(.head))
        delay.withLock { $0 = 0 }
        while store.readCount.withLock({ $0 }) > 0 { await Task.yield() }
        await cache.flush()
        #expect(try await agent.send(request) == "new")
    }

    /// Each of several reads of one send is fast enough, all together are not.
    @Test func aSlowStoreDelaysASendByHalfASecondAltogether() async throws {
        let delay = Lock(0.0)
        let headers: HTTPHeaders = ["Vary": "X-Kind", "Cache-Control": "max-age=60"]
        respond(.text("1", headers: headers), .text("2", headers: headers))
        let cache = ResponseCache(memory: nil, disk: SlowStore(delay: delay))
        let agent = agent(.http, cache)
        _ = try await agent.send(request.header("X-Kind", "1"))
        await cache.flush()
        delay.withLock { $0 = 0.4 }
        let began = ContinuousClock.now
        _ = try await agent.send(request.header("X-Kind", "2"))
        #expect(ContinuousClock.now - began < .milliseconds(780))
    }

    @Test func aVariantIsFoundOnASlowDiskWhenTheCacheIsAllThereIs() async throws {
        let delay = Lock(0.0)
        respond(.text("1", headers: ["Vary": "X-Kind"]))
        let cache = ResponseCache(memory: nil, disk: SlowStore(delay: delay))
        let (agent, request) = (agent(Self.age, cache), request.header("X-Kind", "1"))
        _ = try await agent.send(request)
        await cache.flush()
        delay.withLock { $0 = 0.6 }
        #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == "1")
    }

    /// Entries of other URLs are stored between the read of the index and its change.
    @Test func otherEntriesDoNotCostTheVariantsWithoutMemory() async throws {
        let cache = ResponseCache(memory: nil, disk: SlowStore(delay: Lock(0)))
        let url = try #require(URL(string: "https://api.example/x"))
        func response(_ kind: String) -> CacheEntry {
            let headers: HTTPHeaders = ["Vary": "X-Kind"]
            var entry = CacheEntry(RawResponse(headers: headers, body: Data(kind.utf8), url: url), requested: clock.now)
            entry.vary = CacheControl.vary(headers, request: ["X-Kind": kind])
            return entry
        }
        func place(_ kind: String) -> CachePlace {
            CachePlace(primary: CacheKey("x"), request: ["X-Kind": kind], counted: [])
        }
        for kind in ["1", "2", "3", "4"] {
            var place = place(kind)
            _ = try await cache.readIndex(&place, endedBy: nil, nil)
            cache.store(response("noise"), for: CacheKey("y"))
            cache.store(response(kind), at: place, since: nil)
            await cache.flush()
        }
        for kind in ["1", "2", "3", "4"] {
            var place = place(kind)
            let fields: HTTPHeaders = ["X-Kind": kind]
            let entry = try await cache.entry(at: &place, endedBy: nil, nil) {
                CacheControl.matches($0, request: fields)
            }
            #expect(entry.body == Data(kind.utf8))
        }
    }
}
