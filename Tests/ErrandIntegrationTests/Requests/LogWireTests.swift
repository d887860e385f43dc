import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Logs, metrics and errors about sends: one line each, with the request and its host.
@Suite(.limit(seconds: 60))
struct LogWireTests {
    private let lines = Lock<[String]>([])

    private let server: MockServer

    init() throws { server = try MockServer() }

    private func agent(_ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent {
            $0.accessories = [LoggingAccessory { [lines] line in lines.withLock { $0.append(line) } }]
            change(&$0)
        }
    }

    /// The last line, after the request.
    private var outcome: String {
        let line = lines.withLock { $0.last } ?? ""
        return line.firstRange(of: ": ").map { String(line[$0.upperBound...]) } ?? line
    }

    @Test func attemptsAtSeveralURLsAreNamedWithTheirStatus() async throws {
        server.on(.get, "/one/*", .status(503))
        server.on(.get, "/two/*", .text("x"))
        let urls = ["one", "two"].map { BaseURL(server.baseURL.appending(path: $0)) }
        let agent = agent { ($0.cdnURL, $0.cdnFallbacks) = (urls[0], [urls[1]]) }
        let request = GeneralRequest("/logo.png").query(["token": "secret"]).usingCDN().expecting(String.self)
        let response = try await agent.response(for: request)
        #expect(response.metrics.attempts.map(\.statusCode) == [503, 200])
        #expect(response.metrics.attempts.map { $0.url?.path() } == ["/one/logo.png", "/two/logo.png"])
        let place = "127.0.0.1:\(server.port)"
        #expect(outcome.hasPrefix("200 in "))
        let attempts = "after 2 attempts: 503 from \(place)/one/logo.png, 200 from \(place)/two/logo.png"
        #expect(outcome.hasSuffix(attempts), "\(outcome)")
        #expect(!"\(response.metrics)".contains("secret") && !outcome.contains("secret"))
    }

    @Test func retriesAreNamedWithTheirStatus() async throws {
        server.on(.get, "/x", .text("x"))
        server.enqueue(.status(503), .text("x").faulted(.closeInBody(after: 0)))
        let policy = RetryPolicy(maximumAttempts: 3, baseDelay: .milliseconds(1), maximumDelay: .milliseconds(1))
        _ = try await agent { $0.retryPolicy = policy }.send(GeneralRequest("/x").expecting(String.self))
        #expect(outcome.hasSuffix("after 3 attempts: 503, no response, 200"), "\(outcome)")
    }

    @Test func failureAtAnotherURLNamesIt() async throws {
        server.on(.get, "*", .status(404))
        server.on(.get, "/from", .redirect(to: "/to", status: 302))
        await #expect(throws: NetworkError.self) { try await agent().send(GeneralRequest("/from")) }
        #expect(outcome.hasPrefix("failed: GET 127.0.0.1:\(server.port): the status 404"), "\(outcome)")
        await #expect(throws: NetworkError.self) { try await agent().send(GeneralRequest("/x")) }
        #expect(outcome.hasPrefix("failed: the status 404 is not acceptable"), "\(outcome)")
    }

    @Test func validatedResponseIsCalledSo() async throws {
        server.on(.get, "/x") { request in
            request.headers["If-None-Match"] == nil
                ? .text("x", headers: ["ETag": "\"1\"", "Cache-Control": "no-cache"]) : .status(304)
        }
        let agent = agent { ($0.cache, $0.cachePolicy) = (ResponseCache(disk: nil), .http) }
        let request = GeneralRequest("/x").expecting(String.self)
        _ = try await agent.send(request)
        #expect(outcome.hasPrefix("200 in "))
        let response = try await agent.response(for: request)
        #expect(outcome.hasPrefix("200, validated by the server, in "), "\(outcome)")
        #expect(response.metrics.attempts.map(\.statusCode) == [304] && response.statusCode == 200)
        _ = try await agent.send(request.cachePolicy(.cacheElseNetwork(maxAge: .seconds(60))))
        #expect(outcome.hasPrefix("200 from the cache in "), "\(outcome)")
    }

    @Test func eachDescriptionIsOneShortLine() async throws {
        struct Page: Decodable, Sendable { var token: String }
        let body = #"{"token":"CANARY"}"#
        server.on(.get, "/from", .redirect(to: "/to?token=CANARY"))
        server.on(.get, "/to", .json(body))
        let events = Lock<[String]>([])
        let agent = agent()
        let request = GeneralRequest("/from").query(["token": "CANARY"]).header("X-Token", "CANARY").expecting(
            Page.self
        )
        .accessory { event in events.withLock { $0.append("\(event)") } }
        let response = try await agent.response(for: request)
        let place = "127.0.0.1:\(server.port)"
        #expect("\(response)" == "200 from \(place): Page, \(body.utf8.count) bytes")
        let names = events.withLock { $0 }.map { $0.replacing(#/in [\d.]+ m?s\)/#, with: "in N ms)") }
        #expect(
            names == [
                "willStart", "didRedirect(302, goes on to http://\(place))", "willStop(200 in N ms)",
                "didStop(200 in N ms)",
            ]
        )
        let attempt = try #require(response.metrics.attempts.first)
        #expect("\(attempt)".hasPrefix("200 from \(place)/from in "))
        var text = "\(response.metrics) \(attempt) \(names)"
        dump(response.metrics, to: &text)
        dump(attempt, to: &text)
        #expect(!text.contains("CANARY"))
        #expect("\(response.metrics)".hasPrefix("total ") && !"\(response.metrics)".contains("Metrics"))
    }

    @Test func errorsNameWhatWasLookedForAndWhoseLimitItWas() async throws {
        server.on(.get, "/slow", .text("late").faulted(.hang))
        server.on(.get, "/x", .json(#"{"items":[{"name":"a"}]}"#))
        let agent = agent()
        func text<T>(_ work: () async throws -> T) async -> String {
            do {
                _ = try await work()
                return "no error"
            } catch {
                return "\(error)"
            }
        }
        let path = await text { try await agent.send(GeneralRequest("/x").expecting(String.self, at: "lines[0].name")) }
        #expect(
            path.contains(
                "no value at lines[0].name: a value is missing at lines; ask for an optional if it may be absent; "
                    + "paths start at the payload, or at the whole body with `~`"
            ),
            "\(path)"
        )
        let slow = GeneralRequest("/slow").expecting(String.self)
        let own = await text { try await agent.send(slow.deadline(.milliseconds(50))) }
        #expect(own.hasSuffix("the deadline of 0.05 seconds has passed"), "\(own)")
        let inherited = await text { try await agent.send(BatchRequest(slow).deadline(.milliseconds(50))) }
        #expect(
            inherited.contains("the deadline of 0.05 seconds has passed (the batch's or chain's)"),
            "\(inherited)"
        )
    }
}
