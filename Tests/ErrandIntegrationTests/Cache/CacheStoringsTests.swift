import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Responses that are stored once a slow disk has been read are found, replaced and removed in the meantime.
@Suite(.limit(seconds: 60)) struct CacheStoringsTests {
    private let request = GeneralRequest("/x").expecting(String.self)
    private let rig: SlowStoreRig
    private var store: DelayedStore { rig.store }
    private var cache: ResponseCache { rig.cache }
    private var agent: Agent { rig.agent }

    /// The limit of a lookup is the subject of other tests; a busy machine would exceed it.
    private static let patience = 600_000

    init() throws { rig = try SlowStoreRig(patience: Self.patience) }

    @Test func firstVariantsAtOnceAreAllFound() async throws {
        let kinds = (0..<8).map { "\($0)" }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in kinds { group.addTask { _ = try await agent.send(request.header("X-Kind", kind)) } }
            try await group.waitForAll()
        }
        await cache.flush()
        for kind in kinds { #expect(try await rig.isStored(kind), "\(kind)") }
    }

    /// Its index is read in the background.
    @Test func aVariantThatTheProgramStoresDoesNotSurviveARemoval() async throws {
        let request = request.header("X-Kind", "1").cacheIdentity(CacheIdentity(user: "alice"))
        _ = try await agent.send(request)
        await cache.flush()
        store.slow(0.2)
        let response = RawResponse(headers: SlowStoreRig.vary, body: Data("private".utf8), url: rig.server.baseURL)
        try agent.store(response, for: request)
        await cache.removeAll(ofUser: "alice")
        await cache.flush()
        await store.recover()
        await #expect(throws: NetworkError.self) { try await agent.send(request.cachePolicy(.cacheOnly)) }
    }

    @Test func manyVariantsAtOnceLeaveTheOthers() async throws {
        for number in 0..<100 {
            _ = try await agent.send(GeneralRequest("/\(number)").expecting(String.self).header("X-Kind", "old"))
        }
        await cache.flush()
        store.slow(0.01)
        let fresh = ResponseCache(memory: nil, disk: store, patience: Self.patience)
        let agent = rig.agent(fresh, .reload)
        agent.config.throttle = Throttle(maximumInTotal: 100)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                let request = GeneralRequest("/\(number)").expecting(String.self).header("X-Kind", "new")
                group.addTask { _ = try await agent.send(request) }
            }
            try await group.waitForAll()
        }
        await fresh.flush()
        await store.recover()
        for number in 0..<100 {
            for kind in ["old", "new"] {
                let request = GeneralRequest("/\(number)").expecting(String.self).header("X-Kind", kind)
                #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == kind, "\(number) \(kind)")
            }
        }
    }

    /// A storing that waits for a slow disk references the cache, and must not do so forever.
    @Test func theCacheIsReleasedOnceEverythingIsStored() async throws {
        let (store, rig) = (DelayedStore(), rig)
        store.slow(0.005)
        func use() async -> Weak {
            let cache = ResponseCache(memory: nil, disk: store, patience: Self.patience)
            let agent = rig.agent(cache, .reload)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    let request = GeneralRequest("/\(number % 7)").expecting(String.self).header("X-Kind", "\(number)")
                    // What is stored and what is not is the subject of other tests.
                    group.addTask { _ = try? await agent.send(request) }
                }
            }
            let read = Task { try await agent.send(GeneralRequest("/8").cachePolicy(.cacheOnly)) }
            read.cancel()
            _ = await read.result
            return Weak(cache: cache)
        }
        let used = await use()
        let began = ContinuousClock.now
        while used.cache != nil, began.duration(to: .now) < .seconds(40) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(used.cache == nil)
    }

    private struct Weak { weak var cache: ResponseCache? }

    /// Also right after it was received, while its index is read.
    @Test func aVariantIsFoundAtOnceAndLeavesThePlainResponse() async throws {
        _ = try await agent.send(request)
        await cache.flush()
        store.slow(0.05)
        let agent = rig.agent(ResponseCache(memory: nil, disk: store, patience: Self.patience))
        let variant = request.header("X-Kind", "1")
        #expect(try await agent.send(variant.cachePolicy(.reload)) == "1")
        #expect(try await agent.send(variant.cachePolicy(.cacheOnly)) == "1")
        #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == "plain")
    }

    /// Lookups find what is being stored, however long the disk takes; of several responses to a request, the last one.
    @Test(arguments: [true, false]) func aVariantIsFoundWhileTheDiskHangs(hasMemory: Bool) async throws {
        store.slow(1_000)
        let cache = ResponseCache(memory: hasMemory ? MemoryStore() : nil, disk: store)
        let agent = rig.agent(cache)
        let variant = request.header("X-Kind", "1")
        for number in 1...5 {
            rig.respond(.text("\(number)", headers: SlowStoreRig.vary))
            #expect(try await agent.send(variant.cachePolicy(.reload)) == "\(number)")
        }
        for _ in 0..<5 { #expect(try await agent.send(variant) == "5") }
        await store.recover()
        await cache.flush()
        #expect(try await agent.send(variant.cachePolicy(.cacheOnly)) == "5")
    }

    @Test func aVariantThatIsBeingStoredDelaysNoOtherResponse() async throws {
        let agent = rig.agent(ResponseCache(disk: store))
        _ = try await agent.send(request)
        store.slow(1_000)
        _ = try await agent.send(request.header("X-Kind", "1").cachePolicy(.reload))
        #expect(try await agent.response(for: request).source.isFromCache)
        await store.recover()
    }

    /// A removal concerns what is being stored too, at once.
    @Test func aVariantThatIsBeingStoredIsRemovedAtOnce() async throws {
        store.slow(0.5)
        let variant = request.header("X-Kind", "1").cacheIdentity(CacheIdentity(user: "alice"))
        for removal in 0..<3 {
            _ = try await agent.send(variant.cachePolicy(.reload))
            switch removal {
            case 0: await cache.removeAll(ofUser: "alice")
            case 1: try agent.removeStored(for: variant)
            default: _ = try await agent.send(GeneralRequest("/x").expecting(String.self).method(.post))
            }
            await #expect(throws: NetworkError.self) {
                try await agent.send(variant.cachePolicy(.cacheOnly).deadline(.seconds(5)))
            }
        }
        await store.recover()
    }

    @Test func aCancelledFlushReturns() async throws {
        _ = try await agent.send(request.header("X-Kind", "1"))
        await cache.flush()
        store.slow(1_000)
        _ = try await agent.send(request.header("X-Kind", "2").cachePolicy(.reload))
        let task = Task { await cache.flush() }
        task.cancel()
        await task.value
        await store.recover()
    }
}
