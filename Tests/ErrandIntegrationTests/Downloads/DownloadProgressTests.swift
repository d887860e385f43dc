import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The progress of a download's handle, and of several downloads.
@Suite(.limit(seconds: 60)) struct DownloadProgressTests {
    private let host: DownloadServer
    private let log = ProgressLog()

    init() throws { host = try DownloadServer() }

    @Test func progressOfAHandleNeverRunsBackwardsAcrossAPause() async throws {
        host.set { $0.cuts = [.stalled(200_000)] }
        let handle = host.agent().startDownload(GeneralRequest("/a"), to: host.file("a")) { log.add($0) }
        let updates = handle.progressUpdates
        while log.all.isEmpty || (host.data("a.part") ?? Data()).count < 200_000, !Task.isCancelled {
            await Task.yield()
        }
        handle.pause()
        // The received bytes are not usable any more.
        host.set { state in
            state.validator = ["ETag": "\"2\""]
            state.content = DownloadServer.content(300_000, 2)
        }
        handle.resume()
        var seen: [TransferProgress] = []
        for await progress in updates { seen.append(progress) }
        let file = try await handle.value
        #expect(file.resumedByteCount == 0 && host.data("a") == host.content)
        for all in [seen, log.all] {
            #expect(all.map(\.completed) == all.map(\.completed).sorted(), "\(all.map(\.completed))")
            #expect(all.last == TransferProgress(direction: .download, completed: 300_000, total: 300_000))
        }
        #expect(log.all.count { $0.fractionCompleted == 1 } == 1)
        #expect(handle.progress == log.all.last)
        var late: [TransferProgress] = []
        for await progress in handle.progressUpdates { late.append(progress) }
        #expect(late == [TransferProgress(direction: .download, completed: 300_000, total: 300_000)])
    }

    @Test(arguments: [true, false])
    func progressOfAHandleEndsWithAFailure(_ isCancelled: Bool) async throws {
        host.set { $0.cuts = isCancelled ? [.stalled(200_000)] : [.closed(200_000)] }
        let handle = host.agent().startDownload(GeneralRequest("/a"), to: host.file("a"))
        for await progress in handle.progressUpdates {
            #expect(progress.fractionCompleted < 1)
            if isCancelled { handle.cancel() }
        }
        await #expect(throws: (any Error).self) { try await handle.value }
    }

    @Test(arguments: [0, 20_000, 65_536, 300_000])
    func accessoriesAreNotifiedOfTheEndOfEveryDownload(_ size: Int64) async throws {
        host.server.on(.get, "/small", .data(Data(count: Int(size))))
        let request = GeneralRequest("/small").downloading(to: host.file("a")).accessory(log)
        _ = try await host.agent().send(request)
        #expect(log.all.last == TransferProgress(direction: .download, completed: size, total: size))
    }
}
