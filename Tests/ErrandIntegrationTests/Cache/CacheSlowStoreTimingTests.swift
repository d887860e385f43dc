import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A slow store neither loses what it has, nor returns what is obsolete, nor delays a send by more than half a second.
@Suite(.timing, .serialized) struct CacheSlowStoreTimingTests {
    private let request = GeneralRequest("/x").expecting(String.self)
    private let rig: SlowStoreRig
    private var store: DelayedStore { rig.store }
    private var cache: ResponseCache { rig.cache }
    private var agent: Agent { rig.agent }

    init() throws { rig = try SlowStoreRig() }

    @Test func aResponseThatIsNotStoredRemovesOneThatCouldNotBeRead() async throws {
        rig.respond(
            .text("old", headers: ["Cache-Control": "max-age=600"]),
            .text("new", headers: ["Cache-Control": "no-store"]),
            .text("newest")
        )
        #expect(try await agent.send(request) == "old")
        await cache.flush()
        store.slow(0.7)
        let response = try await agent.response(for: request)
        #expect(response.model == "new" && response.metrics.cacheMiss == .tooSlow)
        await store.recover()
        await cache.flush()
        #expect(try await agent.send(request) == "newest")
    }

    /// The variant is fast, or each read alone.
    @Test(arguments: [true, false])
    func aResponseThatIsNotStoredRemovesAVariantThatCouldNotBeRead(isIndexSlow: Bool) async throws {
        let request = request.header("X-Kind", "1")
        rig.respond(.text("old", headers: SlowStoreRig.vary), .text("new", headers: ["Cache-Control": "no-store"]))
        #expect(try await agent.send(request) == "old")
        await cache.flush()
        if isIndexSlow {
            store.slow(try agent.cacheKey(for: request).variantIndex, 0.7)
        } else {
            store.slow(0.3)
        }
        let response = try await agent.response(for: request)
        #expect(response.model == "new" && response.metrics.cacheMiss == .tooSlow)
        await store.recover()
        await cache.flush()
        #expect(try await agent.send(request) == "1")
    }

    @Test(arguments: [0.1, 0.6])
    func aHeadRemovesOnlyWhatItCouldNotCompare(seconds: Double) async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600", "ETag": "\"1\""]
        rig.respond(.text("body", headers: headers), .status(200, headers: headers.merging(["Content-Length": "4"])))
        #expect(try await agent.send(request) == "body")
        await cache.flush()
        store.slow(seconds)
        try await agent.send(GeneralRequest("/x").expecting(Void.self).method(.head))
        await store.recover()
        await cache.flush()
        #expect(try await rig.isStored(nil) == (seconds < 0.5))
    }

    /// Each of several reads of one send is fast enough, all together are not.
    @Test(arguments: [CachePolicy.http, .reload], [HTTPMethod.get, .head])
    func aSendIsDelayedByHalfASecondAltogether(policy: CachePolicy, method: HTTPMethod) async throws {
        _ = try await agent.send(request.header("X-Kind", "1"))
        await cache.flush()
        store.slow(0.4)
        let began = ContinuousClock.now
        try await agent.send(
            request.header("X-Kind", "2").method(method).cachePolicy(policy).expecting(Void.self)
        )
        #expect(ContinuousClock.now - began < .milliseconds(policy == .http ? 780 : 300))
    }

    @Test(arguments: [CachePolicy.http, .reload])
    func aDeadlineLeavesTimeForTheNetwork(policy: CachePolicy) async throws {
        store.slow(0.45)
        let response = try await agent.send(
            request.header("X-Kind", "1").cachePolicy(policy).deadline(.milliseconds(400))
        )
        #expect(response == "1")
    }

    @Test func aVariantIsFoundWhenTheCacheIsAllThereIs() async throws {
        _ = try await agent.send(request.header("X-Kind", "1"))
        await cache.flush()
        store.slow(0.15)
        #expect(try await rig.isStored("1"))
        // The limit of half a second applies to every lookup.
        store.slow(0.6)
        #expect(try await !rig.isStored("1"))
    }

    @Test func aStaleVariantIsFoundWhenTheNetworkFails() async throws {
        let agent = rig.agent(cache, .networkElseCache(maxStale: nil))
        let request = request.header("X-Kind", "1")
        _ = try await agent.send(request)
        await cache.flush()
        store.slow(0.1)
        rig.respond(.status(503))
        #expect(try await agent.send(request) == "1")
    }

    /// A variant that is stored leaves the others, however long it takes to read them; in memory or not.
    @Test(arguments: [0.1, 0.3], [true, false])
    func aVariantLeavesTheOthers(seconds: Double, hasMemory: Bool) async throws {
        _ = try await agent.send(request)
        for kind in ["1", "2", "3"] {
            _ = try await agent.send(request.header("X-Kind", kind))
            await cache.flush()
        }
        store.slow(seconds)
        let launched = ResponseCache(memory: hasMemory ? MemoryStore() : nil, disk: store)
        #expect(try await rig.agent(launched).send(request.header("X-Kind", "4")) == "4")
        await launched.flush()
        await store.recover()
        for kind in [nil, "1", "2", "3", "4"] { #expect(try await rig.isStored(kind), "\(kind ?? "plain")") }
    }

    @Test func aMissCostsNoRemoval() async throws {
        for number in 0..<5 {
            _ = try await agent.send(GeneralRequest("/\(number)").expecting(String.self))
            await cache.flush()
        }
        #expect(store.removeCount.withLock { $0 } == 0)
    }

    /// Entries of other URLs are stored between the read of the index and its change.
    @Test func otherResponsesDoNotCostTheVariants() async throws {
        for kind in ["1", "2", "3", "4"] {
            var place = CachePlace(primary: CacheKey("x"), request: ["X-Kind": kind], counted: [])
            await #expect(throws: CacheMiss.self) {
                try await cache.entry(at: &place, endedBy: nil, until: nil)
            }
            _ = try await agent.send(GeneralRequest("/noise").expecting(String.self).cachePolicy(.reload))
            cache.store(try entry(kind), at: place, since: nil)
            await cache.flush()
        }
        for kind in ["1", "2", "3", "4"] {
            var place = CachePlace(primary: CacheKey("x"), request: ["X-Kind": kind], counted: [])
            let found = try await cache.entry(at: &place, endedBy: nil, until: nil)
            #expect(found.body == Data(kind.utf8))
        }
    }

    private func entry(_ kind: String) throws -> CacheEntry {
        let url = try #require(URL(string: "https://api.example/x"))
        let response = RawResponse(headers: SlowStoreRig.vary, body: Data(kind.utf8), url: url)
        var entry = CacheEntry(response, requested: Date())
        entry.vary = CacheControl.vary(SlowStoreRig.vary, request: ["X-Kind": kind])
        return entry
    }
}
