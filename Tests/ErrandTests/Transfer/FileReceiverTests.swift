import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Downloads that end while a thread writes to their file.
@Suite(.limit(seconds: 60)) struct FileReceiverTests {
    private static let large = Data(count: 96 << 20)

    private let folder: TemporaryDirectory
    /// Whether a large body goes on after its first chunk, so that its download cannot end before it is cancelled.
    private let isEndless = Lock(true)
    private let transport: StubTransport
    private let target: URL
    private let agent: Agent

    init() throws {
        folder = try TemporaryDirectory()
        target = folder.url.appending(path: "a")
        let isEndless = isEndless
        transport = StubTransport { request in
            switch request.url.query() {
            case "large":
                let body = PushedBody()
                body.send(Self.large)
                if !isEndless.withLock({ $0 }) { body.end() }
                return body.response()
            case "missing": return .status(404)
            default: return .data(Data("small".utf8))
            }
        }
        agent = Agent(config: NetworkConfig(baseURL: "http://files.example"), transport: transport)
    }

    /// Waits until a part of the large chunk is in the file.
    private func waitForWrite() async {
        var status = stat()
        while stat(target.path + ".part", &status) != 0 || status.st_size == 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func aDownloadWaitsForTheLastWriteOfACancelledOne() async throws {
        for _ in 0..<3 {
            let first = Task { try await agent.download(GeneralRequest("/x?large"), to: target) }
            await waitForWrite()
            first.cancel()
            let error = await #expect(throws: CancellationError.self) { try await first.value }
            guard error != nil else { return }
            let second = try await agent.download(GeneralRequest("/x"), to: target)
            #expect(second.byteCount == 5)
            #expect(try Data(contentsOf: target) == Data("small".utf8))
            try FileManager.default.removeItem(at: target)
        }
    }

    /// So that a process that is killed leaves no empty file that seems to be finished.
    @Test func aNumberedFileHasItsNameWithAllBytes() throws {
        try Data("old".utf8).write(to: target)
        try Data("new".utf8).write(to: folder.url.appending(path: "part"))
        let (path, isLinked) = try OpenFile.claim(target.path, for: folder.url.appending(path: "part").path)
        #expect(path == target.path + ".1" && isLinked)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("new".utf8))
        #expect(try Data(contentsOf: target) == Data("old".utf8))
    }

    @Test func aDownloadThatReplacesAnEqualOneWaitsForItsLastWrite() async throws {
        let download = GeneralRequest("/x?large").downloading(to: target).duplicatePolicy(.cancelPrevious)
        for _ in 0..<3 {
            isEndless.withLock { $0 = true }
            let first = Task { try await agent.send(download) }
            await waitForWrite()
            isEndless.withLock { $0 = false }
            let second = try await agent.send(download)
            #expect(second.byteCount == Int64(Self.large.count))
            await #expect(throws: CancellationError.self) { try await first.value }
            try FileManager.default.removeItem(at: target)
        }
    }

    /// Keeps a cancelled send from ending.
    private struct Deaf: Interceptor, SendInterceptor {
        let end = Gate()

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            do { return try await next(request) } catch { return try await hold(error) }
        }

        func intercept(_ context: RequestContext, next: SendChain) async throws {
            do { try await next() } catch { return try await hold(error) }
        }

        private func hold<Value: Sendable>(_ error: any Error) async throws -> Value {
            let end = end
            await Task.detached { try? await end.pass() }.value
            throw error
        }
    }

    /// The second one of three is cancelled too, before the first has released the file.
    @Test(arguments: [DuplicatePolicy.cancelPrevious, .rejectNew], [1, 2])
    func aDownloadThatFollowsACancelledEqualOneHasItsFile(policy: DuplicatePolicy, cancelledCount: Int) async throws {
        let deaf = Deaf()
        var config = agent.config
        (config.interceptors, config.sendInterceptors, config.retryPolicy) = ([deaf], [deaf], .never)
        let agent = Agent(config: config, transport: transport)
        let download = GeneralRequest("/x?large").downloading(to: target).duplicatePolicy(policy)
        var cancelled: [Task<DownloadedFile, any Error>] = []
        for number in 0..<cancelledCount {
            let hasFailed = Lock(false)
            cancelled.append(
                Task {
                    defer { hasFailed.withLock { $0 = true } }
                    return try await agent.send(download)
                }
            )
            if number == 0 { await waitForWrite() }
            await wait { agent.pipeline.admission.fetches.count == 1 || hasFailed.withLock { $0 } }
            cancelled[number].cancel()
            await wait { agent.pipeline.admission.fetches.count == 0 }
        }
        isEndless.withLock { $0 = false }
        let file = try await agent.send(download)
        #expect(file.byteCount == Int64(Self.large.count))
        deaf.end.open()
        for task in cancelled { await #expect(throws: CancellationError.self) { try await task.value } }
    }

    @Test func aRedirectWhoseBodyDoesNotEndIsFollowedAfterASecond() async throws {
        let (clock, body) = (ManualClock(), PushedBody())
        let transport = StubTransport { request in
            guard request.url.path() == "/old" else { return .data(Data("small".utf8)) }
            return body.response(headers: ["Location": "/new"], status: 302)
        }
        let agent = Agent(config: agent.config, transport: transport, clock: clock)
        let download = Task { try await agent.download(GeneralRequest("/old"), to: target) }
        await wait { clock.sleeperCount > 0 }
        clock.advance(by: .milliseconds(999))
        #expect(!body.isCancelled)
        clock.advance(by: .milliseconds(1))
        #expect(try await download.value.byteCount == 5)
    }

    @Test func aCompletionMayStartTheFailedDownloadAgain() async throws {
        let (agent, target) = (agent, target)
        let downloads = ["/x?missing", "/x"].map { GeneralRequest($0).downloading(to: target) }
        let file = try await withCheckedThrowingContinuation { continuation in
            agent.start(downloads[0]) { result in
                guard case .failure = result else { return continuation.resume(with: result) }
                agent.start(downloads[1]) { continuation.resume(with: $0) }
            }
        }
        #expect(file.byteCount == 5)
    }
}
