import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct RequestIdentityTests {
    private struct Scoped: RequestAdapter {
        var scope: String?
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers["X-Nonce"] = UUID().uuidString
        }
        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    private func digest(_ request: some Request, scope: String? = nil) throws -> String {
        let config = NetworkConfig.test { $0.adapters = [Scoped(scope: scope)] }
        let send = Agent(config: config).makeSend(request)
        return RequestIdentity(try send.prepare(request)).digest
    }

    private let request = GeneralRequest("/x").method(.post).parameters(["a": 1])

    @Test func equalRequestsAreTheSameWhateverAdaptersAdd() throws {
        #expect(try digest(request) == digest(request))
        #expect(try digest(request).count == 64)
    }

    @Test func whatDiffersOnTheWireOrInTheUserIsNotTheSame() throws {
        let others = try [
            digest(request), digest(request.method(.put)), digest(request.query(["q": 1])),
            digest(request.parameters(["a": 2])), digest(request.authorization(.bearer("t"))),
            digest(request.authorization(.bearer("u"))), digest(request, scope: "user 1"),
            digest(request, scope: "user 2"), digest(request.expecting(Data.self)), digest(GeneralRequest("/y")),
        ]
        #expect(Set(others).count == others.count)
    }
}
