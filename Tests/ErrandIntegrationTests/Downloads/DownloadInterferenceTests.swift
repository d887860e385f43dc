import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Files of a download that something else changes: while it runs, or between two downloads.
@Suite(.limit(seconds: 60)) struct DownloadInterferenceTests {
    private let host: DownloadServer
    private let get = GeneralRequest("/big.bin")

    init() throws { host = try DownloadServer() }

    /// Changes the files of a download once 50,000 bytes are there, and returns its error.
    private func error(changing change: @Sendable () throws -> Void) async throws -> NetworkError? {
        host.set {
            $0.isSlow = true
            $0.pause = .milliseconds(25)
        }
        while true {
            let (host, get) = (host, get)
            async let result = host.agent().download(get, to: host.file("a"))
            while (host.data("a.part") ?? Data()).count < 50_000, host.data("a") == nil, !Task.isCancelled {
                await Task.yield()
            }
            if host.data("a") != nil {
                // It ended before this test had its turn.
                _ = try await result
                try FileManager.default.removeItem(at: host.file("a"))
                continue
            }
            try change()
            do {
                _ = try await result
                return nil
            } catch let error as NetworkError {
                return error
            }
        }
    }

    /// Checks that nothing of what was changed is in the next download.
    private func finish() async throws {
        host.set { $0.isSlow = false }
        try? FileManager.default.removeItem(at: host.file("a.part"))
        let file = try await host.agent().download(get, to: host.file("a"))
        #expect(file.resumedByteCount == 0)
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    // MARK: While it runs

    @Test func anotherFileInPlaceOfThePartIsNotMovedToTheTarget() async throws {
        let (host, other) = (host, Data("other".utf8))
        let error = try await error {
            try FileManager.default.removeItem(at: host.file("a.part"))
            try other.write(to: host.file("a.part"))
        }
        #expect(error?.kind == .unusableFile, "\(String(describing: error))")
        #expect(host.data("a") == nil && host.data("a.part") == other)
        // A record would make it the beginning of the content.
        #expect(host.names == ["a.part"])
        try await finish()
    }

    @Test func aPartThatIsRemovedWhileItRunsIsAnErrorAndLeavesNothing() async throws {
        let host = host
        let error = try await error { try FileManager.default.removeItem(at: host.file("a.part")) }
        #expect(error?.kind == .unusableFile, "\(String(describing: error))")
        #expect(host.names.isEmpty)
        try await finish()
    }

    @Test(arguments: [1_000, 400_000])
    func aPartOfAnotherLengthIsAnError(_ length: UInt64) async throws {
        let host = host
        let error = try await error {
            let file = try FileHandle(forWritingTo: host.file("a.part"))
            try file.truncate(atOffset: length)
            try file.close()
        }
        #expect(error?.kind == .unusableFile, "\(String(describing: error))")
        #expect(host.names.isEmpty)
        try await finish()
    }

    @Test func aFolderInPlaceOfTheRecordIsNotInTheWayOfTheFile() async throws {
        try FileManager.default.createDirectory(at: host.file("a.part.json"), withIntermediateDirectories: true)
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"))
        }
        #expect(error?.kind == .unusableFile && host.names == ["a.part.json"])
    }

    // MARK: Between two downloads

    @Test func theDigestMatchesTheBytesInTheFile() async throws {
        let options = DownloadOptions(sha256: SHA256.hexadecimal(host.content))
        host.set { $0.cuts = [.closed(100_000)] }
        await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"), options: options)
        }
        // As many bytes, one of which is different.
        let file = try FileHandle(forUpdating: host.file("a.part"))
        try file.seek(toOffset: 5_000)
        try file.write(contentsOf: [host.content[5_000] ^ 1])
        try file.close()
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"), options: options)
        }
        guard case .unexpectedContent = error?.reason else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(host.names.isEmpty)
    }

    @Test func aRecordNamesNoFileOutsideTheFolder() async throws {
        let inner = host.file("inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        await host.cut(get, to: inner)
        let names = try FileManager.default.contentsOfDirectory(atPath: inner.path)
        let record = try #require(names.first { $0.hasSuffix(".json") })
        try host.changeRecord("inner/" + record) { $0["fileName"] = "../escape" }
        try await host.agent().download(get, to: inner)
        #expect(host.names == ["inner"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: inner.path) == ["big.bin"])
    }

    @Test func aRecordOfAnotherUserIsNotRead() async throws {
        guard geteuid() == 0 else { return }
        await host.cut(get)
        #expect(chown(host.file("a.part.json").path, 12_345, 12_345) == 0)
        let file = try await host.agent().download(get, to: host.file("a"))
        #expect(file.resumedByteCount == 0 && host.data("a") == host.content)
    }

    @Test(arguments: ["x.part", "x.part.json", "x.PART", "x.part.json.tmp", "x.part."])
    func aServerDoesNotNameAFileLikeAnUnfinishedDownload(_ name: String) async throws {
        host.set { $0.headers["Content-Disposition"] = "attachment; filename=\"\(name)\"" }
        let file = try await host.agent().download(get, to: host.folder)
        let stored = file.url.lastPathComponent.lowercased()
        #expect(host.names == [file.url.lastPathComponent])
        #expect(![".part", ".json", ".tmp"].contains(where: stored.hasSuffix), "\(stored)")
    }

    @Test(arguments: ["\"1\r\nX-Evil: 1\"", "\"1\"\r\nX-Evil: 1", "W/\"1\"", "yesterday", ""])
    func aRecordWhoseValidatorCannotBeSentIsNotUsed(validator: String) async throws {
        await host.cut(get)
        try host.changeRecord { $0["validator"] = validator }
        let file = try await host.agent().download(get, to: host.file("a"))
        #expect(file.resumedByteCount == 0)
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test func theBytesOfAPartAreReadWithoutHoldingUpTheEnd() async throws {
        await host.cut(get)
        // Reading that much takes many seconds.
        let file = try FileHandle(forWritingTo: host.file("a.part"))
        try file.truncate(atOffset: 4 << 30)
        try file.close()
        try host.changeRecord { $0["length"] = Int(5 << 30) }
        let options = DownloadOptions(sha256: SHA256.hexadecimal(host.content))
        let (agent, target, get) = (host.agent(), host.file("a"), get)
        let task = Task { try await agent.download(get, to: target, options: options) }
        try await Task.sleep(for: .milliseconds(300))
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let began = ContinuousClock.now
        var isFree = false
        while !isFree, began.duration(to: .now) < .seconds(10) {
            do {
                _ = try await agent.download(get, to: target, options: DownloadOptions(byteCount: 300_000))
                isFree = true
            } catch let error as NetworkError {
                if case .downloadInProgress = error.reason { await Task.yield() } else { isFree = true }
            }
        }
        #expect(isFree)
    }
}
