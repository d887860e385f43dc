import Foundation
import Testing

@testable import Errand

@Suite struct ResponseCacheTests {
    private let folder: TemporaryDirectory
    private let key = CacheKey("k")

    init() throws { folder = try TemporaryDirectory() }

    private func cache(memory: MemoryStore? = MemoryStore()) -> ResponseCache {
        ResponseCache(memory: memory, disk: DiskStore(directory: folder.url))
    }

    @Test func whatIsStoredIsFoundAtOnceAndInTheNextProcess() async throws {
        let first = cache(memory: nil)
        first.store(.sample("x"), for: key)
        #expect(try await first.entry(for: key).text == "x")
        await first.flush()
        #expect(try await cache().entry(for: key).text == "x")
    }

    @Test func removedEntryIsAbsentAtOnceAndInTheNextProcess() async throws {
        let first = cache()
        first.store(.sample("x"), for: key)
        await first.flush()
        first.remove(for: key)
        await #expect(throws: CacheMiss.absent) { _ = try await first.entry(for: key) }
        await first.flush()
        await #expect(throws: CacheMiss.absent) { _ = try await cache().entry(for: key) }
    }

    @Test func anEntryOnDiskIsInMemoryAfterItsFirstUse() async throws {
        let first = cache()
        first.store(.sample("x"), for: key)
        await first.flush()
        let memory = MemoryStore()
        _ = try await cache(memory: memory).entry(for: key)
        #expect(memory.entry(for: key)?.text == "x")
    }

    @Test func noStoreResponseIsNeverOnDisk() async throws {
        let cache = cache()
        cache.store(.sample("old"), for: key)
        await cache.flush()
        cache.store(.sample("new", headers: ["Cache-Control": "no-store"]), for: key)
        #expect(try await cache.entry(for: key).text == "new")
        await cache.flush()
        #expect(folder.files == [])
    }

    @Test func sizeAndCountDescribeTheDisk() async throws {
        let cache = cache()
        for number in 0..<20 { cache.store(.sample("\(number)"), for: CacheKey("\(number)")) }
        #expect(await cache.count == 20)
        let bytes = try folder.files.map { try Data(contentsOf: folder.url.appending(path: $0)).count }
        #expect(await cache.size == bytes.reduce(0, +))
    }

    @Test func entriesHaveAllMetadataButNoBody() async throws {
        let cache = cache()
        var entry = CacheEntry.sample("x")
        entry.variant = "user 7"
        cache.store(entry, for: key)
        let found = try #require(await cache.entries.first)
        #expect(found.key == key && found.head.variant == "user 7" && found.head.body.isEmpty)
        #expect(found.url?.absoluteString == "https://api.example/x" && found.byteCount > 100)
    }

    @Test func removingByConditionReachesMemoryAndDisk() async throws {
        let cache = cache()
        for number in 0..<10 {
            var entry = CacheEntry.sample("\(number)")
            entry.variant = number % 2 == 0 ? "even" : "odd"
            cache.store(entry, for: CacheKey("\(number)"))
        }
        await cache.removeAll(ofVariant: "even")
        #expect(await cache.count == 5)
        for number in 0..<10 {
            let found = try? await cache.entry(for: CacheKey("\(number)")).text
            #expect(found == (number % 2 == 0 ? nil : "\(number)"))
        }
        await cache.removeAll()
        #expect(await cache.count == 0)
        #expect(cache.memory?.totals().count == 0)
    }

    @Test func trimmingLeavesAtMostSoManyBytes() async throws {
        let cache = cache()
        for number in 0..<50 { cache.store(.sample(String(repeating: "x", count: 1_000)), for: CacheKey("\(number)")) }
        await cache.trim(toBytes: 10_000)
        #expect(await cache.size <= 10_000)
        #expect(await cache.count > 3)
    }

    @Test func responseFromBeforeAClearingIsNotStored() async throws {
        let cache = cache()
        let ticket = cache.ticket
        await cache.removeAll()
        cache.store(.sample("late"), for: key, since: ticket)
        await #expect(throws: CacheMiss.absent) { _ = try await cache.entry(for: key) }
        cache.store(.sample("new"), for: key, since: cache.ticket)
        #expect(try await cache.entry(for: key).text == "new")
    }

    @Test func failingDiskStillUsesMemory() async throws {
        let cache = ResponseCache(disk: DiskStore(directory: URL(filePath: "/proc/nowhere")))
        cache.store(.sample("x"), for: key)
        await cache.flush()
        #expect(try await cache.entry(for: key).text == "x")
        #expect(cache.lastFailure is POSIXError)
        #expect(await cache.count == 0)
        await cache.trim(toBytes: 0)
        await cache.removeAll()
    }

    /// A store whose look-ups return only when it is released.
    private struct Slow: CacheStore {
        let inner = MemoryStore()
        let gate = DispatchSemaphore(value: 0)
        let entered = DispatchSemaphore(value: 0)

        func entry(for key: CacheKey) -> CacheEntry? {
            let entry = inner.entry(for: key)
            entered.signal()
            gate.wait()
            return entry
        }
        func store(_ entry: CacheEntry, for key: CacheKey) { inner.store(entry, for: key) }
        func remove(for key: CacheKey) { inner.remove(for: key) }
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) {
            inner.removeAll(among: keys, where: isMeant)
        }
        func trim(toBytes limit: Int) { inner.trim(toBytes: limit) }
        func totals() -> (count: Int, size: Int) { inner.totals() }
    }

    @Test func slowLookupDoesNotRestoreARemovedEntry() async throws {
        let (slow, memory) = (Slow(), MemoryStore())
        slow.store(.sample("old"), for: key)
        let cache = ResponseCache(memory: memory, disk: slow)
        async let found = cache.entry(for: key)
        await withCheckedContinuation { continuation in
            // A thread of its own, because the threads of the global queue run the tests.
            Thread.detachNewThread {
                slow.entered.wait()
                continuation.resume()
            }
        }
        cache.remove(for: key)
        // Once for this look-up, once for the one below.
        slow.gate.signal()
        slow.gate.signal()
        _ = try? await found
        #expect(memory.entry(for: key) == nil)
        await #expect(throws: CacheMiss.absent) { _ = try await cache.entry(for: key) }
    }

    @Test func customStoreIsUsed() async throws {
        let slow = Slow()
        for _ in 0..<4 { slow.gate.signal() }
        let cache = ResponseCache(memory: nil, disk: slow)
        cache.store(.sample("x"), for: key)
        await cache.flush()
        #expect(try await cache.entry(for: key).text == "x")
        #expect(await cache.count == 1)
    }
}
