import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The bytes of an interrupted download are used only if they belong to the server's current content.
@Suite(.limit(seconds: 120)) struct DownloadResumeTests {
    private let host: DownloadServer
    private let get = GeneralRequest("/big.bin")

    init() throws { host = try DownloadServer() }

    @discardableResult
    private func finish(_ request: GeneralRequest<JSONValueFormatter>? = nil) async throws -> DownloadedFile {
        let file = try await host.agent().download(request ?? get, to: host.file("a"))
        #expect(host.data("a") == host.content && host.names == ["a"])
        return file
    }

    static let validators: [(HTTPHeaders, isResumable: Bool)] = [
        (["ETag": "\"1\""], true),
        (["Last-Modified": "Sun, 22 Nov 2026 10:00:00 GMT"], true),
        (["ETag": "W/\"1\""], false),
        // Within the same second, the content may have changed twice.
        (["Last-Modified": "Sun, 22 Nov 2026 12:00:00 GMT"], false),
        ([:], false),
        (["ETag": "W/\"1\"", "Last-Modified": "Sun, 22 Nov 2026 10:00:00 GMT"], false),
    ]

    @Test func aDownloadThatAnotherOriginSuppliesIsContinued() async throws {
        let first = try MockServer()
        defer { first.stop() }
        first.on(.get, "/latest", .redirect(to: host.server.baseURL.appending(path: "big.bin").absoluteString))
        let latest = GeneralRequest(first.baseURL.appending(path: "latest").absoluteString)
        await host.cut(latest)
        let file = try await host.agent().download(latest, to: host.file("a"))
        #expect(file.resumedByteCount == 100_000 && host.data("a") == host.content)
        #expect(host.ranges == [nil, "bytes=100000-"])
        #expect(host.server.requests.allSatisfy { $0.headers["Accept-Encoding"] == "identity" })
    }

    /// Two contents differ even if their URLs differ only in masked values.
    @Test(arguments: [
        "opts=fmt;code=7;file=", "u=https%3A%2F%2Fcdn.example%2Fx%3Fcode%3D1%26file%3D", "u=/x?token=1;file=",
        "file=/%3Fcode%3D",
    ])
    func aURLThatDiffersBehindANestedSecretIsAnotherContent(query: String) async throws {
        await host.cut(GeneralRequest("/big.bin?\(query)A"))
        host.set { ($0.content, $0.cuts) = (DownloadServer.content(300_000, 9), []) }
        #expect(try await finish(GeneralRequest("/big.bin?\(query)B")).resumedByteCount == 0)
    }

    @Test func aURLWithANestedSecretIsContinued() async throws {
        let request = GeneralRequest("/big.bin?opts=fmt;code=SECRET;file=A")
        await host.cut(request)
        let record = try #require(host.names.first { $0.hasSuffix(".json") }.flatMap(host.data))
        #expect(!String(decoding: record, as: UTF8.self).contains("SECRET"))
        #expect(try await finish(request).resumedByteCount == 100_000)
    }

    @Test(arguments: validators.indices)
    func onlyAStrongValidatorMakesADownloadResumable(_ index: Int) async throws {
        let (validator, isResumable) = Self.validators[index]
        host.set { $0.validator = validator }
        await host.cut(get)
        #expect(host.names.isEmpty != isResumable)
        let file = try await finish()
        #expect(file.resumedByteCount == (isResumable ? 100_000 : 0))
    }

    /// Each row of validators before and after a change, on a server with each habit, and one that doesn't change.
    @Test(arguments: DownloadServer.Habit.allCases)
    func contentsAreNeverSpliced(_ habit: DownloadServer.Habit) async throws {
        let changes: [HTTPHeaders] = [
            ["ETag": "\"2\""], ["ETag": "W/\"1\""], ["Last-Modified": "Sun, 22 Nov 2026 11:00:00 GMT"], [:],
        ]
        for (validator, isResumable) in Self.validators where isResumable {
            for change in changes {
                host.set { $0.validator = validator }
                await host.cut(get)
                host.set {
                    ($0.content, $0.validator, $0.habit) = (DownloadServer.content(250_000, 9), change, habit)
                }
                let file = try await finish()
                #expect(file.resumedByteCount == 0 && file.byteCount == 250_000)
                host.set { $0 = .init(content: DownloadServer.content(300_000, 1)) }
            }
            host.set { $0.validator = validator }
            await host.cut(get)
            host.set { $0.habit = habit }
            try await finish()
            host.set { $0 = .init(content: DownloadServer.content(300_000, 1)) }
        }
    }

    @Test func aPartThatIsCompleteIsConfirmedByAStatus416() async throws {
        await host.cut(get)
        try host.content.write(to: host.file("a.part"))
        let file = try await finish()
        #expect(file.resumedByteCount == 300_000)
        #expect(host.ranges == [nil, "bytes=300000-"])
    }

    @Test func aPartThatIsCompleteOfAnOlderContentIsReplaced() async throws {
        await host.cut(get)
        try host.content.write(to: host.file("a.part"))
        host.set { ($0.content, $0.validator) = (DownloadServer.content(300_000, 5), ["ETag": "\"2\""]) }
        #expect(try await finish().resumedByteCount == 0)
    }

    @Test func aShorterContentReplacesThePart() async throws {
        await host.cut(get)
        // The server ignores `If-Range`, so it has no such range.
        host.set {
            ($0.content, $0.validator, $0.habit) = (
                DownloadServer.content(50_000, 5), ["ETag": "\"2\""], .ignoresIfRange
            )
        }
        #expect(try await finish().byteCount == 50_000)
    }

    @Test func anEncodedContentIsNotResumed() async throws {
        let encoded = MockResponse.data(DownloadServer.content(200_000, 3), headers: ["ETag": "\"z\""]).gzipped()
        host.server.on(.get, "/z", encoded.faulted(.closeInBody(after: 100_000)))
        await #expect(throws: NetworkError.self) {
            try await host.agent().download(GeneralRequest("/z"), to: host.file("a"))
        }
        #expect(host.names.isEmpty)
        host.server.on(.get, "/z", encoded)
        let file = try await host.agent().download(GeneralRequest("/z"), to: host.file("a"))
        #expect(file.byteCount == 200_000 && host.data("a") == DownloadServer.content(200_000, 3))
    }

    @Test func bytesOfAnotherRequestAreNotUsed() async throws {
        await host.cut(get)
        let file = try await finish(GeneralRequest("/other.bin"))
        #expect(file.resumedByteCount == 0 && host.ranges == [nil, nil])
        // The signature of a URL changes with each request.
        await host.cut(GeneralRequest("/big.bin?Key-Pair-Id=k&Signature=one"))
        #expect(try await finish(GeneralRequest("/big.bin?Key-Pair-Id=k&Signature=other")).resumedByteCount == 100_000)
    }

    @Test func aRedirectToAnotherPathIsAnotherContent() async throws {
        let target = Lock("/v1/big.bin")
        host.server.on(.get, "/latest") { _ in .redirect(to: target.withLock { $0 }) }
        let latest = GeneralRequest("/latest")
        await host.cut(latest)
        #expect(try await finish(latest).resumedByteCount == 100_000)
        await host.cut(latest)
        target.withLock { $0 = "/v2/big.bin" }
        #expect(try await finish(latest).resumedByteCount == 0)
    }

    @Test func aRequestWithARangeOfItsOwnIsNotResumed() async throws {
        let part = get.header("Range", "bytes=1000-1999")
        let file = try await host.agent().download(part, to: host.file("a"))
        #expect(file.byteCount == 1_000 && host.data("a") == host.content[1_000..<2_000])
        #expect(host.ranges == ["bytes=1000-1999"])
    }

    @Test func aRangeThatWasNotRequestedIsAnError() async throws {
        host.server.on(.get, "/part", .data(Data("x".utf8), status: 206, headers: ["Content-Range": "bytes 5-5/9"]))
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(GeneralRequest("/part"), to: host.file("a"))
        }
        #expect(error?.reason == .unexpectedRange("bytes 5-5/9") && host.names.isEmpty)
    }

    @Test func aPartThatIsLongerThanItsRangeIsNotRequestedAgain() async throws {
        let host = host
        host.server.on(.get, "/big.bin") { request in
            var response = host.state.withLock { $0.response(to: request) }
            if response.status == 206 { response.body += Data("more".utf8) }
            return response
        }
        await host.cut(get)
        let error = await #expect(throws: NetworkError.self) {
            try await host.agent().download(get, to: host.file("a"))
        }
        #expect(error?.reason.sentence.contains("bytes in place of 300000") == true && host.names.isEmpty)
        #expect(try await finish().resumedByteCount == 0)
        #expect(host.ranges == [nil, "bytes=100000-", nil])
    }

    @Test func aLoginThatIsRefreshedContinuesTheDownload() async throws {
        let (host, current) = (host, Lock("old"))
        host.server.on(.get, "/big.bin") { request in
            guard request.authorization?.token == current.withLock({ $0 }) else { return .status(401) }
            return host.state.withLock { $0.response(to: request) }
        }
        let agent = host.agent {
            $0.authentication = .session(AuthenticationSession(RenewedTokens(), credential: "old"))
        }
        await host.cut(get, by: agent)
        current.withLock { $0 = "new" }
        let file = try await agent.download(get, to: host.file("a"))
        #expect(file.resumedByteCount == 100_000 && host.data("a") == host.content)
    }

    @Test func aRecordThatIsDamagedIsNotUsed() async throws {
        for text in ["", "{}", "[", #"{"version": 1}"#, String(repeating: "[", count: 100_000)] {
            await host.cut(get)
            try Data(text.utf8).write(to: host.file("a.part.json"))
            #expect(try await finish().resumedByteCount == 0)
        }
    }

    @Test func afterACrashOfTheSystemNothingIsUsed() async throws {
        await host.cut(get)
        try host.changeRecord { $0["boot"] = "another" }
        // The bytes after that were never written.
        var bytes = try #require(host.data("a.part"))
        bytes.replaceSubrange(40_000..<100_000, with: Data(count: 60_000))
        try bytes.write(to: host.file("a.part"))
        #expect(try await finish().resumedByteCount == 0)
    }
}
