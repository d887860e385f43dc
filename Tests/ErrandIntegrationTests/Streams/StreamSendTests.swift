import Errand
import ErrandTesting
import Foundation
import Testing

/// How streams end the sends that they belong to, over real sockets.
@Suite(.limit(seconds: 20))
struct StreamSendTests {
    private let server: MockServer
    private let log = ProgressLog()

    init() throws { server = try MockServer() }

    /// The ways to receive a body in chunks.
    enum Way: CaseIterable, Sendable { case stream, download, largeBodyWithProgress }

    @Test(arguments: Way.allCases)
    func aHeaderSectionAboveTheLimitIsAnErrorOfItsSendAlone(way: Way) async throws {
        let long = String(repeating: "x", count: 5_000)
        server.on(.get, "/long", .data(Data(count: 300_000), headers: ["X-Long": long]))
        server.on(.get, "/other", .text("fine"))
        let folder = try CacheFolder()
        let agent = server.agent { $0.limits.maximumHeaderSize = 1_000 }
        let request = GeneralRequest("/long").expecting(Data.self)
        let error = await #expect(throws: NetworkError.self) {
            switch way {
            case .stream: for try await _ in try await agent.bytes(for: request) {}
            case .download: try await agent.download(request, to: folder.url.appending(path: "file"))
            case .largeBodyWithProgress: _ = try await agent.send(request) { _ in }
            }
        }
        #expect(error?.reason == .headerSectionTooLarge)
        #expect(try await agent.send(GeneralRequest("/other").expecting(String.self)) == "fine")
    }

    private static let damages: [MockFault] = [
        .hangInBody(after: 0), .hangInBody(after: 36), .closeInBody(after: 36), .resetInBody(after: 36),
    ]

    /// In place of a stream, the header section decides.
    @Test(arguments: [401, 404, 500], damages)
    func aRejectedStatusIsReportedWhateverBecomesOfItsBody(status: Int, damage: MockFault) async throws {
        server.on(.get, "/x", .text(String(repeating: "x", count: 1000), status: status).faulted(damage))
        let agent = server.agent()
        let error = await #expect(throws: NetworkError.self) { try await agent.bytes(for: GeneralRequest("/x")) }
        #expect(error?.kind == .unacceptableStatus && error?.statusCode == status)
        let eventError = await #expect(throws: NetworkError.self) {
            for try await _ in agent.events(for: GeneralRequest("/x"), reconnection: .never) {}
        }
        #expect(eventError?.statusCode == status)
    }

    /// The ways to end a stream whose reader does nothing.
    enum End: CaseIterable, Sendable { case cancelAll, deadline, newerRequest }

    @Test(arguments: End.allCases)
    func anUnreadStreamEndsItsSend(end: End) async throws {
        server.on(.get, "/silent", .data(Data(count: 100)).faulted(.hangInBody(after: 10)))
        server.on(.get, "/other", .text("fine"))
        let clock = ManualClock()
        let agent = server.agent(clock: clock) {
            $0.throttle = Throttle(maximumPerHost: end == .newerRequest ? nil : 1)
            $0.accessories = [log]
        }
        var request = GeneralRequest("/silent").deadline(end == .deadline ? .seconds(1) : nil)
        if end == .newerRequest { request = request.duplicatePolicy(.cancelPrevious) }
        let stream = try await agent.bytes(for: request)
        switch end {
        case .cancelAll: agent.cancelAll()
        case .deadline:
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        case .newerRequest: _ = try await agent.bytes(for: request)
        }
        while !log.names.contains("didStop") { try await Task.sleep(for: .milliseconds(2)) }
        #expect(try await agent.send(GeneralRequest("/other").expecting(String.self)) == "fine")
        let error = await #expect(throws: (any Error).self) { for try await _ in stream {} }
        if end == .deadline {
            #expect((error as? NetworkError)?.reason == .deadlineExceeded(.seconds(1)))
        } else {
            #expect(error is CancellationError)
        }
    }

    @Test func aStreamAsAProbeClosesTheCircuitWithItsHeaderSection() async throws {
        server.enqueue(.status(500))
        server.on(.get, "/silent", .data(Data(count: 100)).faulted(.hangInBody(after: 10)))
        server.on(.get, "/other", .text("fine"))
        let policy = CircuitBreaker.Policy(consecutiveFailures: 1, openDuration: .zero)
        let breaker = CircuitBreaker(policy)
        let agent = server.agent { $0.interceptors = [breaker] }
        let other = GeneralRequest("/other").expecting(String.self)
        await #expect(throws: NetworkError.self) { try await agent.send(other) }
        let stream = try await agent.bytes(for: GeneralRequest("/silent"))
        #expect(try await agent.send(other) == "fine")
        #expect(breaker.state(of: server.baseURL.absoluteString.dropFirst(7).description) == .closed)
        stream.cancel()
    }

    @Test func cookiesOfAStreamAreKeptFromItsBeginningOn() async throws {
        server.on(.get, "/stream", .text("abc", headers: ["Set-Cookie": "s=1"]))
        server.on(.get, "/other") { .text($0.headers["Cookie"] ?? "", headers: ["Set-Cookie": "s=2"]) }
        let agent = server.agent { $0.interceptors = [CookieJar()] }
        let other = GeneralRequest("/other").expecting(String.self)
        let stream = try await agent.bytes(for: GeneralRequest("/stream"))
        #expect(try await agent.send(other) == "s=1")
        for try await _ in stream {}
        #expect(try await agent.send(other) == "s=2")
    }

    @Test func cookiesOfAnInterruptedDownloadAreKept() async throws {
        let response = MockResponse.data(Data(count: 100_000), headers: ["Set-Cookie": "s=1"])
        server.on(.get, "/file", response.faulted(.closeInBody(after: 50_000)))
        server.on(.get, "/other") { .text($0.headers["Cookie"] ?? "") }
        let folder = try CacheFolder()
        let agent = server.agent { $0.interceptors = [CookieJar()] }
        await #expect(throws: NetworkError.self) {
            try await agent.download(GeneralRequest("/file"), to: folder.url.appending(path: "file"))
        }
        #expect(try await agent.send(GeneralRequest("/other").expecting(String.self)) == "s=1")
    }

    @Test func aStreamThatBeganProvesADigestNonce() async throws {
        let nonce = Lock("one")
        let server = server
        func respond(_ path: String, _ response: MockResponse) {
            server.on(.get, path) { request in
                let now = nonce.withLock { $0 }
                if request.headers["Authorization"]?.contains("nonce=\"\(now)\"") == true { return response }
                let challenge = "Digest realm=\"r\", nonce=\"\(now)\", qop=\"auth\", algorithm=MD5"
                return .status(401, headers: ["WWW-Authenticate": challenge])
            }
        }
        respond("/silent", .data(Data(count: 100)).faulted(.hangInBody(after: 10)))
        respond("/other", .text("fine"))
        let agent = server.agent { $0.interceptors = [DigestAuthentication(user: "u", password: "p")] }
        let stream = try await agent.bytes(for: GeneralRequest("/silent"))
        stream.cancel()
        // The server restarts, and does not know the nonce any more.
        nonce.withLock { $0 = "two" }
        #expect(try await agent.send(GeneralRequest("/other").expecting(String.self)) == "fine")
    }

    @Test func aStreamThatBeganInvalidatesStoredResponses() async throws {
        server.on(.get, "/chat", .text("old", headers: ["Cache-Control": "max-age=1000"]))
        server.on(.post, "/chat", .data(Data(count: 100)).faulted(.hangInBody(after: 10)))
        let agent = server.agent(ResponseCache(disk: nil))
        let chat = GeneralRequest("/chat").expecting(String.self)
        #expect(try await agent.send(chat) == "old")
        #expect(try await agent.send(chat) == "old")
        #expect(server.requestCount == 1)
        let stream = try await agent.bytes(for: GeneralRequest("/chat").method(.post))
        #expect(try await agent.send(chat) == "old")
        #expect(server.requestCount == 3)
        stream.cancel()
    }
}
