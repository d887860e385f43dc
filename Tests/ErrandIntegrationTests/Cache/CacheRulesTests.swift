import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The rules of RFC 9111 for a private cache as a table by section, each row a conversation over real sockets.
@Suite(.limit(seconds: 60)) struct CacheRulesTests {
    /// One request of a conversation, and what is expected of it.
    struct Step: Sendable {
        var method = HTTPMethod.get
        var fields: HTTPHeaders = [:]
        /// The time in seconds since the step before.
        var wait = 0.0
        /// The response of the server, or `nil` if it must not receive a request.
        var response: MockResponse?
        /// The status unless it is 200, the body, and the source unless it is the network; or the kind of the error.
        var expected: String
        /// Fields that the server must receive; an empty value is one that it must not.
        var sent: HTTPHeaders = [:]
    }

    struct Row: Sendable, CustomTestStringConvertible {
        /// The section, and what it requires.
        let title: String
        var accepted = 200..<400
        var heuristicLimit = Duration.seconds(86_400)
        let steps: [Step]
        var testDescription: String { title }

        init(
            _ title: String,
            accepting accepted: Range<Int> = 200..<400,
            heuristicLimit: Duration = .seconds(86_400),
            _ steps: Step...
        ) {
            (self.title, self.accepted, self.heuristicLimit, self.steps) = (title, accepted, heuristicLimit, steps)
        }
    }

    /// The server receives a request.
    static func asks(
        _ text: String,
        _ headers: HTTPHeaders,
        status: Int = 200,
        method: HTTPMethod = .get,
        by fields: HTTPHeaders = [:],
        after wait: Double = 0,
        expecting expected: String? = nil,
        sending sent: HTTPHeaders = [:]
    ) -> Step {
        let response = MockResponse.text(text, status: status, headers: headers)
        let prefix = status == 200 ? "" : "\(status) "
        return Step(
            method: method,
            fields: fields,
            wait: wait,
            response: response,
            expected: expected ?? "\(prefix)\(text)",
            sent: sent
        )
    }

    /// The server receives a request for two bytes of four.
    static func asksPart(_ text: String, _ range: String, tag: String) -> Step {
        let headers = cc("max-age=60", ["Content-Range": "bytes \(range)/4", "ETag": tag])
        return asks(text, headers, status: 206, by: ["Range": "bytes=\(range)"])
    }

    /// The server receives no request.
    static func uses(
        _ expected: String,
        by fields: HTTPHeaders = [:],
        method: HTTPMethod = .get,
        after wait: Double = 0
    ) -> Step {
        Step(method: method, fields: fields, wait: wait, expected: expected)
    }

    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    static func date(_ seconds: Double) -> String {
        HTTPDate.text(for: start.addingTimeInterval(seconds)) ?? ""
    }
    static func cc(_ rules: String, _ others: HTTPHeaders = [:]) -> HTTPHeaders {
        (["Cache-Control": rules] as HTTPHeaders).merging(others)
    }
    static let minute = cc("max-age=60")
    static let tagged = cc("max-age=60", ["ETag": "\"1\""])

    @Test(arguments: storing + keys + freshness + validation + fields, [false, true])
    func theRuleHolds(_ row: Row, onDisk: Bool) async throws {
        let (clock, folder, server) = (CacheClock(), try CacheFolder(), try MockServer())
        defer { server.stop() }
        let cache = ResponseCache(
            memory: onDisk ? nil : MemoryStore(),
            disk: onDisk ? DiskStore(directory: folder.url) : nil,
            maximumHeuristicLifetime: row.heuristicLimit,
            patience: 600_000
        ) { clock.now }
        let agent = server.agent(cache) { $0.redirectPolicy = .refuse }
        for (number, step) in row.steps.enumerated() {
            clock.advance(by: step.wait)
            let before = server.requestCount
            if let response = step.response { server.enqueue(response) }
            let isOffline = step.response == nil && (step.expected.hasSuffix("stale") || step.expected == "unreachable")
            if isOffline { server.stop() }
            var request = GeneralRequest("/x").expecting(String.self).method(step.method)
                .acceptance(Acceptance(statusCodes: row.accepted))
            for field in step.fields { request = request.header(field.name, field.value) }
            #expect(await outcome(of: request, on: agent) == step.expected, "step \(number + 1)")
            await cache.flush()
            if step.response != nil { await server.waitForRequests(before + 1) }
            guard !isOffline else { continue }
            #expect(server.requestCount == before + (step.response == nil ? 0 : 1), "step \(number + 1)")
            for field in step.sent {
                let value = server.requests.last?.headers[field.name]
                #expect(value == (field.value.isEmpty ? nil : field.value), "step \(number + 1): \(field.name)")
            }
        }
    }

    private func outcome(of request: GeneralRequest<DefaultFormatter<String>>, on agent: Agent) async -> String {
        do {
            let response = try await agent.response(for: request)
            let status = response.statusCode == 200 ? "" : "\(response.statusCode) "
            return "\(status)\(response.model)\(response.source.suffix)"
        } catch {
            return (error as? NetworkError)?.kind.rawValue ?? "\(error)"
        }
    }
}
