import Errand
import ErrandTesting
import Foundation
import Testing

/// JSON as other programs write it: with a byte order mark, with strings that were cut within a surrogate pair, and none at all.
@Suite(.limit(seconds: 60))
struct ForeignJSONWireTests {
    private struct Named: Decodable, Sendable, Equatable { var name: String }

    /// A way in which JSON is read.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var status = 200
        /// The body, with `NAME` for the text that is read and `MORE` for further members.
        let body: String
        /// Returns the text.
        let read: @Sendable (Agent) async throws -> String
    }

    private static let plain = #"{"name":"NAME"MORE}"#
    private static let envelope = EnvelopeFilter(code: "code", message: "msg", data: "data")
    private static let request = GeneralRequest("/x")

    static let ways = [
        Way(testDescription: "JSONDecoder", body: plain) { try await $0.get("/x", as: Named.self).name },
        Way(testDescription: "LosslessJSONDecoder", body: plain) {
            let formatter = JSONFormatter<Named>(decoder: LosslessJSONDecoder())
            return try await $0.send(request.formatted(by: formatter)).name
        },
        Way(testDescription: "JSONValue", body: plain) {
            try await $0.get("/x", as: JSONValue.self)["name"]?.string ?? ""
        },
        Way(testDescription: "path", body: plain) { try await $0.send(request.expecting(String.self, at: "name")) },
        Way(testDescription: "shape", body: plain) {
            let shaped = request.acceptance(Acceptance(shape: ["name": .string(minimumLength: 1)]))
            return try await $0.send(shaped.expecting(Named.self)).name
        },
        Way(testDescription: "closure", body: plain) {
            let filter = ClosureFilter { response, _ in Payload(response.body) }
            return try await $0.send(request.filter(filter).expecting(Named.self)).name
        },
        Way(testDescription: "envelope", body: #"{"code":0,"data":{"name":"NAME"}MORE}"#) {
            try await $0.send(request.filter(envelope).expecting(Named.self)).name
        },
        Way(testDescription: "path from the complete body", body: #"{"code":0,"data":1,"name":"NAME"MORE}"#) {
            try await $0.send(request.filter(envelope).expecting(String.self, at: "~.name"))
        },
        Way(testDescription: "payload without envelope", body: plain) {
            var filter = envelope
            filter.missingCode = .isPayload
            return try await $0.send(request.filter(filter).expecting(Named.self)).name
        },
        Way(testDescription: "alternative envelope", body: #"{"status":{"code":0},"body":{"name":"NAME"}MORE}"#) {
            var filter = envelope
            filter.alternatives = [EnvelopeFilter(code: "status.code", data: "body")]
            return try await $0.send(request.filter(filter).expecting(Named.self)).name
        },
        Way(testDescription: "chain", body: #"{"code":0,"data":{"code":0,"data":{"name":"NAME"}}MORE}"#) {
            try await $0.send(request.filter(FilterChain(envelope, envelope)).expecting(Named.self)).name
        },
        Way(testDescription: "error's body", status: 422, body: plain) { agent in
            let error = await #expect(throws: NetworkError.self) { try await agent.get("/x", as: Int.self) }
            return try error?.decode(Named.self)?.name ?? ""
        },
        Way(testDescription: "service's error", status: 422, body: #"{"code":7,"data":{"name":"NAME"}MORE}"#) { agent in
            let request = request.filter(envelope).expecting(Int.self)
            let error = await #expect(throws: ServiceError.self) { try await agent.send(request) }
            return try error?.decode(Named.self).name ?? ""
        },
        Way(testDescription: "JSON-RPC", body: #"{"jsonrpc":"2.0","id":1,"result":{"name":"NAME"}MORE}"#) {
            try await $0.send(request.calling(JSONRPCCall<Named>("x", id: 1))).name
        },
        Way(testDescription: "JSON-RPC batch", body: #"[{"jsonrpc":"2.0","id":1,"result":{"name":"NAME"}MORE}]"#) {
            let call = JSONRPCCall<Named>("x", id: 1)
            return try await $0.send(request.calling(batch: call)).value(of: call).name
        },
        Way(testDescription: "JSON lines", body: plain + "\n" + #"{"name":"other"}"# + "\n") {
            var names: [String] = []
            for try await line in try await $0.bytes(for: request).jsonLines(of: Named.self) { names.append(line.name) }
            return names.count == 2 && names[1] == "other" ? names[0] : "\(names)"
        },
    ]

    private let server: MockServer
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = server.agent()
    }

    private func read(_ way: Way, name: String = "a", more: String = "", prefix: String = "") async throws -> String {
        let body = way.body.replacing("NAME", with: name).replacing("MORE", with: more)
        server.enqueue(.json(prefix + body, status: way.status))
        return try await way.read(agent)
    }

    @Test(arguments: ways)
    func byteOrderMarkIsIgnored(way: Way) async throws {
        #expect(try await read(way, prefix: "\u{FEFF}") == "a")
        #expect(try await read(way, name: "é", prefix: "\u{FEFF} ") == "é")
    }

    @Test(arguments: ways)
    func halfASurrogatePairFailsNoOtherMember(way: Way) async throws {
        for junk in [#"x\ud83d"#, #"\ude00"#, #"\uD83Dx\uD83D\n\uDE00"#] {
            #expect(try await read(way, more: #","junk":"\#(junk)""#) == "a", "\(junk)")
        }
    }

    @Test(arguments: ways)
    func halfASurrogatePairIsReadAsAReplacementCharacter(way: Way) async throws {
        let texts = [
            (#"a\ud83d"#, "a\u{FFFD}"), (#"\ude00!"#, "\u{FFFD}!"), (#"\ud83d\nb"#, "\u{FFFD}\nb"),
            (#"\ud83d\ud83d\ude00"#, "\u{FFFD}😀"), (#"\\ud83d\ud83d"#, #"\ud83d"# + "\u{FFFD}"),
        ]
        for (text, expected) in texts { #expect(try await read(way, name: text, prefix: "\u{FEFF}") == expected) }
    }

    /// They become equal, so that neither is taken for the other.
    @Test func namesAreComparedAfterTheRepair() async throws {
        server.enqueue(.json(#"{"code\ud800":0,"code\udc00":1,"data":1}"#))
        let filter = EnvelopeFilter(code: "code\u{FFFD}", data: "data")
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").filter(filter).expecting(Int.self))
        }
        guard case .invalidJSON(let mistake)? = error?.reason else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(mistake.reason == .duplicateMember("code\u{FFFD}"))
    }

    /// What is invalid in another way remains an error.
    @Test(arguments: [#"{"name":"\ud83d\u12"}"#, "\u{FEFF}\u{FEFF}{}", "\u{FEFF}", #"{"name":"\ud83d"#])
    func otherwiseInvalidJSONIsAnError(body: String) async throws {
        server.enqueue(.json(body))
        let error = await #expect(throws: NetworkError.self) { try await agent.get("/x", as: JSONValue.self) }
        #expect(error?.kind == .unacceptableContent)
    }

    @Test(arguments: [200, 201, 202], [HTTPMethod.get, .post])
    func emptySuccessIsNilOrNothing(status: Int, method: HTTPMethod) async throws {
        server.on(method, "/x", .status(status))
        let request = GeneralRequest("/x").method(method)
        #expect(try await agent.send(request.expecting(Named?.self)) == nil)
        #expect(try await agent.send(request.formatted(by: JSONFormatter<Int?>(at: "a.b"))) == nil)
        try await agent.send(request.expecting(Void.self))
        #expect(try await agent.send(request.expecting(String.self)) == "")
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request.expecting(Named.self)) }
        let detail = "the response has no content; the model may be an Optional or Void"
        #expect(error?.reason == .model(type: "Named", detail: detail))
        #expect(error?.statusCode == status)
        let enveloped = request.filter(Self.envelope).expecting(Named?.self)
        await #expect(throws: NetworkError.self) { try await agent.send(enveloped) }
    }
}
