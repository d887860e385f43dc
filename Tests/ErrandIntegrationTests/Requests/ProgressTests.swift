import Errand
import ErrandTesting
import Foundation
import Testing

/// The progress of bodies over real sockets.
@Suite(.limit(seconds: 60))
struct ProgressTests {
    private static let size = 1 << 20

    private let server: MockServer
    private let events = ProgressLog()
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = server.agent { [events] in
            $0.accessories = [events]
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        }
        server.on(.get, "/large", .data(Self.body))
        server.on(.put, "/x", .status(204))
    }

    private static let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })

    @Test
    func downloadProgressIsReportedFromFirstPartToEnd() async throws {
        #expect(try await agent.send(GeneralRequest("/large").expecting(Data.self)) == Self.body)
        let told = events.progress(.download)
        #expect(told.count > 1 && told.count <= 17, "\(told.count)")
        #expect(told.allSatisfy { $0.total == Int64(Self.size) })
        #expect(told.map(\.completed) == told.map(\.completed).sorted())
        #expect(told.last?.fractionCompleted == 1)
        #expect(events.names.first == "willStart")
        #expect(events.names.suffix(2) == ["willStop", "didStop"])
    }

    @Test(arguments: [true, false])
    func uploadProgressIsReportedBeforeTheResponse(_ hasLength: Bool) async throws {
        server.on(.put, "/x", .data(Self.body))
        let source = PatternSource(count: Self.size, statesCount: hasLength)
        events.clear()
        agent.config.adapters = [BodyAdapter(source: source)]
        try await agent.send(GeneralRequest("/x").method(.put).expecting(Void.self))
        let told = events.progress(.upload)
        #expect(told.last?.completed == Int64(Self.size))
        #expect(told.last?.total == Int64(Self.size))
        #expect(told.map(\.completed) == told.map(\.completed).sorted())
        let directions = events.all.map(\.direction)
        #expect(directions == directions.filter { $0 == .upload } + directions.filter { $0 == .download })
    }

    @Test
    func progressBeginsAgainForEachAttempt() async throws {
        server.enqueue(.status(503), .status(204))
        try await agent.send(GeneralRequest("/x").method(.put).body(.data(Self.body)).expecting(Void.self))
        #expect(server.requests.map(\.body) == [Self.body, Self.body])
        #expect(events.progress(.upload).filter { $0.fractionCompleted == 1 }.count == 2)
    }

    @Test
    func totalOfACodedBodyIsKnownAtItsEnd() async throws {
        server.on(.get, "/coded", .data(Self.body).gzipped())
        #expect(try await agent.send(GeneralRequest("/coded").expecting(Data.self)) == Self.body)
        let told = events.progress(.download)
        #expect(told.dropLast().allSatisfy { $0.total == nil })
        #expect(told.last == TransferProgress(direction: .download, completed: 1 << 20, total: 1 << 20))
    }

    @Test
    func progressOfSmallBodiesIsNotReported() async throws {
        server.on(.post, "/small", .text("small"))
        let post = GeneralRequest("/small").method(.post).body(.data(Data(count: 100)))
        #expect(try await agent.send(post.expecting(String.self)) == "small")
        #expect(events.names == ["willStart", "willStop", "didStop"])
    }

    @Test
    func handleShowsTheProgressOfItsTransfer() async throws {
        let handle = agent.start(GeneralRequest("/large").expecting(Data.self), on: .global()) { _ in }
        await handle.waitUntilFinished()
        let size = Int64(Self.size)
        #expect(handle.progress == TransferProgress(direction: .download, completed: size, total: size))
    }

    /// A truncated body does not report its end.
    @Test
    func brokenDownloadNeverReportsItsEnd() async throws {
        server.on(.get, "/cut", .data(Self.body).faulted(.closeInBody(after: 700_000)))
        await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/cut").retryPolicy(.never).expecting(Data.self))
        }
        #expect(!events.all.contains { $0.fractionCompleted == 1 })
        #expect(events.names.suffix(2) == ["willStop", "didStop"])
    }
}

private struct BodyAdapter: RequestAdapter {
    let source: PatternSource
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) { request.body = .source(source) }
}
