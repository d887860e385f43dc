import Errand
import ErrandTesting
import Foundation
import Testing

/// The requests of retries over real sockets.
@Suite(.serialized, .limit(seconds: 180))
struct RetryWireTests {
    private let server: MockServer
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
    }

    /// The faults after which nobody knows whether the request took effect.
    static let faults: [MockFault] = [
        .resetBeforeHead, .closeBeforeHead, .resetInBody(after: 5), .closeInBody(after: 5),
    ]

    /// Each request is sent on a connection that has responded before and that libcurl would take for stale.
    ///
    /// `ERRAND_POST_ROUNDS` requests, by default 120, 10 for each case; 1,000 in the stress step of CI.
    @Test(arguments: faults, [0, 10, 300_000])
    func aPostWithoutAKeyIsNeverSentTwice(_ fault: MockFault, _ byteCount: Int) async throws {
        server.keepsLog = false
        server.on(.get, "/warm", .text("warm"))
        server.on(.post, "/x", .text("long enough to be cut").faulted(fault))
        let transport = TransportUnderTest.make(maximumConnectionsPerHost: 1)
        let agent = server.agent(transport: transport) { $0.retryPolicy = .inherited }
        let body = RequestBody.data(Data(repeating: 7, count: byteCount))
        let post = GeneralRequest("/x").method(.post).body(byteCount == 0 ? .empty : body).expecting(Void.self)
        let rounds = OtherProcess.number("ERRAND_POST_ROUNDS", default: 10)
        for _ in 0..<rounds {
            try await agent.send(GeneralRequest("/warm").expecting(Void.self))
            let error = await #expect(throws: NetworkError.self) { try await agent.send(post) }
            #expect(error?.kind == .connectionLost)
            #expect(error?.attempts == 1)
        }
        #expect(server.requestCount == 2 * rounds)
    }

    @Test
    func aPostWithAKeyIsSentAgainWithTheSameKeyAndBody() async throws {
        server.enqueue(.text("x").faulted(.resetBeforeHead), .text("x").faulted(.closeBeforeHead), .status(204))
        let post = GeneralRequest("/x").method(.post).body(.data(Data("hello".utf8))).idempotencyKey(.automatic)
        try await agent.send(post.expecting(Void.self))
        #expect(server.requests.map(\.text) == ["hello", "hello", "hello"])
        #expect(Set(server.requests.map { $0.headers["Idempotency-Key"] }).count == 1)
    }

    @Test(arguments: ["X-RateLimit-Reset", "X-Rate-Limit-Reset", "RateLimit-Reset", "X-RateLimit-Retry-After"])
    func aResetInMillisecondsThatHasPassedIsRetriedAtOnce(_ field: String) async throws {
        let reset = String(Int((Date().timeIntervalSince1970 - 5) * 1000))
        server.enqueue(.status(429, headers: [field: reset, "X-RateLimit-Remaining": "0"]), .status(204))
        try await agent.send(GeneralRequest("/x").expecting(Void.self))
        #expect(server.requestCount == 2)
    }

    @Test(arguments: [true, false])
    func aBodyThatCanBeReadOnceIsSentOnceWhateverTheMethod(_ isReplayable: Bool) async throws {
        server.enqueue(.text("warm"), .text("x").faulted(.resetBeforeHead), .status(204))
        let transport = TransportUnderTest.make(maximumConnectionsPerHost: 1)
        _ = try await transport.send(OutgoingRequest(url: server.baseURL), options: TransportOptions())
        let body = OutgoingBody.source(FiveBytes(isReplayable: isReplayable))
        let put = OutgoingRequest(method: .put, url: server.baseURL, body: body)
        if isReplayable {
            #expect(try await transport.send(put, options: TransportOptions()).statusCode == 204)
        } else {
            let error = await #expect(throws: NetworkError.self) {
                try await transport.send(put, options: TransportOptions())
            }
            #expect(error?.kind == .connectionLost)
        }
        #expect(server.requests.dropFirst().map(\.text) == (isReplayable ? ["ab012", "ab012"] : ["ab012"]))
    }

    @Test
    func failingServerReceivesATenthMoreRequests() async throws {
        server.on(.get, "/x", .status(503))
        let began = ContinuousClock.now
        let count = 500
        let failures = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<count {
                group.addTask {
                    let error = await #expect(throws: NetworkError.self) { try await agent.send(GeneralRequest("/x")) }
                    return error?.reason == .status(503)
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let windows = Int((ContinuousClock.now - began) / .seconds(10)) + 1
        #expect(failures == count)
        #expect(server.requestCount > count)
        #expect(server.requestCount <= count + count / 10 + 10 * windows)
    }

    @Test
    func retryAfterInSecondsIsApplied() async throws {
        server.enqueue(.status(429, headers: ["Retry-After": "1"]), .text("ready"))
        let response = try await agent.response(for: GeneralRequest("/x").expecting(String.self))
        #expect(response.model == "ready")
        #expect(response.metrics.attempts.count == 2)
        let times = server.requests.map(\.receivedAt)
        #expect(times[1] - times[0] >= .seconds(1))
    }
}

/// A short body from a source.
private struct FiveBytes: BodySource {
    let isReplayable: Bool
    var byteCount: Int64? { 5 }
    func makeReader() throws -> any BodyReader { Reader() }

    private final class Reader: BodyReader {
        var isDone = false

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            defer { isDone = true }
            if isDone { return 0 }
            buffer.copyBytes(from: "ab012".utf8)
            return 5
        }
    }
}
