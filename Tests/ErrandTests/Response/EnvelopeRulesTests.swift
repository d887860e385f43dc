import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

/// What counts as a success, and the result of envelopes with missing members.
@Suite struct EnvelopeRulesTests {
    struct User: Decodable, Sendable, Equatable { var id: Int }

    private let plain = EnvelopeFilter(code: "code", message: "msg", data: "data")

    private func send<T: Decodable & Sendable>(
        _ body: String,
        status: Int = 200,
        through filter: EnvelopeFilter,
        as type: T.Type = User.self
    ) async throws -> T {
        let rig = Rig(config: .test { $0.filter = filter }, response: .json(body, status: status))
        return try await rig.agent.send(GeneralRequest("/x").expecting(type))
    }

    private func error(_ body: String, status: Int = 200, through filter: EnvelopeFilter) async -> (any Error)? {
        await failure { try await send(body, status: status, through: filter, as: JSONValue.self) }
    }

    // MARK: Where the parts are

    @Test(arguments: [
        (#"{"status":{"code":0},"body":{"user":{"id":7}}}"#, EnvelopeFilter(code: "status.code", data: "body.user")),
        (
            #"{"body":{"x":{"user":1},"user":{"id":7}},"status":{"code":0}}"#,
            EnvelopeFilter(code: "status.code", data: "body.user")
        ),
        (#"{"code":0,"data":{"list":[{"id":6},{"id":7}]}}"#, EnvelopeFilter(code: "code", data: "data.list[-1]")),
        (#"{"code":0,"data":"{\"id\":7}"}"#, EnvelopeFilter(code: "code", data: "data|json")),
        (#"{"code":0,"id":7}"#, EnvelopeFilter(code: "code", data: "~")),
        (
            #"{"results":[{"code":0,"value":{"id":7}}]}"#,
            EnvelopeFilter(code: "results[0].code", data: "~.results[0].value")
        ),
        (#"{"a.b":0,"data":{"id":7}}"#, EnvelopeFilter(code: #""a.b""#, data: "data")),
    ])
    func membersMayBeAtAnyPath(body: String, filter: EnvelopeFilter) async throws {
        #expect(try await send(body, through: filter) == User(id: 7))
    }

    @Test(arguments: [
        #"{"status":{"code":0,"c\u006fde":1},"data":{"id":7}}"#, #"{"status":{"code":0},"status":{},"data":{"id":7}}"#,
        #"{"status":{"code":0},"data":{"id":7},"dat\u0061":1}"#, #"{"status":{"code":0,"t":1,"t":2},"data":{"id":7}}"#,
    ])
    func repeatedMemberIsRejectedAtAnyPath(body: String) async throws {
        let filter = EnvelopeFilter(code: "status.code", message: "status.msg", data: "data", time: "status.t")
        guard case .invalidJSON(let cause) = (await error(body, through: filter) as? NetworkError)?.reason,
            case .duplicateMember = cause.reason
        else { throw Unexpected(body) }
    }

    @Test func dataInAStringThatIsNoJSONIsAnError() async {
        let filter = EnvelopeFilter(code: "code", data: "data|json")
        for data in [#""{""#, #""{\"id\":7}x""#, "7", #""""#] {
            let error = await error(#"{"code":0,"data":\#(data)}"#, through: filter)
            #expect([.unacceptableContent, .undecodable].contains((error as? NetworkError)?.kind), "\(data)")
        }
    }

    @Test func invalidPathIsReported() async throws {
        let error = await error(#"{"code":0,"data":1}"#, through: EnvelopeFilter(code: "code", data: "data["))
        guard case .path(let mistake) = (error as? NetworkError)?.reason, case .pathSyntax = mistake.reason else {
            throw Unexpected(error)
        }
    }

    @Test func furtherMembersAreCollected() async throws {
        var filter = plain
        filter.time = "meta.time"
        filter.others = ["page": "meta.page", "first": "data.list[0].id", "absent": "meta.x.y", "wrong": "code[0]"]
        let body = #"{"code":0,"msg":"fine","data":{"list":[{"id":3}]},"meta":{"time":99,"page":{"n":2}}}"#
        let rig = Rig(config: .test { $0.filter = filter }, response: .json(body))
        let response = try await rig.agent.response(for: GeneralRequest("/x"))
        let envelope = try #require(response.payload.envelope)
        #expect(envelope.code == 0)
        #expect(envelope.message == "fine")
        #expect(envelope.time?.int == 99)
        #expect(envelope["page"]?["n"] == 2)
        #expect(envelope["first"] == 3)
        #expect(envelope["absent"] == nil)
        #expect(envelope["wrong"] == nil)
        #expect(envelope["unknown"] == nil)
    }

    @Test func errorHasFurtherMembersToo() async throws {
        var filter = plain
        filter.others = ["trace": "trace"]
        let error = try #require(await error(#"{"code":7,"trace":"t-1"}"#, through: filter) as? ServiceError)
        #expect(error.envelope?["trace"] == "t-1")
        #expect(error.envelope?.message == nil)
    }

    @Test func aFilterCanBeChangedForOneRequest() async throws {
        struct Lenient: Request {
            typealias Model = User
            let base: EnvelopeFilter
            var path: String { "/x" }
            var filter: EnvelopeFilter {
                var filter = base
                filter.success = [0, 1001]
                filter.data = "data.user"
                return filter
            }
        }
        let rig = Rig(config: .test { $0.filter = plain }, response: .json(#"{"code":1001,"data":{"user":{"id":7}}}"#))
        #expect(try await rig.agent.send(Lenient(base: plain)) == User(id: 7))
        let error = await failure { try await rig.agent.send(GeneralRequest("/x")) }
        #expect((error as? ServiceError)?.code == 1001)
    }

    // MARK: What a success is

    @Test(arguments: [
        ("1", true), (#""1""#, true), (#""OK""#, true), (#""Success""#, true), ("0", false), (#""no""#, false),
        ("true", true),
    ])
    func textsMatchWhateverTypeAndCase(code: String, isSuccess: Bool) async throws {
        var filter = plain
        filter.success = .texts(["1", "ok", "success", "TRUE"])
        let error = await error(#"{"code":\#(code),"data":1}"#, through: filter)
        #expect((error == nil) == isSuccess)
        #expect(isSuccess || error is ServiceError)
    }

    @Test func statusCountsIfConfigured() async throws {
        var filter = plain
        filter.success = .status
        for body in [#"{"code":"whatever","data":{"id":7}}"#, #"{"data":{"id":7}}"#, #"{"code":null,"data":{"id":7}}"#]
        {
            #expect(try await send(body, through: filter) == User(id: 7))
        }
        let refused = try #require(
            await error(#"{"code":"gone","msg":"no user"}"#, status: 404, through: filter) as? ServiceError
        )
        #expect(refused.code == "gone")
        #expect(refused.message == "no user")
        let wordsOnly = await error(#"{"msg":"no user"}"#, status: 404, through: filter) as? ServiceError
        #expect(wordsOnly?.code == 404)
        #expect((await error(#"{"data":1}"#, status: 404, through: filter) as? NetworkError)?.reason == .status(404))
    }

    @Test func anEnvelopeWithoutACodeCountsByItsStatus() async throws {
        let filter = EnvelopeFilter(code: nil, message: "message", data: "data")
        #expect(try await send(#"{"data":{"id":7}}"#, through: filter) == User(id: 7))
        let error = await error(#"{"message":"no"}"#, status: 422, through: filter) as? ServiceError
        #expect(error?.code == 422)
        #expect(error?.message == "no")
    }

    @Test func rejectedContentTypeIsNoServiceError() async {
        let rig = Rig(
            config: .test { $0.filter = EnvelopeFilter(code: nil, message: "msg", data: "data") },
            response: .text(#"{"msg":"x","data":1}"#)
        )
        let request = GeneralRequest("/x").acceptance(Acceptance(contentTypes: ["application/json"]))
        await expect(throwing: .contentType("text/plain")) { _ = try await rig.agent.send(request) }
    }

    @Test func codeMayOverrideARejectedStatus() async throws {
        var filter = plain
        filter.codeOutranksStatus = true
        #expect(try await send(#"{"code":0,"data":{"id":7}}"#, status: 500, through: filter) == User(id: 7))
        #expect(await error(#"{"code":3}"#, status: 500, through: filter) is ServiceError)
        #expect((await error("<h1>", status: 500, through: filter) as? NetworkError)?.reason == .status(500))
        let chained = Rig(
            config: .test { [filter] in $0.filter = FilterChain(filter, EnvelopeFilter(code: "c", data: "d")) },
            response: .json(#"{"code":0,"data":{"c":0,"d":{"id":7}}}"#, status: 500)
        )
        #expect(try await chained.agent.send(GeneralRequest("/x").expecting(User.self)) == User(id: 7))
    }

    // MARK: What is missing

    @Test(arguments: [#"{"data":{"id":7}}"#, #"{"code":null,"data":{"id":7}}"#])
    func missingCodeFollowsTheRule(body: String) async throws {
        var filter = plain
        #expect((await error(body, through: filter) as? NetworkError)?.kind == .undecodable)
        filter.missingCode = .countsByStatus
        #expect(try await send(body, through: filter) == User(id: 7))
        filter.missingCode = .isPayload
        #expect(try await send(body, through: filter, as: JSONValue.self)["data"] == ["id": 7])
    }

    @Test(arguments: ["[1,2]", "7", #""text""#, "null", " {} "])
    func bodyWithoutAnEnvelopeMayBeThePayload(body: String) async throws {
        var filter = plain
        #expect((await error(body, through: filter) as? NetworkError)?.kind == .undecodable)
        filter.missingCode = .isPayload
        #expect(try await send(body, through: filter, as: JSONValue.self) == JSONValue(parsing: body))
        #expect((await error(body, status: 404, through: filter) as? NetworkError)?.reason == .status(404))
    }

    @Test(arguments: EnvelopeRulesTests.rulesForACodeOfAnotherKind)
    func aCodeOfAnotherKindIsAnError(rule: EnvelopeFilter.MissingCode) async {
        var filter = plain
        filter.missingCode = rule
        let reason = NetworkError.Reason.envelope("'code' is neither a number, a string nor a Bool")
        #expect((await error(#"{"code":[0],"data":1}"#, through: filter) as? NetworkError)?.reason == reason)
    }

    static let rulesForACodeOfAnotherKind: [EnvelopeFilter.MissingCode] = [.fails, .countsByStatus, .isPayload]

    @Test func missingDataFollowsTheRule() async throws {
        var filter = plain
        #expect(try await send(#"{"code":0}"#, through: filter, as: User?.self) == nil)
        filter.missingData = .isPayload
        #expect(try await send(#"{"code":0,"id":7}"#, through: filter) == User(id: 7))
        filter.missingData = .fails
        let reason = NetworkError.Reason.envelope("it has no member 'data'")
        #expect((await error(#"{"code":0}"#, through: filter) as? NetworkError)?.reason == reason)
        // A null is a value.
        #expect(try await send(#"{"code":0,"data":null}"#, through: filter, as: User?.self) == nil)
        filter.data = "data.user"
        #expect((await error(#"{"code":0,"data":null}"#, through: filter) as? NetworkError)?.kind == .undecodable)
    }

    static let values: [(String, JSONValue)] = [
        ("null", .null), ("7", 7), (#""x""#, "x"), ("false", false), ("[]", []), ("{}", [:]), ("1.50", 1.5),
    ]

    @Test(arguments: values)
    func dataMayBeAnyValue(text: String, value: JSONValue) async throws {
        #expect(try await send(#"{"code":0,"data":\#(text)}"#, through: plain, as: JSONValue.self) == value)
    }

    @Test(arguments: [
        (#""""#, EnvelopeFilter.EmptyData.string), ("[]", .array), ("[ \n ]", .array), ("{}", .object),
        ("{ }", .object),
        ("false", .false), ("0", .zero),
    ])
    func emptyValuesMayMeanNull(text: String, empty: EnvelopeFilter.EmptyData) async throws {
        var filter = plain
        let body = #"{"code":0,"data":\#(text)}"#
        await #expect(throws: NetworkError.self) { try await send(body, through: filter, as: User?.self) }
        filter.emptyData = empty
        #expect(try await send(body, through: filter, as: User?.self) == nil)
        filter.emptyData = [.string, .array, .object, .false, .zero]
        #expect(try await send(body, through: filter, as: User?.self) == nil)
        for full in [#"" ""#, "[0]", #"{"a":1}"#, "true", "00.0", "0.5", "-0", "10", #"{"id":7}"#] {
            let value = try? await send(#"{"code":0,"data":\#(full)}"#, through: filter, as: JSONValue.self)
            #expect(value != .null, "\(full)")
        }
    }

    // MARK: Responses without a body

    @Test(arguments: [204, 205])
    func aStatusThatHasNoBodyIsASuccessWithoutPayload(status: Int) async throws {
        #expect(try await send("", status: status, through: plain, as: User?.self) == nil)
        #expect(try await send("", status: status, through: plain, as: JSONValue.self) == .null)
        let rig = Rig(config: .test { $0.filter = plain }, response: .status(status))
        try await rig.agent.send(GeneralRequest("/x").expecting(Void.self))
    }

    @Test func missingContentAndMissingDataAreNotCalledNull() async throws {
        let cases = [
            ("", 204, "the response has no content; the model may be an Optional or Void"),
            (#"{"code":0}"#, 200, "the envelope has no member 'data'; the model may be an Optional or Void"),
            (#"{"code":0,"data":null}"#, 200, "expected an object, found null"),
        ]
        for (body, status, detail) in cases {
            await expect(throwing: .model(type: "User", detail: detail)) {
                try await send(body, status: status, through: plain, as: User.self)
            }
        }
    }

    @Test func anyOtherEmptyBodyIsAnError() async throws {
        #expect((await error("", through: plain) as? NetworkError)?.kind == .unacceptableContent)
        #expect((await error("", status: 404, through: plain) as? NetworkError)?.reason == .status(404))
        let refused = Rig(config: .test { $0.filter = plain }, response: .status(204))
        let request = GeneralRequest("/x").acceptance(Acceptance(statusCodes: 200..<201))
        await expect(throwing: .status(204)) { _ = try await refused.agent.send(request) }
    }

    @Test func responseToHEADHasNoBody() async throws {
        let rig = Rig(config: .test { $0.filter = plain }, response: .status(200))
        try await rig.agent.send(GeneralRequest("/x").method(.head).expecting(Void.self))
    }

    // MARK: Details of an error

    private struct Problem: Decodable, Sendable, Equatable {
        let fields: [String: String]
    }

    @Test func payloadOfAnErrorIsDecodedAsAType() async throws {
        let body = #"{"code":422,"msg":"bad","data":{"fields":{"name":"too short"}},"trace":"t"}"#
        let error = try #require(await error(body, status: 422, through: plain) as? ServiceError)
        #expect(try error.decode(Problem.self) == Problem(fields: ["name": "too short"]))
        #expect(try error.decode(String.self, at: "~.trace") == "t")
        #expect(try error.decode(String.self, at: "fields.name") == "too short")
        #expect(throws: NetworkError.self) { try error.decode(Int.self) }
    }

    @Test func anErrorWithoutDataDecodesToNil() async throws {
        let error = try #require(await error(#"{"code":1,"trace":"t"}"#, through: plain) as? ServiceError)
        #expect(try error.decode(Problem?.self) == nil)
        #expect(try error.decode(String.self, at: "~.trace") == "t")
        #expect(throws: NetworkError.self) { try error.decode(Problem.self) }
    }

    @Test func anErrorIsDecodedByTheDecoderOfTheRequest() async throws {
        let snake = JSONDecoder()
        snake.keyDecodingStrategy = .convertFromSnakeCase
        struct Reason: Decodable, Sendable { let retryIn: Int }
        let rig = Rig(
            config: .test {
                $0.filter = plain
                $0.decoder = snake
            },
            response: .json(#"{"code":1,"data":{"retry_in":5}}"#)
        )
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/x")) } as? ServiceError)
        #expect(try error.decode(Reason.self).retryIn == 5)
    }

    @Test(.ownThread) func hostileBodiesAreTypedErrorsInLinearTime() throws {
        let url = try #require(URL(string: "https://api.example/x"))
        let deep = String(repeating: "[", count: 1_000_000)
        for body in [
            String(repeating: "[", count: 513), #"{"data":"# + String(repeating: "[", count: 512), deep,
            #"{"code":0,"data":"# + deep, deep + String(repeating: "]", count: 1_000_000),
            String(repeating: #"{"data":"#, count: 1_000_000), #"{"code":0,"data":{"data":"# + deep,
        ] {
            for filter in [plain, EnvelopeFilter(code: "data.data.code", data: "data.data.data")] {
                let response = RawResponse(body: Data(body.utf8), url: url)
                let time = try threadTime {
                    let error = try #require(throws: NetworkError.self) {
                        try filter.filter(response, for: RequestContext())
                    }
                    #expect(error.kind == .unacceptableContent)
                }
                #expect(time < .seconds(2))
            }
        }
    }
}
