import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A service with several forms of envelopes.
@Suite struct EnvelopeAlternativeTests {
    private static let filter: EnvelopeFilter = {
        var gateway = EnvelopeFilter(code: "fault.code", message: "fault.text", data: "data", success: [])
        gateway.ignorable = [9]
        var legacy = EnvelopeFilter(code: "errors[0].id", message: "errors[0].detail", data: "data", success: ["fine"])
        legacy.codeOutranksStatus = true
        return EnvelopeFilter(
            code: "code",
            message: "msg",
            data: "data",
            alternatives: [gateway, legacy]
        )
    }()

    private func send(_ body: String, status: Int = 200, by filter: EnvelopeFilter = Self.filter) async throws -> Int {
        let config = NetworkConfig.test { $0.filter = filter }
        let rig = Rig(config: config, response: .json(body, status: status))
        return try await rig.agent.send(GeneralRequest("/x").expecting(Int.self))
    }

    @Test(arguments: [
        (#"{"code": 7, "msg": "own"}"#, 200, "7 own false"),
        (#"{"fault": {"code": 8, "text": "gateway"}}"#, 200, "8 gateway false"),
        (#"{"fault": {"code": 9, "text": "gateway"}}"#, 502, "9 gateway true"),
        (#"{"errors": [{"id": "E1", "detail": "legacy"}]}"#, 400, "\"E1\" legacy false"),
        (#"{"code": null, "fault": {"code": 8}}"#, 200, "8  false"),
        // Its own code takes precedence.
        (#"{"code": 7, "fault": {"code": 8}}"#, 200, "7  false"),
    ])
    func firstFormWithACodeIsUsed(body: String, status: Int, expected: String) async throws {
        let found = try #require(await failure { try await send(body, status: status) } as? ServiceError)
        #expect("\(found.code.quoted) \(found.message ?? "") \(found.isIgnorable)" == expected)
    }

    @Test func successOfAnyFormIsUnwrapped() async throws {
        #expect(try await send(#"{"code": 0, "data": 1}"#) == 1)
        #expect(try await send(#"{"errors": [{"id": "fine"}], "data": 2}"#) == 2)
        #expect(try await send(#"{"errors": [{"id": "fine"}], "data": 3}"#, status: 500) == 3)
    }

    @Test func rejectedStatusIsNoSuccessBecauseOfAnotherForm() async throws {
        await expect(throwing: .status(500)) { try await send(#"{"code": 0, "data": 1}"#, status: 500) }
    }

    @Test func withoutACodeTheFirstFormDecides() async throws {
        await expect(throwing: .envelope("it has no member 'code'")) { try await send(#"{"data": 1}"#) }
        var filter = Self.filter
        filter.missingCode = .countsByStatus
        #expect(try await send(#"{"data": 1}"#, by: filter) == 1)
        filter.code = nil
        #expect(try await send(#"{"data": 1}"#, by: filter) == 1)
        #expect((await failure { try await send(#"{"fault": {"code": 8}}"#, by: filter) } as? ServiceError)?.code == 8)
    }

    @Test(arguments: [#"{"fault": {"code": 8, "code": 0}}"#, #"{"fault": {}, "fault": {"code": 8}}"#, #"{"fault": {"#])
    func bodyWithAnAmbiguousFormIsRejected(body: String) async throws {
        let error = await failure { try await send(body) }
        guard case .invalidJSON? = (error as? NetworkError)?.reason else { throw Unexpected(error) }
    }
}
