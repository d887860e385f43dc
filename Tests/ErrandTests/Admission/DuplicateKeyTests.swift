import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct DuplicateKeyTests {
    private struct Scoped: RequestAdapter {
        var scope: String?
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers["X-Nonce"] = UUID().uuidString
        }
        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    private let filters = FilterIdentities()

    private func key(_ request: some Request, scope: String? = nil) throws -> DuplicateKey {
        let config = NetworkConfig.test { $0.adapters = [Scoped(scope: scope)] }
        let send = Agent(config: config).makeSend(request)
        let prepared = try send.prepare(request)
        return try #require(DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: false, filters: filters))
    }

    private let request = GeneralRequest("/x").method(.post).parameters(["a": 1])

    @Test func equalRequestsHaveEqualKeysWhateverAdaptersAdd() throws {
        #expect(try key(request) == key(request))
    }

    @Test func requestsThatDifferInContentOrUserHaveDifferentKeys() throws {
        let others = try [
            key(request), key(request.method(.put)), key(request.query(["q": 1])),
            key(request.parameters(["a": 2])), key(request.authorization(.bearer("t"))),
            key(request.authorization(.bearer("u"))), key(request, scope: "user 1"),
            key(request, scope: "user 2"), key(request.expecting(Data.self)), key(GeneralRequest("/y")),
        ]
        #expect(Set(others).count == others.count)
    }

    @Test(arguments: ["X-Trace", "traceparent", "X-Request-ID", "X-B3-SpanId", "X-Nonce", "Idempotency-Key"])
    func fieldsOfOneRequestDoNotCount(name: String) throws {
        #expect(try key(request.header(name, "1")) == key(request.header(name, "2")))
    }

    @Test(arguments: ["X-Other", "Accept", "Range", "User-Agent", "X-Timestamp", "X-Transaction-ID", "X-Api-Key"])
    func otherFieldsCount(name: String) throws {
        #expect(try key(request.header(name, "1")) != key(request.header(name, "2")))
    }

    @Test func idleTimeoutsAndDeadlinesDoNotCount() throws {
        let limits = Limits(timeout: .seconds(5), deadline: .seconds(9))
        #expect(try key(request.limits(limits)) == key(request))
        #expect(try key(request.limits(Limits(maximumBodySize: 9))) != key(request))
    }

    /// Otherwise one would receive what its own policy rejects.
    @Test func requestsWithOtherRedirectsShareNothing() throws {
        struct Vetoed: Error {}
        let keys = try [
            key(request), key(request.redirectPolicy(.refuse)),
            key(request.redirectPolicy(RedirectPolicy(maximumHops: 2))),
        ]
        #expect(Set(keys).count == 3 && keys.allSatisfy(\.isShareable))
        let vetoing = try key(request.redirectPolicy(.follow.vetoing { _ in throw Vetoed() }))
        #expect(!vetoing.isShareable)
    }
}
