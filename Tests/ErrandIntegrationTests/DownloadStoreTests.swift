import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Downloads that are paused, and lists of downloads that survive a relaunch.
@Suite(.limit(seconds: 60)) struct DownloadStoreTests {
    private let host: DownloadServer

    struct GetFile: Request, Codable, Sendable {
        typealias Model = Data
        var number: Int
        var path: String { "/files/\(number).bin" }
    }

    init() throws { host = try DownloadServer() }

    private func waitForPart(_ name: String, of byteCount: Int) async {
        while (host.data(name + ".part") ?? Data()).count < byteCount, !Task.isCancelled { await Task.yield() }
    }

    // MARK: Handles

    @Test func aPausedDownloadContinuesWhereItWas() async throws {
        host.set { $0.cuts = [.stalled(50_000)] }
        let handle = host.agent().startDownload(GetFile(number: 1), to: host.file("a"))
        await waitForPart("a", of: 50_000)
        handle.pause()
        guard case .paused = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        // The transfer has ended when another download may have the file.
        while host.names != ["a.part", "a.part.json"], !Task.isCancelled { await Task.yield() }
        host.set { $0.isSlow = false }
        async let value = handle.value
        handle.resume()
        let file = try await value
        #expect(file.resumedByteCount >= 50_000 && host.data("a") == host.content)
        guard case .succeeded = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        #expect(handle.progress?.fractionCompleted == 1)
        handle.pause()
        handle.resume()
        handle.cancel()
        #expect(try await handle.value.byteCount == 300_000)
    }

    @Test func pausingAndResumingAtOnceEndsWithOneFile() async throws {
        host.set { $0.isSlow = true }
        for round in 0..<5 {
            let handle = host.agent().startDownload(GetFile(number: round), to: host.file("a"))
            for _ in 0..<20 {
                handle.pause()
                handle.resume()
            }
            host.set { $0.isSlow = false }
            #expect(try await handle.value.byteCount == 300_000)
            #expect(host.data("a") == host.content)
        }
    }

    @Test func aCancelledHandleThrowsAndKeepsThePart() async throws {
        for isPaused in [false, true] {
            host.set { $0.cuts = [.stalled(10_000)] }
            let handle = host.agent().startDownload(GetFile(number: 1), to: host.file("a"))
            await waitForPart("a", of: 1)
            if isPaused { handle.pause() }
            handle.cancel()
            handle.resume()
            await #expect(throws: CancellationError.self) { try await handle.value }
            guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
        }
    }

    @Test func cancellingAllSendsOfAnAgentEndsADownload() async throws {
        host.set { $0.cuts = [.stalled(10_000)] }
        let agent = host.agent()
        let handle = agent.startDownload(GetFile(number: 1), to: host.file("a"))
        await waitForPart("a", of: 1)
        agent.cancelAll()
        await #expect(throws: CancellationError.self) { try await handle.value }
        // The last write of the state may still be under way, or not have begun.
        while host.names != ["a.part", "a.part.json"], !Task.isCancelled { await Task.yield() }
    }

    @Test func aFailureIsTheResultOfTheHandle() async throws {
        host.server.on(.get, "/files/1.bin", .status(500))
        let handle = host.agent().startDownload(GetFile(number: 1), to: host.file("a"))
        let error = await #expect(throws: NetworkError.self) { try await handle.value }
        #expect(error?.reason == .status(500))
    }

    // MARK: Stores

    private func store() throws -> DownloadStore<GetFile> { try DownloadStore(folder: host.file("list")) }

    @Test func aStoreListsWhatIsUnfinishedInOrderAcrossRelaunches() async throws {
        let files = host.file("files")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        for number in 0..<4 { try store().add(GetFile(number: number), to: files.appending(path: "\(number)")) }
        host.server.on(.get, "/files/2.bin", .status(404))
        #expect(try store().unfinished.map(\.request.number) == [0, 1, 2, 3])
        let ended = Lock<[String]>([])
        let all = try store()
        let results = await host.agent().download(allIn: all, maximumConcurrent: 2) { item, progress in
            if progress.fractionCompleted == 1 { ended.withLock { $0.append(item.target.lastPathComponent) } }
        }
        #expect(results.map(\.item.request.number) == [0, 1, 2, 3])
        #expect(results.map { (try? $0.result.get().byteCount) ?? 0 } == [300_000, 300_000, 0, 300_000])
        #expect(try store().unfinished.map(\.request.number) == [2])
        #expect(ended.withLock { $0.sorted() } == ["0", "1", "3"])
        for item in try store().unfinished { try store().remove(item) }
        #expect(try store().unfinished.isEmpty)
    }

    @Test func aStoreAddsAnEqualDownloadOnce() async throws {
        let first = try store().add(GetFile(number: 1), to: host.file("a"))
        let again = try store().add(
            GetFile(number: 1),
            to: host.file("a"),
            options: DownloadOptions(byteCount: 300_000)
        )
        try store().add(GetFile(number: 1), to: host.file("b"))
        try store().add(GetFile(number: 2), to: host.file("a"))
        #expect(first.id == again.id)
        let all = try store().unfinished
        #expect(all.map(\.request.number) == [1, 1, 2] && all.map(\.target.lastPathComponent) == ["a", "b", "a"])
        #expect(all.first?.options.byteCount == 300_000)
        try store().remove(first)
        try store().add(GetFile(number: 1), to: host.file("a"))
        #expect(try store().unfinished.map(\.target.lastPathComponent) == ["b", "a", "a"])
        // It is another one now.
        try store().remove(first)
        #expect(try store().unfinished.count == 3)
    }

    @Test func tasksThatAddEqualDownloadsAtOnceAddOne() async throws {
        let stores = try (0..<16).map { _ in try store() }
        let target = host.file("a")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for round in 0..<20 {
                        let options = DownloadOptions(byteCount: Int64(number * 100 + round))
                        try store.add(GetFile(number: 1), to: target, options: options)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store().unfinished.count == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: host.file("list").path)
        #expect(names.count == 1)
    }

    @Test func everyDownloadOfAStoreReportsItsEnd() async throws {
        host.server.on(.get, "/files/1.bin", .data(Data(count: 20_000)))
        try store().add(GetFile(number: 1), to: host.file("a"))
        let log = ProgressLog()
        await host.agent().download(allIn: try store()) { _, progress in log.add(progress) }
        #expect(log.all == [TransferProgress(direction: .download, completed: 20_000, total: 20_000)])
    }

    @Test func anInterruptedDownloadOfAStoreContinuesAfterARelaunch() async throws {
        try store().add(GetFile(number: 1), to: host.file("a"), options: DownloadOptions(byteCount: 300_000))
        host.set { $0.cuts = [.closed(123_456)] }
        _ = try await host.agent().download(allIn: store())
        let item = try #require(try store().unfinished.first)
        #expect(item.options.byteCount == 300_000 && item.target == host.file("a"))
        let results = try await host.agent().download(allIn: store())
        #expect(try results.first?.result.get().resumedByteCount == 123_456)
        #expect(host.data("a") == host.content)
    }

    @Test func aStoreSkipsWhatIsNotItsOwn() async throws {
        let store = try store()
        try store.add(GetFile(number: 1), to: host.file("a"))
        // Foundation's decoder does not survive the last one.
        let nested = String(repeating: "[", count: 513)
        for (name, text) in [("0.download", "{}"), ("1.download", ""), ("notes.txt", "x"), ("2.download", nested)] {
            try Data(text.utf8).write(to: host.file("list").appending(path: name))
        }
        #expect(store.unfinished.map(\.request.number) == [1])
        let attributes = try FileManager.default.attributesOfItem(atPath: host.file("list").path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        for name in try FileManager.default.contentsOfDirectory(atPath: host.file("list").path) where name.count > 20 {
            let file = host.file("list").appending(path: name).path
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }
}
