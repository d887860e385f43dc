import Foundation
import Testing

@testable import Errand

@Suite(.ownThread) struct DiskStoreTests {
    private let folder: TemporaryDirectory
    private let store: DiskStore

    init() throws {
        folder = try TemporaryDirectory()
        store = DiskStore(directory: folder.url)
    }

    private func key(_ number: Int) -> CacheKey { CacheKey("\(number)") }
    private func path(_ number: Int) -> URL { folder.path(of: key(number)) }

    private func small(maximumSize: Int = .max, maximumCount: Int = .max) -> DiskStore {
        DiskStore(
            directory: folder.url,
            maximumSize: maximumSize,
            maximumCount: maximumCount,
            cipher: nil,
            touchInterval: -1
        )
    }

    @Test func whatIsStoredIsFoundByAnotherStoreOfTheDirectory() throws {
        let long = String(repeating: "long ", count: 50_000)
        for (number, text) in ["", "short", long].enumerated() { try store.store(.sample(text), for: key(number)) }
        let other = DiskStore(directory: folder.url)
        for (number, text) in ["", "short", long].enumerated() {
            #expect(try other.entry(for: key(number))?.text == text)
        }
        #expect(try other.entry(for: key(9)) == nil)
    }

    @Test func headerSectionLargerThanTheFirstReadIsReadCompletely() throws {
        let headers: HTTPHeaders = ["X": String(repeating: "h", count: 20_000)]
        try store.store(.sample("body", headers: headers), for: key(1))
        let entry = try #require(try store.entry(for: key(1)))
        #expect(entry.headers == headers && entry.text == "body")
    }

    @Test func filesAreForTheirOwnerAlone() throws {
        try store.store(.sample("x"), for: key(1))
        let file = try FileManager.default.attributesOfItem(atPath: path(1).path)
        #expect(file[.posixPermissions] as? Int == 0o600)
        for folder in [path(1).deletingLastPathComponent(), folder.url.appending(path: "v2/tmp")] {
            let facts = try FileManager.default.attributesOfItem(atPath: folder.path)
            #expect(facts[.posixPermissions] as? Int == 0o700)
        }
        let inner = folder.url.appending(path: "a/b")
        try DiskStore(directory: inner).store(.sample("x"), for: key(1))
        let facts = try FileManager.default.attributesOfItem(atPath: inner.path)
        #expect(facts[.posixPermissions] as? Int == 0o700)
    }

    @Test func fileNamesRevealNothing() throws {
        let secret = CacheKey("https://api.example/?token=hunter2")
        try store.store(.sample("x"), for: secret)
        #expect(folder.files.allSatisfy { !$0.contains("hunter2") && !$0.contains("example") })
    }

    // MARK: Damage

    private func isMissAndRemoved(_ number: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(throws: CacheMiss.damaged, sourceLocation: sourceLocation) { try store.entry(for: key(number)) }
        #expect(!FileManager.default.fileExists(atPath: path(number).path), sourceLocation: sourceLocation)
        #expect(throws: Never.self, sourceLocation: sourceLocation) {
            try store.store(.sample("new"), for: key(number))
        }
        #expect((try? store.entry(for: key(number)))?.text == "new", sourceLocation: sourceLocation)
    }

    @Test func entriesThatChangedPlacesAreMisses() throws {
        try store.store(.sample("1"), for: key(1))
        try store.store(.sample("2"), for: key(2))
        let aside = folder.url.appending(path: "aside")
        try FileManager.default.moveItem(at: path(1), to: aside)
        try FileManager.default.moveItem(at: path(2), to: path(1))
        try FileManager.default.moveItem(at: aside, to: path(2))
        isMissAndRemoved(1)
        isMissAndRemoved(2)
    }

    @Test func anEntryOfALaterVersionIsAMiss() throws {
        try store.store(.sample("1"), for: key(1))
        var data = try Data(contentsOf: path(1))
        data[8] = 3
        try data.write(to: path(1))
        isMissAndRemoved(1)
    }

    @Test(arguments: ["", "{}", String(repeating: "x", count: 5_000)]) func aForeignFileIsAMiss(text: String) throws {
        try store.store(.sample("1"), for: key(1))
        try Data(text.utf8).write(to: path(1))
        isMissAndRemoved(1)
    }

    @Test func aFolderInPlaceOfAFileIsAMiss() throws {
        let inner = path(1).appending(path: "inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        isMissAndRemoved(1)
        try FileManager.default.removeItem(at: path(1))
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        try store.store(.sample("over it"), for: key(1))
        #expect(try store.entry(for: key(1))?.text == "over it")
    }

    @Test func aLinkInPlaceOfAFileIsAMissAndNotFollowed() throws {
        try store.store(.sample("1"), for: key(1))
        let aside = folder.url.appending(path: "aside")
        try FileManager.default.moveItem(at: path(1), to: aside)
        try FileManager.default.createSymbolicLink(at: path(1), withDestinationURL: aside)
        isMissAndRemoved(1)
        #expect(FileManager.default.fileExists(atPath: aside.path))
    }

    @Test func pipeInPlaceOfAFileIsAMissWithoutWaiting() throws {
        try store.store(.sample("1"), for: key(1))
        try FileManager.default.removeItem(at: path(1))
        #expect(mkfifo(path(1).path, 0o600) == 0)
        isMissAndRemoved(1)
    }

    /// Guarantee G9, `ERRAND_CACHE_DAMAGES` times, by default 2,000.
    @Test func damagedFileIsAMissAndNeverAnotherValue() throws {
        var generator = SeededGenerator()
        let sizes = [0, 10, 500, 3_900, 4_100, 30_000]
        let damages = ProcessInfo.processInfo.environment["ERRAND_CACHE_DAMAGES"].flatMap(Int.init) ?? 2_000
        var misses = 0
        for step in 0..<damages {
            let (one, other) = (step % 16, 16 + step % 16)
            let text = "\(step) " + String(repeating: "x", count: sizes.randomElement(using: &generator) ?? 0)
            try store.store(.sample(text), for: key(one))
            var data = try Data(contentsOf: path(one))
            let place = Int.random(in: 0..<data.count, using: &generator)
            switch step % 7 {
            case 0: data[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: data = data.prefix(place)
            case 2: data.append(contentsOf: [UInt8](repeating: 0, count: 1 + place % 5_000))
            case 3: data.replaceSubrange(place..<data.count, with: Data(count: data.count - place))
            case 4: data.replaceSubrange(0...place, with: Data(count: place + 1))
            case 5:
                try store.store(.sample("other \(step)"), for: key(other))
                data = try Data(contentsOf: path(other))
            default:
                try FileManager.default.removeItem(at: path(one))
                try FileManager.default.createDirectory(at: path(one), withIntermediateDirectories: false)
            }
            if step % 7 != 6 { try data.write(to: path(one)) }
            // Zeros over zeros, or nothing cut, is no damage.
            let found = try? store.entry(for: key(one))
            #expect(found == nil || found?.text == text, "step \(step)")
            if found == nil { misses += 1 }
        }
        #expect(misses > damages / 100 * 95)
    }

    // MARK: Bounds

    @Test func theLeastRecentlyUsedGoFirst() throws {
        let store = small(maximumCount: 10)
        for number in 0..<10 { try store.store(.sample("\(number)"), for: key(number)) }
        #expect(try store.entry(for: key(0))?.text == "0")
        try store.store(.sample("10"), for: key(10))
        #expect(store.totals().count == 10)
        let left = try (0...10).filter { try store.entry(for: key($0)) != nil }
        #expect(left == [0, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    }

    @Test func byteCountIsBounded() throws {
        var generator = SeededGenerator()
        let store = small(maximumSize: 200_000)
        for number in 0..<500 {
            let size = Int.random(in: 0..<5_000, using: &generator)
            try store.store(.sample(String(repeating: "x", count: size)), for: key(number % 300))
            #expect(store.totals().size <= 200_000)
        }
        let counted = store.totals()
        #expect(folder.totals == counted)
        #expect(counted.size > 100_000)
    }

    @Test func whatIsLargerThanTheStoreIsNotStored() throws {
        let store = small(maximumSize: 2_000)
        #expect(throws: POSIXError(.EFBIG)) {
            try store.store(.sample(String(repeating: "x", count: 2_000)), for: key(1))
        }
    }

    /// The length is in the header, and cannot be verified before as much is allocated.
    @Test func fileLargerThanTheStoreIsNotRead() throws {
        try store.store(.sample(String(repeating: "x", count: 2_000)), for: key(1))
        let small = small(maximumSize: 2_000)
        #expect(throws: CacheMiss.damaged) { try small.entry(for: key(1)) }
        #expect(try store.entry(for: key(1)) == nil)
    }

    @Test func totalsFollowEveryChange() throws {
        #expect(store.totals() == (0, 0))
        try store.store(.sample("one"), for: key(1))
        try store.store(.sample("two, longer"), for: key(1))
        try store.store(.sample("three"), for: key(2))
        #expect(store.totals() == folder.totals)
        #expect(store.totals().count == 2)
        try store.remove(for: key(1))
        try store.remove(for: key(1))
        #expect(store.totals() == folder.totals)
    }

    @Test func trimmingKeepsTheMostRecentlyUsed() throws {
        let store = small()
        for number in 0..<20 { try store.store(.sample(String(repeating: "x", count: 1_000)), for: key(number)) }
        try store.trim(toBytes: 6_500)
        let left = try (0..<20).filter { try store.entry(for: key($0)) != nil }
        #expect(left == [15, 16, 17, 18, 19])
        try store.trim(toBytes: 0)
        #expect(store.totals() == (0, 0))
    }

    @Test func aGroupIsRemovedAlone() throws {
        let (one, other) = (CacheKey("1").words, CacheKey("2").words)
        let keys = [CacheKey(url: "a", identity: one), CacheKey(url: "a", identity: other), key(1)]
        for key in keys { try store.store(.sample("x"), for: key) }
        try store.removeAll(ofURLOf: keys[0])
        #expect(try keys.map { try store.entry(for: $0) != nil } == [false, false, true])
    }

    // MARK: Writers that die, and disks that fail

    /// A writer has ten seconds from creating its file to locking it.
    @Test func onlyLeftoversOfDeadWritersAreRemoved() throws {
        try store.store(.sample("x"), for: key(1))
        let temporary = folder.url.appending(path: "v2/tmp")
        for (name, age) in [("dead", 11.0), ("alive", 11), ("new", 8), ("future", -11)] {
            let path = temporary.appending(path: name).path
            try Data(name.utf8).write(to: URL(filePath: path))
            let date = [FileAttributeKey.modificationDate: Date.now.addingTimeInterval(-age)]
            try FileManager.default.setAttributes(date, ofItemAtPath: path)
        }
        let descriptor = open(temporary.appending(path: "alive").path, O_RDONLY)
        #expect(flock(descriptor, LOCK_EX) == 0)
        defer { close(descriptor) }
        try DiskStore(directory: folder.url).store(.sample("y"), for: key(2))
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).sorted() == ["alive", "new"])
    }

    @Test func onlyFilesOfThePreviousFormatAreRemoved() throws {
        let names = ["00/entry", "ff/entry", "tmp/writing", "totals", "secret"]
        for name in names {
            let file = folder.url.appending(path: name)
            let parent = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try Data(name.utf8).write(to: file)
        }
        try store.store(.sample("x"), for: key(1))
        try store.trim(toBytes: 0)
        #expect(folder.files == ["secret"])
    }

    @Test func aStoreThatCannotWriteThrowsAndStillReads() throws {
        try store.store(.sample("old"), for: key(1))
        let temporary = folder.url.appending(path: "v2/tmp")
        try FileManager.default.removeItem(at: temporary)
        try Data().write(to: temporary)
        #expect(throws: POSIXError.self) { try store.store(.sample("new"), for: key(1)) }
        #expect(try store.entry(for: key(1))?.text == "old")
    }

    @Test func aDirectoryThatCannotBeMadeIsAnErrorAndNoEntries() throws {
        let store = DiskStore(directory: URL(filePath: "/proc/nowhere"))
        #expect(throws: POSIXError.self) { try store.store(.sample("x"), for: key(1)) }
        #expect(try store.entry(for: key(1)) == nil)
        #expect(store.totals() == (0, 0))
        try store.trim(toBytes: 0)
    }

    @Test func removedDirectoryIsCreatedAgain() throws {
        try store.store(.sample("x"), for: key(1))
        try FileManager.default.removeItem(at: folder.url)
        #expect(try store.entry(for: key(1)) == nil)
        try store.store(.sample("y"), for: key(1))
        #expect(try store.entry(for: key(1))?.text == "y")
    }

    // MARK: Sealing

    /// Not safe, but it shows whether it was called.
    private struct Mask: CacheCipher {
        var mask: UInt8 = 0x55
        func seal(_ bytes: Data, for key: CacheKey) throws -> Data {
            Data(bytes.map { $0 ^ mask }) + Data("sealed".utf8)
        }
        func open(_ bytes: Data, for key: CacheKey) throws -> Data {
            guard bytes.suffix(6) == Data("sealed".utf8) else { throw Boom() }
            return Data(bytes.dropLast(6).map { $0 ^ mask })
        }
    }

    @Test func aCipherSealsHeadAndBody() throws {
        let sealing = DiskStore(directory: folder.url, cipher: Mask())
        try sealing.store(.sample("the body", headers: ["X-Name": "value"]), for: key(1))
        let bytes = String(decoding: try Data(contentsOf: path(1)), as: UTF8.self)
        #expect(!bytes.contains("the body") && !bytes.contains("X-Name") && !bytes.contains("api.example"))
        let entry = try #require(try sealing.entry(for: key(1)))
        #expect(entry.text == "the body" && entry.headers["X-Name"] == "value")
    }

    @Test func fileThatTheCipherCannotOpenIsAMiss() throws {
        try DiskStore(directory: folder.url, cipher: Mask()).store(.sample("x"), for: key(1))
        #expect(throws: CacheMiss.damaged) { try store.entry(for: key(1)) }
        try store.store(.sample("x"), for: key(2))
        #expect(throws: CacheMiss.damaged) { try DiskStore(directory: folder.url, cipher: Mask()).entry(for: key(2)) }
        try DiskStore(directory: folder.url, cipher: Mask()).store(.sample("x"), for: key(3))
        #expect(throws: CacheMiss.damaged) {
            try DiskStore(directory: folder.url, cipher: Mask(mask: 1)).entry(for: key(3))
        }
    }
}
