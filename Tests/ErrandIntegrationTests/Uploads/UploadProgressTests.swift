import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The progress that the caller of a send receives, over real sockets.
@Suite(.limit(seconds: 60))
struct UploadProgressTests {
    private let server: MockServer
    private let agent: Agent
    private let log = ProgressLog()

    init() throws {
        server = try MockServer()
        agent = server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .zero) }
    }

    private func request(_ size: Int, hasLength: Bool = true) -> GeneralRequest<VoidFormatter> {
        let source = PatternSource(count: size, statesCount: hasLength)
        return GeneralRequest("/x").method(.put).body(.source(source)).expecting(Void.self)
    }

    private func expectRising(_ progress: [TransferProgress], sourceLocation: SourceLocation = #_sourceLocation) {
        let fractions = progress.map(\.fractionCompleted)
        #expect(fractions == fractions.sorted(), "\(fractions)", sourceLocation: sourceLocation)
        let bytes = progress.map(\.completed)
        #expect(bytes == bytes.sorted(), "\(bytes)", sourceLocation: sourceLocation)
        #expect(fractions.count { $0 == 1 } <= 1, sourceLocation: sourceLocation)
    }

    @Test(arguments: [1, 100, 65_536, 65_537, 1 << 20, 5_000_000], [true, false])
    func progressEndsAtOneForABodyOfAnySize(_ size: Int, _ hasLength: Bool) async throws {
        server.on(.put, "/x", .status(204))
        try await agent.send(request(size, hasLength: hasLength)) { log.add($0) }
        expectRising(log.all)
        #expect(log.all.last == TransferProgress(direction: .upload, completed: Int64(size), total: Int64(size)))
        #expect(log.all.count <= 101)
    }

    @Test(arguments: [true, false])
    func progressNeverRunsBackwards(_ hasLength: Bool) async throws {
        agent.config.authentication = .session(AuthenticationSession(RenewedTokens(), credential: "old"))
        server.enqueue(
            .status(503),
            .text("x").faulted(.resetBeforeHead),
            .status(401),
            .redirect(to: "/y", status: 307),
            .status(204)
        )
        try await agent.send(request(1 << 20, hasLength: hasLength)) { log.add($0) }
        #expect(server.requestCount == 5)
        expectRising(log.all)
        #expect(log.all.last == TransferProgress(direction: .upload, completed: 1 << 20, total: 1 << 20))
    }

    @Test func bothDirectionsRiseWhateverHappensBefore() async throws {
        agent.config.authentication = .session(AuthenticationSession(RenewedTokens(), credential: "old"))
        var random = SplitMix(state: .random(in: 0 ... .max))
        let seed = random.state
        for round in 0..<60 {
            log.clear()
            let size = [0, 1, 70_000, 300_000].randomElement(using: &random) ?? 0
            let body = MockResponse.data(Data((0..<size).map { UInt8(truncatingIfNeeded: $0) }))
            let forms: [MockResponse] = [body, body.chunked(), body.gzipped(), body.gzipped().chunked()]
            func form() -> MockResponse { forms.randomElement(using: &random) ?? body }
            let before: [MockResponse] = [
                .status(503), .text("x").faulted(.resetBeforeHead), .redirect(to: "/x", status: 307),
                form().faulted(.closeInBody(after: 200_000)), form().faulted(.resetInBody(after: 150_000)),
            ].shuffled(using: &random)
            let isRefreshed = Bool.random(using: &random)
            server.enqueue(Array(before.prefix(2)) + (isRefreshed ? [.status(401)] : []) + [form()])
            let upload = request(
                [0, 1, 100_000, 1 << 20].randomElement(using: &random) ?? 0,
                hasLength: .random(using: &random)
            )
            _ = try? await agent.send(upload.expecting(Data.self)) { log.add($0) }
            server.reset()
            expectRising(log.progress(.upload))
            expectRising(log.progress(.download))
            #expect(log.all.allSatisfy { $0.completed <= $0.total ?? .max }, "seed \(seed), round \(round)")
        }
    }

    @Test func aTotalThatBecomesKnownDoesNotRunBackwards() async throws {
        let body = MockResponse.data(Data(count: 1 << 20))
        server.enqueue(body.chunked().faulted(.closeInBody(after: 500_000)), body)
        _ = try await agent.send(GeneralRequest("/x").expecting(Data.self)) { log.add($0) }
        #expect(server.requestCount == 2)
        expectRising(log.all)
        #expect(log.all.last?.fractionCompleted == 1)
    }

    @Test(arguments: [100, 1 << 20])
    func uploadThatFailsNeverReportsItsEnd(_ size: Int) async throws {
        server.on(.put, "/x", .data(Data(count: 200_000), status: 404))
        await #expect(throws: NetworkError.self) { try await agent.send(request(size)) { log.add($0) } }
        #expect(!log.all.contains { $0.fractionCompleted == 1 })
        #expect(log.progress(.download).isEmpty)
    }

    @Test func bothDirectionsEndAtOneInTheirOrder() async throws {
        server.on(.put, "/x", .data(Data(count: 300_000)))
        let request = request(300_000).expecting(Data.self)
        _ = try await agent.send(request) { log.add($0) }
        expectRising(log.progress(.upload))
        expectRising(log.progress(.download))
        #expect(
            log.all.map(\.direction) == log.progress(.upload).map(\.direction)
                + log.progress(.download).map(\.direction)
        )
        #expect(log.progress(.upload).last?.fractionCompleted == 1)
        #expect(log.progress(.download).last?.fractionCompleted == 1)
    }

    @Test func accessoriesAreNotNotifiedOfSmallBodies() async throws {
        server.on(.put, "/x", .status(204))
        agent.config.accessories = [log]
        let seen = ProgressLog()
        try await agent.send(request(100)) { seen.add($0) }
        #expect(log.all.isEmpty)
        #expect(seen.all.count == 1)
    }

    @Test func eachRequestOfABatchHasItsOwnProgress() async throws {
        server.on(.put, "/x", .status(204))
        let batch = ArrayBatchRequest([request(100_000), request(300_000)])
        _ = try await agent.send(batch) { log.add($0) }
        for total in [100_000, 300_000] as [Int64] {
            let own = log.all.filter { $0.total == total }
            expectRising(own)
            #expect(own.last?.fractionCompleted == 1)
        }
    }

    @Test(arguments: [1, 65_536, 300_000])
    func progressOfADownloadEndsAtOneForAnySize(_ size: Int) async throws {
        let folder = try CacheFolder()
        server.on(.get, "/x", .data(Data(count: size)))
        let target = folder.url.appending(path: "file")
        _ = try await agent.download(GeneralRequest("/x"), to: target) { log.add($0) }
        expectRising(log.all)
        #expect(log.all.last == TransferProgress(direction: .download, completed: Int64(size), total: Int64(size)))
    }

    @Test func progressOfAnEmptyBodyIsOneReportOfItsEnd() async throws {
        let folder = try CacheFolder()
        let file = folder.url.appending(path: "empty")
        try Data().write(to: file)
        server.on(.get, "/x", .data(Data()))
        server.on(.put, "/x", .status(204))
        _ = try await agent.download(GeneralRequest("/x"), to: folder.url.appending(path: "file")) { log.add($0) }
        #expect(log.all == [TransferProgress(direction: .download, completed: 0, total: 0)])
        #expect(log.all.first?.fractionCompleted == 1)
        for body in [RequestBody.file(file), .stream { { nil } }, .stream(byteCount: 0) { { nil } }] {
            log.clear()
            try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(Void.self)) { log.add($0) }
            #expect(log.all == [TransferProgress(direction: .upload, completed: 0, total: 0)], "\(body)")
        }
    }

    @Test func progressOfAHandleEndsWithTheSend() async throws {
        server.on(.put, "/x", .data(Data(count: 300_000)))
        let handle = agent.start(request(5_000_000).expecting(Data.self), on: .global()) { _ in }
        let updates = [handle.progressUpdates, handle.progressUpdates]
        for stream in updates {
            var seen: [TransferProgress] = []
            for await progress in stream { seen.append(progress) }
            expectRising(seen.filter { $0.direction == .upload })
            #expect(seen.last == TransferProgress(direction: .download, completed: 300_000, total: 300_000))
        }
        await handle.waitUntilFinished()
        var late: [TransferProgress] = []
        for await progress in handle.progressUpdates { late.append(progress) }
        #expect(late == [TransferProgress(direction: .download, completed: 300_000, total: 300_000)])
    }

    @Test func slowReaderOfUpdatesGetsTheEndOfBothDirections() async throws {
        server.on(.put, "/x", .data(Data(count: 300_000)))
        let handle = agent.start(request(1 << 20).expecting(Data.self))
        let updates = handle.progressUpdates
        _ = try await handle.value
        await handle.waitUntilFinished()
        for await progress in updates { log.add(progress) }
        #expect(log.progress(.upload).last?.fractionCompleted == 1)
        #expect(log.progress(.download).last?.fractionCompleted == 1)
    }

    @Test func progressOfAHandleEndsWithAFailure() async throws {
        server.on(.put, "/x", .status(404))
        let handle = agent.start(request(1 << 20))
        for await progress in handle.progressUpdates { #expect(progress.fractionCompleted < 1) }
        await #expect(throws: NetworkError.self) { try await handle.value }
    }
}
