import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct FilterChainTests {
    /// Turns every byte round, as a cipher does.
    struct Mirror: ResponseFilter {
        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
            Payload(Data(response.body.reversed()), mediaType: MediaType("application/json"))
        }
    }

    private let outer = EnvelopeFilter(code: "code", message: "msg", data: "data")
    private let inner = EnvelopeFilter(code: "c", data: "d")

    private func rig(_ chain: FilterChain, _ response: TransportResponse) -> Rig {
        Rig(config: .test { $0.filter = chain }, response: response)
    }

    @Test func eachFilterReadsThePreviousPayload() async throws {
        let body = String(#"{"code":0,"data":{"c":0,"d":[1,2]}}"#.reversed())
        let rig = rig(FilterChain(Mirror(), outer, inner), .text(body))
        let response = try await rig.agent.response(for: GeneralRequest("/x").expecting([Int].self))
        #expect(response.model == [1, 2])
        #expect(response.payload.mediaType?.essence == "application/json")
        #expect(response.payload.envelope?.code == 0)
    }

    @Test func aPathFromTheRootStartsAtTheOutermostText() async throws {
        let rig = rig(FilterChain(outer, inner), .json(#"{"code":0,"time":9,"data":{"c":0,"d":{"id":7}}}"#))
        let response = try await rig.agent.response(for: GeneralRequest("/x"))
        #expect(try response.decode(Int.self, at: "~.time") == 9)
        #expect(try response.decode(Int.self, at: "id") == 7)
        let mirrored = self.rig(
            FilterChain(Mirror(), outer),
            .text(String(#"{"code":0,"time":9,"data":1}"#.reversed()))
        )
        #expect(try await mirrored.agent.response(for: GeneralRequest("/x")).decode(Int.self, at: "~.time") == 9)
    }

    @Test func theFirstThatThrowsEndsIt() async throws {
        let never = ClosureFilter { _, _ in throw Boom() }
        let refused = await failure {
            try await rig(FilterChain(outer, never), .json(#"{"code":5}"#)).agent.send(GeneralRequest("/x"))
        }
        #expect((refused as? ServiceError)?.code == 5)
        let innerRefusal = await failure {
            try await rig(FilterChain(outer, inner), .json(#"{"code":0,"data":{"c":6}}"#, status: 200))
                .agent.send(GeneralRequest("/x"))
        }
        #expect((innerRefusal as? ServiceError)?.code == 6)
    }

    @Test func rejectedResponsePassesThroughWithItsFailure() async throws {
        let body = String(#"{"code":41,"msg":"no"}"#.reversed())
        let error = await failure {
            try await rig(FilterChain(Mirror(), outer), .data(Data(body.utf8), status: 400))
                .agent.send(GeneralRequest("/x"))
        }
        #expect((error as? ServiceError)?.code == 41)
        await expect(throwing: .status(400)) {
            let fine = Data(#"{"code":0,"data":1}"#.utf8)
            _ = try await rig(FilterChain(outer), .data(fine, status: 400)).agent.send(GeneralRequest("/x"))
        }
        await expect(throwing: .status(400)) {
            _ = try await rig(FilterChain(Mirror()), .data(Data(body.utf8), status: 400)).agent
                .send(GeneralRequest("/x"))
        }
    }

    @Test func anEmptyChainPassesTheBodyOn() async throws {
        #expect(try await rig(FilterChain(), .json("[1]")).agent.send(GeneralRequest("/x")) == [1])
        await expect(throwing: .status(404)) {
            _ = try await rig(FilterChain(), .json("[1]", status: 404)).agent.send(GeneralRequest("/x"))
        }
    }

    /// The output of a filter is guarded before a filter without a guard of its own decodes it.
    @Test func userFiltersNeverReceiveAHostileBody() async throws {
        let hostile = String(repeating: "[", count: 513)
        let decoding = ClosureFilter { response, _ in
            _ = try JSONDecoder().decode([[Int]].self, from: response.body)
            return Payload(response.body)
        }
        let making = ClosureFilter { _, _ in Payload(Data(hostile.utf8)) }
        for (chain, body) in [
            (FilterChain(decoding), hostile), (FilterChain(Mirror(), decoding), hostile),
            (FilterChain(making, decoding), "{}"), (FilterChain(making), "{}"), (FilterChain(making, outer), "{}"),
        ] {
            await expect(kind: .unacceptableContent) {
                try await rig(chain, .text(body)).agent.send(GeneralRequest("/x"))
            }
        }
    }

    @Test func userFormattersNeverReceiveAHostileBody() async throws {
        let formatter = ClosureFormatter { try JSONDecoder().decode([[Int]].self, from: $0.data) }
        let hostile = String(repeating: "[", count: 513)
        for chain in [FilterChain(), FilterChain(PassthroughFilter()), FilterChain(Mirror())] {
            await expect(kind: .unacceptableContent) {
                try await rig(chain, .text(hostile)).agent.send(GeneralRequest("/x", formatter: formatter))
            }
        }
    }
}
