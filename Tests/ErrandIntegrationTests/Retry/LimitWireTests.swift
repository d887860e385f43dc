import Errand
import ErrandTesting
import Foundation
import Testing

/// Exceeded limits, as services report them.
@Suite(.serialized, .limit(seconds: 60))
struct LimitWireTests {
    private let server: MockServer
    private let agent: Agent
    private let request = GeneralRequest("/x").expecting(String.self)

    init() throws {
        server = try MockServer()
        agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
    }

    private func gap() throws -> Duration {
        let times = server.requests.map(\.receivedAt)
        try #require(times.count == 2)
        return times[1] - times[0]
    }

    @Test(
        arguments: [
            ["Retry-After": "1"], ["Retry-After-Ms": "1000"], ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"],
        ] as [HTTPHeaders]
    )
    func a403ThatStatesADelayIsRetriedAfterIt(headers: HTTPHeaders) async throws {
        server.enqueue(.status(403, headers: headers), .text("ready"))
        #expect(try await agent.send(request) == "ready")
        #expect(try gap() >= .seconds(1))
    }

    @Test func a403WithATimeOfResetIsRetriedAfterIt() async throws {
        let reset = Int(Date().timeIntervalSince1970) + 2
        let headers: HTTPHeaders = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(reset)"]
        server.enqueue(.status(403, headers: headers), .text("ready"))
        #expect(try await agent.send(request) == "ready")
        #expect(Date().timeIntervalSince1970 >= Double(reset) - 0.01)
    }

    @Test(
        arguments: [
            ([:], nil), (["X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1"], nil),
            (["X-RateLimit-Reset": "1"], nil),
            (["Retry-After": "3600"], "the server requires"),
        ] as [(HTTPHeaders, String?)]
    )
    func anyOther403IsFinal(headers: HTTPHeaders, advice: String?) async throws {
        server.enqueue(.status(403, headers: headers), .text("ready"))
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request) }
        #expect(error?.reason == .status(403))
        #expect(server.requestCount == 1)
        if let advice { #expect(error?.description.contains(advice) == true, "\(String(describing: error))") }
    }

    @Test func equalLinesOfRetryAfterAreOne() async throws {
        let line = HTTPHeaders.Field(name: "Retry-After", value: "1")
        server.enqueue(.status(429, headers: HTTPHeaders([line, line])), .text("ready"))
        #expect(try await agent.send(request) == "ready")
        #expect(try gap() >= .seconds(1))
    }

    @Test func usedQuotaOfAUserHoldsBackThatUserOnly() async throws {
        let used: HTTPHeaders = ["RateLimit-Remaining": "0", "RateLimit-Reset": "2"]
        server.on(.get, "/x") { $0.authorization?.token == "ada" ? .text("a", headers: used) : .text("b") }
        agent.config.throttle = Throttle(waitsForReset: true)
        let (ada, bob) = (request.authorization(.bearer("ada")), request.authorization(.bearer("bob")))
        #expect(try await agent.send(ada) == "a")
        async let second = agent.send(ada)
        #expect(try await agent.send(bob) == "b")
        #expect(try await second == "a")
        let requests = server.requests
        #expect(requests.map { $0.headers["Authorization"] } == ["Bearer ada", "Bearer bob", "Bearer ada"])
        #expect(requests[2].receivedAt - requests[0].receivedAt >= .seconds(1.9))
    }
}
