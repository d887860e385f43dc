import Errand
import ErrandTesting
import Foundation
import Testing

/// Server-sent events over real sockets.
@Suite(.limit(seconds: 60))
struct EventStreamTests {
    private let server: MockServer
    private let agent: Agent
    private let policy = ReconnectionPolicy(maximumFailures: 3, initialDelay: .milliseconds(100))

    init() throws {
        server = try MockServer()
        agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
    }

    @Test func eventsThatDripInPiecesAreComplete() async throws {
        let events = MockResponse.events("id: 1\r\ndata: ä€\r\ndata: 2\r\n\r\ndata: 3\n\n")
        server.enqueue(events.dripping(1, every: .milliseconds(2)).chunked(), .status(204))
        #expect(try await agent.eventData(policy) == ["ä€\n2", "3"])
    }

    @Test func aCutIsFollowedByAConnectionAfterTheLastEvent() async throws {
        server.enqueue(
            .events("id: 1\ndata: a\n\nid: 2\ndata: lost\n\n").faulted(.closeInBody(after: 20)),
            .events("id: 2\ndata: b\n\nid: 3\n").faulted(.resetInBody(after: 19)),
            .status(503),
            .events("id: 3\ndata: c\n\n"),
            .status(204)
        )
        #expect(try await agent.eventData(policy).filter { $0 != "b" } == ["a", "c"])
        let ids = server.requests.map { $0.headers["Last-Event-ID"] }
        #expect(ids.first == .some(nil))
        #expect(ids[1] == "1")
        #expect(ids.last == "3")
        #expect(server.requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
    }

    /// The end of the body, and whether it drops an event.
    @Test(arguments: [
        ("", false), ("data: lost\n", true), ("data: lost", true), ("event: x\ndata\r\n", true), ("id: 7\n", false),
        (": comment", false), ("data: b\n\n", false), ("event: x", false),
    ])
    func anEventThatTheEndOfTheResponseDropsIsReported(end: String, isDropped: Bool) async throws {
        server.on(.get, "/events", .events("data: a\n\n\(end)"))
        for isStream in [true, false] {
            let reports = Lock<[Diagnostic]>([])
            // Each agent reports a diagnostic once.
            let agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
            let request = GeneralRequest("/events").accessory { event in
                if case .didDiagnose(let diagnostic) = event { reports.withLock { $0.append(diagnostic) } }
            }
            var data: [String] = []
            if isStream {
                for try await event in try await agent.bytes(for: request).events { data.append(event.data) }
            } else {
                for try await event in agent.events(for: request, reconnection: .never) { data.append(event.data) }
            }
            #expect(data.first == "a" && !data.contains("lost"))
            #expect(reports.withLock { $0 } == (isDropped ? [.unfinishedEvent] : []))
        }
    }

    @Test func leavingAStreamWithinAnEventReportsNothing() async throws {
        server.on(
            .get,
            "/events",
            .events("data: a\n\ndata: b\ndata: c").dripping(9, every: .milliseconds(20)).chunked()
        )
        let reports = Lock(0)
        let request = GeneralRequest("/events").accessory { event in
            if case .didDiagnose = event { reports.withLock { $0 += 1 } }
        }
        do {
            for try await _ in try await agent.bytes(for: request).events { break }
        }
        while server.openConnectionCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(reports.withLock { $0 } == 0)
    }

    /// Models send images in one event, and logs have long lines.
    @Test func anEventAndALineMayHaveMoreThanAMebibyte() async throws {
        let text = String(repeating: "x", count: 3 << 20)
        server.on(.get, "/events", .events("data: \(text)\n\n"))
        server.on(.get, "/lines", .text("\"\(text)\"\n"))
        for try await event in try await agent.bytes(for: GeneralRequest("/events")).events {
            #expect(event.data == text)
        }
        var counts: [Int] = []
        for try await event in agent.events(for: GeneralRequest("/events"), reconnection: .never) {
            counts.append(event.data.utf8.count)
        }
        for try await line in try await agent.bytes(for: GeneralRequest("/lines")).lines {
            counts.append(line.utf8.count)
        }
        for try await line in try await agent.bytes(for: GeneralRequest("/lines")).jsonLines(of: String.self) {
            counts.append(line.utf8.count)
        }
        #expect(counts == [3 << 20, 2 + 3 << 20, 3 << 20])
    }

    @Test func aRedirectIsFollowedByEachConnection() async throws {
        server.on(.get, "/events", .redirect(to: "/moved"))
        server.on(.get, "/moved", .events("data: a\n\n"), .status(204))
        #expect(try await agent.eventData(policy) == ["a"])
        #expect(server.requests.map(\.path) == ["/events", "/moved", "/events", "/moved"])
    }

    @Test func anExpiredLoginIsRefreshedBeforeTheEvents() async throws {
        server.on(.get, "/events", .json("{}", status: 401))
        let isNew: @Sendable (MockRequest) -> Bool = { $0.authorization?.token == "new" }
        server.on(.get, "/events", where: isNew, .events("data: a\n\n"), .status(204))
        agent.config.authentication = .session(AuthenticationSession(RenewedTokens(), credential: "old"))
        #expect(try await agent.eventData(policy) == ["a"])
        #expect(server.requestCount == 3)
    }

    @Test func aServerThatIsGoneFailsAfterTheLastAttempt() async throws {
        let agent = Agent(config: NetworkConfig(baseURL: "http://127.0.0.1:1"))
        let error = await #expect(throws: NetworkError.self) { try await agent.eventData(policy) }
        #expect(error?.reason == .connectionRefused)
    }

    @Test func anEventIsDeliveredAtOnceAndASilentStreamIsCancelledAtOnce() async throws {
        let text = "data: now\n\n"
        server.on(.get, "/events", .events(text + "rest").faulted(.hangInBody(after: text.utf8.count)))
        let isThere = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            for try await event in agent.events(for: GeneralRequest("/events")) {
                #expect(event == ServerSentEvent(data: "now"))
                isThere.continuation.yield()
            }
        }
        for await _ in isThere.stream { break }
        let began = ContinuousClock.now
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        while server.openConnectionCount > 0 { try await Task.sleep(for: .milliseconds(2)) }
        #expect(ContinuousClock.now - began < StreamTests.allowance)
    }

    /// Its end would take minutes.
    @Test func aWrongContentTypeWhoseBodyGoesOnIsFinal() async throws {
        let text = MockResponse.text(String(repeating: "x", count: 3000))
        server.on(.get, "/events", text.chunked().dripping(1, every: .milliseconds(100)))
        let error = await #expect(throws: NetworkError.self) { try await agent.eventData(policy) }
        #expect(error?.kind == .unacceptableContent)
        #expect(error?.response?.body.first == UInt8(ascii: "x"))
    }

    #if os(Linux)
    /// In a process of its own, whose processor time is measured: without renewals it used one core.
    @Test func aSilentStreamUsesNoProcessorTime() async {
        await #expect(processExitsWith: .success) {
            let server = try MockServer()
            let text = "data: a\n\n"
            let events = MockResponse.events("\(text)rest").chunked()
            server.on(.get, "/events", events.faulted(.hangInBody(after: text.utf8.count)))
            let agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
            let received = Lock(0)
            let reader = Task {
                for try await _ in agent.events(for: GeneralRequest("/events")) { received.withLock { $0 += 1 } }
            }
            while received.withLock({ $0 }) == 0 { try await Task.sleep(for: .milliseconds(10)) }
            try await Task.sleep(for: .seconds(1))
            let before = clock()
            try await Task.sleep(for: .seconds(2))
            let microseconds = clock() - before
            // It is still the same one.
            let isSilent = received.withLock { $0 } == 1 && server.requestCount == 1
            withExtendedLifetime(reader) {
                exit(isSilent && microseconds < 250_000 ? EXIT_SUCCESS : EXIT_FAILURE)
            }
        }
    }
    #endif

    @Test func silenceBeyondTheIdleTimeoutReconnects() async throws {
        let text = "id: 4\ndata: a\n\n"
        server.enqueue(.events(text + "rest").faulted(.hangInBody(after: text.utf8.count)), .status(204))
        var data: [String] = []
        let request = GeneralRequest("/events").timeout(.seconds(3))
        for try await event in agent.events(for: request, reconnection: policy) { data.append(event.data) }
        #expect(data == ["a"])
        #expect(server.requests.last?.headers["Last-Event-ID"] == "4")
    }
}

extension MockResponse {
    /// Returns a response with server-sent events.
    static func events(_ text: String) -> MockResponse { data(Data(text.utf8), contentType: "text/event-stream") }
}

extension Agent {
    /// Returns the data of all events, by default of `/events`.
    func eventData(
        of request: GeneralRequest<JSONValueFormatter> = GeneralRequest("/events"),
        _ policy: ReconnectionPolicy
    ) async throws -> [String] {
        var data: [String] = []
        for try await event in events(for: request, reconnection: policy) { data.append(event.data) }
        return data
    }
}
