import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ResponseFormatterTests {
    struct User: Decodable, Sendable, Equatable { var id: Int }

    private let request = GeneralRequest("/x")

    private func agent(_ text: String) -> Agent { Rig(answer: .json(text)).agent }

    @Test func decodablesAreMadeOfJSON() async throws {
        #expect(try await agent(#"{"id":7}"#).send(request.expecting(User.self)) == User(id: 7))
        #expect(try await agent(#"[{"id":7}]"#).send(request.expecting([User].self)) == [User(id: 7)])
        #expect(try await agent("7").send(request.expecting(Int.self)) == 7)
    }

    @Test(arguments: [("null", nil), (#"{"id":7}"#, User(id: 7))])
    func optionalsTakeNull(body: String, user: User?) async throws {
        #expect(try await agent(body).send(request.expecting(User?.self)) == user)
        #expect(try await agent(#"{"a":\#(body)}"#).send(request.expecting(User?.self, at: "a")) == user)
    }

    @Test func anyJSONIsAJSONValue() async throws {
        let model = try await agent(#"{"b":[1.50,null,true],"a":"x"}"#).send(request)
        #expect(model.object?.names == ["b", "a"])
        #expect(model["b"]?[0]?.number?.text == "1.50")
        #expect(try await agent(#"{"a":{"b":[1]}}"#).send(request.formatted(by: JSONValueFormatter(at: "a.b"))) == [1])
    }

    @Test func bytesComeAsTheyAre() async throws {
        let bytes = Data([0, 0xFF, 0x5B])
        let agent = Rig(answer: .data(bytes)).agent
        #expect(try await agent.send(request.expecting(Data.self)) == bytes)
        #expect(try await agent.send(request.formatted(by: DataFormatter())) == bytes)
        #expect(try await agent.send(request.expecting(Data.self)).startIndex == 0)
    }

    @Test func nothingIsMadeOfAnyBody() async throws {
        for body in ["", "x", "[[["] {
            try await Rig(answer: .text(body)).agent.send(request.expecting(Void.self))
            try await Rig(answer: .text(body)).agent.send(GeneralRequest("/x", formatter: DefaultFormatter<Void>()))
        }
    }

    @Test(
        arguments: [
            ("text/plain", [0xC3, 0xA9], "é"), ("text/plain; charset=utf-8", [0xC3, 0xA9], "é"),
            ("text/plain; charset=UTF8", [0xC3, 0xA9], "é"), ("text/plain; charset=ISO-8859-1", [0xE9], "é"),
            ("text/plain; charset=\"latin1\"", [0xE9], "é"), ("text/plain; charset=windows-1252", [0x80], "€"),
            ("text/plain; charset=windows-1251", [0xFF], "я"),
            ("text/plain; charset=utf-16", [0xFE, 0xFF, 0, 0xE9], "é"),
            ("text/plain; charset=utf-16le", [0xE9, 0], "é"), ("text/plain; charset=utf-16be", [0, 0xE9], "é"),
            ("text/plain; charset=us-ascii", [0x41], "A"), ("text/plain; charset=shift_jis", [0x82, 0xA0], "あ"),
            ("text/plain; charset=iso-8859-2", [0xB1], "ą"),
            ("application/json", [], ""),
        ] as [(String, [UInt8], String)]
    )
    func textIsReadByTheCharset(type: String, bytes: [UInt8], text: String) async throws {
        let agent = Rig(answer: .data(Data(bytes), contentType: type)).agent
        #expect(try await agent.send(request.expecting(String.self)) == text)
        #expect(try await agent.send(request.formatted(by: StringFormatter())) == text)
    }

    @Test(
        arguments: [
            ("text/plain", [0xE9], "the bytes are not UTF-8"),
            ("text/plain; charset=us-ascii", [0xE9], "the bytes are not us-ascii"),
            ("text/plain; charset=klingon", [0x41], "the charset 'klingon' is not known"),
        ] as [(String, [UInt8], String)]
    )
    func textThatDoesNotFitItsCharsetIsAnError(type: String, bytes: [UInt8], detail: String) async {
        let agent = Rig(answer: .data(Data(bytes), contentType: type)).agent
        await expect(throwing: .model(type: "String", detail: detail)) {
            _ = try await agent.send(request.expecting(String.self))
        }
    }

    @Test(arguments: [
        (#"{"id":"secret"}"#, "Int expected at id"), ("{}", "no member 'id'"),
        (#"{"id":null}"#, "Int expected, null found at id"),
    ])
    func whatDoesNotFitIsToldWithoutItsValue(body: String, detail: String) async throws {
        let error = try #require(
            await failure { try await agent(body).send(request.expecting(User.self)) } as? NetworkError
        )
        #expect(error.reason == .model(type: "User", detail: detail))
        #expect(error.kind == .undecodable)
        #expect(error.underlying is DecodingError)
        #expect(error.response?.body == Data(body.utf8))
        #expect(error.attempts == 1)
        #expect(error.description.hasPrefix("GET api.example/x: the payload does not become User: "))
        #expect(!error.description.contains("secret"))
    }

    @Test func aPathThatLeadsNowhereIsTold() async throws {
        let error = try #require(
            await failure { try await agent("{}").send(request.expecting(Int.self, at: "a.b")) } as? NetworkError
        )
        #expect(error.kind == .undecodable)
        #expect(error.response?.statusCode == 200)
        guard case .path = error.reason else {
            Issue.record("\(error)")
            return
        }
    }

    struct Picky: Decodable, Sendable {
        init(from decoder: any Decoder) throws { throw Boom(id: 10) }
    }

    @Test func whatUserCodeThrowsReachesTheCallerUnchanged() async {
        await #expect(throws: Boom(id: 10)) { try await agent("{}").send(request.expecting(Picky.self)) }
        await #expect(throws: Boom(id: 10)) {
            try await agent(#"{"a":1}"#).send(request.expecting(Picky.self, at: "a"))
        }
        await #expect(throws: Boom(id: 11)) {
            try await agent("{}").send(request.formatted(by: ClosureFormatter<Int> { _ in throw Boom(id: 11) }))
        }
        await #expect(throws: DecodingError.self) {
            let formatter = ClosureFormatter { try JSONDecoder().decode(Int.self, from: $0.data) }
            return try await agent("{}").send(request.formatted(by: formatter))
        }
    }

    struct Vetoing: Request, Sendable {
        typealias Model = User
        var path: String { "/x" }
        func didProduce(_ model: User, from response: RawResponse) throws { throw Boom(id: model.id) }
    }

    @Test func whatDidProduceThrowsReachesTheCallerUnchanged() async {
        await #expect(throws: Boom(id: 7)) { try await agent(#"{"id":7}"#).send(Vetoing()) }
    }

    @Test func aClosureMakesAnyModel() async throws {
        let formatter = ClosureFormatter { payload in (payload.data.count, payload.mediaType?.essence) }
        let model = try await agent("[1]").send(request.formatted(by: formatter))
        #expect(model.0 == 3)
        #expect(model.1 == "application/json")
    }

    @Test func oneAnswerIsDecodedManyTimes() async throws {
        let full = try await agent(#"{"a":{"id":1},"l":[{"id":2},{"id":3}]}"#).response(
            for: request.expecting(Void.self)
        )
        for _ in 0..<3 {
            #expect(try full.decode(User.self, at: "a") == User(id: 1))
            #expect(try full.decode([User].self, at: "l").map(\.id) == [2, 3])
            #expect(try full.decode(Int.self, at: "l[1].id") == 3)
            #expect(throws: NetworkError.self) { try full.decode(Int.self, at: "missing") }
            #expect(throws: NetworkError.self) { try full.decode(Int.self, at: "a[") }
        }
        #expect(full.source.isFromCache == false)
        #expect(full.url.absoluteString == "https://api.example/x")
        #expect(full.headers["content-type"] == "application/json")
        #expect(full.body == full.raw.body)
    }

    @Test func verbsMakeModelsOfTheSameRules() async throws {
        #expect(try await agent(#"{"l":[{"id":7}]}"#).get("/x", at: "l[0]") == User(id: 7))
        let text: String = try await Rig(answer: .text("plain")).agent.post("/x")
        #expect(text == "plain")
        let bytes = try await Rig(answer: .text("raw")).agent.put("/x", as: Data.self)
        #expect(bytes == Data("raw".utf8))
        try await Rig(answer: .text("")).agent.delete("/x")
        #expect(try await agent("1").patch("/x", as: JSONValue.self) == 1)
        #expect(try await Rig(answer: .status(204, headers: ["X-A": "1"])).agent.head("/x").headers["x-a"] == "1")
    }

    @Test(arguments: [HTTPMethod.get, .post, .put, .patch, .delete])
    func verbsSendTheirMethodParametersAndHeaders(method: HTTPMethod) async throws {
        let rig = Rig()
        let (parameters, headers): (Parameters, HTTPHeaders) = (["a": 1], ["X-A": "b"])
        switch method {
        case .get: try await rig.agent.get("/x", parameters: parameters, headers: headers)
        case .post: try await rig.agent.post("/x", parameters: parameters, headers: headers)
        case .put: try await rig.agent.put("/x", parameters: parameters, headers: headers)
        case .patch: try await rig.agent.patch("/x", parameters: parameters, headers: headers)
        default: try await rig.agent.delete("/x", parameters: parameters, headers: headers)
        }
        let sent = try #require(rig.transport.requests.first)
        #expect(sent.method == method)
        #expect(sent.headers["X-A"] == "b")
        #expect(try sent.url.query() ?? sent.bodyText() == (method == .get || method == .delete ? "a=1" : #"{"a":1}"#))
    }
}
