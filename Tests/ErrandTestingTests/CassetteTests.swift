import Errand
import ErrandSwiftTesting
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct CassetteTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "errand-cassette-\(UUID().uuidString)")
    private var file: URL { folder.appending(path: "a/shop.har") }

    private static let canary = "s3cr3t-CANARY-\"\u{e9}"

    private static func agent(_ transport: any Transport, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        var config = NetworkConfig(baseURL: "https://api.example", retryPolicy: .never, environment: [:])
        change(&config)
        return Agent(config: config, transport: transport)
    }

    /// Creates a cassette that records a stub, even where CI is set.
    private func recording(_ stub: StubTransport, mode: Cassette.Mode = .record) throws -> Cassette {
        try Cassette(at: file, mode: mode, over: stub, mayRecord: true)
    }

    @Test func whatIsReplayedIsWhatTheCassetteHoldsByteForByte() async throws {
        var random = SplitMix64(state: 7)
        let bodies =
            (0..<50).map { size in Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }) }
            + [Data("{\"a\" : 1.50}\r\n".utf8), Data("\u{FEFF}x".utf8), Data("\u{0}\u{1}\u{2028}\u{1F600}".utf8)]
        let stub = StubTransport()
        for (index, body) in bodies.enumerated() {
            stub.on(.put, "/\(index)", .data(body, headers: ["X-A": "\(index)"]))
        }
        let cassette = try recording(stub)
        func exchange(_ transport: any Transport) async throws -> [Data] {
            var received: [Data] = []
            for (index, body) in bodies.enumerated() {
                let request = GeneralRequest("/\(index)", formatter: DataFormatter()).method(.put).body(.data(body))
                let response = try await Self.agent(transport).response(for: request)
                #expect(response.headers["X-A"] == "\(index)")
                received.append(response.model)
            }
            return received
        }
        #expect(try await exchange(cassette) == bodies)
        #expect(try await exchange(try Cassette(at: file)) == bodies)
    }

    @Test func streamsKeepTheirChunks() async throws {
        let stub = StubTransport()
        stub.on(.get, "/chunks", .text("0123456789").chunked(3))
        let request = GeneralRequest("/chunks", formatter: DataFormatter())
        for mode in [Cassette.Mode.record, .replay] {
            let transport = try recording(stub, mode: mode)
            var chunks: [String] = []
            for try await chunk in try await Self.agent(transport).bytes(for: request) {
                chunks.append(String(decoding: chunk, as: UTF8.self))
            }
            #expect(chunks == ["012", "345", "678", "9"])
        }
    }

    @Test func aBodyThatWasNotReadToItsEndIsNoCompleteOne() async throws {
        let stub = StubTransport()
        stub.on(.get, "/chunks", .text("0123456789").chunked(3))
        let request = GeneralRequest("/chunks", formatter: DataFormatter())
        let cassette = try recording(stub)
        for try await _ in try await Self.agent(cassette).bytes(for: request) { break }
        try await cassette.finish()
        var received = Data()
        let error = await failure {
            let body = try await Self.agent(try Cassette(at: file)).bytes(for: request)
            for try await chunk in body { received.append(chunk) }
        }
        #expect(String(decoding: received, as: UTF8.self) == "012" && error is CassetteError)
    }

    @Test func aTokenInBytesIsReplacedEachTime() throws {
        let token = "key-12345678"
        let url = try #require(URL(string: "https://api.example/"))
        var entry = try CassetteEntry(OutgoingRequest(url: url, headers: ["X-Api-Key": token]))
        var secrets = CassetteSecrets(count: 0)
        let body = Data([0xFF]) + Data("\(token) \(token)".utf8)
        entry.set(TransportResponse(statusCode: 200), body, chunks: nil)
        secrets.replace(in: &entry, named: CassetteSecretNames(lists: [Secrets()]))
        let standIn = try #require(entry.request.headers.first { $0.name == "X-Api-Key" }?.value)
        #expect(standIn != token && entry.responseBody == Data([0xFF]) + Data("\(standIn) \(standIn)".utf8))
    }

    @Test func aChangedRequestFailsWithWhatChanged() async throws {
        let stub = StubTransport { _ in .json("{}") }
        let request = GeneralRequest("/orders", formatter: JSONValueFormatter()).method(.post).query([
            "page": 1, "token": "abc",
        ])
        let body: JSONValue = ["items": [["id": 1, "count": 2]], "nonce": 7]
        _ = try await Self.agent(try recording(stub)).send(request.body(.json(body)))
        func difference(_ changed: some Request & Sendable, _ fields: [String] = []) async throws -> String {
            let cassette = try Cassette(at: file, ignoring: ["nonce"], comparing: fields)
            let error = await failure { _ = try await Self.agent(cassette).response(for: changed.raw) }
            return (error as? CassetteError)?.description ?? ""
        }
        let other: JSONValue = ["nonce": 8, "items": [["count": 3, "id": 1], ["id": 2]]]
        #expect(
            try await difference(request.body(.json(other)).query(["page": "2", "token": "other"])) == """
                shop.har has no entry for POST https://api.example/orders; the nearest is entry 1, POST https://api.example/orders, which differs:
                  query page: recorded 1, sent 2
                  body.items[0].count: recorded 2, sent 3
                  body.items[1].id: not recorded, sent 2
                If the change is intended, record it with the mode .recordMissing
                """
        )
        let same: JSONValue = ["nonce": 9, "items": [["count": 2, "id": 1]]]
        #expect(try await difference(request.body(.json(same)).query(["token": "x", "page": "1"])) == "")
        let language = request.body(.json(same)).header("Accept-Language", "de")
        #expect(
            try await difference(language, ["Accept-Language"]).contains("header Accept-Language: recorded , sent de")
        )
    }

    @Test func eachEntryIsPlayedOnceInAnyOrderOrInTheRecordedOne() async throws {
        let stub = StubTransport()
        stub.on(.get, "/a", .json("1"), .json("3"))
        stub.on(.get, "/b", .json("2"))
        let recorded = Self.agent(try recording(stub))
        for path in ["/a", "/b", "/a"] { _ = try await recorded.get(path, as: Int.self) }

        let cassette = try Cassette(at: file)
        let any = Self.agent(cassette)
        #expect(try await any.get("/a", as: Int.self) == 1)
        #expect(try await any.get("/a", as: Int.self) == 3)
        #expect(cassette.unplayed == ["GET https://api.example/b"])
        let error = await failure { _ = try await any.get("/a", as: Int.self) } as? CassetteError
        #expect(error?.description.contains("its 2 entries were played already") == true)

        let strict = Self.agent(try Cassette(at: file, order: .recorded))
        #expect(try await strict.get("/a", as: Int.self) == 1)
        let wrong = await failure { _ = try await strict.get("/a", as: Int.self) } as? CassetteError
        #expect(wrong?.description.contains("the next is entry 2, GET https://api.example/b") == true)
    }

    @Test func canariesOfSecretsAreNotInTheFileAndModelsDecode() async throws {
        let canary = Self.canary
        let stub = StubTransport()
        stub.on(.post, "/login/*") { request in
            .json(
                #"{"code": 10001, "access_token": "\#(request.text.contains("form") ? "s3cr3t-CANARY-form" : "s3cr3t-CANARY-42")", "pin": 1234, "#
                    + #""id": "6F9619FF-8B86-D011-B42D-00C04FC964FF", "note": "sent s3cr3t-CANARY-42 to you"}"#,
                headers: [
                    "Set-Cookie":
                        "sid=s3cr3t-CANARY-cookie; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT, b=s3cr3t-CANARY-b; Path=/",
                    "Location": "/next?token=s3cr3t-CANARY-42&page=2",
                ]
            )
        }
        stub.on(.get, "/me", where: { $0.authorization?.token == "s3cr3t-CANARY-42" }, .json(#"{"id": 7}"#))
        func scenario(_ transport: any Transport) async throws -> Login {
            let agent = Self.agent(transport) { $0.secrets.queryNames.append("note_to_self") }
            let base = GeneralRequest("/login/\(secret: canary)", formatter: JSONFormatter<Login>()).method(.post)
                .query(["access_token": canary, "page": 1]).header("X-Api-Key", canary).header(
                    "Cookie",
                    "a=\(canary.utf8.count); sid=s3cr3t-CANARY-c"
                )
            let login = try await agent.send(
                base.body(
                    .json(["password": .string(canary), "note_to_self": .string(canary), "pin": 1234] as JSONValue)
                )
            )
            _ = try await agent.send(base.body(.form(["password": "s3cr3t-CANARY-form", "a": "b"])))
            _ = try await agent.send(base.body(.multipart { $0.append("s3cr3t-CANARY-part", name: "password") }))
            _ = try await agent.send(
                base.authorization(.basic(user: "ada", password: "s3cr3t-CANARY-basic")).body(
                    .data(Data("s3cr3t-CANARY-basic".utf8))
                )
            )
            let me = GeneralRequest("/me", formatter: JSONValueFormatter()).authorization(.bearer(login.token))
            _ = try await agent.send(me)
            return login
        }
        let login = try await scenario(try recording(stub))
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(!text.contains("CANARY"), "\(text)")
        #expect(!text.contains("1234"))
        let replayed = try await scenario(try Cassette(at: file))
        #expect(
            replayed.token.utf8.count == login.token.utf8.count
                && replayed.token != login.token
        )
        #expect(
            replayed.code == 10001 && replayed.id == login.id && replayed.pin != 1234 && String(replayed.pin).count == 4
        )
        #expect(replayed.note == "sent \(replayed.token) to you")
    }

    @Test func onlyWhatIsMissingIsRecordedAndOneEntryCanBeRenewed() async throws {
        let stub = StubTransport { request in .text("\(request.url.path()) 1") }
        let first = Self.agent(try recording(stub))
        for path in ["/a", "/b"] { _ = try await first.get(path, as: String.self) }
        let later = StubTransport { request in .text("\(request.url.path()) 2") }
        let more = Self.agent(
            try Cassette(at: file, mode: .recordMissing, over: later, renewing: [.get("/b")], mayRecord: true)
        )
        #expect(try await more.get("/a", as: String.self) == "/a 1")
        #expect(try await more.get("/b", as: String.self) == "/b 2")
        #expect(try await more.get("/c", as: String.self) == "/c 2")
        let replayed = Self.agent(try Cassette(at: file))
        for (path, text) in [("/a", "/a 1"), ("/b", "/b 2"), ("/c", "/c 2")] {
            #expect(try await replayed.get(path, as: String.self) == text)
        }
    }

    @Test func nothingIsRecordedWhereCIIsSet() async throws {
        #expect(
            !Cassette.mayRecord(in: ["CI": "true"]) && Cassette.mayRecord(in: ["CI": "false"])
                && Cassette.mayRecord(in: [:])
        )
        let cassette = try Cassette(at: file, mode: .record, over: StubTransport { _ in .json("1") }, mayRecord: false)
        let error = await failure { _ = try await Self.agent(cassette).get("/a") } as? CassetteError
        #expect(
            error?.description.hasPrefix(
                "GET https://api.example/a is not in shop.har, and nothing is recorded where CI is set"
            ) == true
        )
        #expect(!FileManager.default.fileExists(atPath: file.path()))
        let missing = #expect(throws: CassetteError.self) { try Cassette(at: file) }
        #expect(missing?.description.hasPrefix("there is no cassette at") == true)
    }

    @Test func sendsAtOnceAreAllRecorded() async throws {
        let stub = StubTransport { request in .text(request.url.path()) }
        let agent = Self.agent(try recording(stub))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { _ = try await agent.get("/\(number)", as: String.self) } }
            try await group.waitForAll()
        }
        let replayed = Self.agent(try Cassette(at: file))
        for number in (0..<50).shuffled() {
            #expect(try await replayed.get("/\(number)", as: String.self) == "/\(number)")
        }
    }

    @Test(.cassette("greeting")) func aTraitGivesATestItsCassette() async throws {
        let agent = Self.agent(try Cassette.current)
        #expect(try await agent.get("/greeting", as: [String: String].self) == ["text": "Hello"])
    }

    private struct Login: Decodable, Sendable {
        var token: String
        var code: Int
        var pin: Int
        var id: UUID
        var note: String

        enum CodingKeys: String, CodingKey {
            case token = "access_token"
            case code
            case pin
            case id
            case note
        }
    }
}
