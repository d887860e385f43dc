import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Several variants of one URL, by the fields that the server nominates (RFC 9111, section 4.1).
@Suite(.limit(seconds: 60)) struct CacheVariantTests {
    private let folder: CacheFolder
    private let clock = CacheClock()
    private let server: MockServer
    private let vary = Lock("X-Kind")
    private let rules = Lock("max-age=60")

    init() throws {
        folder = try CacheFolder()
        let (vary, rules) = (vary, rules)
        server = try MockServer { request in
            let names = vary.withLock { $0 }
            var headers: HTTPHeaders = [
                "Cache-Control": rules.withLock { $0 }, "ETag": "\"\(request.headers["X-Kind"] ?? "")\"",
            ]
            if !names.isEmpty { headers["Vary"] = names }
            if let tag = headers["ETag"], request.headers["If-None-Match"] == tag {
                return .status(304, headers: headers)
            }
            return .text("\(request.headers["X-Kind"] ?? "-")\(request.headers["X-Other"] ?? "")", headers: headers)
        }
    }

    private func agent(memory: MemoryStore? = MemoryStore(), disk: Bool = true) -> Agent {
        let (clock, disk) = (clock, disk ? DiskStore(directory: folder.url) : nil)
        return server.agent(ResponseCache(memory: memory, disk: disk, patience: 600_000) { clock.now })
    }

    private let get = GeneralRequest("/x").expecting(String.self)

    private func send(
        _ kind: String?,
        _ other: String? = nil,
        on agent: Agent,
        after wait: Double = 0
    ) async throws -> String {
        clock.advance(by: wait)
        var request = get
        if let kind { request = request.header("X-Kind", kind) }
        if let other { request = request.header("X-Other", other) }
        let response = try await agent.response(for: request)
        await agent.config.cache?.flush()
        return response.source.isFromCache ? "\(response.model) cache" : response.model
    }

    @Test(arguments: [true, false], [true, false])
    func variantsAreStoredBesideEachOther(inMemory: Bool, onDisk: Bool) async throws {
        guard inMemory || onDisk else { return }
        let agent = agent(memory: inMemory ? MemoryStore() : nil, disk: onDisk)
        for kind in ["1", "2", nil, "3"] { #expect(try await send(kind, on: agent) == kind ?? "-") }
        for kind in ["1", "2", nil, "3"] { #expect(try await send(kind, on: agent) == "\(kind ?? "-") cache") }
        #expect(server.requestCount == 4)
        #expect(await agent.config.cache?.entries.count == 4)
    }

    @Test func anotherProcessFindsTheVariants() async throws {
        let first = agent()
        for kind in ["1", "2"] { _ = try await send(kind, on: first) }
        let second = agent()
        for kind in ["2", "1"] { #expect(try await send(kind, on: second) == "\(kind) cache") }
    }

    @Test(arguments: [true, false])
    func theLeastRecentlyUsedVariantIsRemovedFirst(onDisk: Bool) async throws {
        let agent = agent(disk: onDisk)
        let limit = VariantIndex.maximumCount
        for kind in 0..<limit { _ = try await send("\(kind)", on: agent) }
        #expect(try await send("0", on: agent) == "0 cache")
        #expect(try await send("new", on: agent) == "new")
        #expect(try await send("0", on: agent) == "0 cache")
        #expect(try await send("1", on: agent) == "1")
        // Each response, and the index.
        #expect(await agent.config.cache?.count == limit + 1)
    }

    @Test func theNumberOfVariantsIsBoundedUnderLoad() async throws {
        let agent = agent()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in 0..<200 {
                group.addTask { _ = try await agent.send(get.header("X-Kind", "\(kind)")) }
            }
            try await group.waitForAll()
        }
        await agent.config.cache?.flush()
        #expect(try #require(await agent.config.cache?.count) <= VariantIndex.maximumCount + 1)
    }

    @Test func eachVariantIsValidatedByItsOwnTag() async throws {
        let agent = agent()
        for kind in ["1", "2"] { _ = try await send(kind, on: agent) }
        #expect(try await send("1", on: agent, after: 61) == "1 cache")
        #expect(server.requests.last?.headers["If-None-Match"] == "\"1\"")
        #expect(try await send("2", on: agent) == "2 cache")
        #expect(server.requests.last?.headers["If-None-Match"] == "\"2\"")
    }

    @Test func anUnsafeRequestRemovesAllVariants() async throws {
        let agent = agent()
        for kind in ["1", "2", nil] { _ = try await send(kind, on: agent) }
        _ = try await agent.send(get.method(.post))
        #expect(await agent.config.cache?.entries.isEmpty == true)
        for kind in ["1", "2", nil] { #expect(try await send(kind, on: agent) == kind ?? "-") }
    }

    @Test func removingARequestsResponseRemovesAllVariants() async throws {
        for memory in [MemoryStore(), nil] {
            let agent = agent(memory: memory)
            for kind in ["1", "2", nil] { _ = try await send(kind, on: agent) }
            try agent.removeStored(for: get)
            #expect(try await send("3", on: agent) == "3")
            for kind in ["1", "2", nil] { #expect(try await send(kind, on: agent) == kind ?? "-") }
            await agent.config.cache?.removeAll()
        }
    }

    @Test func removingAllLeavesNoIndex() async throws {
        let agent = agent()
        for kind in ["1", "2"] { _ = try await send(kind, on: agent) }
        await agent.config.cache?.removeAll { _ in true }
        #expect(await agent.config.cache?.count == 0)
    }

    @Test func otherNominatedFieldsAreFollowed() async throws {
        let agent = agent()
        #expect(try await send("1", on: agent) == "1")
        vary.withLock { $0 = "X-Kind, X-Other" }
        #expect(try await send("2", "a", on: agent) == "2a")
        #expect(try await send("2", "b", on: agent) == "2b")
        #expect(try await send("2", "a", on: agent) == "2a cache")
        #expect(try await send("1", on: agent) == "1 cache")
        // The server no longer distinguishes: its response is used for every request.
        vary.withLock { $0 = "" }
        #expect(try await send("3", on: agent) == "3")
        #expect(try await send("4", on: agent) == "3 cache")
    }

    @Test func fieldsOfTheKeyNeedNoIndex() async throws {
        vary.withLock { $0 = "Accept, Accept-Language, Accept-Encoding" }
        let agent = agent()
        _ = try await agent.send(get.header("Accept-Language", "en, de;q=0.50"))
        let again = get.header("Accept-Language", "DE;q=0.5 , EN")
        #expect(try await agent.response(for: again).source.isFromCache)
        await agent.config.cache?.flush()
        #expect(await agent.config.cache?.count == 1)
    }

    @Test func aResponseThatIsNotStoredWritesNoIndex() async throws {
        rules.withLock { $0 = "no-store, max-age=60" }
        let agent = agent()
        agent.config.cachePolicy = .cacheElseNetwork(maxAge: .seconds(60))
        for kind in ["1", "1", "2"] { _ = try await send(kind, on: agent) }
        await agent.config.cache?.flush()
        #expect(await agent.config.cache?.count == 0)
    }

    @Test func hostileVaryFieldsAreBounded() async throws {
        let agent = agent()
        for round in 0..<40 {
            vary.withLock { $0 = "X-Kind, " + (0..<20).map { "X-\(round)-\($0)" }.joined(separator: ", ") }
            #expect(try await send("\(round)", on: agent) == "\(round)")
        }
        #expect(try #require(await agent.config.cache?.count) <= VariantIndex.maximumCount + 1)
    }
}
