import Errand
import ErrandTesting
import Foundation
import Testing

/// A stream of events whose reconnection fails or is redirected, over real sockets.
@Suite(.limit(seconds: 60))
struct EventReconnectionTests {
    private let server: MockServer
    private let policy = ReconnectionPolicy(maximumFailures: 4, initialDelay: .milliseconds(100))

    init() throws { server = try MockServer() }

    private func agent(_ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        var config = NetworkConfig(baseURL: BaseURL(server.baseURL))
        change(&config)
        return Agent(config: config)
    }

    @Test func aRedirectToAnotherOriginKeepsTheFieldsOfTheStream() async throws {
        let other = try MockServer()
        defer { other.stop() }
        server.on(.get, "/events", .redirect(to: other.baseURL.appending(path: "node").absoluteString, status: 307))
        other.enqueue(.events("id: 7\ndata: a\n\n"), .status(204))
        #expect(try await agent().eventData(policy) == ["a"])
        #expect(other.requests.map { $0.headers["Last-Event-ID"] } == [nil, "7"])
        #expect(other.requests.map { $0.headers["Accept"] } == ["text/event-stream", "text/event-stream"])
    }

    @Test func fieldsOfTheConfigDoNotReplaceTheStreams() async throws {
        server.enqueue(.status(204))
        let agent = agent { $0.headers = ["Accept": "application/json", "Cache-Control": "max-stale"] }
        #expect(try await agent.eventData(policy).isEmpty)
        #expect(server.requests.first?.headers["Accept"] == "text/event-stream")
        #expect(server.requests.first?.headers["Cache-Control"] == "no-cache")
    }

    @Test func aRefreshThatCannotConnectIsAFailedConnection() async throws {
        /// The first refresh fails.
        final class Tokens: Authenticator {
            private let refreshCount = Lock(0)
            func appliesTo(_ url: URL) -> Bool { true }
            func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
                request.headers["Authorization"] = "Bearer \(token)"
            }
            func refresh(_ token: String, with agent: Agent) async throws -> String {
                let isFirst = refreshCount.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { throw NetworkError(.connectionRefused) }
                return "new"
            }
        }
        server.enqueue(.events("data: a\n\n"))
        server.on(.get, "/events") { .status($0.authorization?.token == "new" ? 204 : 401) }
        let window = RefreshWindow(duration: .milliseconds(50))
        let session = AuthenticationSession(Tokens(), credential: "old", window: window)
        let agent = agent { $0.authentication = .session(session) }
        #expect(try await agent.eventData(policy) == ["a"])
    }

    @Test func anOpenCircuitIsAFailedConnection() async throws {
        server.enqueue(
            .events("data: a\n\n"),
            .status(503),
            .status(503),
            .events("data: b\n\n"),
            .status(204)
        )
        let circuit = CircuitBreaker.Policy(consecutiveFailures: 2, openDuration: .seconds(1))
        let agent = agent { $0.interceptors = [CircuitBreaker(circuit)] }
        #expect(try await agent.eventData(policy) == ["a", "b"])
    }

    @Test func aMinimumIntervalIsWaitedFor() async throws {
        server.enqueue(.events("data: a\n\n"), .status(204))
        let agent = agent { $0.limits.minimumInterval = .milliseconds(700) }
        #expect(try await agent.eventData(policy) == ["a"])
    }

    @Test func aServerErrorThatAFilterNamesIsTemporary() async throws {
        server.enqueue(
            .events("data: a\n\n"),
            .json(#"{"code": 7, "message": "overloaded"}"#, status: 503),
            .status(204)
        )
        let agent = agent { $0.filter = EnvelopeFilter(code: "code", message: "message", data: "data") }
        #expect(try await agent.eventData(policy) == ["a"])
        #expect(server.requestCount == 3)
    }

    /// The end of the connection looks like the end of the content.
    @Test func aStreamIsResumedIfItsCodingIsCut() async throws {
        // One event, compressed by `zlib` and flushed, without the end of the coding.
        let bytes: [UInt8] = [
            0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0x4A, 0x49, 0x2C, 0x49, 0xB4, 0x52, 0x48, 0xE4, 0xE2, 0x02, 0, 0,
            0,
            0xFF, 0xFF,
        ]
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"
        let last = RawServer.Reply("HTTP/1.1 204 No Content\r\n\r\n")
        let replies = Lock([RawServer.Reply(Data(head.utf8) + Data(bytes))])
        let raw = try RawServer { replies.withLock { $0.popLast() } ?? last }
        defer { raw.stop() }
        let request = GeneralRequest(raw.url.absoluteString)
        #expect(try await Agent(config: NetworkConfig()).eventData(of: request, policy) == ["a"])
        #expect(raw.requests.count == 2)
    }
}
