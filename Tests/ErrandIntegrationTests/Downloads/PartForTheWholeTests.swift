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

    private struct Served {
        var isCut: Bool
        var ranges: [String?] = []
    }

    private static let content = DownloadServer.content(1_000, 7)
    private let folder: CacheFolder

    init() throws { folder = try CacheFolder() }

    /// Serves `/x`, and `/r`, which leads there.
    private func serve(_ part: Part, isCut: Bool, always: Bool = false) throws -> (MockServer, Lock<Served>) {
        let served = Lock(Served(isCut: isCut))
        let server = try MockServer { request in
            if request.path == "/r" { return .redirect(to: "/x", status: 307) }
            return served.withLock { served in
                served.ranges.append(request.headers["Range"])
                let fields: HTTPHeaders = ["ETag": "\"v1\"", "Cache-Control": "max-age=60"]
                if served.isCut {
                    served.isCut = false
                    return .data(Self.content, headers: fields).faulted(.closeInBody(after: 400))
                }
                if always || request.headers["Range"] != nil { return part.response(Self.content, from: 400) }
                return .data(Self.content, headers: fields)
            }
        }
        return (server, served)
    }

    private func agent(_ server: MockServer, attempts: Int = 1, cache: ResponseCache? = nil) -> Agent {
        var config = NetworkConfig(baseURL: server.baseURL)
        config.environment = [:]
        config.retryPolicy = RetryPolicy(maximumAttempts: attempts, baseDelay: .milliseconds(1))
        if let cache { (config.cache, config.cachePolicy) = (cache, .http) }
        return Agent(config: config)
    }

    private let get = GeneralRequest("/x").expecting(Data.self)
    private var file: URL { folder.url.appending(path: "file") }

    enum Way: CaseIterable, Sendable { case twice, retried, redirected }

    @Test(arguments: stated + contradicting, Way.allCases)
    func aDownloadStartsAgainFromNothing(part: Part, way: Way) async throws {
        let (server, served) = try serve(part, isCut: true)
        defer { server.stop() }
        let agent = agent(server, attempts: way == .retried ? 2 : 1)
        let request = GeneralRequest(way == .redirected ? "/r" : "/x")
        if way != .retried {
            await #expect(throws: NetworkError.self) { try await agent.download(request, to: file) }
        }
        #expect(try await agent.download(request, to: file).byteCount == 1_000)
        #expect(try Data(contentsOf: file) == Self.content)
        #expect(served.withLock { $0.ranges } == [nil, "bytes=400-", nil])
    }

    /// Also to the caller's own range, which the status says was ignored.
    @Test(arguments: stated, [nil, "bytes=400-"])
    func aDownloadOfAPartThatIsNoneIsAnError(part: Part, range: String?) async throws {
        let (server, _) = try serve(part, isCut: false, always: true)
        defer { server.stop() }
        var request = GeneralRequest("/x")
        if let range { request = request.header("Range", range) }
        let error = await #expect(throws: NetworkError.self) { try await agent(server).download(request, to: file) }
        #expect(error?.reason == .unexpectedRange(part.range ?? ""))
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    /// In memory and as a stream, a response is what was received, with its status and fields.
    @Test(arguments: stated) func aSendReturnsWhatWasReceived(part: Part) async throws {
        let (server, _) = try serve(part, isCut: false)
        defer { server.stop() }
        let request = get.header("Range", "bytes=400-")
        let response = try await agent(server).response(for: request)
        #expect(response.statusCode == part.status && response.headers["Content-Range"] == part.range)
        #expect(response.model == Self.content[400...])
        let stream = try await agent(server).bytes(for: request)
        var bytes = Data()
        for try await chunk in stream { bytes += chunk }
        #expect(stream.response.headers["Content-Range"] == part.range && bytes == response.model)
    }

    private func cached(_ server: MockServer) -> Agent { agent(server, cache: ResponseCache(disk: nil)) }

    @Test(arguments: stated) func aPartIsNotStoredAsTheWhole(part: Part) async throws {
        let (server, served) = try serve(part, isCut: false)
        defer { server.stop() }
        let agent = cached(server)
        _ = try await agent.send(get.header("Range", "bytes=400-"))
        #expect(try await agent.send(get) == Self.content)
        #expect(served.withLock { $0.ranges } == ["bytes=400-", nil])
    }

    /// The cache requests what is missing of a stored part.
    @Test(arguments: stated + contradicting) func aStoredPartIsNotCompletedByAnotherOne(part: Part) async throws {
        let ranges = Lock<[String?]>([])
        let server = try MockServer { request in
            let range = request.headers["Range"]
            ranges.withLock { $0.append(range) }
            let fields: HTTPHeaders = ["ETag": "\"v1\"", "Cache-Control": "max-age=60"]
            switch range {
            case "bytes=0-399":
                let part = fields.merging(["Content-Range": "bytes 0-399/1000"])
                return .data(Self.content.prefix(400), status: 206, headers: part)
            case nil: return .data(Self.content, headers: fields)
            default: return part.response(Self.content, from: 400)
            }
        }
        defer { server.stop() }
        let agent = cached(server)
        #expect(try await agent.send(get.header("Range", "bytes=0-399")) == Self.content.prefix(400))
        for _ in 0..<2 { #expect(try await agent.send(get) == Self.content) }
        #expect(ranges.withLock { $0 } == ["bytes=0-399", "bytes=400-", nil])
    }

    /// What is stored has the validator, and another length.
    @Test(arguments: [Part(), Part(status: 203), Part(isChunked: true)])
    func aPartDoesNotReplaceAStoredWholeOfTheSameValidator(part: Part) async throws {
        let (server, served) = try serve(part, isCut: false)
        defer { server.stop() }
        let agent = cached(server)
        _ = try await agent.send(get)
        let reload = get.header("Range", "bytes=400-").header("Cache-Control", "no-cache")
        #expect(try await agent.send(reload) == Self.content[400...])
        #expect(try await agent.send(get) == Self.content)
        #expect(served.withLock { $0.ranges }.count == 3)
    }

    @Test func anErrorReplacesAStoredWhole() async throws {
        let (server, served) = try serve(Part(status: 410, fields: [:]), isCut: false)
        defer { server.stop() }
        let agent = cached(server)
        let tolerant = get.acceptance(Acceptance(statusCodes: 200..<500))
        _ = try await agent.send(tolerant)
        let reload = tolerant.header("Range", "bytes=400-").header("Cache-Control", "no-cache")
        #expect(try await agent.response(for: reload).statusCode == 410)
        #expect(try await agent.response(for: tolerant).statusCode == 410)
        #expect(served.withLock { $0.ranges }.count == 2)
    }

    @Test(arguments: ["\"v1\"", "\"v2\""]) func aWholeThatIgnoresTheRangeIsReceivedOnce(tag: String) async throws {
        let server = try MockServer { request in
            if request.headers["Range"] == nil {
                return .data(Self.content, headers: ["ETag": "\"v1\""]).faulted(.closeInBody(after: 400))
            }
            return Part(range: "bytes 0-999/1000", fields: ["ETag": tag]).response(Self.content, from: 0)
        }
        defer { server.stop() }
        #expect(try await agent(server, attempts: 2).download(get, to: file).byteCount == 1_000)
        #expect(try Data(contentsOf: file) == Self.content && server.requestCount == 2)
    }
}
