import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What the outcome of a handle says is so when it is known.
@Suite(.limit(seconds: 60)) struct DownloadHandleTests {
    /// A body whose second part does not come before a door is opened, whether it is wanted or not.
    private final class DeafBody: ResponseChunks {
        let door = Delivery<Void>()
        private let isBegun = Lock(false)

        func next() async throws -> Data? {
            let isFirst = isBegun.withLock { isBegun in
                defer { isBegun = true }
                return !isBegun
            }
            if isFirst { return Data("first".utf8) }
            await door.value()
            return nil
        }

        func cancel() {}
    }

    @Test func fileIsFreeForAnotherDownloadWhenACancellationIsKnown() async throws {
        let (folder, bodies) = (try TemporaryDirectory(), Record<DeafBody>())
        defer { for body in bodies.all { body.door.deliver(()) } }
        let target = folder.url.appending(path: "a")
        let rig = Rig { request in
            guard request.url.path() == "/deaf" else { return .json("7") }
            let body = DeafBody()
            bodies.add(body)
            return TransportResponse(statusCode: 200, body: ResponseBody(chunks: body))
        }
        for isPaused in [false, true] {
            let handle = rig.agent.startDownload(GeneralRequest("/deaf"), to: target)
            while folder.files.isEmpty, !Task.isCancelled { await Task.yield() }
            if isPaused { handle.pause() }
            handle.cancel()
            guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
            await #expect(throws: CancellationError.self) { try await handle.value }
            let file = try await rig.agent.send(GeneralRequest("/other").downloading(to: target))
            #expect(file.byteCount == 1)
            try FileManager.default.removeItem(at: target)
        }
    }

    @Test func completedDownloadIsNotSentAgain() async throws {
        struct Hasty: Accessory {
            let handle = Lock(DownloadHandle?.none)
            func request(_ context: RequestContext, did event: AccessoryEvent) {
                guard case .didStop = event else { return }
                while true {
                    guard let handle = handle.withLock({ $0 }) else { continue }
                    handle.pause()
                    return handle.resume()
                }
            }
        }
        let (folder, hasty, rig) = (try TemporaryDirectory(), Hasty(), Rig { _ in .json("7") })
        let target = folder.url.appending(path: "a")
        let handle = rig.agent.startDownload(GeneralRequest("/x").accessory(hasty), to: target)
        hasty.handle.withLock { $0 = handle }
        #expect(try await handle.value.byteCount == 1)
        // A download that began all the same would have its send by then.
        while !rig.agent.pipeline.sends.isEmpty, !Task.isCancelled { await Task.yield() }
        for _ in 0..<20 { await Task.yield() }
        #expect(rig.transport.requestCount == 1)
        guard case .succeeded = handle.state else { return #expect(Bool(false), "\(handle.state)") }
    }
}
