import Foundation
import Testing

@testable import Errand

/// The limits of a directory hold for all stores together, from the first entry on, and the least recently used go first.
@Suite(.ownThread) struct DiskLimitTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func key(_ number: Int) -> CacheKey { CacheKey("\(number)") }

    private func kilobyte(_ number: Int = 0) -> CacheEntry {
        .sample("\(number)" + String(repeating: "x", count: 1_000))
    }

    private func store(maximumSize: Int = .max, maximumCount: Int = .max, touch: Int64 = .max) -> DiskStore {
        let limit = CacheTotals(count: maximumCount, size: maximumSize)
        return DiskStore(directory: folder.url, limit: limit, cipher: nil, touchInterval: touch)
    }

    private func isStored(_ number: Int) -> Bool {
        let name = key(number).description
        return FileManager.default.fileExists(atPath: folder.url.appending(path: "\(name.prefix(2))/\(name)").path)
    }

    @Test func entriesOfOneURLDoNotDisplaceTheOthers() throws {
        let store = store(maximumCount: 6_000)
        let common = (0..<5_500).map { CacheKey(url: "common", identity: key($0).words) }
        for key in common { try store.store(.sample("x"), for: key) }
        for number in 0..<501 { try store.store(.sample("x"), for: key(number)) }
        #expect(folder.totals.count == 5_400)
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

    @Test func storesOfOneDirectoryHaveOneLimit() throws {
        // A lock belongs to an opened file, so they exclude each other as processes do.
        let stores = (0..<3).map { _ in store(maximumSize: 100_000) }
        for number in 0..<300 {
            try stores[number % 3].store(kilobyte(), for: key(number))
            if number % 10 == 0 { #expect(folder.totals.size <= 100_000) }
        }
        #expect(folder.totals.size > 80_000)
        for store in stores { #expect(store.totals() == folder.totals) }
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
                    case 49: store.trim(toBytes: number % 100 == 99 ? 0 : 100_000)
                    case 7: store.remove(for: key(number - 1))
                    default: try? store.store(entry, for: key(Int.random(in: 0..<200)))
                    }
                }
            }
        }
        var most = 0
        let watcher = Worker {
            while !isOver.withLock({ $0 }) {
                most = max(most, folder.lockedTotals.size)
                usleep(10_000)
            }
        }
        for thread in threads { thread.wait() }
        isOver.withLock { $0 = true }
        watcher.wait()
        #expect((150_000...300_000).contains(most))
        #expect(stores[0].totals() == folder.totals)
    }

    // MARK: Recency

    @Test func lookupKeepsAnEntryHoweverRecentTheOthersAre() throws {
        let store = DiskStore(directory: folder.url, maximumCount: 100)
        for number in 0..<100 { try store.store(.sample("x"), for: key(number)) }
        for number in 0..<10 { _ = try store.entry(for: key(number)) }
        store.didUse(key(10))
        try store.store(.sample("x"), for: key(100))
        #expect((0...10).allSatisfy(isStored))
        #expect(!(11..<21).contains(where: isStored))
    }

    @Test func entryFromTheFutureIsRemovedFirst() throws {
        let store = store(maximumCount: 10)
        for number in 0..<10 { try store.store(.sample("x"), for: key(number)) }
        let name = key(9).description
        let future = [FileAttributeKey.modificationDate: Date.now.addingTimeInterval(86_400)]
        let path = folder.url.appending(path: "\(name.prefix(2))/\(name)").path
        try FileManager.default.setAttributes(future, ofItemAtPath: path)
        try self.store(maximumCount: 10).store(.sample("x"), for: key(10))
        #expect(!isStored(9) && isStored(10))
    }

    @Test func ownPredecessorIsRemovedBeforeOthers() throws {
        let store = store(maximumSize: 3_500)
        for number in 0..<2 { try store.store(kilobyte(), for: key(number)) }
        let long = CacheEntry.sample(String(repeating: "x", count: 1_700))
        try store.store(long, for: key(1))
        #expect(isStored(0) && isStored(1))
        #expect(folder.totals.size <= 3_500)
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
            times.note(key(number), at: 1, isForAll: true)
            times.note(key(number).variantIndex, at: 2)
            #expect(times.time(of: key(number)) == 1 && times.time(of: key(number).variantIndex) == 2)
            #expect(times.timeForAll(of: key(number)) == 1 && times.timeForAll(of: key(number).variantIndex) == nil)
        }
    }

    @Test func aTimeThatIsNotedAgainHasAnotherMark() {
        var times = RecentTimes()
        #expect(times.mark(of: key(0)) == 0)
        times.note(key(0), at: 1)
        let mark = times.mark(of: key(0))
        times.note(key(0), at: 1)
        #expect(mark != 0 && times.mark(of: key(0)) != mark)
    }

    // MARK: The totals

    @Test(arguments: ["", "x", String(repeating: "y", count: 48), "a folder", "a pipe", "a link"])
    func totalsAreCountedAgainIfTheirFileIsDamaged(damage: String) throws {
        let first = store()
        for number in 0..<20 { try first.store(kilobyte(), for: key(number)) }
        let file = folder.url.appending(path: "totals")
        try FileManager.default.removeItem(at: file)
        switch damage {
        case "a folder": try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        case "a pipe": #expect(mkfifo(file.path, 0o600) == 0)
        case "a link":
            try FileManager.default.createSymbolicLink(at: file, withDestinationURL: folder.url.appending(path: "else"))
        default: try Data(damage.utf8).write(to: file)
        }
        let second = store(maximumSize: 15_000)
        try second.store(kilobyte(), for: key(20))
        #expect(folder.totals.size <= 15_000 && isStored(20))
        #expect(second.totals() == folder.totals)
        #expect(!FileManager.default.fileExists(atPath: folder.url.appending(path: "else").path))
    }

    @Test func sizeThatAKilledWriterReservedIsFreedByTheNextEviction() throws {
        let first = store(maximumSize: 20_000)
        try first.store(kilobyte(), for: key(0))
        do {
            var totals = try first.files.lockedTotals()
            try totals.reserve(17_000)
        }
        #expect(first.totals().size > 17_000)
        for number in 1..<5 { try first.store(kilobyte(), for: key(number)) }
        #expect((0..<5).allSatisfy(isStored))
        #expect(first.totals() == folder.totals)
    }

    @Test func damageThatWasRemovedIsNotCounted() throws {
        let store = store()
        for number in 0..<3 { try store.store(kilobyte(), for: key(number)) }
        let name = key(1).description
        try Data("damage".utf8).write(to: folder.url.appending(path: "\(name.prefix(2))/\(name)"))
        #expect(throws: CacheMiss.damaged) { try store.entry(for: key(1)) }
        #expect(store.totals().count == 2)
        #expect(store.totals() == folder.totals)
    }

    @Test func lockedDirectoryIsAnErrorThatIsReadAndRemovedFromAllTheSame() throws {
        let store = store()
        try store.store(.sample("x"), for: key(1))
        let descriptor = open(folder.url.appending(path: "totals").path, O_RDONLY)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(try store.entry(for: key(1))?.text == "x")
        #expect(store.totals().count == 1)
        store.remove(for: key(1))
        #expect(try store.entry(for: key(1)) == nil)
        #expect(throws: POSIXError(.ETIMEDOUT)) { _ = try DiskTotals.locked(store.files.totals, upTo: 10).values }
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

    @Test func othersStoreWhileALargeEntryIsWritten() throws {
        let (one, other) = (store(maximumSize: 10 << 20), store(maximumSize: 10 << 20))
        let writer = EntryWriter(files: one.files)
        var totals = try one.files.lockedTotals()
        #expect(one.count(in: &totals) == CacheTotals())
        let content = try EntryWriter.Content(large(6 << 20), for: key(1), cipher: nil)
        try writer.write(content, for: key(1), counting: &totals) {
            // The large entry counts with its final size, is not swept, and is not evicted.
            try other.store(large(3 << 20), for: key(2))
            try other.store(large(3 << 20), for: key(3))
            #expect(!isStored(2) && isStored(3))
            #expect(folder.totals.count == 2 && folder.totals.size <= 10 << 20)
            // No room can be made beside it.
            #expect(throws: POSIXError(.EDQUOT)) { try other.store(large(5 << 20), for: key(4)) }
        }
        #expect(isStored(1))
        #expect(totals.values == folder.totals)
    }

    @Test func largeEntryIsNotStoredIfEverythingIsRemovedMeanwhile() throws {
        let (one, other) = (store(), store())
        var totals = try one.files.lockedTotals()
        #expect(one.count(in: &totals) == CacheTotals())
        let content = try EntryWriter.Content(large(2 << 20), for: key(1), cipher: nil)
        #expect(throws: POSIXError(.ECANCELED)) {
            try EntryWriter(files: one.files).write(content, for: key(1), counting: &totals) { other.trim(toBytes: 0) }
        }
        #expect(folder.files == [])
        #expect(other.totals() == CacheTotals())
    }

    @Test func removingEverythingLeavesNoFile() throws {
        let store = store()
        for number in 0..<3 { try store.store(kilobyte(), for: key(number)) }
        store.trim(toBytes: 0)
        #expect(!FileManager.default.fileExists(atPath: folder.url.appending(path: "totals").path))
        #expect(folder.files == [])
        try store.store(kilobyte(), for: key(1))
        #expect(store.totals() == folder.totals)
    }

    // MARK: Temporary files

    @Test func sweepLeavesTheFilesOfLiveWriters() throws {
        let isOver = Lock(false)
        let sweeper = Worker {
            while !isOver.withLock({ $0 }) { DiskStore(directory: folder.url).prepare() }
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

extension TemporaryDirectory {
    /// The totals at a moment at which no store changes the files.
    fileprivate var lockedTotals: CacheTotals {
        let descriptor = open(url.appending(path: "totals").path, O_RDONLY)
        defer { close(descriptor) }
        flock(descriptor, LOCK_EX)
        return totals
    }
}

/// A thread that blocks, which those of the pool must not.
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
