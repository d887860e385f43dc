import Errand
import ErrandTesting
import Foundation
import Testing

struct Session: Decodable {
    let userID: Int

    init(from decoder: any Decoder) throws {
        MainActor.assertIsolated()
        userID = try decoder.container(keyedBy: Keys.self).decode(Int.self, forKey: .userID)
    }

    private enum Keys: String, CodingKey { case userID }
}

struct Login: Request, Encodable {
    typealias Model = Session
    var name: String
    var password: String
    var path: String { "login" }
    var method: HTTPMethod { .post }
}

/// Batches, chains and streams of plain types over real sockets: every model is made on the main actor.
@Suite struct CompositionTests {
    let server: MockServer
    let agent: Agent

    init() throws {
        MainQueue.mark()
        server = try MockServer()
        for id in 0..<20 { server.on(.get, "/users/\(id)", .json(#"{"id":\#(id),"name":"Ada \#(id)"}"#)) }
        server.on(.get, "/users/search", .json(#"[{"id":7,"name":"Ada"},{"id":8,"name":"Bob"}]"#))
        server.on(.post, "/login", .json(#"{"userID":7}"#))
        agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
    }

    @Test func aBatchAndResults() async throws {
        let (me, hits) = try await agent.send(BatchRequest(GetUser(id: 7), SearchUsers(query: "a")))
        let team = try await agent.send(ArrayBatchRequest([1, 2, 3].map { GetUser(id: $0) }, maximumConcurrent: 2))
        #expect(team.map(\.id) == [1, 2, 3])
        MainActor.assertIsolated()
        #expect(me.name == "Ada 7" && hits.count == 2)
        let (response, none) = try await agent.response(
            for: BatchRequest(GetUser(id: 7), GetUser(id: 404).ignoringFailure())
        )
        MainActor.assertIsolated()
        #expect(response.model.name == "Ada 7" && none == nil)
        let (one, other) = await agent.results(of: GetUser(id: 1), GetUser(id: 404))
        #expect(try one.get().id == 1)
        #expect(throws: NetworkError.self) { try other.get() }
        let many = await agent.results(of: (1...30).map { GetUser(id: $0) }, maximumConcurrent: 8)
        #expect(many.map { try? $0.get().id } == (1...30).map { $0 < 20 ? $0 : nil })
        var seen = 0
        for await next in agent.resultStream(of: (0..<20).map { GetUser(id: $0) }, maximumConcurrent: 4) {
            MainActor.assertIsolated()
            #expect(try next.result.get().id == next.index)
            seen += 1
        }
        #expect(seen == 20)
    }

    @Test func aChain() async throws {
        let found = try await agent.send(
            ChainRequest(Login(name: "x", password: "y"))
                .then { session in
                    MainActor.assertIsolated()
                    return GetUser(id: session.userID)
                }
                .then { user in SearchUsers(query: user.name) }
        )
        #expect(found.count == 2)
        #expect(server.requests.last?.query == "query=Ada%207")
        #expect(server.requests.first?.text == #"{"name":"x","password":"y"}"#)
    }

    @Test func callbacksOwnersAndDelegates() async throws {
        let screen = Screen()
        await withCheckedContinuation { continuation in
            agent.start(BatchRequest(GetUser(id: 1), SearchUsers(query: "a")), owner: screen) { screen, result in
                if case .success(let (user, _)) = result { screen.name = user.name }
                continuation.resume()
            }
        }
        #expect(screen.name == "Ada 1")
        let chain = ChainRequest(Login(name: "x", password: "y")).then { GetUser(id: $0.userID) }
        #expect(try await agent.start(chain).value.name == "Ada 7")
    }

    @Test func pollingPagesAndResponses() async throws {
        var count = 0
        for try await response in agent.poll(GetUser(id: 3), every: .milliseconds(1), until: { _ in count == 2 }) {
            MainActor.assertIsolated()
            #expect(response.model.id == 3)
            count += 1
        }
        #expect(count == 3)
        for try await page in agent.pages(of: SearchUsers(query: "a")) { #expect(page.model.count == 2) }
        for try await response in agent.responses(for: SearchUsers(query: "a")) { #expect(response.model.count == 2) }
    }

    @Test func sendableRequestsOfABatchAreFormattedInTheBackground() async throws {
        let (one, other) = try await agent.send(BatchRequest(GetPlace(), GetPlace(formattingContext: .caller)))
        #expect(!one.wasOnMain)
        #expect(other.wasOnMain)
        let place = try await agent.send(ChainRequest(GetUser(id: 7)).then { _ in GetPlace() })
        #expect(!place.wasOnMain)
    }

    @Test func aDeadlineReachesTheWire() async throws {
        server.on(.get, "/users/99", .json("{}").delayed(by: .seconds(60)))
        let batch = BatchRequest(GetUser(id: 99), GetUser(id: 1)).deadline(.milliseconds(200))
        let agent = agent
        let error = await #expect(throws: NetworkError.self) { _ = try await agent.send(batch) }
        #expect(error?.reason == .deadlineExceeded(.milliseconds(200)))
        let began = ContinuousClock.now
        // The response would come after 60 seconds.
        while server.openConnectionCount > 1, ContinuousClock.now - began < .seconds(30) {
            try await Task.sleep(for: .milliseconds(1))
        }
        server.stop()
        #expect(ContinuousClock.now - began < .seconds(30))
    }
}
