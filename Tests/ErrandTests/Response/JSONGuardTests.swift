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
        Data("[[1,],".utf8) + Data(repeating: UInt8(ascii: "["), count: 511),
        Data((0..<171).flatMap { _ in Array(#"{"a":"#.utf8) })
            + Data(repeating: UInt8(ascii: "["), count: 342),
    ]

    /// Decodes the whole body itself, as users do.
    static let ownFilter = ClosureFilter { response, _ in
        _ = try JSONDecoder().decode(Anything.self, from: response.body)
        return Payload(response.body)
    }

    @Test(arguments: bodies.indices, [0, 1, 2])
    func modelsNeverMeetAHostileBody(body: Int, filter: Int) async throws {
        let filters: [any ResponseFilter] = [
            PassthroughFilter(), EnvelopeFilter(code: "code", data: "data"), Self.ownFilter,
        ]
        let rig = Rig(answer: .data(Self.bodies[body], contentType: "application/json"))
        let request = GeneralRequest("/x").filter(filters[filter])
        for error in [
            await failure { try await rig.agent.send(request.expecting(Anything.self)) },
            await failure { try await rig.agent.send(request.expecting(Anything.self, at: "data")) },
            await failure { try await rig.agent.send(request) },
            await failure { try await rig.agent.get("/x", as: Anything.self) },
        ] {
            #expect((error as? NetworkError)?.kind == .unacceptableContent, "\(String(describing: error))")
        }
    }

    @Test(arguments: bodies.indices)
    func formattersOfTheUsersOwnNeverMeetAHostileBody(body: Int) async throws {
        let rig = Rig(answer: .data(Self.bodies[body], contentType: "application/json"))
        let formatter = ClosureFormatter { try JSONDecoder().decode(Anything.self, from: $0.data) }
        let error = await failure { try await rig.agent.send(GeneralRequest("/x", formatter: formatter)) }
        #expect((error as? NetworkError)?.kind == .unacceptableContent, "\(String(describing: error))")
    }

    @Test(arguments: bodies.indices)
    func bytesAndTextAreNotJSONAndComeThrough(body: Int) async throws {
        let bytes = Self.bodies[body]
        let rig = Rig(answer: .data(bytes))
        #expect(try await rig.agent.send(GeneralRequest("/x").expecting(Data.self)) == bytes)
        try await rig.agent.send(GeneralRequest("/x").expecting(Void.self))
        let full = try await rig.agent.response(for: GeneralRequest("/x").expecting(Data.self))
        #expect(throws: NetworkError.self) { try full.decode(Anything.self) }
        if let text = String(validating: bytes, as: UTF8.self) {
            #expect(try await rig.agent.send(GeneralRequest("/x").expecting(String.self)) == text)
        }
    }

    @Test func aRefusedStatusStaysOne() async {
        for body in Self.bodies {
            let rig = Rig(answer: .data(body, status: 500))
            await expect(throwing: .status(500)) {
                _ = try await rig.agent.send(GeneralRequest("/x").filter(Self.ownFilter).expecting(Anything.self))
            }
        }
    }

    @Test(arguments: [(128, true), (129, false)])
    func theLimitIs128(depth: Int, fits: Bool) async throws {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let rig = Rig(answer: .json(text))
        if fits {
            _ = try await rig.agent.send(GeneralRequest("/x"))
        } else {
            await #expect(throws: NetworkError.self) { try await rig.agent.send(GeneralRequest("/x")) }
        }
    }

    /// A filter of the user's own may read what is no JSON at all: it decrypts, or it reads XML.
    @Test(arguments: ["<xml/>", "plain text", "", "%PDF", "123", "[not json]", "{{template}}"])
    func filtersOfTheUsersOwnSeeWhatIsNoJSON(body: String) async throws {
        let filter = ClosureFilter { response, _ in Payload(Data("seen \(response.body.count)".utf8)) }
        let rig = Rig(answer: .text(body))
        let request = GeneralRequest("/x").filter(filter).expecting(String.self)
        #expect(try await rig.agent.send(request) == "seen \(body.utf8.count)")
    }

    @Test func filtersOfTheUsersOwnSeeAnErrorPage() async throws {
        let filter = ClosureFilter { response, _ in throw Boom(id: response.body.count) }
        let rig = Rig(answer: .html("<h1/>", status: 404))
        await #expect(throws: Boom(id: 5)) { try await rig.agent.send(GeneralRequest("/x").filter(filter)) }
    }

    /// What the guard has read is walked through and not validated again: here it would be refused.
    @Test func aBodyThatWasReadIsNotValidatedAgain() throws {
        let url = try #require(URL(string: "https://api.example/x"))
        var response = RawResponse(body: Data(#"{"code":0,"data":{"n":01},"rest":nonsense}"#.utf8), url: url)
        let filter = EnvelopeFilter(code: "code", data: "data")
        #expect(throws: NetworkError.self) { try filter.filter(response, for: RequestContext()) }
        response.isGuarded = true
        let payload = try filter.filter(response, for: RequestContext())
        #expect(payload.isGuarded)
        #expect(try payload.node(at: "n") == Data("01".utf8))
    }
}
