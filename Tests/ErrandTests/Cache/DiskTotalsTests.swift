import Foundation
import Testing

@testable import Errand

/// The totals are never too small, and their lock is held by one writer at a time, which nobody waits for again and again.
@Suite(.ownThread) struct DiskTotalsTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func key(_ number: Int) -> CacheKey { CacheKey("\(number)") }

    private func entry(_ count: Int = 1_000) -> CacheEntry { .sample(String(repeating: "x", count: count)) }

    private func store(maximumSize: Int = .max, patience: Int = 200) -> DiskStore {
        let limit = CacheTotals(count: .max, size: maximumSize)
        return DiskStore(directory: folder.url, limit: limit, cipher: nil, touchInterval: .max, patience: patience)
    }

    private func path(_ number: Int) -> String {
        let name = key(number).description
        return folder.url.appending(path: "\(name.prefix(2))/\(name)").path
    }

    // MARK: The lock

    @Test func filesOfLiveWritersAreNotSweptWithoutTheLock() throws {
        let (one, other) = (store(), store())
        try one.store(entry(), for: key(1))
        let temporary = folder.url.appending(path: "tmp/writing")
        // A small writer's file has no lock of its own.
        let totals = try one.files.lockedTotals()
        try Data("half".utf8).write(to: temporary)
        other.trim(toBytes: 1 << 30)
        #expect(FileManager.default.fileExists(atPath: temporary.path))
        try Data("damage".utf8).write(to: folder.url.appending(path: "totals"))
        #expect(other.totals() == folder.totals)
        other.trim(toBytes: 0)
        #expect(FileManager.default.fileExists(atPath: temporary.path) && folder.totals.count == 1)
        withExtendedLifetime(totals.values) {}
        _ = consume totals
    }

    @Test func stoppedWriterIsWaitedForOnce() throws {
        let (one, other) = (store(), store(patience: 2_000))
        try one.store(entry(), for: key(0))
        let totals = try one.files.lockedTotals()
        let patience = Duration.milliseconds(1_990)
        let began = ContinuousClock.now
        #expect(throws: POSIXError(.ETIMEDOUT)) { try other.store(entry(), for: key(1)) }
        let later = ContinuousClock.now
        #expect(later - began >= patience)
        other.remove(for: key(1))
        for number in 2...10 {
            #expect(throws: POSIXError(.ETIMEDOUT)) { try other.store(entry(), for: key(number)) }
            other.remove(for: key(number))
        }
        // Not one of them has waited again.
        #expect(ContinuousClock.now - later < patience)
        withExtendedLifetime(totals.values) {}
        _ = consume totals
        try other.store(entry(), for: key(1))
        #expect(try other.entry(for: key(1)) != nil)
        // From now on, others are waited for again.
        let again = try one.files.lockedTotals()
        let next = ContinuousClock.now
        #expect(throws: POSIXError(.ETIMEDOUT)) { try other.store(entry(), for: key(2)) }
        #expect(ContinuousClock.now - next >= patience)
        withExtendedLifetime(again.values) {}
        _ = consume again
    }

    @Test func clearingDoesNotRemoveTheLockOfAFolderThatWasReplaced() throws {
        let (one, other) = (store(), store())
        try one.store(entry(), for: key(1))
        one.remove(for: key(1))
        var totals = try one.files.lockedTotals()
        try FileManager.default.removeItem(at: folder.url)
        let lock = try other.files.lockedTotals()
        try totals.didClear(one.files.totals)
        #expect(FileManager.default.fileExists(atPath: one.files.totals))
        withExtendedLifetime(lock.values) {}
        _ = consume lock
    }

    // MARK: Sizes

    @Test(arguments: [1 << 30, 5_000, 500], ["store", "remove", "remove all"])
    func sizeOfADamagedFileIsNotSubtracted(size: Int, change: String) throws {
        let store = store()
        for number in 0..<50 { try store.store(entry(), for: key(number)) }
        #expect(truncate(path(1), off_t(size)) == 0)
        switch change {
        case "store": try store.store(entry(), for: key(1))
        case "remove": store.remove(for: key(1))
        default: store.removeAll(where: { _ in true })
        }
        // Another store has no other knowledge than the file. A size too many may remain if the file was truncated.
        for store in [store, self.store()] {
            let totals = store.totals()
            #expect(totals.count == folder.totals.count)
            #expect(size > 1_500 ? totals == folder.totals : totals.size >= folder.totals.size)
        }
    }

    @Test func limitHoldsAfterAFileGrewByDamage() throws {
        let store = store(maximumSize: 200_000)
        for number in 0..<150 { try store.store(entry(), for: key(number)) }
        #expect(truncate(path(1), 1 << 30) == 0)
        var most = 0
        for number in [1] + Array(1_000..<1_140) {
            try store.store(entry(), for: key(number))
            most = max(most, folder.totals.size)
        }
        #expect(most <= 200_000)
        #expect(store.totals() == folder.totals)
    }

    @Test func foreignTemporaryFileIsNotSubtracted() throws {
        for number in 0..<5 { try store().store(entry(), for: key(number)) }
        try Data(count: 3_000).write(to: folder.url.appending(path: "tmp/foreign"))
        let store = store()
        store.prepare()
        #expect(store.totals() == folder.totals && folder.totals.count == 5)
    }

    // MARK: Room

    @Test func nothingIsRemovedForAnEntryThatDoesNotFitBesideALiveWriter() throws {
        let (one, other) = (store(maximumSize: 10 << 20), store(maximumSize: 10 << 20))
        for number in 0..<20 { try one.store(entry(10_000), for: key(number)) }
        var totals = try one.files.lockedTotals()
        let content = try EntryWriter.Content(entry(8 << 20), for: key(100), cipher: nil)
        try EntryWriter(files: one.files).write(content, for: key(100), counting: &totals) {
            #expect(throws: POSIXError(.EDQUOT)) { try other.store(entry(3 << 20), for: key(101)) }
            #expect(folder.totals.count == 21)
            // One that fits removes as few as if there were no writer.
            try other.store(entry(1_800_000), for: key(102))
            #expect(folder.totals.count > 5 && folder.totals.size <= 10 << 20)
        }
        #expect(totals.values == folder.totals)
    }

    // MARK: Later responses

    @Test func largeEntryIsNotStoredIfALaterOneIsStoredMeanwhile() throws {
        let (one, other) = (store(), store())
        try one.store(entry(), for: key(0))
        var totals = try one.files.lockedTotals()
        let content = try EntryWriter.Content(entry(2 << 20), for: key(1), cipher: nil)
        func isStored() -> Bool { FileManager.default.fileExists(atPath: path(1)) }
        #expect(throws: EntryWriter.Obsolete.self) {
            try EntryWriter(files: one.files).write(
                content,
                for: key(1),
                counting: &totals,
                meanwhile: { try other.store(.sample("later"), for: key(1)) },
                unless: isStored
            )
        }
        #expect(totals.values == folder.totals && folder.totals.count == 2)
        _ = consume totals
        #expect(try one.entry(for: key(1))?.text == "later")
    }

    private struct Plain: CacheCipher {
        func seal(_ bytes: Data, for key: CacheKey) -> Data { bytes }
        func open(_ bytes: Data, for key: CacheKey) -> Data { bytes }
    }

    @Test(arguments: [10, 20_000, 2 << 20], [false, true])
    func earlierResponseDoesNotReplaceALaterOneOfAnotherStore(count: Int, isSealed: Bool) throws {
        let stores = (0..<2).map { _ in DiskStore(directory: folder.url, cipher: isSealed ? Plain() : nil) }
        let now = Date.now
        var (early, late) = (entry(count), entry(count + 1))
        (early.requested, late.requested) = (now - 10, now - 5)
        #expect(try stores[0].storeIfLatest(late, for: key(1), at: now))
        #expect(try !stores[1].storeIfLatest(early, for: key(1), at: now))
        #expect(try stores[1].entry(for: key(1))?.body.count == count + 1)
        // A clock was set back.
        #expect(try stores[1].storeIfLatest(early, for: key(1), at: now - 7))
        #expect(try stores[0].storeIfLatest(late, for: key(1), at: now))
        try stores[1].store(early, for: key(1))
        #expect(try stores[0].entry(for: key(1))?.body.count == count)
        #expect(stores[0].totals() == folder.totals)
    }
}
