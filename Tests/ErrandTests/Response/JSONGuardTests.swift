import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Bodies at which Foundation's decoder would end the process.
@Suite struct JSONGuardTests {
    struct Anything: Decodable, Sendable {
        init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode([[Int]].self) }
    }

    static let bodies = [
        Data(repeating: UInt8(ascii: "["), count: 513),
        Data(#"{"data":"#.utf8) + Data(repeating: UInt8(ascii: "["), count: 512),
        Data(#"{"code":0,"data":"#.utf8) + Data(repeating: UInt8(ascii: "["), count: 512),
        Data([0xEF, 0xBB, 0xBF]) + Data(repeating: UInt8(ascii: "["), count: 513),
        Data((0..<513).flatMap { _ in [UInt8(ascii: "["), 0] }),
        Data([0xFF, 0xFE] + (0..<513).flatMap { _ in [UInt8(ascii: "["), 0] }),
        Data((0..<513).flatMap { _ in [0, UInt8(ascii: "[")] }),
        Data("[1,],".utf8) + Data(repeating: UInt8(ascii: "["), count: 513),
        Data("[[1,],".utf8) + Data(repeating: UInt8(ascii: "["), count: 512),
        Data((0..<171).flatMap { _ in Array(#"{"a":"#.utf8) })
            + Data(repeating: UInt8(ascii: "["), count: 342),
    ]

    /// Decodes the complete body itself, as users do.
    static let ownFilter = ClosureFilter { response, _ in
        _ = try JSONDecoder().decode(Anything.self, from: response.body)
        return Payload(response.body)
    }

    @Test(arguments: bodies.indices, [0, 1, 2])
    func modelsAreNeverDecodedFromAHostileBody(body: Int, filter: Int) async throws {
        let filters: [any ResponseFilter] = [
            PassthroughFilter(), EnvelopeFilter(code: "code", data: "data"), Self.ownFilter,
        ]
        let rig = Rig(response: .data(Self.bodies[body], contentType: "application/json"))
        let request = GeneralRequest("/x").filter(filters[filter])
        await expect(kind: .unacceptableContent) { try await rig.agent.send(request.expecting(Anything.self)) }
        await expect(kind: .unacceptableContent) {
            try await rig.agent.send(request.expecting(Anything.self, at: "data"))
        }
        await expect(kind: .unacceptableContent) { try await rig.agent.send(request) }
        await expect(kind: .unacceptableContent) { try await rig.agent.get("/x", as: Anything.self) }
    }

    @Test(arguments: bodies.indices)
    func userFormattersNeverReceiveAHostileBody(body: Int) async throws {
        let rig = Rig(response: .data(Self.bodies[body], contentType: "application/json"))
        let formatter = ClosureFormatter { try JSONDecoder().decode(Anything.self, from: $0.data) }
        await expect(kind: .unacceptableContent) {
            try await rig.agent.send(GeneralRequest("/x", formatter: formatter))
        }
    }

    @Test(arguments: bodies.indices)
    func bytesAndTextPassBecauseTheyAreNotJSON(body: Int) async throws {
        let bytes = Self.bodies[body]
        let rig = Rig(response: .data(bytes))
        #expect(try await rig.agent.send(GeneralRequest("/x").expecting(Data.self)) == bytes)
        try await rig.agent.send(GeneralRequest("/x").expecting(Void.self))
        let full = try await rig.agent.response(for: GeneralRequest("/x").expecting(Data.self))
        #expect(throws: NetworkError.self) { try full.decode(Anything.self) }
        if let text = String(validating: bytes, as: UTF8.self) {
            let content = String(text.unicodeScalars.drop { $0 == "\u{FEFF}" })
            #expect(try await rig.agent.send(GeneralRequest("/x").expecting(String.self)) == content)
        }
    }

    @Test func rejectedStatusRemainsAStatusError() async {
        for body in Self.bodies {
            let rig = Rig(response: .data(body, status: 500))
            await expect(throwing: .status(500)) {
                _ = try await rig.agent.send(GeneralRequest("/x").filter(Self.ownFilter).expecting(Anything.self))
            }
        }
    }

    @Test(arguments: [(128, true), (129, false)])
    func theLimitIs128(depth: Int, fits: Bool) async throws {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let rig = Rig(response: .json(text))
        if fits {
            _ = try await rig.agent.send(GeneralRequest("/x"))
        } else {
            await #expect(throws: NetworkError.self) { try await rig.agent.send(GeneralRequest("/x")) }
        }
    }

    /// A filter of the user's own may read what is no JSON at all: it decrypts, or it reads XML.
    @Test(arguments: ["<xml/>", "plain text", "", "%PDF", "123", "[not json]", "{{template}}"])
    func userFiltersReceiveBodiesThatAreNoJSON(body: String) async throws {
        let filter = ClosureFilter { response, _ in Payload(Data("seen \(response.body.count)".utf8)) }
        let rig = Rig(response: .text(body))
        let request = GeneralRequest("/x").filter(filter).expecting(String.self)
        #expect(try await rig.agent.send(request) == "seen \(body.utf8.count)")
    }

    @Test func userFiltersReceiveAnErrorPage() async throws {
        let filter = ClosureFilter { response, _ in throw Boom(id: response.body.count) }
        let rig = Rig(response: .html("<h1/>", status: 404))
        await #expect(throws: Boom(id: 5)) { try await rig.agent.send(GeneralRequest("/x").filter(filter)) }
    }

    static let brackets = Data(repeating: UInt8(ascii: "["), count: 513)

    /// Filters and interceptors that put other bytes into a response whose bytes were read, as those that decrypt do.
    static let changing: [any ResponseFilter] = [
        EnvelopeFilter(code: nil, data: "~"), PassthroughFilter(), InheritedFilter(),
        FilterChain(PassthroughFilter(), EnvelopeFilter(code: nil, data: "~")),
    ].map { (next: any ResponseFilter) in
        ClosureFilter { response, context in
            var response = response
            response.isGuarded = true
            response.body = brackets
            return try next.filter(response, for: context)
        }
    }

    /// In a process of its own, because the decoder would end it.
    @Test func replacedBodyIsCheckedAgain() async {
        await #expect(processExitsWith: .success) {
            for filter in JSONGuardTests.changing {
                let rig = Rig(response: .json("[1]"))
                let request = GeneralRequest("/x").filter(filter).expecting(Anything.self)
                let error = await failure { try await rig.agent.send(request) }
                guard (error as? NetworkError)?.kind == .unacceptableContent else { exit(EXIT_FAILURE) }
            }
        }
    }

    @Test func payloadOfAFilterIsCheckedBeforeAUserFormatter() async {
        await #expect(processExitsWith: .success) {
            let decrypting = ClosureFilter { _, _ in Payload(JSONGuardTests.brackets) }
            let formatter = ClosureFormatter { try JSONDecoder().decode(Anything.self, from: $0.data) }
            for filter in [decrypting, FilterChain(decrypting)] as [any ResponseFilter] {
                let rig = Rig(response: .json("[1]"))
                let request = GeneralRequest("/x", formatter: formatter).filter(filter)
                let error = await failure { try await rig.agent.send(request) }
                guard (error as? NetworkError)?.kind == .unacceptableContent else { exit(EXIT_FAILURE) }
            }
        }
    }

    @Test func wholeBodyOfAServiceErrorIsCheckedBeforeDecoding() async {
        await #expect(processExitsWith: .success) {
            guard let url = URL(string: "https://api.example/x") else { exit(EXIT_FAILURE) }
            let error = ServiceError(
                code: 1,
                message: nil,
                response: RawResponse(body: JSONGuardTests.brackets, url: url)
            )
            guard (try? error.decode(Anything.self, at: "~")) == nil else { exit(EXIT_FAILURE) }
            guard (try? error.decode(Int?.self)) == .some(nil) else { exit(EXIT_FAILURE) }
        }
    }

    /// Begin like JSON, in some encoding, or have many brackets, and are none.
    static let binaries: [String: Data] = {
        func noise(_ seed: UInt64, _ head: [UInt8]) -> Data {
            var generator = SeededGenerator(seed: seed)
            return Data(head) + Data((0..<400_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
        let brackets = String(repeating: "[[[[{{", count: 500)
        return [
            "JPEG": noise(1, [0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10, 0x4A, 0x46]),
            "MP4": noise(2, [0, 0, 0, 0x20] + Array("ftypisom".utf8)),
            "UTF-16 like": noise(3, [0xFF, 0xFE]), "big-endian UTF-16 like": noise(4, [0xFE, 0xFF]),
            "zeros": Data(count: 9000) + Data(brackets.utf8), "marked": noise(5, [0xEF, 0xBB, 0xBF]),
            "log": Data(String(repeating: "[2026-11-22 01:00:00] [INFO] it's \"fine\" [x\n", count: 2000).utf8),
            "log of brackets": Data("[INFO] begins\n\(brackets)\n".utf8),
            "template": Data("{{template}} \(brackets)".utf8), "XML": Data("<a>\(brackets)</a>".utf8),
            "text": Data("plain text, \"said\" he: \(brackets)".utf8),
            "JSON": Data("[\(Array(repeating: "[1]", count: 2000).joined(separator: ","))]".utf8),
            "brackets in a string": Data("[\"\(brackets)\"]".utf8),
            "brackets in a string of JSON5": Data("['\(brackets)']".utf8),
            "deep": Data(String(repeating: "[", count: 512).utf8),
        ]
    }()

    @Test(arguments: binaries.keys.sorted(), [0, 1, 2])
    func bodyThatIsNoDeepJSONPassesUserFilters(name: String, filter: Int) async throws {
        let bytes = try #require(Self.binaries[name])
        let own = ClosureFilter { response, _ in Payload(response.body) }
        let filters: [any ResponseFilter] = [own, FilterChain(own, own), FilterChain(PassthroughFilter(), own)]
        let rig = Rig(response: .data(bytes, contentType: "application/octet-stream"))
        let request = GeneralRequest("/x").filter(filters[filter])
        #expect(try await rig.agent.send(request.expecting(Data.self)) == bytes)
        let formatter = ClosureFormatter { $0.data.count }
        #expect(try await rig.agent.send(GeneralRequest("/x", formatter: formatter)) == bytes.count)
        if let text = String(validating: bytes, as: UTF8.self) {
            #expect(try await rig.agent.send(request.expecting(String.self)) == text)
        }
    }

    /// Texts that a decoder for JSON5, or for members without braces, would follow to the 513th level.
    static let deepInJSON5 = [
        #"['"', "#, "[/* \" */", "[// ' \n", "{a_$: ", "\u{A0}[", "[+Infinity, ", #"{"a\"]": "#, #""a": "#, "a: ",
    ]

    @Test(arguments: deepInJSON5)
    func levelsAreCountedAsUserDecodersMayCountThem(start: String) throws {
        let body = Data(start.utf8) + Self.brackets
        #expect(throws: JSONError.self) { try JSONGuard.checkNesting(body) }
        let wide = try #require((start + String(decoding: Self.brackets, as: UTF8.self)).data(using: .utf16))
        #expect(throws: JSONError.self) { try JSONGuard.checkNesting(wide) }
    }

    /// Whatever the search lets through, Foundation's decoder survives: in a process of its own.
    @Test func foundationSurvivesEveryBodyThatPasses() async {
        await #expect(processExitsWith: .success) {
            var generator = SeededGenerator(seed: 7)
            let tokens = ["[", "{\"a\":", "{a:", "]", "}", ",", "\"x\"", "'\"'", "1", " ", "/*'*/", "null", "\\"]
            for round in 0..<4000 {
                var text = ""
                let length = 500 + round % 40
                for index in 0..<length {
                    let isOdd = index % 97 == 96 && Bool.random(using: &generator)
                    text +=
                        isOdd ? (tokens.randomElement(using: &generator) ?? "[") : (round % 3 == 0 ? "{\"a\":" : "[")
                }
                if round % 2 == 0 { text += String(repeating: "[", count: 20) }
                let body = Data(text.utf8)
                guard (try? JSONGuard.checkNesting(body)) != nil else { continue }
                for isJSON5 in [false, true] {
                    let decoder = JSONDecoder()
                    decoder.allowsJSON5 = isJSON5
                    decoder.assumesTopLevelDictionary = round % 5 == 0
                    _ = try? decoder.decode(Anything.self, from: body)
                }
            }
        }
    }

    /// A body that the guard has read is not validated again: the filter and the formatter use its index.
    @Test func checkedBodyIsNotCheckedAgain() throws {
        let url = try #require(URL(string: "https://api.example/x"))
        var response = RawResponse(body: Data(#"{"code":0,"data":{"n":1},"rest":true}"#.utf8), url: url)
        let made = try response.index()
        let payload = try EnvelopeFilter(code: "code", data: "data").filter(response, for: RequestContext())
        #expect(payload.isGuarded)
        #expect(payload.indexed?.index === made)
        #expect(try payload.decode([String: Int].self) == ["n": 1])
        let isTaken = made.take() == nil
        #expect(isTaken)
        #expect(try payload.decode([String: Int].self) == ["n": 1])
    }
}
