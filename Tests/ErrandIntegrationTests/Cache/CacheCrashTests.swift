import Errand
import ErrandTesting
import Foundation
import Testing

/// Guarantees G8, G10 and G11: processes that are killed, that share a directory, and disks that fail.
@Suite(.serialized, OwnWorkTrait(limit: OtherProcess.limit, hasOwnThread: true)) struct CacheCrashTests {
    /// `ERRAND_CACHE_KILLS` times, by default 20; 100 in the stress step of CI.
    @Test func killedWriterLeavesNoDamagedEntry() async throws {
        let program = try #require(OtherProcess.program, "`swift build` builds it")
        let folder = try CacheFolder()
        let kills = OtherProcess.number("ERRAND_CACHE_KILLS", default: 20)
        var (found, leftovers) = (0, 0)
        for round in 0..<kills {
            let (process, output) = try OtherProcess.start(program, ["--cache-write", folder.url.path, "\(round)"])
            // It reports when it has written some, and writes until it is killed.
            _ = try output.read(upToCount: 1)
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<8_000)))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            leftovers += folder.temporaryCount
            let store = DiskStore(directory: folder.url)
            // A file without a lock is swept when it is ten seconds old.
            try folder.ageTemporaries()
            try store.trim(toBytes: .max)
            #expect(folder.temporaryCount == 0)
            for number in 0..<Proof.keyCount {
                guard let entry = try store.entry(for: Proof.key(number)) else { continue }
                found += 1
                #expect(Proof.isRight(entry, number), "round \(round)")
            }
        }
        print("\(kills) kills, \(found) entries read, \(leftovers) leftovers swept")
        #expect(found > kills)
    }

    /// For `ERRAND_CACHE_SECONDS`, by default 1; 3 in the stress step of CI.
    @Test func fourProcessesShareADirectoryAndItsLimit() async throws {
        let program = try #require(OtherProcess.program, "`swift build` builds it")
        let folder = try CacheFolder()
        let seconds = OtherProcess.number("ERRAND_CACHE_SECONDS", default: 1)
        let others = try (0..<4).map {
            try OtherProcess.start(program, ["--cache-hammer", folder.url.path, "\(seconds)", "\($0)"])
        }
        // The program's limit.
        let limit = 4 << 20
        var (samples, most) = (0, 0)
        while others.contains(where: \.process.isRunning) {
            let began = ContinuousClock.now
            most = max(most, Self.whileStopped(others.map(\.process)) { folder.size })
            samples += 1
            // Most of the time is theirs.
            try await Task.sleep(for: (ContinuousClock.now - began) * 2)
        }
        for (process, output) in others {
            let text = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            print("hammered: \(text)")
            #expect(process.terminationStatus == 0 && text.hasPrefix("0 wrong") && text.contains(" 0 of them failed"))
        }
        print("\(samples) samples, at most \(100 * most / limit) % of the limit")
        // Each of the four may exceed it by a tenth.
        #expect(most <= limit / 10 * 14 && most > limit / 2)
        #expect(folder.temporaryCount == 0)
    }

    /// With `ERRAND_CACHE_PROCESSES` processes, by default 20.
    @Test func manyProcessesThatWriteALittleEachKeepTheLimit() async throws {
        let program = try #require(OtherProcess.program, "`swift build` builds it")
        let folder = try CacheFolder()
        let count = OtherProcess.number("ERRAND_CACHE_PROCESSES", default: 20)
        // Each writes five entries of 20,000 bytes and some.
        let limit = 1_010_000
        var most = 0
        for _ in 0..<max(4, count / 4) {
            let others = try (0..<4).map { _ in
                try OtherProcess.start(program, ["--cache-some", folder.url.path, "\(limit)"])
            }
            for (process, output) in others {
                #expect(String(decoding: output.readDataToEndOfFile(), as: UTF8.self) == "0")
                process.waitUntilExit()
            }
            most = max(most, folder.size)
        }
        print("\(count) processes, at most \(100 * most / limit) % of the limit")
        // Four at a time may each exceed it by a tenth.
        #expect(most <= limit / 10 * 14 && most > limit / 2)
    }

    /// Looks at the files of other processes while these are stopped: otherwise some move, and are counted twice.
    private static func whileStopped<Value>(_ processes: [Process], _ look: () -> Value) -> Value {
        for process in processes where process.isRunning { kill(process.processIdentifier, SIGSTOP) }
        defer { for process in processes where process.isRunning { kill(process.processIdentifier, SIGCONT) } }
        for process in processes {
            var state = siginfo_t()
            let id = id_t(process.processIdentifier)
            // It is stopped when all of its threads are.
            while process.isRunning, waitid(P_PID, id, &state, WSTOPPED | WNOHANG | WNOWAIT) == 0, state.si_signo == 0 {
                usleep(50)
            }
        }
        return look()
    }

    // MARK: Disks

    /// Runs a test on a file system of its own, or does nothing where none can be mounted.
    private func withDisk(of size: String, _ body: (CacheFolder) async throws -> Void) async throws {
        let folder = try CacheFolder()
        guard Mount.small(folder.url.path, size: size) else {
            print("skipped: a small file system cannot be mounted here")
            return
        }
        defer { Mount.unmount(folder.url.path) }
        try await body(folder)
    }

    /// Sends over a cache whose disk fails, and returns how many sends failed.
    private func failures(_ folder: URL, sends: Range<Int>) async throws -> (failed: Int, cache: ResponseCache) {
        let server = try MockServer { request in .text(String(repeating: request.path, count: 1_000)) }
        let cache = ResponseCache(memory: nil, disk: DiskStore(directory: folder))
        let agent = server.agent(cache, .cacheElseNetwork(maxAge: .seconds(600)))
        var failed = 0
        for number in sends {
            for _ in 0..<2 {
                // An error counts as a wrong text does.
                let text = try? await agent.send(GeneralRequest("/\(number % 50)").expecting(String.self))
                if text != String(repeating: "/\(number % 50)", count: 1_000) { failed += 1 }
                await cache.flush()
            }
        }
        server.stop()
        return (failed, cache)
    }

    @Test func fullDiskMakesRoomByRemovingTheLeastRecentlyUsed() async throws {
        try await withDisk(of: "64k") { folder in
            let (failed, cache) = try await failures(folder.url, sends: 0..<100)
            #expect(failed == 0)
            #expect(cache.lastFailure == nil)
            // 16 pages hold one entry each; the last were sent at 49.
            #expect((7...16).contains(await cache.count))
            #expect(await cache.entries.contains { $0.url?.path() == "/49" })
            #expect(folder.temporaryCount == 0)
        }
    }

    @Test func aFullDiskCostsTheCacheAndNeverTheRequest() async throws {
        try await withDisk(of: "64k") { folder in
            // Files of others leave too little for even one entry.
            try Data(count: 60 << 10).write(to: folder.url.appending(path: "other"))
            let (failed, cache) = try await failures(folder.url, sends: 0..<20)
            #expect(failed == 0)
            #expect((cache.lastFailure as? POSIXError)?.code == .ENOSPC)
            #expect(folder.temporaryCount == 0)
        }
    }

    @Test func diskThatIsTooSmallForAnEntryKeepsTheOthers() async throws {
        try await withDisk(of: "1m") { folder in
            let store = DiskStore(directory: folder.url)
            func entry(_ size: Int) -> CacheEntry {
                let body = Data(count: size)
                return CacheEntry(RawResponse(body: body, url: folder.url), requested: .now)
            }
            for number in 0..<5 { try store.store(entry(100_000), for: CacheKey("\(number)")) }
            #expect(throws: POSIXError(.ENOSPC)) { try store.store(entry(2 << 20), for: CacheKey("large")) }
            #expect(store.totals().count == 5)
            // One that fits without the others is stored.
            try store.store(entry(900_000), for: CacheKey("large"))
            #expect(try store.entry(for: CacheKey("large"))?.body.count == 900_000)
            #expect(store.totals().count == 1)
        }
    }

    @Test func readOnlyDirectoryDisablesTheCacheButNotTheRequest() async throws {
        try await withDisk(of: "1m") { folder in
            _ = try await failures(folder.url, sends: 0..<5)
            #expect(Mount.makeReadOnly(folder.url.path))
            let store = DiskStore(directory: folder.url)
            let entries = await ResponseCache(memory: nil, disk: store).entries
            #expect(entries.count == 5)
            // An entry that cannot be removed is not found any more.
            #expect(throws: POSIXError(.EROFS)) { try store.remove(for: entries[0].key) }
            #expect(throws: POSIXError(.EROFS)) { try store.removeAll(ofURLOf: entries[1].key) }
            #expect(throws: POSIXError(.EROFS)) { try store.removeAll { $0.key == entries[2].key } }
            #expect(try entries.map { try store.entry(for: $0.key) != nil } == [false, false, false, true, true])
            #expect(throws: POSIXError(.EROFS)) { try store.trim(toBytes: 0) }
            #expect(try entries.allSatisfy { try store.entry(for: $0.key) == nil })
            let (failed, cache) = try await failures(folder.url, sends: 0..<20)
            #expect(failed == 0)
            #expect((cache.lastFailure as? POSIXError)?.code == .EROFS)
            #expect(await cache.count > 0)
        }
    }

    @Test func readOnlyDirectoryWithoutEntriesIsReportedAsSuch() async throws {
        try await withDisk(of: "1m") { folder in
            #expect(Mount.makeReadOnly(folder.url.path))
            for directory in [folder.url, folder.url.appending(path: "a/b")] {
                let (failed, cache) = try await failures(directory, sends: 0..<2)
                #expect(failed == 0)
                #expect((cache.lastFailure as? POSIXError)?.code == .EROFS)
                #expect(await cache.count == 0)
            }
        }
    }

    @Test func fileInPlaceOfTheDirectoryDisablesTheCacheButNotTheRequest() async throws {
        let folder = try CacheFolder()
        let file = folder.url.appending(path: "file")
        try Data().write(to: file)
        let (failed, cache) = try await failures(file, sends: 0..<5)
        #expect(failed == 0)
        #expect(cache.lastFailure is POSIXError)
    }
}
