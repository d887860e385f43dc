import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Downloads that are paused, over real sockets.
@Suite(.limit(seconds: 60)) struct DownloadHandleWireTests {
    private let host: DownloadServer

    struct GetFile: Request, Sendable {
        typealias Model = Data
        var number: Int
        var path: String { "/files/\(number).bin" }
    }

    init() throws { host = try DownloadServer() }

    private func waitForPart(_ name: String, of byteCount: Int) async {
        while (host.data(name + ".part") ?? Data()).count < byteCount, !Task.isCancelled { await Task.yield() }
    }

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
}
