import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The errors of bodies that cannot be sent, or not once more.
@Suite(.limit(seconds: 60)) struct UploadErrorTests {
    private let server: MockServer
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .zero) }
    }

    @Test func errorOfASourceReachesTheCallerUnchanged() async throws {
        server.on(.put, "/x", .text("done"))
        let failing = PatternSource(count: 500_000, statesCount: true, failsAt: 100_000)
        let bodies: [RequestBody] = [
            .source(failing), .multipart { $0.append(source: failing, name: "a") },
            .stream { throw PatternSource.Broken() }, .stream { { throw PatternSource.Broken() } },
            .stream(byteCount: 3) { { throw PatternSource.Broken() } },
        ]
        for body in bodies {
            await #expect(throws: PatternSource.Broken.self) {
                try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(String.self))
            }
        }
        #expect(server.requestCount == 0)
    }

    @Test(
        arguments: [(10, "at least 15"), (14, "at least 15"), (16, "only 15"), (100, "only 15")] as [(Int64, String)]
    )
    func errorOfAWrongLengthStatesHowManyBytesThereWere(_ byteCount: Int64, _ actual: String) async throws {
        let body = RequestBody.stream(byteCount: byteCount) {
            var rest = [Data(count: 8), Data(count: 7)][...]
            return { rest.popFirst() }
        }
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(String.self))
        }
        #expect(error?.kind == .invalidRequest)
        // Newer versions of libcurl do not read more than the length.
        let texts = [actual, "more than \(byteCount)"].map { "its source supplied \($0) bytes" }
        #expect(texts.contains { error?.description.hasSuffix($0) == true }, "\(error.debugDescription)")
    }

    @Test func errorOfAMissingFileNamesTheFileAndTheURL() async throws {
        let error = await #expect(throws: NetworkError.self) {
            let body = RequestBody.file(URL(filePath: "/nowhere/nothing"))
            return try await agent.send(GeneralRequest("/x").method(.put).body(body).expecting(String.self))
        }
        let host = "\(server.baseURL.host() ?? ""):\(server.baseURL.port ?? 0)"
        #expect("\(try #require(error))" == "PUT \(host)/x: the file cannot be used: 'nothing': it does not exist")
    }

    @Test func errorStatesThatABodyWasNotSentAgainAfterARefresh() async throws {
        server.on(.put, "/x", .status(401))
        agent.config.authentication = .session(AuthenticationSession(RenewedTokens(), credential: "old"))
        let once = RequestBody.stream(isReplayable: false) { { nil } }
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").method(.put).body(once))
        }
        #expect(error?.reason == .status(401))
        let wanted = "; not retried: the credential was refreshed, but the body can be read only once"
        #expect(error?.description.contains(wanted) == true, "\(error.debugDescription)")
    }

    @Test func errorStatesWhyTheBodyWasNotSentAgain() async throws {
        server.on(.post, "/x", .status(503))
        server.on(.put, "/x", .status(503))
        let once = RequestBody.stream(isReplayable: false) { { nil } }
        for (method, body, wanted) in [
            (HTTPMethod.post, RequestBody.text("x"), "; not retried: a retry of a POST needs an idempotencyKey"),
            (.put, once, "; not retried: the body can be read only once"),
        ] {
            let error = await #expect(throws: NetworkError.self) {
                try await agent.send(
                    GeneralRequest("/x").method(method).body(body).retryPolicy(RetryPolicy(maximumAttempts: 3))
                )
            }
            #expect(error?.description.contains(wanted) == true, "\(error.debugDescription)")
        }
    }
}
