import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Servers that respond to a request for a part with the status of the complete content: no part is taken for the whole.
@Suite(.limit(seconds: 60)) struct PartForTheWholeTests {
    /// How a response without the status 206 has only a part.
    struct Part: Sendable, CustomTestStringConvertible {
        var status = 200
        var range: String?
        var fields: HTTPHeaders = ["ETag": "\"v1\""]
        var isChunked = false
        var testDescription: String { "\(status) \(range ?? "-") \(fields) \(isChunked)" }

        func response(_ content: Data, from start: Int) -> MockResponse {
            var fields = fields
            fields["Content-Range"] = range
            fields["Cache-Control"] = "max-age=60"
            let response = MockResponse.data(content[start...], status: status, headers: fields)
            return isChunked ? response.chunked(100) : response
        }
    }

    /// Those that say that they are a part.
    private static let stated: [Part] = [
        Part(range: "bytes 400-999/1000"), Part(status: 203, range: "bytes 400-999/1000"),
        Part(range: "bytes 400-999/*"), Part(range: "bytes=400-999/1000"),
        Part(range: "bytes 400-999/1000", isChunked: true), Part(range: "bytes 400-999/1000", fields: [:]),
        Part(range: "bytes 400-999/1000", fields: ["ETag": "\"v2\""]),
    ]
    /// Those that contradict what is known: the length of the content with this validator.
    private static let contradicting: [Part] = [
        Part(), Part(status: 203), Part(isChunked: true), Part(fields: [:]), Part(fields: ["ETag": "W/\"v1\""]),
    ]

    private static let content = DownloadServer.content(1_000, 7)
    private let folder: CacheFolder
    private let server: MockServer

    init() throws { (folder, server) = (try CacheFolder(), try MockServer()) }

    /// Serves `/x`, and `/r`, which leads there.
    private func serve(_ part: Part, isCut: Bool = false, always: Bool = false) {
        let whole = MockResponse.data(Self.content, headers: ["ETag": "\"v1\"", "Cache-Control": "max-age=60"])
        server.on(.get, "/r", .redirect(to: "/x", status: 307))
        server.on(.get, "/x", isCut ? whole.faulted(.closeInBody(after: 400)) : whole, whole)
        server.on(.get, "/x", where: { always || $0.headers.contains("Range") }, part.response(Self.content, from: 400))
    }

    /// The ranges of the requests for `/x`.
    private var ranges: [String?] { server.requests.filter { $0.path == "/x" }.map { $0.headers["Range"] } }

    private func agent(attempts: Int = 1) -> Agent {
        server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: attempts, baseDelay: .milliseconds(1)) }
    }

    private let get = GeneralRequest("/x").expecting(Data.self)
    private var file: URL { folder.url.appending(path: "file") }

    enum Way: CaseIterable, Sendable { case twice, retried, redirected }

    @Test(arguments: stated + contradicting, Way.allCases)
    func aDownloadStartsAgainFromNothing(part: Part, way: Way) async throws {
        serve(part, isCut: true)
        let agent = agent(attempts: way == .retried ? 2 : 1)
        let request = GeneralRequest(way == .redirected ? "/r" : "/x")
        if way != .retried {
            await #expect(throws: NetworkError.self) { try await agent.download(request, to: file) }
        }
        #expect(try await agent.download(request, to: file).byteCount == 1_000)
        #expect(try Data(contentsOf: file) == Self.content)
        #expect(ranges == [nil, "bytes=400-", nil])
    }

    /// Also to the caller's own range, which the status says was ignored.
    @Test(arguments: stated, [nil, "bytes=400-"])
    func aDownloadOfAPartThatIsNoneIsAnError(part: Part, range: String?) async throws {
        serve(part, always: true)
        var request = GeneralRequest("/x")
        if let range { request = request.header("Range", range) }
        let error = await #expect(throws: NetworkError.self) { try await agent().download(request, to: file) }
        #expect(error?.reason == .unexpectedRange(part.range ?? ""))
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    /// In memory and as a stream, a response is what was received, with its status and fields.
    @Test(arguments: stated) func aSendReturnsWhatWasReceived(part: Part) async throws {
        serve(part)
        let request = get.header("Range", "bytes=400-")
        let response = try await agent().response(for: request)
        #expect(response.statusCode == part.status && response.headers["Content-Range"] == part.range)
        #expect(response.model == Self.content[400...])
        let stream = try await agent().bytes(for: request)
        var bytes = Data()
        for try await chunk in stream { bytes += chunk }
        #expect(stream.response.headers["Content-Range"] == part.range && bytes == response.model)
    }

    @Test(arguments: stated) func aPartIsNotStoredAsTheWhole(part: Part) async throws {
        serve(part)
        let agent = server.agent(ResponseCache(disk: nil))
        _ = try await agent.send(get.header("Range", "bytes=400-"))
        #expect(try await agent.send(get) == Self.content)
        #expect(ranges == ["bytes=400-", nil])
    }

    /// The cache requests what is missing of a stored part.
    @Test(arguments: stated + contradicting) func aStoredPartIsNotCompletedByAnotherOne(part: Part) async throws {
        serve(part)
        let fields: HTTPHeaders = [
            "ETag": "\"v1\"", "Cache-Control": "max-age=60", "Content-Range": "bytes 0-399/1000",
        ]
        let isFirst: @Sendable (MockRequest) -> Bool = { $0.headers["Range"] == "bytes=0-399" }
        server.on(.get, "/x", where: isFirst, .data(Self.content.prefix(400), status: 206, headers: fields))
        let agent = server.agent(ResponseCache(disk: nil))
        #expect(try await agent.send(get.header("Range", "bytes=0-399")) == Self.content.prefix(400))
        for _ in 0..<2 { #expect(try await agent.send(get) == Self.content) }
        #expect(ranges == ["bytes=0-399", "bytes=400-", nil])
    }

    /// What is stored has the validator, and another length.
    @Test(arguments: [Part(), Part(status: 203), Part(isChunked: true)])
    func aPartDoesNotReplaceAStoredWholeOfTheSameValidator(part: Part) async throws {
        serve(part)
        let agent = server.agent(ResponseCache(disk: nil))
        _ = try await agent.send(get)
        let reload = get.header("Range", "bytes=400-").header("Cache-Control", "no-cache")
        #expect(try await agent.send(reload) == Self.content[400...])
        #expect(try await agent.send(get) == Self.content)
        #expect(ranges.count == 3)
    }

    @Test func anErrorReplacesAStoredWhole() async throws {
        serve(Part(status: 410, fields: [:]))
        let agent = server.agent(ResponseCache(disk: nil))
        let tolerant = get.acceptance(Acceptance(statusCodes: 200..<500))
        _ = try await agent.send(tolerant)
        let reload = tolerant.header("Range", "bytes=400-").header("Cache-Control", "no-cache")
        #expect(try await agent.response(for: reload).statusCode == 410)
        #expect(try await agent.response(for: tolerant).statusCode == 410)
        #expect(ranges.count == 2)
    }

    @Test(arguments: ["\"v1\"", "\"v2\""]) func aWholeThatIgnoresTheRangeIsReceivedOnce(tag: String) async throws {
        let whole = MockResponse.data(Self.content, headers: ["ETag": "\"v1\""])
        let part = Part(range: "bytes 0-999/1000", fields: ["ETag": tag])
        server.on(.get, "/x", whole.faulted(.closeInBody(after: 400)))
        server.on(.get, "/x", where: { $0.headers.contains("Range") }, part.response(Self.content, from: 0))
        #expect(try await agent(attempts: 2).download(get, to: file).byteCount == 1_000)
        #expect(try Data(contentsOf: file) == Self.content && server.requestCount == 2)
    }
}
