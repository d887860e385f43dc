import Errand
import ErrandTesting
import Foundation
import Testing

/// Streams over real sockets.
@Suite(.limit(seconds: 60))
struct StreamTests {
    /// The time in which a stream ends: its true value means something only while no other test runs.
    static let allowance: Duration =
        ProcessInfo.processInfo.environment["ERRAND_TIMING"] == nil ? .seconds(30) : .milliseconds(250)

    private let server: MockServer
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = server.agent { $0.retryPolicy = RetryPolicy(baseDelay: .zero) }
    }

    private func get(_ path: String) -> GeneralRequest<JSONValueFormatter> { GeneralRequest(path) }

    @Test func bytesArriveWhileTheRestIsNotSentYet() async throws {
        server.on(.get, "/begun", .text("abc").faulted(.hangInBody(after: 1)))
        var iterator = try await agent.bytes(for: get("/begun")).makeAsyncIterator()
        #expect(try await iterator.next() == Data("a".utf8))
    }

    @Test func headerSectionIsReturnedBeforeTheFirstByte() async throws {
        server.on(.get, "/quiet", .text("abc", headers: ["X-A": "1"]).faulted(.hangInBody(after: 0)))
        let stream = try await agent.bytes(for: get("/quiet"))
        #expect(stream.headers["X-A"] == "1")
    }

    @Test func interimResponsesAreNotTheHeaderSection() async throws {
        server.on(.get, "/hints", .text("abc").faulted(.earlyHints))
        server.on(.get, "/empty", .status(204))
        let stream = try await agent.bytes(for: get("/hints"))
        #expect(stream.statusCode == 200)
        #expect(try await Array(stream.lines) == ["abc"])
        let empty = try await agent.bytes(for: get("/empty"))
        #expect(empty.statusCode == 204)
        #expect(try await Array(empty.lines).isEmpty)
    }

    @Test(arguments: [MockFault.closeInBody(after: 100_000), .resetInBody(after: 100_000), .unterminatedChunks])
    func aCutIsAnErrorAfterTheBytesBeforeIt(fault: MockFault) async throws {
        let body = Data((0..<200_000).map { UInt8($0 % 251) })
        server.on(.get, "/cut", .data(body).faulted(fault))
        let stream = try await agent.bytes(for: get("/cut"))
        var read = Data()
        let error = await #expect(throws: NetworkError.self) {
            for try await chunk in stream { read.append(chunk) }
        }
        #expect(error?.kind == .connectionLost)
        #expect(error?.path == "/cut")
        #expect(read == body.prefix(read.count))
        if fault != .resetInBody(after: 100_000) { #expect(read.count >= 100_000) }
        #expect(server.requestCount == 1)
    }

    @Test func failuresBeforeTheHeaderSectionAreRetried() async throws {
        server.enqueue(.status(503), .text("x").faulted(.resetBeforeHead), .text("one\ntwo"))
        #expect(try await Array(agent.bytes(for: get("/retry")).lines) == ["one", "two"])
        #expect(server.requestCount == 3)
    }

    @Test func redirectsAreFollowed() async throws {
        server.on(.get, "/old", .redirect(to: "/new"))
        server.on(.get, "/new", .text("here"))
        let stream = try await agent.bytes(for: get("/old"))
        #expect(stream.response.url.path() == "/new")
        #expect(stream.response.redirects.map(\.from) == [server.baseURL.appending(path: "old")])
        #expect(try await Array(stream.lines) == ["here"])
    }

    /// The ways to end a stream whose server is silent.
    enum Way: CaseIterable, Sendable {
        case cancel, reader, cancelAll, deallocation, deadline
    }

    @Test(arguments: Way.allCases)
    func everyWayEndsTheExchangeAtOnce(way: Way) async throws {
        server.on(.get, "/silent", .data(Data(count: 100)).faulted(.hangInBody(after: 10)))
        let request = get("/silent").deadline(way == .deadline ? .seconds(1) : nil)
        let clock = ManualClock()
        let agent = Agent(config: agent.config, transport: TransportUnderTest.make(), clock: clock)
        var stream: ResponseStream? = try await agent.bytes(for: request)
        #expect(server.openConnectionCount == 1)
        let reader = Task { [stream] in
            guard let stream, way != .deallocation else { return }
            for try await _ in stream {}
        }
        if way == .deallocation { try await reader.value }
        let ended = ContinuousClock.now
        switch way {
        case .cancel: stream?.cancel()
        case .reader: reader.cancel()
        case .cancelAll: agent.cancelAll()
        case .deallocation: stream = nil
        case .deadline:
            await clock.waitForSleepers()
            clock.advance(by: .seconds(1))
        }
        while server.openConnectionCount > 0 { try await Task.sleep(for: .milliseconds(2)) }
        if way != .deallocation {
            let error = await #expect(throws: (any Error).self) { try await reader.value }
            if way == .deadline {
                #expect((error as? NetworkError)?.reason == .deadlineExceeded(.seconds(1)))
            } else {
                #expect(error is CancellationError)
            }
        }
        #expect(ContinuousClock.now - ended < Self.allowance)
        #expect(stream == nil || way != .deallocation)
    }

    @Test func anUnreadStreamThatIsDroppedEndsAtOnce() async throws {
        server.on(.get, "/endless", .data(Data(count: 65_536)).faulted(.endlessBody))
        _ = try await agent.bytes(for: get("/endless"))
        let ended = ContinuousClock.now
        while server.openConnectionCount > 0 { try await Task.sleep(for: .milliseconds(2)) }
        #expect(ContinuousClock.now - ended < Self.allowance)
    }

    @Test func aHundredStreamsAtOnceAreComplete() async throws {
        server.on(.get, "/lines") { request in
            .text((0..<2_000).map { "\(request.query ?? "") \($0)" }.joined(separator: "\n")).chunked(1_000)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    var count = 0
                    for try await line in try await agent.bytes(for: get("/lines?\(number)")).lines {
                        #expect(line == "\(number) \(count)")
                        count += 1
                    }
                    #expect(count == 2_000)
                }
            }
            try await group.waitForAll()
        }
    }
}

extension Array {
    /// Collects a sequence.
    fileprivate init<S: AsyncSequence>(_ sequence: S) async throws where S.Element == Element {
        self = []
        for try await element in sequence { append(element) }
    }
}
