import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A store that hangs does not delay sends that may end, and one that throws keeps nothing in memory.
@Suite(.limit(seconds: 60)) struct CacheWaitTests {
    /// A store that blocks until it is released, or for two minutes, which no test waits for.
    final class Hanging: CacheStore {
        let inner = MemoryStore()
        let reads = Record<CacheKey>()
        private let gate = DispatchSemaphore(value: 0)
        private let isOpen = Lock(false)
        private let isOver = Lock(false)
        let entered = Record<String>()

        func release() {
            isOpen.withLock { $0 = true }
            for _ in 0..<1_000 { gate.signal() }
        }
        private func hang(_ name: String) {
            entered.add(name)
            guard !isOpen.withLock({ $0 }) else { return }
            if gate.wait(timeout: .now() + .seconds(120)) == .timedOut { isOver.withLock { $0 = true } }
        }
        /// Whether no send has waited for the blocked call.
        var stillBlocks: Bool { !isOpen.withLock { $0 } && !isOver.withLock { $0 } }
        func entry(for key: CacheKey) -> CacheEntry? {
            reads.add(key)
            hang("read")
            return inner.entry(for: key)
        }
        func store(_ entry: CacheEntry, for key: CacheKey) { inner.store(entry, for: key) }
        func remove(for key: CacheKey) { inner.remove(for: key) }
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) {
            hang("remove")
            inner.removeAll(among: keys, where: isMeant)
        }
        func trim(toBytes limit: Int) {
            hang("trim")
            inner.trim(toBytes: limit)
        }
        func totals() -> (count: Int, size: Int) {
            hang("totals")
            return inner.totals()
        }
    }

    private let key = CacheKey("k")

    private func resultOnceCancelled<Value>(_ task: Task<Value, any Error>) async -> Result<Value, any Error> {
        task.cancel()
        return await task.result
    }

    @Test func cancelledLookUpDoesNotWaitForTheStore() async throws {
        let store = Hanging()
        let cache = ResponseCache(memory: nil, disk: store, patience: 60_000)
        let task = Task { try await cache.entry(for: key) }
        await wait { store.entered.all == ["read"] }
        #expect(await resultOnceCancelled(task).failure is CancellationError)
        #expect(store.stillBlocks)
        store.release()
    }

    @Test func cancelledSendDoesNotWaitForTheStore() async throws {
        let store = Hanging()
        let rig = CachedRig(disk: store, memory: nil, patience: 60_000) { _ in .json("1") }
        let task = Task { try await rig.agent.send(GeneralRequest("/x").expecting(Int.self)) }
        await wait { store.entered.all == ["read"] }
        #expect(await resultOnceCancelled(task).failure is CancellationError)
        #expect(store.stillBlocks && rig.count == 0)
        store.release()
    }

    @Test func lookUpAfterTheDeadlineHasAMoment() async throws {
        let store = Hanging()
        store.inner.store(.sample("x"), for: key)
        let cache = ResponseCache(memory: nil, disk: store)
        func look() async throws -> CacheEntry {
            let stop = StopSignal()
            stop.stop(.deadline)
            return try await cache.entry(for: key, endedBy: stop, until: cache.limit(ofSendFor: .zero))
        }
        await #expect(throws: CacheMiss.tooSlow) { _ = try await look() }
        #expect(store.stillBlocks)
        store.release()
        // The moment is wall time, which a busy machine may take away: then the next look-up has another one. Without
        // it none would find anything.
        var found: CacheEntry?
        while found == nil, !Task.isCancelled {
            do { found = try await look() } catch CacheMiss.tooSlow { await Task.yield() }
        }
        #expect(found?.text == "x")
    }

    @Test func abandonedReadStillFillsTheMemory() async throws {
        let (store, memory) = (Hanging(), MemoryStore())
        store.inner.store(.sample("x"), for: key)
        let cache = ResponseCache(memory: memory, disk: store, patience: 60_000)
        let task = Task { try await cache.entry(for: key) }
        await wait { store.entered.all == ["read"] }
        #expect(await resultOnceCancelled(task).failure is CancellationError)
        #expect(memory.entry(for: key) == nil)
        store.release()
        await wait { memory.entry(for: key) != nil }
        #expect(try await cache.entry(for: key).text == "x")
        #expect(store.reads.all.count == 1)
    }

    @Test func storeThatHangsIsReadOnce() async throws {
        let (store, memory) = (Hanging(), MemoryStore())
        let counter = ResponseCounter()
        let rig = CachedRig(disk: store, memory: memory) { _ in .json("\(try counter.next())") }
        let request = GeneralRequest("/x").expecting(Int.self)
        store.inner.store(.sample("7"), for: try rig.agent.cacheKey(for: request))
        let response = try await rig.agent.response(for: request)
        #expect(response.model == 1 && response.metrics.cacheMiss == .tooSlow)
        // The same part of the store hangs, which is known by now.
        memory.trim(toBytes: 0)
        _ = await rig.cache.maintain {}
        #expect(try await rig.agent.response(for: request).metrics.cacheMiss == .tooSlow)
        #expect(store.stillBlocks && store.reads.all.count == 1)
        store.release()
    }

    @Test func readThatIsTooLateFillsTheMemory() async throws {
        let (store, memory) = (Hanging(), MemoryStore())
        store.inner.store(.sample("x"), for: key)
        let cache = ResponseCache(memory: memory, disk: store)
        await #expect(throws: CacheMiss.tooSlow) {
            _ = try await cache.entry(for: key)
        }
        store.release()
        await wait { memory.entry(for: key) != nil }
        #expect(try await cache.entry(for: key).text == "x")
    }

    @Test func lookUpWithoutALimitWaitsForTheStore() async throws {
        let store = Hanging()
        store.inner.store(.sample("x"), for: key)
        let cache = ResponseCache(memory: nil, disk: store)
        let task = Task { try await cache.entry(for: key, endedBy: nil, until: nil) }
        await #expect(throws: CacheMiss.tooSlow) { _ = try await cache.entry(for: key) }
        store.release()
        #expect(try await task.value.text == "x")
        #expect(try await cache.entry(for: key, endedBy: nil, until: nil).text == "x")
    }

    @Test func limitLeavesHalfOfTheTimeToTheNetwork() {
        let cache = ResponseCache(memory: nil, disk: nil, patience: 500)
        let limits: [(Duration?, Int)] = [(nil, 500), (.seconds(60), 500), (.milliseconds(400), 200), (.zero, 25)]
        for (rest, limit) in limits {
            let (before, time, after) = (DispatchTime.now(), cache.limit(ofSendFor: rest), DispatchTime.now())
            #expect(time >= before + .milliseconds(limit) && time <= after + .milliseconds(limit))
        }
    }

    @Test func lookUpsAbandonedInTheQueueNeverReachTheStore() async throws {
        let store = Hanging()
        store.inner.store(.sample("x"), for: key)
        let cache = ResponseCache(memory: nil, disk: store, patience: 60_000)
        let first = Task { try await cache.entry(for: key) }
        await wait { store.entered.all == ["read"] }
        let waiting = (0..<100).map { _ in Task { try await cache.entry(for: key) } }
        let last = Task { try await cache.entry(for: key) }
        for task in waiting { task.cancel() }
        for task in waiting { #expect(await task.result.failure is CancellationError) }
        #expect(store.stillBlocks)
        store.release()
        #expect(try await first.value.text == "x")
        #expect(try await last.value.text == "x")
        #expect(store.reads.all.count == 2)
    }

    @Test func maintenanceAndFlushEndWithTheirTask() async throws {
        let works: [@Sendable (ResponseCache) async -> Void] = [
            { await $0.flush() }, { _ = await $0.size }, { _ = await $0.entries }, { await $0.removeAll() },
            { await $0.removeAll { _ in true } }, { await $0.trim(toBytes: 0) }, { await $0.removeAll(ofScope: "a") },
        ]
        for work in works {
            let store = Hanging()
            let cache = ResponseCache(memory: nil, disk: store)
            let first = Task { await cache.trim(toBytes: 0) }
            await wait { !store.entered.all.isEmpty }
            let task = Task<Void, any Error> { await work(cache) }
            // Few, as each may take long while the store hangs for two minutes.
            for _ in 0..<5 { await Task.yield() }
            _ = await resultOnceCancelled(task)
            #expect(store.stillBlocks)
            store.release()
            await first.value
        }
    }

    @Test func unsafeRequestDoesNotWaitForAStoreThatHangs() async throws {
        let (store, counter) = (Hanging(), ResponseCounter())
        let rig = CachedRig(disk: store) { _ in .json("\(try counter.next())") }
        let request = GeneralRequest("/x").expecting(Int.self)
        let key = try rig.agent.cacheKey(for: request)
        store.inner.store(.sample("7"), for: key)
        #expect(try await rig.agent.send(request.method(.put)) == 1)
        // The stored response is invalid at once, although the store has not removed it yet.
        await #expect(throws: CacheMiss.absent) { _ = try await rig.cache.entry(for: key) }
        #expect(try await rig.agent.send(request) == 2)
        #expect(try await rig.agent.send(request) == 2)
        #expect(store.stillBlocks)
        store.release()
        await rig.cache.flush()
        // A response that was stored after the removal is kept.
        #expect(store.inner.entry(for: key)?.text == "2")
    }

    @Test func removalTakesEffectBeforeTheStoreFinishes() async throws {
        let store = Hanging()
        let cache = ResponseCache(disk: store)
        store.inner.store(.sample("old"), for: key)
        cache.store(.sample("other"), for: CacheKey("other"))
        let removal = Task { await cache.removeAll() }
        await wait { store.entered.all.contains("trim") }
        for key in [key, CacheKey("other")] {
            await #expect(throws: CacheMiss.absent) { _ = try await cache.entry(for: key) }
        }
        #expect(store.stillBlocks)
        cache.store(.sample("new"), for: key)
        #expect(try await cache.entry(for: key).text == "new")
        store.release()
        await removal.value
        await cache.flush()
        #expect(store.inner.entry(for: key)?.text == "new")
    }

    /// A store whose maintenance fails.
    struct Failing: CacheStore {
        func entry(for key: CacheKey) throws -> CacheEntry? { nil }
        func store(_ entry: CacheEntry, for key: CacheKey) throws { throw Boom() }
        func remove(for key: CacheKey) throws {}
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) throws
        {
            throw Boom()
        }
        func trim(toBytes limit: Int) throws { throw Boom() }
        func totals() throws -> (count: Int, size: Int) { throw Boom() }
    }

    @Test(
        arguments: [
            { await $0.removeAll() }, { await $0.removeAll { _ in true } }, { await $0.trim(toBytes: 0) },
            { await $0.removeAll(ofVariant: "v") }, { await $0.removeAll(ofScope: "s") },
        ] as [@Sendable (ResponseCache) async -> Void]
    )
    func memoryIsClearedEvenIfTheStoreThrows(remove: @Sendable (ResponseCache) async -> Void) async throws {
        let cache = ResponseCache(disk: Failing())
        var entry = CacheEntry.sample("x")
        entry.variant = "v"
        entry.scope = "s"
        cache.store(entry, for: key)
        await remove(cache)
        #expect(cache.memory?.totals().count == 0)
        #expect(cache.lastFailure as? Boom == Boom())
        await #expect(throws: CacheMiss.absent) { _ = try await cache.entry(for: key) }
    }
}
