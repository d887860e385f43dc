import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct EnvelopeFilterTests {
    struct User: Decodable, Sendable, Equatable { var id: Int }

    private func send<T: Decodable & Sendable>(
        _ response: TransportResponse,
        as type: T.Type = User.self,
        success: EnvelopeFilter.Success = [0],
        ignorable: Set<ServiceCode> = []
    ) async throws -> T {
        let filter = EnvelopeFilter(code: "code", message: "msg", data: "data", success: success, ignorable: ignorable)
        let rig = Rig(config: .test { $0.filter = filter }, response: response)
        return try await rig.agent.send(GeneralRequest("/x").expecting(type))
    }

    private func serviceError(
        _ response: TransportResponse,
        ignorable: Set<ServiceCode> = []
    ) async throws -> ServiceError {
        try #require(await failure { try await send(response, ignorable: ignorable) } as? ServiceError)
    }

    @Test(arguments: [
        #"{"code":0,"data":{"id":7}}"#, #"{"data":{"id":7},"msg":"ok","code":0}"#,
        #" { "code" : 0 , "data" : { "id" : 7 } } "#,
        #"{"code":0,"data":{"id":7},"time":1,"extra":{"code":1,"data":2}}"#, #"{"co\u0064e":0,"d\u0061ta":{"id":7}}"#,
    ])
    func theDataBecomesThePayload(body: String) async throws {
        #expect(try await send(.json(body)) == User(id: 7))
    }

    @Test(arguments: [
        ("0", ServiceCode.integer(0)), ("200", 200), (#""OK""#, "OK"), (#""0""#, "0"), ("true", "true"), ("-1", -1),
        (#""\u004fK""#, "OK"), (#""""#, ""),
    ])
    func codesAreIntegersStringsAndBools(text: String, code: ServiceCode) async throws {
        let response = TransportResponse.json(#"{"code":\#(text),"data":{"id":7}}"#)
        #expect(try await send(response, success: [code]) == User(id: 7))
        let error = try #require(await failure { try await send(response, success: ["other"]) } as? ServiceError)
        #expect(error.code == code)
    }

    @Test func anIntegerAndItsTextAreDifferentCodes() async throws {
        let error = try await serviceError(.json(#"{"code":"0","data":{"id":7}}"#))
        #expect(error.code == "0")
        #expect(ServiceCode.integer(1) != .string("1"))
    }

    @Test(arguments: [
        (#"{"code":40001,"msg":"no such user","data":{"id":1}}"#, "no such user"), (#"{"code":40001}"#, nil),
        (#"{"code":40001,"msg":null}"#, nil), (#"{"code":40001,"msg":7}"#, nil),
        (#"{"code":40001,"msg":"\u00e9\n"}"#, "é\n"),
    ])
    func aFailingCodeIsAServiceError(body: String, message: String?) async throws {
        let error = try await serviceError(.json(body), ignorable: [1])
        #expect(error.code == 40001)
        #expect(error.message == message)
        #expect(!error.isIgnorable)
        #expect(error.response.statusCode == 200)
        #expect(error.response.body == Data(body.utf8))
    }

    @Test func errorHasTheMembersBesideTheCode() async throws {
        let error = try await serviceError(.json(#"{"code":7,"data":{"id":1}}"#))
        #expect(try error.payload?.decode(User.self) == User(id: 1))
        #expect(try await serviceError(.json(#"{"code":7}"#)).payload == nil)
        #expect(try await serviceError(.json(#"{"code":7}"#), ignorable: [7]).isIgnorable)
    }

    @Test(arguments: [
        ("{}", NetworkError.Reason.envelope("it has no member 'code'")),
        (#"{"data":{"id":7}}"#, .envelope("it has no member 'code'")),
        (#"{"code":null,"data":1}"#, .envelope("'code' is neither a number, a string nor a Bool")),
        (#"{"code":[0],"data":1}"#, .envelope("'code' is neither a number, a string nor a Bool")),
        (#"{"code":{},"data":1}"#, .envelope("'code' is neither a number, a string nor a Bool")),
    ])
    func anEnvelopeWithoutACodeIsAnError(body: String, reason: NetworkError.Reason) async {
        await expect(throwing: reason) { _ = try await send(.json(body)) }
    }

    @Test(arguments: [
        "", "x", "{", #"{"code":0,"data":{"id":7}}x"#, #"{"code":0,"data":{"id":7},}"#, "[0]", "7",
        #"{"code":0 "data":1}"#,
        #"{"code":0,"code":1,"data":{"id":7}}"#, #"{"code":1,"c\u006fde":0,"data":{"id":7}}"#,
        #"{"code":0,"data":{"id":7},"\u0064ata":{"id":8}}"#, #"{"code":0,"msg":"a","m\u0073g":"b","data":{"id":7}}"#,
        "\u{FEFF}\u{FEFF}{\"code\":0,\"data\":{\"id\":7}}", "\u{FEFF}",
    ])
    func invalidEnvelopeIsAnError(body: String) async throws {
        let error = try #require(await failure { try await send(.json(body)) } as? NetworkError, "\(body)")
        #expect([.unacceptableContent, .undecodable].contains(error.kind), "\(error)")
        #expect(error.response?.body == Data(body.utf8))
    }

    @Test func missingDataIsTheValueNull() async throws {
        for body in [#"{"code":0}"#, #"{"code":0,"data":null}"#] {
            #expect(try await send(.json(body), as: JSONValue.self) == .null)
            #expect(try await send(.json(body), as: User?.self) == nil)
            await #expect(throws: NetworkError.self) { try await send(.json(body)) }
        }
        let rig = Rig(
            config: .test { $0.filter = EnvelopeFilter(code: "code", data: "data") },
            response: .json(#"{"code":0}"#)
        )
        try await rig.agent.send(GeneralRequest("/x").expecting(Void.self))
    }

    @Test func rejectedResponseWithAFailingEnvelopeIsAServiceError() async throws {
        let error = try await serviceError(.json(#"{"code":40001,"msg":"bad name"}"#, status: 422))
        #expect(error.code == 40001)
        #expect(error.response.statusCode == 422)
    }

    @Test(arguments: [
        #"{"code":0,"data":{"id":7}}"#, "{}", "<h1>Bad Gateway</h1>", "", "{\"code\":1",
        String(repeating: "[", count: 513),
    ])
    func everyOtherRejectedResponseIsAStatusErrorWithItsBody(body: String) async throws {
        let response = TransportResponse.html(body, status: 502)
        let error = try #require(await expect(throwing: .status(502)) { try await send(response) })
        #expect(error.response?.body == Data(body.utf8))
    }

    @Test func wholeBodyRemainsAvailable() async throws {
        let filter = EnvelopeFilter(code: "code", data: "data")
        let rig = Rig(config: .test { $0.filter = filter }, response: .json(#"{"code":0,"data":{"id":7},"time":99}"#))
        let full = try await rig.agent.response(for: GeneralRequest("/x").expecting(User.self))
        #expect(try full.decode(Int.self, at: "~.time") == 99)
        #expect(try full.decode(Int.self, at: "id") == 7)
        #expect(String(decoding: full.payload.data, as: UTF8.self) == #"{"id":7}"#)
    }

    @Test func textAndBytesOfTheDataAreItsJSON() async throws {
        #expect(try await send(.json(#"{"code":0,"data":[1, 2]}"#), as: Data.self) == Data("[1, 2]".utf8))
        #expect(try await send(.json(#"{"code":0,"data":"a"}"#), as: String.self) == #""a""#)
    }
}
