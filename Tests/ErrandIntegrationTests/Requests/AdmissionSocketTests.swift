import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A thousand callers at once, over real sockets.
@Suite(.limit(seconds: 120))
struct AdmissionSocketTests {
    private let server: MockServer
    /// Releases the responses to `/slow`.
    private let release = DispatchSemaphore(value: 0)

    init() throws {
        server = try MockServer()
        server.on(.get, "/slow") { [release] _ in
            // It runs on a thread of its connection. Each that is released releases the next one.
            _ = release.wait(timeout: .now() + 100)
            release.signal()
            return .json("7")
        }
    }

    @Test(arguments: [0, 500])
    func aThousandSharedSendsAreCoalescedIntoOneRequest(cancelled: Int) async throws {
        let agent = server.agent()
        let request = GeneralRequest("/slow").expecting(Int.self).duplicatePolicy(.share)
        let tasks = (0..<1_000).map { _ in Task { try await agent.send(request) } }
        let fetches = agent.pipeline.admission.fetches
        while fetches.waiterCount < 1_000 { try await Task.sleep(for: .milliseconds(5)) }
        for task in tasks[..<cancelled] { task.cancel() }
        for task in tasks[..<cancelled] { await #expect(throws: CancellationError.self) { try await task.value } }
        release.signal()
        for task in tasks[cancelled...] { #expect(try await task.value == 7) }
        #expect(server.requestCount == 1)
    }

    @Test func newestOfAThousandSendsCancelsTheOthers() async throws {
        let agent = server.agent()
        let request = GeneralRequest("/slow").expecting(Int.self).duplicatePolicy(.cancelPrevious)
        let endedCount = Lock(0)
        let tasks = (0..<1_000).map { _ in
            Task {
                defer { endedCount.withLock { $0 += 1 } }
                return try await agent.send(request)
            }
        }
        // All but the newest end without a response.
        while endedCount.withLock({ $0 }) < 999 { try await Task.sleep(for: .milliseconds(5)) }
        release.signal()
        var (values, cancelled) = (0, 0)
        for task in tasks {
            switch await task.result {
            case .success: values += 1
            case .failure(let error): cancelled += error is CancellationError ? 1 : 0
            }
        }
        #expect(values == 1 && cancelled == 999)
    }

    /// Such as a search whose newer text was searched for before.
    @Test func aSendThatFindsItsResponseInTheCacheCancelsTheOlderOne() async throws {
        server.on(.get, "/search", .json("2", headers: ["Cache-Control": "max-age=60"]))
        let agent = server.agent { $0.cache = ResponseCache(disk: nil) }
        func search(_ path: String) -> Searching { Searching(path: path) }
        #expect(try await agent.send(search("/search")) == 2)
        let older = Task { try await agent.send(search("/slow")) }
        while server.requestCount < 2 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(try await agent.send(search("/search")) == 2)
        #expect(server.requestCount == 2)
        await #expect(throws: CancellationError.self) { try await older.value }
        release.signal()
    }

    private struct Searching: Request {
        typealias Model = Int
        let path: String
        var duplicatePolicy: DuplicatePolicy { .cancelPrevious }
        var duplicateKey: String { "search" }
        var cachePolicy: CachePolicy { .http }
    }

    @Test func permitsAreNeverExceededAndWaitingIsMeasured() async throws {
        let wire = Gauge(TransportUnderTest.make())
        let agent = server.agent(transport: wire) { $0.throttle = Throttle(maximumPerHost: 3) }
        server.on(.get, "/quick", .json("7").delayed(by: .milliseconds(5)))
        let tasks = (0..<200).map { _ in
            Task { try await agent.response(for: GeneralRequest("/quick").expecting(Int.self)).metrics.queue }
        }
        var queued: [Duration] = []
        for task in tasks { queued.append(try await task.value) }
        #expect(wire.most == 3)
        #expect(queued.filter { $0 > .zero }.count >= 190)
        #expect(server.requestCount == 200)
    }

    @Test func thousandSendsNeedOneRefreshThroughFourPermits() async throws {
        struct Tokens: Authenticator {
            let host: String?
            func appliesTo(_ url: URL) -> Bool { url.host() == host }
            func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
                request.headers["Authorization"] = "Bearer \(token)"
            }
            func refresh(_ token: String, with agent: Agent) async throws -> String {
                try await agent.send(GeneralRequest("/token").expecting(String.self, at: "token"))
            }
        }
        let tokens = server.on(.get, "/token", .json(#"{"token": "new"}"#).delayed(by: .milliseconds(50)))
        server.on(.get, "/me") { $0.authorization?.token == "new" ? .json("7") : .json("{}", status: 401) }
        let session = AuthenticationSession(Tokens(host: server.baseURL.host()), credential: "old")
        let agent = server.agent {
            ($0.authentication, $0.retryPolicy) = (.session(session), .inherited)
            $0.throttle = Throttle(maximumPerHost: 4, maximumInTotal: 4)
        }
        let tasks = (0..<1_000).map { _ in Task { try await agent.get("/me") as Int } }
        for task in tasks { #expect(try await task.value == 7) }
        #expect(tokens.count == 1)
        print("1000 sends with an expired token through 4 slots: \(server.requestCount) requests")
    }

    /// Counts how many requests are on the wire.
    private final class Gauge: Transport {
        private let inner: any Transport
        private let counts = Lock((running: 0, most: 0))

        init(_ inner: any Transport) { self.inner = inner }

        var most: Int { counts.withLock { $0.most } }

        func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
            counts.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) }
            defer { counts.withLock { $0.running -= 1 } }
            return try await inner.send(request, options: options)
        }
    }
}
