import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Downloads of error responses that become files or errors, and of more than the limit allows.
@Suite(.limit(seconds: 60)) struct DownloadAcceptanceTests {
    private let host: DownloadServer
    private let missing = GeneralRequest("/missing")

    init() throws { host = try DownloadServer() }

    /// Accepts the content of a status 404.
    private struct Recovering: ResponseFilter {
        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload { Payload(response.body) }
        func recovers(from failure: any Error, in response: RawResponse) -> Bool { response.statusCode == 404 }
    }

    /// Turns a status 404 into a success.
    private struct Replacing: Interceptor {
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var response = try await next(request)
            response.statusCode = 200
            return response
        }
    }

    enum Way: CaseIterable, Sendable { case acceptance, filter, both, interceptor }

    private func download(_ way: Way) async throws -> DownloadedFile {
        let accepting = Acceptance().accepting(404)
        let request =
            switch way {
            case .acceptance: missing.acceptance(accepting)
            case .filter: missing.filter(Recovering())
            case .both: missing.acceptance(accepting).filter(Recovering())
            case .interceptor: missing
            }
        let agent = host.agent { if way == .interceptor { $0.interceptors = [Replacing()] } }
        return try await agent.download(request, to: host.file("a"))
    }

    @Test(arguments: Way.allCases) func anErrorResponseThatBecomesAFileIsComplete(way: Way) async throws {
        host.server.on(.get, "/missing", .data(host.content, status: 404))
        #expect(try await download(way).byteCount == 300_000)
        #expect(host.data("a") == host.content && host.names == ["a"])
    }

    @Test(arguments: Way.allCases) func anErrorResponseThatIsCutShortBecomesNoFile(way: Way) async throws {
        host.server.on(.get, "/missing", .data(host.content, status: 404).faulted(.closeInBody(after: 20_000)))
        let error = await #expect(throws: NetworkError.self) { try await download(way) }
        #expect(error?.reason == .closedInBody && host.names.isEmpty)
    }

    @Test func anErrorResponseThatIsTooLargeForMemoryBecomesNoFile() async throws {
        let content = Data(count: 5 << 20)
        host.server.on(.get, "/missing", .data(content, status: 404))
        let error = await #expect(throws: NetworkError.self) { try await download(.filter) }
        #expect(error?.reason == .bodyTooLarge(limit: 4 << 20) && host.names.isEmpty)
        // An accepted one is not in memory.
        #expect(try await download(.acceptance).byteCount == 5 << 20)
    }

    @Test(arguments: [true, false]) func aLongServiceErrorIsOneOfADownloadToo(isAccepted: Bool) async throws {
        let pad = String(repeating: "x", count: 100_000)
        host.server.on(.get, "/missing", .json(#"{"code": 12, "message": "none", "data": "\#(pad)"}"#, status: 400))
        let request = missing.filter(EnvelopeFilter(code: "code", message: "message", data: "data"))
            .acceptance(isAccepted ? Acceptance().accepting(400) : Acceptance())
        let error = await #expect(throws: ServiceError.self) {
            try await host.agent().download(request, to: host.file("a"))
        }
        #expect(error?.code == 12 && host.names.isEmpty)
    }

    @Test func aStatus304ReplacesNoFile() async throws {
        try Data("kept".utf8).write(to: host.file("a"))
        host.server.on(.get, "/missing", .status(304))
        let error = await #expect(throws: NetworkError.self) {
            let request = missing.acceptance(Acceptance().accepting(304))
            return try await host.agent().download(request, to: host.file("a"))
        }
        #expect(error?.reason == .status(304) && host.data("a") == Data("kept".utf8))
    }

    @Test func anAcceptedErrorResponseIsStreamedCompletely() async throws {
        host.server.on(.get, "/missing", .data(host.content, status: 404))
        let request = missing.acceptance(Acceptance().accepting(404)).filter(Recovering())
        let stream = try await host.agent().bytes(for: request)
        var bytes = Data()
        for try await chunk in stream { bytes += chunk }
        #expect(stream.response.statusCode == 404 && bytes == host.content)
    }

    // MARK: The limit of the request

    @Test func theLimitIncludesTheBytesOfEarlierCalls() async throws {
        let content = host.content
        host.server.on(.get, "/chunked") { .content(content, for: $0, ["ETag": "\"c\""]).chunked(10_000) }
        let request = GeneralRequest("/chunked").limits(Limits(maximumBodySize: 200_000))
        for _ in 0..<3 {
            let error = await #expect(throws: NetworkError.self) {
                try await host.agent().download(request, to: host.file("a"))
            }
            #expect(error?.reason == .bodyTooLarge(limit: 200_000) && host.names.isEmpty)
        }
    }

    @Test(arguments: [150_000, 250_000]) func aPartOfMoreThanTheLimitIsNotContinued(limit: Int) async throws {
        let get = GeneralRequest("/big.bin")
        await host.cut(get, after: 200_000)
        let error = await #expect(throws: NetworkError.self) {
            let request = get.limits(Limits(maximumBodySize: limit))
            return try await host.agent().download(request, to: host.file("a"))
        }
        #expect(error?.reason == .bodyTooLarge(limit: limit) && host.names.isEmpty)
    }
}
