import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Downloads over real sockets: where the file is, and what becomes of failures.
@Suite(.limit(seconds: 60)) struct DownloadWireTests {
    private let host: DownloadServer
    private let get = GeneralRequest("/files/big.bin")

    init() throws { host = try DownloadServer() }

    @Test func theResponseIsInTheFileAndNothingElseIsLeft() async throws {
        let file = try await host.agent().download(get, to: host.file("copy.bin"))
        #expect(file.url == host.file("copy.bin") && file.byteCount == 300_000 && file.resumedByteCount == 0)
        #expect(host.data("copy.bin") == host.content)
        #expect(host.names == ["copy.bin"])
        let attributes = try FileManager.default.attributesOfItem(atPath: file.url.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(host.state.withLock { $0.requests.count } == 1)
    }

    @Test func inAFolderTheURLNamesTheFile() async throws {
        let file = try await host.agent().download(get, to: host.folder)
        #expect(file.url.lastPathComponent == "big.bin" && host.names == ["big.bin"])
    }

    @Test(arguments: ["UTF-8", "utf8"])
    func inAFolderContentDispositionNamesTheFile(charset: String) async throws {
        host.set {
            $0.headers["Content-Disposition"] = "attachment; filename=\"x.bin\"; filename*=\(charset)''na%C3%AFve.bin"
        }
        try await host.agent().download(get, to: host.folder)
        #expect(host.names == ["naïve.bin"])
    }

    @Test func anInterruptedDownloadContinuesWhereItEnded() async throws {
        await host.cut(get)
        #expect(host.names == ["a.part", "a.part.json"])
        let file = try await host.agent().download(get, to: host.file("a"))
        #expect(host.data("a") == host.content && host.names == ["a"])
        #expect(file.resumedByteCount == 100_000 && file.byteCount == 300_000)
        #expect(host.ranges == [nil, "bytes=100000-"])
        #expect(host.state.withLock { $0.requests[1].ifRange } == "\"1\"")
    }

    @Test func aRetryContinuesWhereTheAttemptEnded() async throws {
        host.set { $0.cuts = [.reset(100_000), .closed(50_000)] }
        let agent = host.agent(retries: RetryPolicy(maximumAttempts: 3, baseDelay: .milliseconds(1)))
        let file = try await agent.download(get, to: host.file("a"))
        #expect(host.data("a") == host.content && file.resumedByteCount == 0)
        #expect(host.ranges.count == 3)
        #expect(host.state.withLock { $0.requests.dropFirst().allSatisfy { $0.range != nil } })
    }

    @Test func theExistingFileIsReplacedOnlyBySuccess() async throws {
        try Data("old".utf8).write(to: host.file("a"))
        await host.cut(get, after: 10)
        #expect(host.data("a") == Data("old".utf8))
        try await host.agent().download(get, to: host.file("a"))
        #expect(host.data("a") == host.content)
    }

    @Test func anErrorResponseIsAnErrorWithItsBodyAndLeavesNothing() async throws {
        host.server.on(.get, "/missing", .json(#"{"message": "gone"}"#, status: 404))
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(GeneralRequest("/missing"), to: host.file("a"))
        }
        #expect(error?.reason == .status(404))
        #expect(error.map { String(decoding: $0.response?.body ?? Data(), as: UTF8.self) } == #"{"message": "gone"}"#)
        #expect(host.names.isEmpty)
    }

    @Test func aContentTypeThatIsNotAcceptedIsNotStored() async throws {
        host.server.on(.get, "/login", .html("<html>log in</html>"))
        let request = GeneralRequest("/login").acceptance(Acceptance(contentTypes: ["application/octet-stream"]))
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(request, to: host.file("a"))
        }
        #expect(error?.reason == .contentType("text/html") && host.names.isEmpty)
    }

    @Test func theDigestOfTheCompleteFileIsChecked() async throws {
        let digest = SHA256.hexadecimal(host.content)
        host.set { $0.cuts = [.closed(77_777)] }
        let options = DownloadOptions(sha256: digest.uppercased(), byteCount: 300_000)
        await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"), options: options)
        }
        let file = try await host.agent().download(get, to: host.file("a"), options: options)
        #expect(file.sha256 == digest && file.resumedByteCount == 77_777)
    }

    @Test func aFileWithAnotherDigestIsRemoved() async throws {
        let wanted = String(repeating: "0", count: 64)
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"), options: DownloadOptions(sha256: wanted))
        }
        let actual = SHA256.hexadecimal(host.content)
        let text = "the file has the SHA-256 \(actual), and \(wanted) was expected"
        #expect(error?.kind == .unacceptableContent && error?.description.contains(text) == true)
        #expect(host.names.isEmpty)
    }

    @Test func anotherLengthThanExpectedFailsAndLeavesNothing() async throws {
        for length in [Int64(299_999), 300_001] {
            let error = await #expect(throws: NetworkError.self) {
                try await host.agent().download(get, to: host.file("a"), options: DownloadOptions(byteCount: length))
            }
            #expect(error?.reason == .unexpectedLength(length, "the server declares 300000"))
            #expect(host.names.isEmpty)
        }
    }

    @Test func progressGrowsToTheEndAcrossARetry() async throws {
        host.set { ($0.content, $0.cuts) = (DownloadServer.content(3_000_000, 2), [.closed(1_500_000)]) }
        let seen = Lock<[TransferProgress]>([])
        let agent = host.agent(retries: RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1)))
        try await agent.download(get, to: host.file("a")) { progress in seen.withLock { $0.append(progress) } }
        let all = seen.withLock { $0 }
        #expect(all.map(\.completed) == all.map(\.completed).sorted())
        #expect(all.allSatisfy { $0.total == 3_000_000 && $0.direction == .download })
        #expect(all.last?.fractionCompleted == 1 && all.count > 10 && all.count <= 101)
    }

    @Test func aDownloadIsSentLikeAnyRequest() async throws {
        let requests = (0..<5).map { get.downloading(to: host.file("\($0)")) }
        let files = await host.agent().results(of: requests)
        #expect(try files.map { try $0.get().byteCount } == Array(repeating: 300_000, count: 5))
        #expect(host.names == ["0", "1", "2", "3", "4"])
        let tagged = try await host.agent().send(get.downloading(to: host.file("5")).tag("files").timeout(.seconds(5)))
        #expect(tagged.url == host.file("5"))
    }

    @Test func aBodyLargerThanTheLimitForMemoryIsStored() async throws {
        let agent = host.agent { $0.limits.maximumBodySize = 1_000 }
        let file = try await agent.download(get, to: host.file("a"))
        #expect(file.byteCount == 300_000)
        let limited = GeneralRequest("/x").limits(Limits(maximumBodySize: 1_000))
        let error = await #expect(throws: NetworkError.self) {
            try await agent.download(limited, to: host.file("b"))
        }
        #expect(error?.reason == .bodyTooLarge(limit: 1_000))
    }

    @Test func aResponseOfAnInterceptorIsStored() async throws {
        struct Canned: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                RawResponse(body: Data("canned".utf8), url: request.url)
            }
        }
        let agent = host.agent { $0.interceptors = [Canned()] }
        let file = try await agent.download(get, to: host.file("a"))
        #expect(file.byteCount == 6 && host.data("a") == Data("canned".utf8) && host.names == ["a"])
    }
}
