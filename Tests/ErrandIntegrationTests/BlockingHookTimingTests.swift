import Errand
import ErrandTesting
import Foundation
import Testing

/// Hooks that work without suspending while the deadline of their send passes.
@Suite(.timing, .serialized, .limit(seconds: 60))
struct BlockingHookTimingTests {
    private struct Slow: RequestAdapter {
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            work(milliseconds: 250)
        }

        /// It does not depend on the user; otherwise it would have to run before a stored response is used.
        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    private struct Suspending: SendInterceptor {
        func intercept(_ context: RequestContext, next: SendChain) async throws {
            await Task.yield()
            try await next()
        }
    }

    private struct SlowThenSuspended: Interceptor {
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            work(milliseconds: 200)
            try await Task.sleep(for: .seconds(5))
            return try await next(request)
        }
    }

    private struct Unexpected: Error { let source: Source }

    private let server: MockServer
    private let request = GeneralRequest("/x").expecting(Int.self)

    init() throws {
        server = try MockServer()
        server.on(.get, "/x", .json("1"))
    }

    @Test(arguments: [true, false])
    func deadlineDuringAnAdapterFallsBackToTheStaleResponseOnDisk(isEnclosed: Bool) async throws {
        defer { server.stop() }
        let folder = try CacheFolder()
        var config = NetworkConfig(baseURL: server.baseURL)
        config.cache = ResponseCache(directory: folder.url)
        config.cachePolicy = .networkElseCache(maxStale: nil)
        config.adapters = [Slow()]
        if isEnclosed { config.sendInterceptors = [Suspending()] }
        #expect(try await Agent(config: config).send(request) == 1)
        await config.cache?.flush()
        // Another one, so that the entry is read from the disk.
        config.cache = ResponseCache(directory: folder.url)
        let brief = request.limits(Limits(deadline: .milliseconds(150)))
        let response = try await Agent(config: config).response(for: brief)
        guard case .stale = response.source else { throw Unexpected(source: response.source) }
    }

    @Test func anInterceptorThatSuspendsAfterTheDeadlineIsEndedAtOnce() async throws {
        defer { server.stop() }
        var config = NetworkConfig(baseURL: server.baseURL)
        config.interceptors = [SlowThenSuspended()]
        let brief = request.limits(Limits(deadline: .milliseconds(100)))
        let began = ContinuousClock.now
        let error = await #expect(throws: NetworkError.self) { try await Agent(config: config).send(brief) }
        let elapsed = ContinuousClock.now - began
        #expect(error?.kind == .timedOut)
        // 200 ms of work, and no grace period of 80 ms after it.
        #expect(elapsed < .milliseconds(260), "\(elapsed)")
    }
}

/// Keeps its thread, as computing does.
private func work(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
