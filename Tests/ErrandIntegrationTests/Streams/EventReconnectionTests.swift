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

    private static func events(_ text: String) -> MockResponse {
        .data(Data(text.utf8), contentType: "text/event-stream")
    }

    private func received(from agent: Agent) async throws -> [String] {
        var data: [String] = []
        for try await event in agent.events(for: GeneralRequest("/events"), reconnection: policy) {
            data.append(event.data)
        }
        return data
    }

    @Test func aRedirectToAnotherOriginKeepsTheFieldsOfTheStream() async throws {
        let other = try MockServer()
        defer {
            server.stop()
            other.stop()
        }
        server.on(.get, "/events", .redirect(to: other.baseURL.appending(path: "node").absoluteString, status: 307))
        other.enqueue(Self.events("id: 7\ndata: a\n\n"), .status(204))
        #expect(try await received(from: agent()) == ["a"])
        #expect(other.requests.map { $0.headers["Last-Event-ID"] } == [nil, "7"])
        #expect(other.requests.map { $0.headers["Accept"] } == ["text/event-stream", "text/event-stream"])
    }

    @Test func fieldsOfTheConfigDoNotReplaceTheStreams() async throws {
        defer { server.stop() }
        server.enqueue(.status(204))
        let agent = agent { $0.headers = ["Accept": "application/json", "Cache-Control": "max-stale"] }
        #expect(try await received(from: agent).isEmpty)
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
        defer { server.stop() }
        server.on(.get, "/events") { [server] request in
            if server.requestCount == 1 { return Self.events("data: a\n\n") }
            return .status(request.headers["Authorization"] == "Bearer new" ? 204 : 401)
        }
        let window = RefreshWindow(duration: .milliseconds(50))
        let session = AuthenticationSession(Tokens(), credential: "old", window: window)
        let agent = agent { $0.authentication = .session(session) }
        #expect(try await received(from: agent) == ["a"])
    }

    @Test func anOpenCircuitIsAFailedConnection() async throws {
        defer { server.stop() }
        server.enqueue(
            Self.events("data: a\n\n"),
            .status(503),
            .status(503),
            Self.events("data: b\n\n"),
            .status(204)
        )
        let policy = CircuitBreaker.Policy(consecutiveFailures: 2, openDuration: .seconds(1))
        let agent = agent { $0.interceptors = [CircuitBreaker(policy)] }
        #expect(try await received(from: agent) == ["a", "b"])
    }

    @Test func aMinimumIntervalIsWaitedFor() async throws {
        defer { server.stop() }
        server.enqueue(Self.events("data: a\n\n"), .status(204))
        let agent = agent { $0.limits.minimumInterval = .milliseconds(700) }
        #expect(try await received(from: agent) == ["a"])
    }

    @Test func aServerErrorThatAFilterNamesIsTemporary() async throws {
        defer { server.stop() }
        server.enqueue(
            Self.events("data: a\n\n"),
            .json(#"{"code": 7, "message": "overloaded"}"#, status: 503),
            .status(204)
        )
        let agent = agent { $0.filter = EnvelopeFilter(code: "code", message: "message", data: "data") }
        #expect(try await received(from: agent) == ["a"])
        #expect(server.requestCount == 3)
    }

    /// The end of the connection looks like the end of the content.
    @Test func aStreamIsResumedIfItsCodingIsCut() async throws {
        defer { server.stop() }
        // One event, compressed by `zlib` and flushed, without the end of the coding.
        let bytes: [UInt8] = [
            0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0x4A, 0x49, 0x2C, 0x49, 0xB4, 0x52, 0x48, 0xE4, 0xE2, 0x02, 0, 0,
            0,
            0xFF, 0xFF,
        ]
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"
        let replies = Lock(0)
        let raw = try RawServer {
            let isFirst = replies.withLock { count in
                count += 1
                return count == 1
            }
            return isFirst
                ? RawServer.Reply(Data(head.utf8) + Data(bytes))
                : RawServer.Reply("HTTP/1.1 204 No Content\r\n\r\n")
        }
        defer { raw.stop() }
        var config = NetworkConfig()
        config.environment = [:]
        var data: [String] = []
        let events = Agent(config: config).events(
            for: GeneralRequest(raw.url.absoluteString),
            reconnection: policy
        )
        for try await event in events { data.append(event.data) }
        #expect(data == ["a"] && raw.requests.count == 2)
    }
}
