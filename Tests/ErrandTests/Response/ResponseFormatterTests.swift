import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct ResponseFormatterTests {
    struct User: Decodable, Sendable, Equatable { var id: Int }

    private let request = GeneralRequest("/x")

    private func agent(_ text: String) -> Agent { Rig(response: .json(text)).agent }

    @Test func decodablesAreDecodedFromJSON() async throws {
        #expect(try await agent(#"{"id":7}"#).send(request.expecting(User.self)) == User(id: 7))
        #expect(try await agent(#"[{"id":7}]"#).send(request.expecting([User].self)) == [User(id: 7)])
        #expect(try await agent("7").send(request.expecting(Int.self)) == 7)
    }

    /// Foundation's scanner for JSON5 ends the process on the last of them, in about every second run.
    @Test(arguments: ["7", "-0", "1e400", "1e-999999999999999999999"])
    func decoderSetToJSON5DecodesValidNumbersOrFails(body: String) async throws {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let rig = Rig(config: .test { $0.decoder = decoder }, response: .json(body))
        for _ in 0..<20 {
            if let value = try? await rig.agent.send(request.expecting(Double.self)) { #expect(value.isFinite) }
            _ = try? await rig.agent.send(request.expecting(Int.self))
        }
        await #expect(throws: NetworkError.self) {
            try await Rig(config: .test { $0.decoder = decoder }, response: .json("{a: 1}")).agent
                .send(request.expecting(User.self))
        }
    }

    @Test(arguments: [("null", nil), (#"{"id":7}"#, User(id: 7))])
    func optionalsTakeNull(body: String, user: User?) async throws {
        #expect(try await agent(body).send(request.expecting(User?.self)) == user)
        #expect(try await agent(#"{"a":\#(body)}"#).send(request.expecting(User?.self, at: "a")) == user)
    }

    /// Of a condition that a request has itself.
    @Test func anAccepted304IsNilForAnOptional() async throws {
        let rig = Rig(response: .status(304))
        let request = request.acceptance(Acceptance().accepting(304))
        #expect(try await rig.agent.send(request.expecting(User?.self)) == nil)
        #expect(try await rig.agent.response(for: request.raw).statusCode == 304)
    }

    @Test(arguments: [
        (204, HTTPMethod.get), (205, .post), (200, .head), (204, .delete), (200, .get), (201, .post), (202, .put),
    ])
    func noContentIsNilForAnOptional(status: Int, method: HTTPMethod) async throws {
        let envelope = NetworkConfig.test { $0.filter = EnvelopeFilter(code: "code", data: "data") }
        let mayLackEnvelope = [204, 205].contains(status) || method == .head
        for config in mayLackEnvelope ? [.test, envelope] : [NetworkConfig.test] {
            let rig = Rig(config: config, response: .status(status))
            let request = request.method(method)
            #expect(try await rig.agent.send(request.expecting(User?.self)) == nil)
            #expect(try await rig.agent.send(request.formatted(by: JSONFormatter<User?>(at: "user"))) == nil)
            #expect(try await rig.agent.send(request) == .null)
            let full = try await rig.agent.response(for: request.expecting(Void.self))
            #expect(try full.decode([User]?.self) == nil)
            let detail = "the response has no content; the model may be an Optional or Void"
            await expect(throwing: .model(type: "Array<User>", detail: detail)) {
                try await rig.agent.send(request.expecting([User].self))
            }
        }
        if !mayLackEnvelope {
            await expect(kind: .unacceptableContent) {
                try await Rig(config: envelope, response: .status(status)).agent.send(request.expecting(User?.self))
            }
        }
        let plain = Rig(response: .status(status)).agent
        #expect(try await plain.send(request.method(method).expecting(Data.self)).isEmpty)
        #expect(try await plain.send(request.method(method).expecting(String.self)) == "")
        #expect(try await plain.get("/x", as: User?.self) == nil)
    }

    @Test func anyJSONIsAJSONValue() async throws {
        let model = try await agent(#"{"b":[1.50,null,true],"a":"x"}"#).send(request)
        #expect(model.object?.names == ["b", "a"])
        #expect(model["b"]?[0]?.number?.text == "1.50")
        #expect(try await agent(#"{"a":{"b":[1]}}"#).send(request.formatted(by: JSONValueFormatter(at: "a.b"))) == [1])
    }

    @Test func bytesAreUnchanged() async throws {
        let bytes = Data([0, 0xFF, 0x5B])
        let agent = Rig(response: .data(bytes)).agent
        #expect(try await agent.send(request.expecting(Data.self)) == bytes)
        #expect(try await agent.send(request.formatted(by: DataFormatter())) == bytes)
        #expect(try await agent.send(request.expecting(Data.self)).startIndex == 0)
    }

    @Test func voidModelAcceptsAnyBody() async throws {
        for body in ["", "x", "[[["] {
            try await Rig(response: .text(body)).agent.send(request.expecting(Void.self))
            try await Rig(response: .text(body)).agent.send(GeneralRequest("/x", formatter: DefaultFormatter<Void>()))
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
            ("application/json", [], ""), ("text/plain", [0xEF, 0xBB, 0xBF, 0x61], "a"),
            ("text/plain; charset=utf-8", [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF], "\u{FEFF}"),
            ("text/plain; charset=utf-16le", [0xFF, 0xFE, 0xE9, 0], "é"), ("text/plain", [0xEF, 0xBB, 0xBF], ""),
        ] as [(String, [UInt8], String)]
    )
    func textIsReadByTheCharset(type: String, bytes: [UInt8], text: String) async throws {
        let agent = Rig(response: .data(Data(bytes), contentType: type)).agent
        #expect(try await agent.send(request.expecting(String.self)) == text)
        #expect(try await agent.send(request.formatted(by: StringFormatter())) == text)
    }

    /// Text in each charset as other programs write it.
    @Test(
        arguments: [
            ("gb2312", [0xD6, 0xD0, 0xCE, 0xC4], "中文"), ("gbk", [0x96, 0x7C, 0xBE, 0xA9], "東京"),
            ("gb18030", [0x81, 0x30, 0x84, 0x36, 0xD6, 0xD0], "¥中"), ("big5", [0xA4, 0xA4, 0xA4, 0xE5], "中文"),
            ("euc-kr", [0xC7, 0xD1, 0xB1, 0xDB], "한글"), ("ks_c_5601-1987", [0x8C, 0x63], "똠"),
            ("koi8-r", [0xD2, 0xD5], "ру"), ("KOI8-U", [0xA7, 0xB7], "їЇ"),
            ("iso-8859-2", [0xB1], "ą"), ("iso-8859-3", [0xB1], "ħ"), ("iso-8859-4", [0xB1], "ą"),
            ("iso-8859-5", [0xD0], "а"), ("iso-8859-6", [0xC7], "ا"), ("iso-8859-7", [0xE1], "α"),
            ("iso-8859-8", [0xE0], "א"), ("iso-8859-9", [0xFD], "ı"), ("iso-8859-10", [0xBF], "ŋ"),
            ("iso-8859-11", [0xA1], "ก"), ("iso-8859-13", [0xE0], "ą"), ("iso-8859-14", [0xA1], "Ḃ"),
            ("iso-8859-15", [0xA4], "€"), ("iso-8859-16", [0xA4], "€"),
            ("iso-8859-1", [0x93, 0x61, 0x94, 0x80], "“a”€"), ("iso8859-1", [0x80], "€"), ("iso_8859-1", [0x80], "€"),
            ("latin1", [0x80, 0xE9], "€é"), ("l1", [0x80], "€"), ("us-ascii", [0x93, 0x61, 0x94, 0x80], "“a”€"),
            ("ascii", [0xC3, 0xA9], "Ã©"), ("iso-8859-1", [0x81, 0xE9], "\u{81}é"), ("us-ascii", [0x8D], "\u{8D}"),
            ("iso-8859-9", [0x93, 0x61, 0x94, 0x80, 0xFD], "“a”€ı"), ("latin5", [0x80], "€"),
            ("iso-8859-9", [0x8E, 0xFD], "\u{8E}ı"), ("iso-8859-11", [0x93, 0xA1, 0x94], "“ก”"),
            ("iso-8859-11", [0x98, 0xA1], "\u{98}ก"), ("gb2312", [0x80], "€"), ("gbk", [0xD6, 0xD0, 0x80], "中€"),
            ("shift_jis", [0x93, 0xFA, 0x96, 0x7B, 0xB1, 0x5C], "日本ｱ\\"), ("x-sjis", [0x87, 0x40], "①"),
            ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC, 0x8E, 0xB1], "日本ｱ"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x61], "日a"),
            ("iso-2022-kr", [0x1B, 0x24, 0x29, 0x43, 0x0E, 0x47, 0x51, 0x0F], "한"),
            ("windows-1250", [0xB9], "ą"), ("windows-1251", [0xDF], "Я"), ("windows-1252", [0x80], "€"),
            ("windows-1253", [0xE1], "α"), ("windows-1254", [0xFD], "ı"), ("windows-1255", [0xE0], "א"),
            ("windows-1256", [0xC7], "ا"), ("windows-1257", [0xE0], "ą"), ("windows-1258", [0xFE], "₫"),
            ("cp1251", [0xDF], "Я"), ("windows-874", [0xA1], "ก"), ("ibm866", [0x80], "А"), ("macintosh", [0x8E], "é"),
        ] as [(String, [UInt8], String)]
    )
    func textIsReadInTheCharsetsOfTheWorld(charset: String, bytes: [UInt8], text: String) async throws {
        // Longer than what is converted at a time, and characters cut at every place.
        for copies in [1, 30_011] {
            let body = Data((0..<copies).flatMap { _ in bytes })
            let agent = Rig(response: .data(body, contentType: "text/plain; charset=\(charset)")).agent
            let whole = String(repeating: text, count: copies)
            #expect(try await agent.send(request.expecting(String.self)) == whole)
        }
    }

    @Test(
        arguments: [
            ("gb18030", [0xD6]), ("gbk", [0x81, 0x20]), ("big5", [0xA4]), ("euc-kr", [0xC7, 0x20]),
            ("shift_jis", [0x61, 0x93]), ("euc-jp", [0x8F, 0xA2]), ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46]),
            ("iso-2022-jp", [0xFF]), ("windows-1253", [0xD2]), ("iso-8859-7", [0xFF]), ("windows-874", [0xFF]),
            ("iso-2022-kr", [0x0E, 0xFF]),
        ] as [(String, [UInt8])]
    )
    func malformedTextOfACharsetIsAnError(charset: String, bytes: [UInt8]) async {
        for body in [Data(bytes), Data(repeating: 0x61, count: 70_000) + Data(bytes)] {
            let agent = Rig(response: .data(body, contentType: "text/plain; charset=\(charset)")).agent
            await expect(throwing: .model(type: "String", detail: "the bytes are not \(charset)")) {
                _ = try await agent.send(request.expecting(String.self))
            }
        }
    }

    @Test(arguments: [
        "iso-8859-12", "iso-8859-99", "windows-1259", "klingon//IGNORE", "gbk//translit", "cp-1",
    ])
    func unknownCharsetsAreErrorsUnlessTheBytesAreUTF8(charset: String) async throws {
        func agent(_ bytes: [UInt8]) -> Agent {
            Rig(response: .data(Data(bytes), contentType: "text/plain; charset=\"\(charset)\"")).agent
        }
        for bytes in [[0x41, 0xE9], [0x41, 0]] as [[UInt8]] {
            let detail = "the charset '\(charset.lowercased())' is not known"
            await expect(throwing: .model(type: "String", detail: detail)) {
                _ = try await agent(bytes).send(request.expecting(String.self))
            }
        }
        #expect(try await agent([0x41, 0xC3, 0xA9]).send(request.expecting(String.self)) == "Aé")
    }

    /// Their text is ASCII, whatever it means.
    @Test(arguments: ["utf-7", "UTF7", "unicode-1-1-utf-7", "iso-2022-cn", "iso-2022-cn-ext", "hz-gb-2312"])
    func unknownCharsetOfSevenBitsIsAnError(charset: String) async {
        let agent = Rig(response: .data(Data("+AOk-".utf8), contentType: "text/plain; charset=\(charset)")).agent
        await expect(throwing: .model(type: "String", detail: "the charset '\(charset.lowercased())' is not known")) {
            _ = try await agent.send(request.expecting(String.self))
        }
    }

    /// Any bytes in any charset are text or an error.
    @Test(arguments: ["gb18030", "big5", "euc-kr", "shift_jis", "euc-jp", "iso-2022-jp", "iso-2022-kr", "windows-1258"])
    func noiseInACharsetIsTextOrAnError(charset: String) throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<2000 {
            let count = Int.random(in: 0...40, using: &generator)
            let bytes = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
            _ = try? Payload(bytes, mediaType: MediaType("text/plain; charset=\(charset)")).text()
        }
    }

    @Test func bytesOfTheCompleteBodyAreNotCopied() throws {
        let body = Data(repeating: 7, count: 1000)
        func address(_ data: Data) -> UnsafeRawPointer? { data.withUnsafeBytes { $0.baseAddress } }
        let (formatted, decoded) = try (
            DataFormatter().format(Payload(body)), DefaultFormatter<Data>().format(Payload(body))
        )
        #expect(address(formatted) == address(body))
        #expect(address(decoded) == address(body))
        let part = try DataFormatter().format(Payload(body[10..<20], root: body))
        #expect(part.startIndex == 0)
        #expect(part == body[10..<20])
    }

    @Test(arguments: [
        (#"{"n":300}"#, "a number does not fit Int8 at n"),
        (#"{"n":1.5}"#, "a number does not fit Int8 at n"),
        (#"{"n":1,"list":[1,2,-129]}"#, "a number does not fit Int8 at list[2]"),
        (#"{"n":1,"pin":4711}"#, "a number does not fit Int8 at pin"),
        (#"{"n":1,"token":{"parts":[1,{"x":4711}]}}"#, "a number does not fit Int8 at token.parts[1].x"),
    ])
    func numberOutOfRangeIsReportedWithItsPath(body: String, detail: String) async throws {
        struct Small: Decodable, Sendable {
            var n: Int8
            var list: [Int8]?
            var pin: Int8?
            var token: Token?
        }
        struct Token: Decodable, Sendable { var parts: [Part] }
        struct Part: Decodable, Sendable {
            var x: Int8
            init(from decoder: any Decoder) throws {
                if let single = try? decoder.singleValueContainer().decode(Int8.self) {
                    x = single
                    return
                }
                x = try decoder.container(keyedBy: Key.self).decode(Int8.self, forKey: .x)
            }
            enum Key: CodingKey { case x }
        }
        let lossless = NetworkConfig.test { $0.decoder = LosslessJSONDecoder() }
        for config in [.test, lossless] {
            await expect(throwing: .model(type: "Small", detail: detail)) {
                try await Rig(config: config, response: .json(body)).agent.send(request.expecting(Small.self))
            }
        }
    }

    @Test(
        arguments: [
            ("text/plain", [0xE9], "the bytes are not UTF-8"),
            ("text/plain; charset=euc-jp", [0xE9], "the bytes are not euc-jp"),
            ("text/plain; charset=klingon", [0xE9], "the charset 'klingon' is not known"),
        ] as [(String, [UInt8], String)]
    )
    func textThatDoesNotFitItsCharsetIsAnError(type: String, bytes: [UInt8], detail: String) async {
        let agent = Rig(response: .data(Data(bytes), contentType: type)).agent
        await expect(throwing: .model(type: "String", detail: detail)) {
            _ = try await agent.send(request.expecting(String.self))
        }
    }

    @Test(arguments: [
        (#"{"id":"secret"}"#, "expected an integer, found a string at id"), ("{}", "no member 'id'"),
        (#"{"id":null}"#, "expected an integer, found null at id"), ("[1]", "expected an object, found an array"),
        ("null", "expected an object, found null"),
    ])
    func mismatchIsReportedWithoutItsValue(body: String, detail: String) async throws {
        let found = await expect(throwing: .model(type: "User", detail: detail)) {
            try await agent(body).send(request.expecting(User.self))
        }
        let error = try #require(found)
        #expect(error.kind == .undecodable)
        #expect(error.underlying is DecodingError)
        #expect(error.response?.body == Data(body.utf8))
        #expect(error.attempts == 1)
        #expect(error.description.hasPrefix("GET api.example/x: the payload cannot be decoded as User: "))
        #expect(!error.description.contains("secret"))
    }

    @Test func emptyBodyIsNamed() async throws {
        let enveloped = request.filter(EnvelopeFilter(code: "code", data: "data"))
        let error = await failure { try await agent("").send(enveloped.expecting(User.self)) } as? NetworkError
        let text = "GET api.example/x: the body is empty, and JSON was expected; "
        #expect(error?.description.hasPrefix(text) == true)
    }

    @Test func pathWithoutAValueIsReported() async throws {
        let error = await expect(kind: .undecodable) {
            try await agent("{}").send(request.expecting(Int.self, at: "a.b"))
        }
        #expect(error?.response?.statusCode == 200)
        guard case .path = error?.reason else { throw Unexpected(error) }
    }

    struct Picky: Decodable, Sendable {
        init(from decoder: any Decoder) throws { throw Boom(id: 10) }
    }

    @Test func errorOfUserCodeReachesTheCallerUnchanged() async {
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

    @Test func errorOfDidProduceReachesTheCallerUnchanged() async {
        await #expect(throws: Boom(id: 7)) { try await agent(#"{"id":7}"#).send(Vetoing()) }
    }

    @Test func closureCreatesAnyModel() async throws {
        let formatter = ClosureFormatter { payload in (payload.data.count, payload.mediaType?.essence) }
        let model = try await agent("[1]").send(request.formatted(by: formatter))
        #expect(model.0 == 3)
        #expect(model.1 == "application/json")
    }

    @Test func responseCanBeDecodedSeveralTimes() async throws {
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

    @Test func verbsCreateModelsByTheSameRules() async throws {
        #expect(try await agent(#"{"l":[{"id":7}]}"#).get("/x", at: "l[0]") == User(id: 7))
        let text: String = try await Rig(response: .text("plain")).agent.post("/x")
        #expect(text == "plain")
        let bytes = try await Rig(response: .text("raw")).agent.put("/x", as: Data.self)
        #expect(bytes == Data("raw".utf8))
        try await Rig(response: .text("")).agent.delete("/x")
        #expect(try await agent("1").patch("/x", as: JSONValue.self) == 1)
        #expect(try await Rig(response: .status(204, headers: ["X-A": "1"])).agent.head("/x").headers["x-a"] == "1")
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
