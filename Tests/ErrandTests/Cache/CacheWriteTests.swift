import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Storing can be awaited and reports its outcome, and what waits for a disk is bounded.
@Suite(.limit(seconds: 60)) struct CacheWriteTests {
    private let key = CacheKey("k")

    @Test func storingCanBeAwaitedAndReportsItsOutcome() async throws {
        let cache = ResponseCache(disk: CacheWaitTests.Failing())
        let failed = try await cache.store(.sample("x"), for: key).outcome()
        guard case .failed(let error) = failed else { throw Boom() }
        #expect(error is Boom)
        let unwritten = CacheEntry.sample("x", headers: ["Cache-Control": "no-store"])
        guard case .inMemory = try await cache.store(unwritten, for: key).outcome() else { throw Boom() }
        let write = ResponseCache(disk: MemoryStore()).store(.sample("x"), for: key)
        for _ in 0..<2 { guard case .stored = try await write.outcome() else { throw Boom() } }
        let alone = ResponseCache(disk: nil).store(.sample("x"), for: key)
        guard case .stored = try await alone.outcome() else { throw Boom() }
        let small = ResponseCache(memory: MemoryStore(maximumSize: 10), disk: nil).store(.sample("x"), for: key)
        guard case .failed(POSIXError.EFBIG) = try await small.outcome() else { throw Boom() }
    }

    enum Keeping: CaseIterable {
        case all, nothing, noMemory
        var memory: MemoryStore? {
            switch self {
            case .all: MemoryStore()
            case .nothing: MemoryStore(maximumSize: 0)
            case .noMemory: nil
            }
        }
    }

    @Test(arguments: Keeping.allCases) func earlierResponseDoesNotReplaceALaterOne(keeping: Keeping) async throws {
        let clock = WallClock()
        let cache = ResponseCache(memory: keeping.memory, disk: MemoryStore()) { clock.now }
        let early = cache.ticket
        clock.advance(by: 1)
        let late = cache.ticket
        var (old, new) = (CacheEntry.sample("old"), CacheEntry.sample("new"))
        (old.requested, new.requested) = (early.date, late.date)
        cache.store(new, for: key, since: late)
        await cache.flush()
        let write = CacheWrite()
        cache.store(old, for: key, since: early, reportingTo: write)
        guard case .superseded = try await write.outcome() else { throw Boom() }
        #expect(try await cache.entry(for: key).text == "new")
        // A response that a program stores replaces any other.
        cache.store(old, for: key)
        await cache.flush()
        #expect(try await cache.entry(for: key).text == "old")
    }

    /// A store that has a later variant, as of another process.
    private struct LaterVariant: CacheStore {
        let entries: [CacheKey: CacheEntry]
        func entry(for key: CacheKey) -> CacheEntry? { entries[key] }
        func store(_ entry: CacheEntry, for key: CacheKey) {}
        func remove(for key: CacheKey) {}
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) {}
        func trim(toBytes limit: Int) {}
        func totals() -> (count: Int, size: Int) { (0, 0) }
    }

    @Test func supersededVariantIsNotFoundOnceItsOutcomeIsKnown() async throws {
        let fields: HTTPHeaders = ["X-Kind": "1"]
        var later = CacheEntry.sample("later", headers: ["Vary": "X-Kind"])
        later.vary = [CacheEntry.VaryField(name: "x-kind", digest: CacheControl.digest(fields, "x-kind"))]
        var earlier = later
        (earlier.body, earlier.requested) = (Data("earlier".utf8), later.requested - 10)
        let places = (0..<500).map { CachePlace(primary: CacheKey("\($0)"), request: fields, counted: []) }
        var entries: [CacheKey: CacheEntry] = [:]
        for place in places {
            var index = VariantIndex(names: ["x-kind"])
            let key = try #require(index.key(at: place))
            _ = index.use(key)
            entries[key] = later
            entries[place.primary.variantIndex] = index.entry(like: later)
        }
        let clock = WallClock()
        let cache = ResponseCache(disk: LaterVariant(entries: entries)) { clock.now }
        for place in places {
            let write = CacheWrite()
            cache.store(earlier, at: place, since: cache.ticket, reportingTo: write)
            guard case .superseded = try await write.outcome() else { throw Boom() }
            var place = place
            let found = try await cache.entry(at: &place, endedBy: nil, until: nil)
            try #require(found.text == "later")
        }
    }

    @Test func whatIsStoredBesideARemovalIsOnDiskAfterIt() async throws {
        let folder = try TemporaryDirectory()
        let (disk, key) = (
            DiskStore(directory: folder.url), CacheKey(url: "https://api.example/x", identity: (1, 2, 3, 4))
        )
        let cache = ResponseCache(disk: disk)
        for round in 0..<1_000 {
            async let removal: Void =
                round % 2 == 0 ? cache.removeAll() : cache.removeAll(ofURL: "https://api.example/x")
            let outcome = try await cache.store(.sample("\(round)"), for: key).outcome()
            await removal
            await cache.flush()
            guard case .stored = outcome, cache.memory?.entry(for: key) != nil else { continue }
            try #require(try disk.entry(for: key)?.text == "\(round)", "\(round)")
        }
    }

    @Test func whatIsFoundIsWrittenBeforeAFlushOrARemoval() async throws {
        let (disk, last, seen) = (MemoryStore(), Lock<Int?>(0), Lock(0))
        let cache = ResponseCache(memory: MemoryStore(), disk: disk)
        Thread.detachNewThread {
            while let number = last.withLock({ last in
                last = last.map { $0 + 1 }
                return last
            }) {
                cache.store(.sample("x"), for: CacheKey("\(number)"))
                usleep(20)
                // A store has 1,000 entries: one that is looked for must not be evicted.
                while number > seen.withLock({ $0 }) + 500, last.withLock({ $0 }) != nil { usleep(20) }
            }
        }
        defer { last.withLock { $0 = nil } }
        for round in 0..<2_000 {
            let number = last.withLock { $0 } ?? 0
            seen.withLock { $0 = number }
            let key = CacheKey("\(number)")
            for _ in 0..<100 where cache.memory?.entry(for: key) == nil { await Task.yield() }
            guard cache.memory?.entry(for: key) != nil else { continue }
            if round % 2 == 0 {
                await cache.flush()
                try #require(disk.entry(for: key) != nil)
            } else {
                await cache.removeAll { $0.key == key }
                await cache.flush()
                try #require(disk.entry(for: key) == nil)
            }
        }
    }

    /// A store whose writes hang until it is released.
    private struct Stuck: CacheStore {
        let gate = DispatchSemaphore(value: 0)
        func entry(for key: CacheKey) -> CacheEntry? { nil }
        func store(_ entry: CacheEntry, for key: CacheKey) { gate.wait() }
        func remove(for key: CacheKey) {}
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) {}
        func trim(toBytes limit: Int) {}
        func totals() -> (count: Int, size: Int) { (3, 7) }
    }

    @Test func sizeDoesNotWaitForWritesThatHang() async throws {
        let store = Stuck()
        let cache = ResponseCache(disk: store)
        let write = cache.store(.sample("x"), for: key)
        #expect(await cache.size == 7)
        #expect(await cache.count == 3)
        store.gate.signal()
        guard case .stored = try await write.outcome() else { throw Boom() }
        #expect(await cache.count == 3)
    }

    @Test func storingThatIsReplacedOrRemovedReportsIt() async throws {
        let store = CacheWaitTests.Hanging()
        let cache = ResponseCache(disk: store)
        let removal = Task { await cache.trim(toBytes: .max) }
        await wait { store.entered.all == ["trim"] }
        let writes = (0..<4).map { cache.store(.sample("\($0)"), for: CacheKey("\($0)")) }
        let last = cache.store(.sample("new"), for: CacheKey("0"))
        cache.remove(for: CacheKey("1"))
        cache.removeAll(ofURL: "2")
        for write in writes[..<3] { guard case .superseded = try await write.outcome() else { throw Boom() } }
        #expect(store.stillBlocks)
        let waiting = Task { try await last.outcome() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        store.release()
        guard case .stored = try await last.outcome() else { throw Boom() }
        guard case .stored = try await writes[3].outcome() else { throw Boom() }
        await removal.value
    }

    @Test func entryOfAnySizeIsWrittenAndTheQueueIsBounded() async throws {
        let store = CacheWaitTests.Hanging()
        let cache = ResponseCache(memory: nil, disk: store)
        func large(_ size: Int) -> CacheEntry {
            var entry = CacheEntry.sample("")
            entry.body = Data(count: size)
            return entry
        }
        let removal = Task { await cache.trim(toBytes: .max) }
        await wait { store.entered.all == ["trim"] }
        let first = cache.store(large(100 << 20), for: key)
        let second = cache.store(.sample("x"), for: CacheKey("other"))
        guard case .failed(let error) = try await second.outcome() else { throw Boom() }
        #expect(error as? POSIXError == POSIXError(.ENOBUFS))
        store.release()
        _ = try await first.outcome()
        guard case .stored = try await cache.store(.sample("x"), for: CacheKey("other")).outcome() else { throw Boom() }
        await removal.value
    }

    @Test func headersCountInTheQueueOfWrites() async throws {
        let store = CacheWaitTests.Hanging()
        let cache = ResponseCache(memory: nil, disk: store)
        let removal = Task { await cache.trim(toBytes: .max) }
        await wait { store.entered.all == ["trim"] }
        let entry = CacheEntry.sample("", headers: ["X": String(repeating: "x", count: 1 << 20)])
        let writes = (0..<66).map { cache.store(entry, for: CacheKey("\($0)")) }
        guard case .failed = try await writes[65].outcome() else { throw Boom() }
        store.release()
        await removal.value
    }
}
