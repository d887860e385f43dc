import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Once a newer response is known, or the stored ones were removed, no old response is returned any more.
@Suite(.limit(seconds: 60)) struct CacheOldResponseTests {
    private static let age = CachePolicy.cacheElseNetwork(maxAge: .seconds(600))
    private let request = GeneralRequest("/a").expecting(String.self)
    private let value = Lock("before")
    private let handledCount = Lock(0)
    /// Responds with the value at the time of the request; to GET and HEAD slowly, as long as it is the first value.
    private let server: MockServer

    init() throws {
        server = try MockServer { [value, handledCount] request in
            let text = value.withLock { $0 }
            defer { handledCount.withLock { $0 += 1 } }
            guard request.method == .get || request.method == .head else {
                value.withLock { $0 = "after" }
                return .text("changed")
            }
            return .text(text, headers: ["Cache-Control": "max-age=60"])
                .delayed(by: .milliseconds(text == "before" ? 250 : 0))
        }
    }

    /// Waits until the server has chosen so many responses.
    private func waitForHandled(_ count: Int) async {
        while handledCount.withLock({ $0 }) < count { await Task.yield() }
    }

    private func agent(_ policy: CachePolicy = Self.age, _ cache: ResponseCache = ResponseCache(disk: nil)) -> Agent {
        server.agent(cache, policy)
    }

    /// The events while a response is in flight.
    enum Event: String, CaseIterable, Sendable {
        case unsafeRequest, removeAll, removeVariant, removeUser, removeStored, removeWhere, removeKey
    }

    private func run(_ event: Event, _ agent: Agent, _ request: GeneralRequest<DefaultFormatter<String>>) async throws {
        let cache = try #require(agent.config.cache)
        switch event {
        case .unsafeRequest:
            _ = try await agent.send(request.method(.post))
            return
        case .removeAll: await cache.removeAll()
        case .removeVariant: await cache.removeAll(ofVariant: "v")
        case .removeUser: await cache.removeAll(ofUser: "u")
        case .removeStored: try agent.removeStored(for: request)
        case .removeWhere: await cache.removeAll { $0.head.variant == "v" }
        case .removeKey: cache.remove(for: try agent.cacheKey(for: request))
        }
        value.withLock { $0 = "after" }
    }

    @Test(arguments: Event.allCases, [age, .http, .networkElseCache(maxStale: nil)])
    func inFlightResponseIsNotStoredAfterARemoval(event: Event, policy: CachePolicy) async throws {
        let agent = agent(policy)
        let request = request.cacheIdentity(CacheIdentity(variant: "v", user: "u"))
        async let slow = agent.send(request)
        await waitForHandled(1)
        try await run(event, agent, request)
        #expect(try await slow == "before")
        await #expect(throws: CacheMiss.absent) {
            _ = try await agent.config.cache?.entry(for: try agent.cacheKey(for: request))
        }
        #expect(try await agent.send(request) == "after")
    }

    @Test func sharedResponseFromBeforeARemovalIsNotStoredByALaterSubscriber() async throws {
        let agent = agent()
        let request = request.duplicatePolicy(.share)
        async let slow = agent.send(request)
        await waitForHandled(1)
        _ = try await agent.send(request.method(.post))
        async let later = agent.send(request)
        _ = try await (slow, later)
        #expect(try await agent.send(request) == "after")
    }

    @Test func removalOfOtherUsersKeepsAnInFlightResponse() async throws {
        let agent = agent()
        let cache = try #require(agent.config.cache)
        let request = request.cacheIdentity(CacheIdentity(variant: "v", user: "u"))
        async let slow = agent.send(request)
        await waitForHandled(1)
        await cache.removeAll(ofUser: "other")
        await cache.removeAll(ofVariant: "other")
        _ = try await agent.send(GeneralRequest("/b").method(.post).expecting(String.self))
        _ = try await slow
        #expect(await cache.count == 1)
    }

    @Test func refreshUnderWayIsNotStoredAfterAnUnsafeRequest() async throws {
        let clock = CacheClock()
        let policy = CachePolicy.staleWhileRevalidate(maxAge: .seconds(1), maxStale: .seconds(600))
        let agent = agent(policy, ResponseCache(disk: nil) { clock.now })
        #expect(try await agent.send(request) == "before")
        clock.advance(by: 2)
        #expect(try await agent.send(request) == "before")
        await waitForHandled(2)
        _ = try await agent.send(request.method(.post))
        await agent.waitForRevalidations()
        #expect(try await agent.send(request) == "after")
    }

    @Test func olderHEADDoesNotFreshenANewerResponse() async throws {
        server.on(.get, "/a") { [value, handledCount] request in
            let text = value.withLock { $0 }
            defer { handledCount.withLock { $0 += 1 } }
            let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "X-Version": text]
            return .text("same", headers: fields).delayed(by: .milliseconds(request.method == .head ? 250 : 0))
        }
        let agent = agent(.http)
        async let slow = agent.response(for: request.method(.head).expecting(Data.self))
        await waitForHandled(1)
        _ = try await agent.send(request.method(.post))
        #expect(try await agent.response(for: request).headers["X-Version"] == "after")
        #expect(try await slow.headers["X-Version"] == "before")
        #expect(try await agent.response(for: request).headers["X-Version"] == "after")
    }

    @Test func earlierRequestDoesNotReplaceTheResponseToALaterOne() async throws {
        let release = DispatchSemaphore(value: 0)
        server.on(.get, "/a") { [value, handledCount] _ in
            let text = value.withLock { $0 }
            handledCount.withLock { $0 += 1 }
            // It runs on a thread of its connection, which may block.
            if text == "before" { _ = release.wait(timeout: .now() + 60) }
            return .text(text, headers: ["Cache-Control": "max-age=60"])
        }
        let agent = agent()
        async let slow = agent.send(request)
        await waitForHandled(1)
        value.withLock { $0 = "after" }
        #expect(try await agent.send(request) == "after")
        release.signal()
        #expect(try await slow == "before")
        #expect(try await agent.send(request) == "after")
    }

    @Test(arguments: [true, false])
    func unsafeRequestInvalidatesTheURLThatResponsesAreStoredUnder(ignoresToo: Bool) async throws {
        server.on(.get, "/a") { [value] _ in .text(value.withLock { $0 }) }
        let agent = agent()
        let identity = CacheIdentity(ignoredParameters: ["stamp", "marks"])
        func request(_ stamp: Int) -> GeneralRequest<DefaultFormatter<String>> {
            GeneralRequest("/a").query(["page": 1, "stamp": stamp, "marks": [stamp]]).expecting(String.self)
        }
        #expect(try await agent.send(request(1).cacheIdentity(identity)) == "before")
        #expect(try await agent.send(request(2).cacheIdentity(identity)) == "before")
        let unsafe = request(3).method(.put)
        _ = try await agent.send(ignoresToo ? unsafe.cacheIdentity(identity) : unsafe)
        #expect(try await agent.send(request(4).cacheIdentity(identity)) == "after")
    }

    // MARK: What cannot be stored

    /// A store whose writes fail once ``isFull`` is set, as on a full disk.
    private final class FailingStore: CacheStore {
        let base: DiskStore
        let isFull = Lock(false)
        init(_ folder: URL) { base = DiskStore(directory: folder) }
        func entry(for key: CacheKey) throws -> CacheEntry? { try base.entry(for: key) }
        func store(_ entry: CacheEntry, for key: CacheKey) throws {
            if isFull.withLock({ $0 }) { throw POSIXError(.ENOSPC) }
            try base.store(entry, for: key)
        }
        func remove(for key: CacheKey) throws { try base.remove(for: key) }
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) throws
        {
            try base.removeAll(among: keys, where: isMeant)
        }
        func trim(toBytes limit: Int) throws { try base.trim(toBytes: limit) }
        func totals() throws -> (count: Int, size: Int) { base.totals() }
    }

    @Test(arguments: [true, false])
    func olderResponseIsRemovedIfTheNewerCannotBeWritten(isTooLarge: Bool) async throws {
        let folder = try CacheFolder()
        server.on(.get, "/a") { [value] _ in .text(value.withLock { $0 }) }
        let store = FailingStore(folder.url)
        let disk: any CacheStore =
            isTooLarge ? DiskStore(directory: folder.url, maximumSize: 8000) : store
        let cache = ResponseCache(memory: nil, disk: disk)
        let agent = agent(Self.age, cache)
        #expect(try await agent.send(request) == "before")
        await cache.flush()
        let newer = isTooLarge ? String(repeating: "after", count: 4000) : "after"
        value.withLock { $0 = newer }
        store.isFull.withLock { $0 = true }
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == newer)
        await cache.flush()
        #expect(try await agent.send(request) == newer)
        #expect(cache.lastFailure != nil)
    }

    @Test func olderResponseIsRemovedIfTheNewerMustNotBeStored() async throws {
        let isLast = Lock(false)
        server.on(.get, "/a") { _ in
            isLast.withLock { $0 }
                ? .text("after", headers: ["Cache-Control": "no-store"])
                : .text("before", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""])
        }
        let agent = agent(.http)
        #expect(try await agent.send(request) == "before")
        isLast.withLock { $0 = true }
        #expect(try await agent.response(for: request.headers(["Cache-Control": "no-cache"])).model == "after")
        #expect(try await agent.send(request) == "after")
    }

    private struct Plain: Request {
        typealias Model = String
        final class NotSendable {}
        let path = "/a"
        let thing = NotSendable()
    }

    /// `shouldCache` of a request that is not `Sendable` cannot be called in the background.
    @Test(arguments: [nil, MemoryStore(maximumSize: 300)])
    func revalidationWorksWithoutAMemoryStore(memory: MemoryStore?) async throws {
        let folder = try CacheFolder()
        server.enqueue((1...20).map { .text("\($0)") })
        let policy = CachePolicy.staleWhileRevalidate(maxAge: .zero, maxStale: .seconds(600))
        let cache = ResponseCache(memory: memory, disk: DiskStore(directory: folder.url), patience: 600_000)
        let agent = agent(policy, cache)
        var last = ""
        for _ in 0..<4 {
            last = try await agent.send(Plain())
            await agent.waitForRevalidations()
        }
        #expect(Int(last) ?? 0 >= 3)
    }

    @Test func revalidatedResponseTooLargeForMemoryRemovesTheOlder() async throws {
        let (folder, clock) = (try CacheFolder(), CacheClock())
        server.on(.get, "/a") { [value] _ in .text(value.withLock { $0 }) }
        let policy = CachePolicy.staleWhileRevalidate(maxAge: .seconds(1), maxStale: .seconds(600))
        let memory = MemoryStore(maximumSize: 2000)
        let cache = ResponseCache(memory: memory, disk: DiskStore(directory: folder.url), patience: 600_000) {
            clock.now
        }
        let agent = agent(policy, cache)
        #expect(try await agent.send(Plain()) == "before")
        let newer = String(repeating: "after", count: 1000)
        value.withLock { $0 = newer }
        clock.advance(by: 2)
        #expect(try await agent.send(Plain()) == "before")
        await agent.waitForRevalidations()
        #expect(try await agent.send(Plain()) == newer)
    }

    // MARK: Several processes

    private static func entry(_ text: String, _ requested: Date) -> CacheEntry {
        let response = RawResponse(body: Data(text.utf8), url: URL(string: "http://a.example/x") ?? URL(filePath: "/"))
        return CacheEntry(response, requested: requested, variant: "v")
    }

    /// Another cache on the same folder is what another process has.
    @Test func removalOfAllHidesTheEntriesOfOtherProcesses() async throws {
        let (folder, clock) = (try CacheFolder(), CacheClock())
        let key = CacheKey("x")
        let other = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 600_000) { clock.now }
        let cache = ResponseCache(memory: MemoryStore(), disk: DiskStore(directory: folder.url), patience: 600_000) {
            clock.now
        }
        // It has counted its entries: there are none.
        #expect(await cache.count == 0)
        other.store(Self.entry("before", clock.now), for: key)
        await other.flush()
        #expect(try await cache.entry(for: key).body == Data("before".utf8))
        clock.advance(by: 1)
        await cache.removeAll()
        await #expect(throws: CacheMiss.absent) { try await cache.entry(for: key) }
        #expect(folder.paths.isEmpty)
    }

    @Test(arguments: [Event.removeAll, .removeVariant, .removeKey, .unsafeRequest])
    func removalHidesInFlightResponsesOfAnotherProcess(event: Event) async throws {
        let (folder, clock) = (try CacheFolder(), CacheClock())
        let key = CacheKey("http://a.example/x")
        let other = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 600_000) { clock.now }
        let cache = ResponseCache(memory: MemoryStore(), disk: DiskStore(directory: folder.url), patience: 600_000) {
            clock.now
        }
        let (late, other2) = (Self.entry("before", clock.now), CacheKey("y"))
        clock.advance(by: 1)
        switch event {
        case .removeAll: await cache.removeAll()
        case .removeVariant: await cache.removeAll(ofVariant: "v")
        case .removeKey: cache.remove(for: key)
        default: cache.removeAll(ofURL: "http://a.example/x")
        }
        await cache.flush()
        other.store(late, for: key)
        await other.flush()
        await #expect(throws: CacheMiss.absent) { try await cache.entry(for: key) }
        clock.advance(by: 1)
        other.store(Self.entry("after", clock.now), for: key)
        other.store(Self.entry("after", clock.now), for: other2)
        await other.flush()
        #expect(try await cache.entry(for: key).body == Data("after".utf8))
        #expect(try await cache.entry(for: other2).body == Data("after".utf8))
    }

    // MARK: Validation

    @Test func cookieOfAValidationReachesTheCaller() async throws {
        server.on(.get, "/a") { request in
            let fields: HTTPHeaders = ["Cache-Control": "no-cache", "ETag": "\"1\""]
            if request.headers["If-None-Match"] == nil { return .text("a", headers: fields) }
            return .status(304, headers: ["ETag": "\"1\"", "Set-Cookie": "session=2"])
        }
        let agent = agent(.http)
        _ = try await agent.send(request)
        let response = try await agent.response(for: request)
        #expect(response.headers.values(for: "Set-Cookie") == ["session=2"])
        let entry = try await agent.config.cache?.entry(for: try agent.cacheKey(for: request))
        #expect(entry?.headers["Set-Cookie"] == nil)
    }
}

extension Agent {
    /// Waits until no revalidation runs in the background.
    func waitForRevalidations() async {
        while config.cache?.revalidations.count ?? 0 > 0 { await Task.yield() }
    }
}
