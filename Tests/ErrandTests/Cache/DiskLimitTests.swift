import Foundation
import Testing

@testable import Errand

/// The limits of a directory hold within a tenth for each store, from the first entry on, and the least recently used go
/// first.
@Suite(.ownThread) struct DiskLimitTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func key(_ number: Int) -> CacheKey { CacheKey("\(number)") }

    private func kilobyte(_ number: Int = 0) -> CacheEntry {
        .sample("\(number)" + String(repeating: "x", count: 1_000))
    }

    private func store(maximumSize: Int = .max, maximumCount: Int = .max, touch: Int64 = .max) -> DiskStore {
        DiskStore(
            directory: folder.url,
            maximumSize: maximumSize,
            maximumCount: maximumCount,
            cipher: nil,
            touchInterval: touch
        )
    }

    private func isStored(_ number: Int) -> Bool {
        FileManager.default.fileExists(atPath: folder.path(of: key(number)).path)
    }

    @Test func entriesOfOneURLDoNotDisplaceTheOthers() throws {
        let store = store(maximumCount: 6_000)
        let common = (0..<5_500).map { CacheKey(url: "common", identity: key($0).words) }
        for key in common { try store.store(.sample("x"), for: key) }
        for number in 0..<501 { try store.store(.sample("x"), for: key(number)) }
        #expect((5_400...6_000).contains(folder.totals.count))
        // The oldest entries are removed, whatever their URL.
        for number in 0..<501 { #expect(isStored(number)) }
    }

    @Test func limitHoldsFromTheFirstEntryOn() throws {
        let first = store()
        for number in 0..<100 { try first.store(kilobyte(), for: key(number)) }
        let size = folder.totals.size
        let second = store(maximumSize: size)
        try second.store(kilobyte(), for: key(100))
        #expect(folder.totals.size <= size)
        let third = store(maximumSize: size / 2)
        try third.store(kilobyte(), for: key(101))
        #expect(folder.totals.size <= size / 2)
        #expect(isStored(101) && !isStored(0))
    }

    @Test func eachStoreOfADirectoryExceedsItsLimitByATenth() throws {
        let stores = (0..<3).map { _ in store(maximumSize: 100_000) }
        for number in 0..<300 {
            try stores[number % 3].store(kilobyte(), for: key(number))
            if number % 10 == 0 { #expect(folder.totals.size <= 130_000) }
        }
        #expect(folder.totals.size > 80_000)
        for store in stores { #expect(store.totals() == folder.totals) }
    }

    @Test func limitHoldsForManyStoresThatWriteALittleEach() throws {
        for number in 0..<300 {
            let store = store(maximumSize: 100_000)
            for part in 0..<3 { try store.store(kilobyte(), for: key(3 * number + part)) }
            if number % 10 == 0 { #expect(folder.totals.size <= 100_000) }
        }
        #expect(folder.totals.size > 80_000)
    }

    @Test func limitHoldsWhileThreadsStoreAndRemove() throws {
        let stores = (0..<4).map { _ in store(maximumSize: 300_000) }
        let isOver = Lock(false)
        let threads = stores.map { store in
            Worker {
                for number in 0..<400 {
                    let size = Int.random(in: 0..<10_000)
                    let entry = CacheEntry.sample(String(repeating: "x", count: size))
                    switch number % 50 {
                    case 49: try? store.trim(toBytes: number % 100 == 99 ? 0 : 100_000)
                    case 7: try? store.remove(for: key(number - 1))
                    default: try? store.store(entry, for: key(Int.random(in: 0..<200)))
                    }
                }
            }
        }
        var most = 0
        let watcher = Worker {
            while !isOver.withLock({ $0 }) {
                most = max(most, stores[0].totals().size)
                usleep(10_000)
            }
        }
        for thread in threads { thread.wait() }
        isOver.withLock { $0 = true }
        watcher.wait()
        #expect((150_000...420_000).contains(most))
        #expect(stores[0].totals() == folder.totals)
    }

    // MARK: Recency

    @Test func lookupKeepsAnEntryHoweverRecentTheOthersAre() throws {
        let store = DiskStore(directory: folder.url, maximumCount: 100)
        for number in 0..<100 { try store.store(.sample("x"), for: key(number)) }
        for number in 0..<10 { _ = try store.entry(for: key(number)) }
        store.didUse(key(10))
        // After a tenth of the limit, the files are looked at.
        for number in 100..<111 { try store.store(.sample("x"), for: key(number)) }
        #expect((0...10).allSatisfy(isStored))
        #expect(!(11..<21).contains(where: isStored))
    }

    @Test func entryFromTheFutureIsRemovedFirst() throws {
        let store = store(maximumCount: 10)
        for number in 0..<10 { try store.store(.sample("x"), for: key(number)) }
        let future = [FileAttributeKey.modificationDate: Date.now.addingTimeInterval(86_400)]
        try FileManager.default.setAttributes(future, ofItemAtPath: folder.path(of: key(9)).path)
        try self.store(maximumCount: 10).store(.sample("x"), for: key(10))
        #expect(!isStored(9) && isStored(10))
    }

    @Test func usesOfThousandsOfEntriesAreRemembered() {
        var uses = RecentTimes()
        #expect(uses.time(of: key(0)) == nil)
        for number in 0..<1_000 { uses.note(key(number), at: Int64(number + 1)) }
        let known = (0..<1_000).count { uses.time(of: key($0)) == Int64($0 + 1) }
        #expect(known > 850)
        for number in 1_000..<2_000 { #expect(uses.time(of: key(number)) == nil) }
    }

    @Test func timesOfAResponseAndItsIndexAreApart() {
        var times = RecentTimes()
        for number in 0..<100 {
            times.note(key(number), at: 1)
            times.note(key(number).variantIndex, at: 2)
            #expect(times.time(of: key(number)) == 1 && times.time(of: key(number).variantIndex) == 2)
        }
    }

    // MARK: Damage

    @Test func damageThatWasRemovedIsNotCounted() throws {
        let store = store()
        for number in 0..<3 { try store.store(kilobyte(), for: key(number)) }
        try Data("damage".utf8).write(to: folder.path(of: key(1)))
        #expect(throws: CacheMiss.damaged) { try store.entry(for: key(1)) }
        #expect(store.totals().count == 2)
        #expect(store.totals() == folder.totals)
    }

    @Test func limitHoldsAfterAFileGrewByDamage() throws {
        let store = store(maximumSize: 200_000)
        for number in 0..<150 { try store.store(kilobyte(), for: key(number)) }
        #expect(truncate(folder.path(of: key(1)).path, 1 << 30) == 0)
        var most = 0
        for number in [1] + Array(1_000..<1_140) {
            try store.store(kilobyte(), for: key(number))
            most = max(most, folder.totals.size)
        }
        #expect(most <= 200_000)
    }

    // MARK: Large entries

    private func large(_ count: Int) -> CacheEntry {
        var entry = CacheEntry.sample("")
        entry.body = Data(repeating: 0x78, count: count)
        return entry
    }

    @Test func largeEntryIsStoredInSteps() throws {
        let store = store()
        let entry = large(40 << 20)
        try store.store(entry, for: key(1))
        #expect(try store.entry(for: key(1))?.body == entry.body)
        #expect(store.totals() == folder.totals)
    }

    @Test func removingEverythingLeavesNoFile() throws {
        let store = store()
        for number in 0..<3 { try store.store(kilobyte(), for: key(number)) }
        try store.trim(toBytes: 0)
        #expect(folder.files == [])
        try store.store(kilobyte(), for: key(1))
        #expect(store.totals() == folder.totals)
    }

    // MARK: Temporary files

    @Test func sweepLeavesTheFilesOfLiveWriters() throws {
        let isOver = Lock(false)
        let sweeper = Worker {
            while !isOver.withLock({ $0 }) { try? DiskStore(directory: folder.url).trim(toBytes: 1 << 30) }
        }
        let failures = Lock(0)
        let writers = (0..<2).map { writer in
            Worker {
                let store = store()
                for number in 0..<1_000 {
                    do {
                        try store.store(.sample("x"), for: key(writer * 1_000 + number))
                    } catch {
                        failures.withLock { $0 += 1 }
                    }
                }
            }
        }
        for writer in writers { writer.wait() }
        isOver.withLock { $0 = true }
        sweeper.wait()
        #expect(failures.withLock { $0 } == 0)
    }
}

/// A thread that may block, unlike the threads of the pool.
private final class Worker: Sendable {
    private let done = DispatchSemaphore(value: 0)

    init(_ work: @escaping () -> Void) {
        nonisolated(unsafe) let work = work  // It runs once, on this thread, and is over when `wait` returns.
        Thread.detachNewThread { [done] in
            work()
            done.signal()
        }
    }

    func wait() { done.wait() }
}
