import Errand
import ErrandTesting
import Foundation
import Testing

/// What modifiers and the shorter spellings change on the wire.
@Suite struct ModifierWireTests {
    struct GetItem: Request, Sendable {
        typealias Model = String
        var number = 1
        var path: String { "/items/\(number)" }
    }

    @Test func headerAuthorizationAndKeyReachTheServer() async throws {
        let server = try MockServer { request in
            .text(
                [request.headers["X-Trace"], request.headers["Authorization"], request.headers["X-Base"]]
                    .map { $0 ?? "-" }.joined(separator: " ")
            )
        }
        let agent = server.agent { $0.headers = ["X-Base": "base"] }
        let request = GetItem().header("X-Trace", "7").authorization(.bearer("token"))
        #expect(try await agent.send(request) == "7 Bearer token base")
        #expect(try await agent.send(request.usingBaseHeaders(false)) == "7 Bearer token -")
        let both = try await agent.send(BatchRequest(GetItem(), GetItem(number: 2)).header("X-Trace", "batch"))
        #expect(both == ("batch - base", "batch - base"))
    }

    @Test func timeoutDeadlineAndRetriesTakeEffect() async throws {
        let server = try MockServer { _ in .text("late").faulted(.hang) }
        let agent = server.agent()
        let timeout = await #expect(throws: NetworkError.self) {
            try await agent.send(GetItem().timeout(.milliseconds(100)))
        }
        #expect(timeout?.kind == .timedOut && timeout?.attempts == 1)
        let retried = await #expect(throws: NetworkError.self) {
            try await agent.send(
                GetItem().timeout(.milliseconds(100)).retryPolicy(
                    RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1), retriesTimeouts: true)
                )
            )
        }
        #expect(retried?.attempts == 2)
        let deadline = await #expect(throws: NetworkError.self) {
            try await agent.send(GetItem().deadline(.milliseconds(150)))
        }
        #expect(deadline?.reason == .deadlineExceeded(.milliseconds(150)))
    }

    @Test func cachePolicyAndResponsesOfABatchTakeEffect() async throws {
        let server = try MockServer { _ in .text("body") }
        let agent = server.agent { $0.cache = ResponseCache(memory: MemoryStore(), disk: nil) }
        let stored = GetItem().cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
        for _ in 0..<3 { #expect(try await agent.send(stored) == "body") }
        #expect(server.requestCount == 1)
        let (one, other) = try await agent.response(for: BatchRequest(stored, GetItem(number: 2)))
        #expect(one.source.isFromCache && !other.source.isFromCache)
        var sources: [Bool] = []
        for try await response in agent.responses(for: GetItem(), cachePolicy: .cacheThenNetwork(maxAge: .seconds(60)))
        {
            sources.append(response.source.isFromCache)
        }
        #expect(sources == [true, false])
    }

    @Test func progressOfBothDirectionsIsReported() async throws {
        struct Put: Request, Sendable {
            typealias Model = Data
            var body: RequestBody { .data(Data(repeating: 1, count: 1 << 20)) }
            var path: String { "/echo" }
            var method: HTTPMethod { .put }
        }
        let server = try MockServer { .data($0.body) }
        let progress = ProgressLog()
        let data = try await server.agent().send(Put(), progress: progress.add)
        #expect(data.count == 1 << 20)
        for direction in [TransferProgress.Direction.upload, .download] {
            #expect(progress.progress(direction).last?.completed == 1 << 20, "\(direction)")
        }
    }

    @Test func bodiesOfTextXMLAndSourcesArriveWithTheirTypes() async throws {
        let server = try MockServer { request in
            .text("\(request.headers["Content-Type"] ?? "-") \(request.headers["Content-Length"] ?? "-")")
        }
        let agent = server.agent()
        let post = GeneralRequest("/").method(.post).expecting(String.self)
        #expect(try await agent.send(post.body(.text("gr\u{fc}n"))) == "text/plain; charset=utf-8 5")
        #expect(try await agent.send(post.body(.xml("<a/>"))) == "application/xml; charset=utf-8 4")
        let source = RequestBody.source(PatternSource(count: 300_000, statesCount: true), contentType: "text/csv")
        #expect(try await agent.send(post.body(source)) == "text/csv 300000")
        #expect(try await agent.send(post.body(source).header("Content-Type", "text/tsv")) == "text/tsv 300000")
    }

    @Test func theBodyOfAnErrorIsDecoded() async throws {
        struct Problem: Decodable { var title: String }
        let server = try MockServer { _ in .json(#"{"title":"no stock"}"#, status: 422) }
        let error = await #expect(throws: NetworkError.self) { try await server.agent().send(GetItem()) }
        #expect(try error?.decode(Problem.self)?.title == "no stock")
    }
}
