import Errand
import Foundation
import Testing

@testable import ErrandSwiftTesting
@testable import ErrandTesting

@Suite(.ownThread) struct CassetteFaultTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)/shop.har")

    private static func agent(_ transport: any Transport, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        var config = NetworkConfig(baseURL: "https://api.example", retryPolicy: .never, environment: [:])
        change(&config)
        return Agent(config: config, transport: transport)
    }

    private func cassette(_ mode: Cassette.Mode, over transport: any Transport) throws -> Cassette {
        try Cassette(at: file, mode: mode, over: transport, mayRecord: true)
    }

    private static func raw(_ path: String) -> GeneralRequest<DataFormatter> {
        GeneralRequest(path, formatter: DataFormatter())
    }

    /// Returns an entry without its secrets.
    private static func entry(
        _ url: String = "https://api.example/",
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        _ type: String = "",
        responseHeaders: HTTPHeaders = [:]
    ) throws -> CassetteEntry {
        let request = OutgoingRequest(url: try #require(URL(string: url)), headers: headers)
        var (entry, secrets) = (try CassetteEntry(request), CassetteSecrets(count: 0))
        var response = TransportResponse(statusCode: 200, headers: responseHeaders)
        response.headers["Content-Type"] = type
        entry.set(response, body, chunks: nil)
        secrets.replace(in: &entry, named: CassetteSecretNames(lists: [Secrets()]))
        return entry
    }

    private static func masked(_ body: String, _ type: String = "application/json") throws -> String {
        String(decoding: try entry(body: Data(body.utf8), type).responseBody, as: UTF8.self)
    }

    // MARK: What must not stay

    private static let form = "multipart/form-data; boundary=b"

    @Test(arguments: [
        (#"data: {"access_token":"CANARY-1"}"#, "text/event-stream"),
        ("{\"token\":\"a\"}\n{\"token\":\"CANARY-2\"}\n", "application/x-ndjson"),
        (")]}'\n{\"token\":\"CANARY\"}", "application/json"),
        (#"{"a":[1, {"token":"CANARY"#, "application/json"),
        (#"{"token" : "CANARY", "rows":[1,"#, "application/json"),
        ("access_token=CANARY&scope=x", "text/plain"),
        ("token='CANARY'", "text/plain"),
        ("<r><access_token>CANARY</access_token></r>", "application/xml"),
        (#"{"url":"https://s3.example/k?access_token=CANARY&a=1"}"#, "application/json"),
        (#"{"url":"https://ada:CANARY@s3.example/k"}"#, "application/json"),
        (#"{"body":"{\"access_token\":\"CANARY\"}"}"#, "application/json"),
        (#"{"pin":"C\u0041NARY", "s":{"session":{"id":"CANARY12"}}}"#, "application/json"),
        (#"{"refresh":"CANARY-8f3k"}"#, "application/json"),
        (String(repeating: "[", count: 600) + #"{"token":"CANARY"}"#, "application/json"),
        ("--b\r\nContent-Disposition: form-data; name=\"pin\"\r\n\r\nCANARY\r\n--b--\r\n", form),
    ])
    func secretOfATextIsReplaced(body: String, type: String) throws {
        let text = try Self.masked(body, type)
        #expect(!text.contains("CANARY") && !text.contains("u0041"), "\(text)")
    }

    @Test func secretBesideABinaryPartIsReplaced() throws {
        let head = "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nCANARY\r\n--b\r\n"
        let file = Data("Content-Disposition: form-data; name=\"f\"\r\n\r\n".utf8) + [0xFF, 0xD8, 0]
        let body = Data(head.utf8) + file + Data("\r\n--b--\r\n".utf8)
        let masked = try Self.entry(body: body, Self.form).responseBody
        #expect(masked.count == body.count && masked.range(of: Data("CANARY".utf8)) == nil)
        #expect(masked.range(of: file) != nil)
    }

    @Test(arguments: [
        ("Set-Cookie", "data=abc,CANARY; Path=/"), ("Set-Cookie", "a=1; Path=/, b=CANARY; Path=/"),
        ("Location", "https://ada:CANARY@host.example/x"),
        ("Location", "https://app.example/cb#access_token=CANARY&x=1"),
        ("Link", "<https://app.example/y?token=CANARY>; rel=next"),
    ])
    func secretOfAFieldIsReplaced(name: String, value: String) throws {
        let masked = try Self.entry(responseHeaders: [name: value]).response.headers.map(\.value).joined()
        #expect(!masked.contains("CANARY") && masked.hasSuffix(value.suffix(3)))
    }

    @Test func knownTokenIsReplacedAsAMemberName() throws {
        let body = Data(#"{"map":{"tok-CANARY-123":1}}"#.utf8)
        let entry = try Self.entry(headers: ["Authorization": "Bearer tok-CANARY-123"], body: body)
        #expect(entry.response.content.text?.contains("CANARY") == false)
    }

    @Test(arguments: ["1.5e10", "0", "7", "-3", "9223372036854775807", "1000"])
    func standInOfANumberIsAnotherNumberOfItsSize(number: String) throws {
        let masked = try JSONValue(parsing: try Self.masked(#"{"token":\#(number)}"#))
        let text = try #require(masked["token"]?.number?.text)
        #expect(text != number && text.utf8.count == number.utf8.count && (number.utf8.count < 15 || Int(text) != nil))
    }

    @Test func standInsAreDifferentFromSecretsAndFromEachOther() {
        var secrets = CassetteSecrets(count: 0)
        let pins = (1000..<1600).map { String($0 * 7 % 10_000) } + ["!#!", "a", "Z", "--------------------"]
        let standIns = pins.map { secrets.standIn(for: $0) }
        #expect(Set(standIns).count == pins.count && zip(pins, standIns).allSatisfy { $0 != $1 })
        var (one, other) = (CassetteSecrets(count: 0), CassetteSecrets(count: -1))
        let standIn = one.standIn(for: "4711")
        _ = other.standIn(for: standIn)
        #expect(other.standIn(for: "4711") != standIn, "it is an earlier secret")
    }

    // MARK: What must stay

    @Test(arguments: [
        #"{"session":{"createdAt":"2026-01-02T03:04:05Z","status":"open","ttl":3600,"user":4611686018427387904}}"#,
        #"{"refresh":3600}"#, #"{"refresh":"daily"}"#, #"{"code":10001, "a" : "x=1"}"#, "say \"token: x\"",
        "a 5\" disk\nat 7\" too: \"ok\"", "[1,2", "\"", "\\\"\\", "://", "=>:", "<token></token>", "token=",
    ])
    func whatIsNoSecretIsUnchanged(body: String) throws { #expect(try Self.masked(body) == body) }

    @Test func wordsOfCookiesAreReplacedOnlyInThem() throws {
        let body = #"{"kind":"application"}"#
        let entry = try Self.entry(
            "https://api.example/orders",
            headers: ["Cookie": "client=application; a=orders"],
            body: Data(body.utf8)
        )
        #expect(entry.request.url == "https://api.example/orders" && entry.response.content.text == body)
        let cookie = try #require(entry.request.headers.first { $0.name == "Cookie" }?.value)
        #expect(!cookie.contains("orders") && !cookie.contains("application"))
    }

    @Test func shortSecretOfAPathIsReplacedOnlyInItsComponent() throws {
        var (entry, secrets) = (try Self.entry("https://api1.example/v1/users/1?page=1"), CassetteSecrets(count: 0))
        entry.request._secretPathTexts = ["1"]
        secrets.replace(in: &entry, named: CassetteSecretNames(lists: [Secrets()]))
        #expect(entry.request.url.wholeMatch(of: #/https://api1.example/v1/users/[02-9]\?page=1/#) != nil)
    }

    @Test func lengthOfAReplacedBodyIsThatOfItsReplacement() throws {
        let body = Data(#"{"token":"\u0041bc\/def"}"#.utf8)
        let entry = try Self.entry(body: body, responseHeaders: ["Content-Length": "\(body.count)"])
        let length = entry.response.headers.first { $0.name == "Content-Length" }?.value
        #expect(length == "\(entry.responseBody.count)" && entry.responseBody.count < body.count)
    }

    // MARK: Replaying

    @Test func bodyThatTheServerCutEndsWithTheSameError() async throws {
        let stub = StubTransport()
        stub.on(.get, "/cut", .text("hello").faulted(.closeInBody(after: 3)), .text("hello"))
        stub.on(.get, "/gone", .text("hello").faulted(.closeInBody(after: 3)))
        stub.on(.get, "/reset", .text("hello").faulted(.resetInBody(after: 3)))
        for mode in [Cassette.Mode.record, .replay] {
            let transport = try cassette(mode, over: mode == .record ? stub : StubTransport())
            let agent = Self.agent(transport) { $0.retryPolicy = RetryPolicy(maximumAttempts: 2) }
            let response = try await agent.response(for: Self.raw("/cut"))
            #expect(response.model == Data("hello".utf8) && response.metrics.attempts.count == 2)
            for (path, reason) in [("/gone", NetworkError.Reason.closedInBody), ("/reset", .connectionReset)] {
                let error = await failure { _ = try await agent.send(Self.raw(path).retryPolicy(.never)) }
                #expect((error as? NetworkError)?.reason == reason)
            }
        }
    }

    @Test func batchWithARefreshIsReplayed() async throws {
        let stub = StubTransport()
        stub.on(.get, "/me") { .text($0.authorization?.token == "tok-new-12345" ? "in" : "out") }
        stub.on(.get, "/token", .json(#"{"access_token":"tok-new-12345"}"#))
        for mode in [Cassette.Mode.record, .replay] {
            let agent = Self.agent(try cassette(mode, over: stub))
            let token = try JSONValue(parsing: try await agent.send(Self.raw("/token")))["access_token"]?.string
            let (old, new) = ("tok-old-12345", try #require(token))
            // Recorded in another order than it is replayed.
            for token in mode == .record ? [old, old, old, new, new, new] : [old, new, new, old, new, old] {
                let text = try await agent.send(Self.raw("/me").authorization(.bearer(token)))
                #expect(String(decoding: text, as: UTF8.self) == (token == old ? "out" : "in"))
            }
        }
    }

    @Test func standInIsNotSentToTheService() async throws {
        let stub = StubTransport()
        stub.on(.post, "/login", .json(#"{"token":"real-token-123"}"#))
        stub.on(.get, "/*") { .text($0.authorization?.token == "real-token-123" ? "in" : "out") }
        func texts(_ paths: [String]) async throws -> [Data] {
            let agent = Self.agent(try cassette(.recordMissing, over: stub))
            let token = try JSONValue(parsing: try await agent.send(Self.raw("/login").method(.post)))["token"]?.string
            var texts: [Data] = []
            for path in paths { texts.append(try await agent.send(Self.raw(path).authorization(.bearer(token ?? "")))) }
            return texts
        }
        #expect(try await texts(["/a", "/b"]) == [Data("in".utf8), Data("in".utf8)])
        #expect(try await texts(["/b", "/a"]) == [Data("in".utf8), Data("in".utf8)])
        let error = await failure { _ = try await texts(["/a", "/c"]) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("record the complete file again"))
    }

    @Test func valuesInClearAreCompared() async throws {
        let stub = StubTransport { request in .text(request.url.query() ?? "") }
        let recording = Self.agent(try cassette(.record, over: stub))
        for number in 1...2 { _ = try await recording.send(Self.raw("/t?ticket=\(number)&pin=\(number)")) }
        let replayed = Self.agent(try Cassette(at: file))
        for number in [2, 1] {
            let text = try await replayed.send(Self.raw("/t?ticket=\(number)&pin=9"))
            #expect(String(decoding: text, as: UTF8.self).hasPrefix("ticket=\(number)"))
        }
    }

    @Test(arguments: [
        ("a=1&b=2", "b=2&a=1", "b=3&a=1", "application/x-www-form-urlencoded"),
        (
            "--x1\r\n\r\n{}\r\n--x1--\r\n", "--y23\r\n\r\n{}\r\n--y23--\r\n", "--y23\r\n\r\n[]\r\n--y23--\r\n",
            "multipart/related; boundary=any"
        ),
        (#"{"pin":1234}"#, #"{"pin":77}"#, #"{"pin":77,"a":1}"#, "application/json"),
    ])
    func orderOfAFormAndBoundariesAreNotCompared(
        recorded: String,
        sent: String,
        other: String,
        type: String
    ) async throws {
        func send(_ body: String, _ transport: any Transport) async throws {
            let request = Self.raw("/f").method(.post).body(.data(Data(body.utf8), contentType: type))
            _ = try await Self.agent(transport).send(request)
        }
        try await send(recorded, try cassette(.record, over: StubTransport { _ in .text("") }))
        try await send(sent, try Cassette(at: file))
        await #expect(throws: CassetteError.self) { try await send(other, try Cassette(at: file)) }
    }

    @Test(arguments: [Int.max, -5]) func anyNumberOfStandInsIsRead(count: Int) async throws {
        let empty =
            #"{"log":{"version":"1.2","creator":{"name":"E","version":"1"},"entries":[],"_standIns":\#(count)}}"#
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(empty.utf8).write(to: file)
        let stub = StubTransport { _ in .json(#"{"token":"abcdefgh"}"#) }
        _ = try await Self.agent(try cassette(.recordMissing, over: stub)).get("/a")
        #expect(try !String(contentsOf: file, encoding: .utf8).contains("abcdefgh"))
    }

    @Test func bodyThatIsTooLargeIsReadButNotRecorded() async throws {
        func read(_ transport: any Transport) async throws -> Int {
            let body = try await Self.agent(transport).bytes(for: Self.raw("/big"))
            return try await body.reduce(0) { $0 + $1.count }
        }
        #expect(try await read(try cassette(.record, over: LargeTransport())) == 65 << 20)
        let error = await failure { _ = try await read(try Cassette(at: file)) } as? CassetteError
        #expect(error?.description.contains("larger than 64 MiB") == true)
    }

    @Test func aRecordingThatCannotBeWrittenIsReportedAfterItsReaderHasLeft() async throws {
        let stub = StubTransport()
        stub.on(.get, "/chunks", .text("0123456789").chunked(3))
        let folder = file.deletingLastPathComponent()
        try Data().write(to: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        let cassette = try cassette(.record, over: stub)
        for try await _ in try await Self.agent(cassette).bytes(for: Self.raw("/chunks")) { break }
        await #expect(throws: (any Error).self) { try await cassette.finish() }
    }

    // MARK: The file and the trait

    @Test(arguments: [
        ("", "not valid JSON"), ("{}", "'log'"), (#"{"log":{"version":"1","creator":{},"entries":[]}}"#, "log.creator"),
    ])
    func errorOfAFileThatIsNoCassetteNamesThePlace(text: String, words: String) throws {
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        let error = #expect(throws: CassetteError.self) { try Cassette(at: file) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func casesOfATestShareTheCassetteThatIsRecorded() async throws {
        let trait = CassetteTrait.cassette(
            "shared",
            mode: .record,
            over: { StubTransport { _ in .text("") } },
            file: file.path()
        )
        let replaying = CassetteTrait.cassette("replayed", mode: .replay, file: file.path())
        let folder = file.deletingLastPathComponent().appending(path: "Cassettes")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let log = #"{"log":{"version":"1.2","creator":{"name":"","version":""},"entries":[]}}"#
        try Data(log.utf8).write(to: folder.appending(path: "replayed.har"))
        let test = try #require(Test.current)
        let seen = Lock<[Cassette]>([])
        for trait in [trait, trait, replaying, replaying] {
            try await trait.provideScope(for: test, testCase: nil) {
                let cassette = try Cassette.current
                seen.withLock { $0.append(cassette) }
            }
        }
        let cassettes = seen.withLock { $0 }
        try #require(cassettes.count == 4)
        #expect(cassettes[0] === cassettes[1] && cassettes[2] !== cassettes[3])
    }

    @Test func unknownModeInTheEnvironmentIsAnError() throws {
        #expect(try CassetteTrait.mode(in: [:]) == .replay)
        #expect(try CassetteTrait.mode(in: ["ERRAND_CASSETTES": "recordMissing"]) == .recordMissing)
        #expect(throws: CassetteError.self) { try CassetteTrait.mode(in: ["ERRAND_CASSETTES": "recrod"]) }
        let missing = #expect(throws: CassetteError.self) { try Cassette(at: file) }
        #expect(missing?.description.contains("ERRAND_CASSETTES=record") == true)
    }
}

/// Responds with 65 MiB, in chunks of 1 MiB.
private struct LargeTransport: Transport {
    final class Chunks: ResponseChunks {
        private let left = Lock(65)

        func next() async throws -> Data? {
            left.withLock { left in
                left -= 1
                return left < 0 ? nil : Data(count: 1 << 20)
            }
        }

        func cancel() {}
    }

    var identity: String { "large" }

    func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
        var response = TransportResponse(statusCode: 200)
        response.body = ResponseBody(chunks: Chunks())
        return response
    }
}
