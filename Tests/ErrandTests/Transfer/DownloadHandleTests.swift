import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The outcome of a handle is true as soon as it is known.
@Suite(.limit(seconds: 60)) struct DownloadHandleTests {
    /// A body whose second part does not come before it is cancelled.
    private final class EndlessBody: ResponseChunks {
        let door = Delivery<Void>()
        private let count = Lock(0)

        func next() async throws -> Data? {
            if count.next() == 1 { return Data("first".utf8) }
            await withTaskCancellationHandler {
                await door.value()
            } onCancel: {
                door.deliver(())
            }
            return nil
        }

        func cancel() {}
    }

    @Test func fileIsFreeForAnotherDownloadWhenACancellationIsKnown() async throws {
        let folder = try TemporaryDirectory()
        let target = folder.url.appending(path: "a")
        let rig = Rig { request in
            guard request.url.path() == "/endless" else { return .json("7") }
            return TransportResponse(statusCode: 200, body: ResponseBody(chunks: EndlessBody()))
        }
        for isPaused in [false, true] {
            let handle = rig.agent.startDownload(GeneralRequest("/endless"), to: target)
            let part = target.path(percentEncoded: false) + ".part"
            // Until the first part of the body is there, so that the second one is waited for.
            while FileManager.default.contents(atPath: part)?.isEmpty ?? true, !Task.isCancelled { await Task.yield() }
            if isPaused { handle.pause() }
            handle.cancel()
            guard case .cancelled = handle.state else { return #expect(Bool(false), "\(handle.state)") }
            await #expect(throws: CancellationError.self) { try await handle.value }
            let file = try await rig.agent.send(GeneralRequest("/other").downloading(to: target))
            #expect(file.byteCount == 1)
            try FileManager.default.removeItem(at: target)
        }
    }

    @Test func downloadThatIsPausedWhenItsFileIsThereIsComplete() async throws {
        let (folder, rig) = (try TemporaryDirectory(), Rig { _ in .json("7") })
        let target = folder.url.appending(path: "a")
        let (handles, isPaused) = (Lock<RequestHandle<DownloadedFile>?>(nil), Lock(false))
        let handle = rig.agent.startDownload(GeneralRequest("/x"), to: target) { progress in
            guard progress.fractionCompleted == 1 else { return }
            while true {
                guard let handle = handles.withLock({ $0 }) else { continue }
                handle.pause()
                return isPaused.withLock { $0 = true }
            }
        }
        handles.withLock { $0 = handle }
        await wait { isPaused.withLock { $0 } && rig.agent.pipeline.sends.isEmpty }
        handle.resume()
        #expect(try await handle.value.byteCount == 1)
        #expect(rig.transport.requestCount == 1)
    }

    /// An interceptor may send a request twice at once; two responses in one file would be neither.
    @Test func onlyOneResponseIsWrittenToAFile() async throws {
        let hedging = ClosureInterceptor { request, next in
            async let one = Result.of { try await next(request) }
            async let two = Result.of { try await next(request) }
            let results = await [one, two]
            return try (results.first { (try? $0.get()) != nil } ?? results[0]).get()
        }
        let (folder, bodies) = (try TemporaryDirectory(), [PushedBody(), PushedBody()])
        let (target, count) = (folder.url.appending(path: "a"), Lock(0))
        let rig = Rig(config: .test { $0.interceptors = [hedging] }) { _ in
            bodies[count.next() - 1].response(headers: ["Content-Length": "4"])
        }
        async let file = rig.agent.send(GeneralRequest("/x").downloading(to: target))
        // One of the two is rejected.
        await wait { bodies.contains { $0.isCancelled } }
        for body in bodies where !body.isCancelled {
            for text in ["ab", "cd"] { body.send(text) }
            body.end()
        }
        #expect(try await file.byteCount == 4)
        #expect(try Data(contentsOf: target) == Data("abcd".utf8))
    }

    @Test func completedDownloadIsNotSentAgain() async throws {
        let handles = Lock(RequestHandle<DownloadedFile>?.none)
        let (folder, rig) = (try TemporaryDirectory(), Rig { _ in .json("7") })
        let request = GeneralRequest("/x").accessory { event in
            guard case .didStop = event else { return }
            while true {
                guard let handle = handles.withLock({ $0 }) else { continue }
                handle.pause()
                return handle.resume()
            }
        }
        let handle = rig.agent.startDownload(request, to: folder.url.appending(path: "a"))
        handles.withLock { $0 = handle }
        #expect(try await handle.value.byteCount == 1)
        // A download that began nevertheless would have its send by then.
        while !rig.agent.pipeline.sends.isEmpty, !Task.isCancelled { await Task.yield() }
        for _ in 0..<20 { await Task.yield() }
        #expect(rig.transport.requestCount == 1)
        guard case .succeeded = handle.state else { return #expect(Bool(false), "\(handle.state)") }
    }

    @Test func updatesOfAPausedDownloadEndWithItsHandle() async throws {
        let folder = try TemporaryDirectory()
        let rig = Rig { _ in TransportResponse(statusCode: 200, body: ResponseBody(chunks: EndlessBody())) }
        var handle: RequestHandle<DownloadedFile>? = rig.agent.startDownload(
            GeneralRequest("/x"),
            to: folder.url.appending(path: "a")
        )
        while folder.files.isEmpty, !Task.isCancelled { await Task.yield() }
        let updates = try #require(handle?.progressUpdates)
        handle?.pause()
        handle = nil
        for await _ in updates {}
    }
}

extension Result where Failure == any Error {
    /// The result of a closure.
    fileprivate static func of(_ work: () async throws -> Success) async -> Self {
        do { return .success(try await work()) } catch { return .failure(error) }
    }
}
