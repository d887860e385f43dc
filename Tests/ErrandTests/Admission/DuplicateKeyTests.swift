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

    private let filters = FilterNumbers()

    private func key(
        _ request: some Request,
        scope: String? = "",
        config: NetworkConfig = .test
    ) throws -> DuplicateKey {
        var config = config
        config.adapters = [Scoped(scope: scope)]
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

    /// It may be sent for any user, but it replaces, rejects and delays others nevertheless.
    @Test func aHookWithoutAScopePreventsOnlySharing() throws {
        let (open, same) = try (key(request, scope: nil), key(request, scope: nil))
        #expect(open == same && !open.isShareable)
        #expect(try key(request, scope: "").isShareable && key(request, scope: "user 1").isShareable)
    }

    @Test func equalFiltersHaveOneNumberAndFewAreRemembered() {
        struct Pick: ResponseFilter, Hashable {
            let key: Int
            func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload { Payload(Data()) }
        }
        let numbers = FilterNumbers()
        let first = (0..<200).map { numbers.number(of: Pick(key: $0)) }
        #expect(Set(first).count == 200 && !first.contains(nil))
        #expect(numbers.number(of: Pick(key: 199)) == first[199])
        #expect(numbers.number(of: PassthroughFilter()) == nil)
        let envelope = EnvelopeFilter(code: "code", data: "data")
        #expect(numbers.number(of: envelope) == numbers.number(of: EnvelopeFilter(code: "code", data: "data")))
        #expect(numbers.number(of: envelope) != numbers.number(of: EnvelopeFilter(code: "code", data: "list")))
    }

    @Test(arguments: ["X-Trace", "traceparent", "X-Request-ID", "X-B3-SpanId", "X-Nonce", "Idempotency-Key"])
    func fieldsOfOneRequestDoNotCount(name: String) throws {
        #expect(try key(request.header(name, "1")) == key(request.header(name, "2")))
    }

    @Test(arguments: [
        "X-Other", "Accept", "Range", "User-Agent", "X-Timestamp", "X-Transaction-ID", "X-Api-Key", "Pull-Request-ID",
        "X-Friend-Request-Id", "X-Ticket-Correlation-ID", "X-Payment-Nonce",
    ])
    func otherFieldsCount(name: String) throws {
        #expect(try key(request.header(name, "1")) != key(request.header(name, "2")))
    }

    @Test func idleTimeoutsAndDeadlinesDoNotCount() throws {
        let limits = Limits(timeout: .seconds(5), deadline: .seconds(9))
        #expect(try key(request.limits(limits)) == key(request))
        #expect(try key(request.limits(Limits(maximumBodySize: 9))) != key(request))
    }

    @Test func requestsWithOtherCredentialsOrNoneShareNothing() throws {
        let keys = try [
            key(request), key(request.authorization(.anonymous)), key(request.credentialPolicy(.requestOrigin)),
            key(request.credentialPolicy(.anyOrigin)),
        ]
        #expect(Set(keys).count == 4)
    }

    /// A body that is decoded must have been checked as its formatter requires, or a server could end the process.
    @Test func formattersThatRequireOtherChecksShareNothing() throws {
        struct Custom: ResponseFormatter {
            let readsJSON: Bool
            let guardsItself: Bool
            func format(_ payload: Payload) throws -> String { "" }
        }
        var keys: [DuplicateKey] = []
        for (readsJSON, guardsItself) in [(true, true), (true, false), (false, true), (false, false)] {
            let formatter = Custom(readsJSON: readsJSON, guardsItself: guardsItself)
            keys.append(try key(GeneralRequest("/x", formatter: formatter)))
        }
        keys.append(try key(GeneralRequest("/x", formatter: DecodableFormatter<String>(at: "name"))))
        keys.append(try key(GeneralRequest("/x", formatter: DecodableFormatter<String>())))
        #expect(Set(keys).count == keys.count)
    }

    @Test func filtersOfServicesAndConfigsCount() throws {
        struct Named: ResponseFilter, Hashable {
            let name: String
            func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
                Payload(response.body)
            }
        }
        func key(service: String?, config filter: String) throws -> DuplicateKey {
            let request = request.service(Service(id: "s", filter: service.map(Named.init)))
            return try self.key(request, config: NetworkConfig.test { $0.filter = Named(name: filter) })
        }
        let keys = try [
            key(service: nil, config: "a"), key(service: nil, config: "b"), key(service: "c", config: "a"),
            key(service: "d", config: "a"),
        ]
        #expect(Set(keys).count == 4)
        #expect(try key(service: "c", config: "b") == keys[2])
    }

    /// Otherwise a send would receive a response that its own policy rejects.
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
