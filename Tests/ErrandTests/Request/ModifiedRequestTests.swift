import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Modifiers of requests that have types of their own, of batches, and of chains.
@Suite struct ModifiedRequestTests {
    struct GetUser: Request, Sendable {
        typealias Model = Int
        var id = 7
        var path: String { "/ok/\(id)" }
        var headers: HTTPHeaders { ["X-Own": "own", "X-Both": "own"] }
        var limits: Limits { Limits(timeout: .seconds(9), maximumBodySize: 100) }
        var accessories: [any Accessory] { [Silent()] }
        var formatter: ClosureFormatter<Int> { ClosureFormatter { try $0.decode(Int.self) } }
    }

    struct Silent: Accessory {
        func request(_ context: RequestContext, did event: AccessoryEvent) {}
    }

    @Test func modifiersOfOneExpressionAllTakeEffect() async throws {
        let events = Record<String>()
        let rig = Rig.numbers()
        let user = try await rig.agent.send(
            GetUser(id: 7).header("X-Both", "modified").timeout(.seconds(5)).deadline(.seconds(200)).priority(.high)
                .cachePolicy(.networkOnly).retryPolicy(.never).tag("feed").accessory(Silent())
                .accessory { event in events.add(event.word) }
        )
        #expect(user == 7)
        let sent = try #require(rig.transport.requests.first)
        #expect(sent.headers["X-Both"] == "modified" && sent.headers["X-Own"] == "own")
        #expect(events.all == ["willStart", "willStop success", "didStop success"])
    }

    @Test func eachModifierChangesItsMemberAndNoOther() throws {
        let own = RequestValues(GetUser())
        let service = Service(id: "other")
        let changes: [(name: String, request: ModifiedRequest<GetUser>)] = [
            ("service", GetUser().service(service)),
            ("usesCDN", GetUser().usingCDN()),
            ("headers", GetUser().header("X-New", "1")),
            ("headers", GetUser().headers(["X-New": "1"])),
            ("authorization", GetUser().authorization(.anonymous)),
            ("credentialPolicy", GetUser().credentialPolicy(.anyOrigin)),
            ("idempotencyKey", GetUser().idempotencyKey(.automatic)),
            ("usesBaseHeaders", GetUser().usingBaseHeaders(false)),
            ("usesBaseParameters", GetUser().usingBaseParameters(false)),
            ("allowsCellularAccess", GetUser().allowingCellularAccess(false)),
            ("limits", GetUser().timeout(.seconds(1))),
            ("limits", GetUser().deadline(.seconds(1))),
            ("limits", GetUser().limits(Limits())),
            ("priority", GetUser().priority(.low)),
            ("retryPolicy", GetUser().retryPolicy(.never)),
            ("redirectPolicy", GetUser().redirectPolicy(.refuse)),
            ("cachePolicy", GetUser().cachePolicy(.reload)),
            ("cacheStorage", GetUser().cacheStorage(.named("other"))),
            ("cacheIdentity", GetUser().cacheIdentity(CacheIdentity(version: 2))),
            ("duplicatePolicy", GetUser().duplicatePolicy(.share)),
            ("duplicateKey", GetUser().duplicateKey("key")),
            ("acceptance", GetUser().acceptance(Acceptance(statusCodes: 200..<201))),
            ("formattingContext", GetUser().formattingContext(.caller)),
            ("accessories", GetUser().accessory(Silent())),
            ("accessories", GetUser().accessory { _ in }),
            ("tag", GetUser().tag("tag")),
            ("attributes", GetUser().attribute("name", 1)),
        ]
        let before = Self.members(own)
        for (name, request) in changes {
            let after = Self.members(RequestValues(request))
            let different = before.keys.filter { before[$0] != after[$0] }
            #expect(different == [name], "\(name)")
        }
        #expect(
            Set(before.keys)
                == Set(changes.map(\.name)).union(["path", "method", "parameterEncoding", "filter"])
        )
    }

    private static func members(_ values: RequestValues) -> [String: String] {
        let children = Mirror(reflecting: values).children
        return Dictionary(uniqueKeysWithValues: children.map { ($0.label ?? "", "\($0.value)") })
    }

    @Test func modifiersAreAppliedInOrderAndKeepOtherLimits() {
        let request = GetUser().timeout(.seconds(5)).timeout(.seconds(6)).deadline(.seconds(20)).header("X-Own", "new")
        #expect(request.limits == Limits(timeout: .seconds(6), deadline: .seconds(20), maximumBodySize: 100))
        #expect(request.headers["X-Own"] == "new" && request.headers["X-Both"] == "own")
        #expect(request.accessory(Silent()).accessories.count == 2)
        #expect(request.base.limits.timeout == .seconds(9))
    }

    @Test func membersOfTheRequestAreReadWhenItIsSent() async throws {
        final class Changing: Request {
            typealias Model = Int
            var token = "old"
            let path = "/ok/1"
            var headers: HTTPHeaders { ["X-Token": token] }
            func check() throws { token = "new" }
        }
        let rig = Rig.numbers()
        _ = try await rig.agent.send(Changing().priority(.high))
        #expect(rig.transport.requests.first?.headers["X-Token"] == "new")
    }

    @Test func modifiedRequestsAreDuplicatesOfOthers() async throws {
        let door = Gate()
        let rig = Rig { _ in
            try await door.pass()
            return .json("1")
        }
        async let plain = rig.agent.send(GetUser().duplicatePolicy(.share))
        await rig.transport.waitForRequests()
        async let modified = rig.agent.send(GetUser().priority(.low).duplicatePolicy(.share).tag("feed"))
        for _ in 0..<1_000 { await Task.yield() }
        door.open()
        #expect(try await [plain, modified] == [1, 1])
        #expect(rig.transport.requestCount == 1)
    }

    @Test func hooksAndFormatterAreTheRequests() async throws {
        final class Listening: Request {
            typealias Model = Int
            var produced: [Int] = []
            let path = "/ok/5"
            func didProduce(_ model: Int, from response: RawResponse) throws { produced.append(model) }
        }
        let request = Listening()
        let agent = Rig.numbers().agent
        #expect(try await agent.send(request.tag("one")) == 5)
        #expect(try await agent.response(for: request.tag("two").priority(.low)).model == 5)
        #expect(try await agent.send(GetUser(id: 3).tag("x").raw) == Data("3".utf8))
        #expect(request.produced == [5, 5])
    }

    @Test func modifiersOfABatchApplyToItsRequests() async throws {
        let rig = Rig.numbers()
        let recorder = CompositionRecorder()
        let inner = BatchRequest(GetUser(id: 1), GetUser(id: 2)).header("X-Level", "inner").header("X-Inner", "1")
        let batch = BatchRequest(inner, GetText(number: 3)).header("X-Level", "outer").tag("batch")
            .accessory(recorder).deadline(.seconds(1_000))
        let ((one, two), text) = try await rig.agent.send(batch)
        #expect((one, two, text) == (1, 2, "3"))
        let sent = rig.transport.requests.sorted { $0.url.path() < $1.url.path() }.map(\.headers)
        #expect(sent.map { $0["X-Level"] } == ["outer", "outer", "outer"])
        #expect(sent.map { $0["X-Inner"] } == ["1", "1", nil])
        #expect(recorder.contexts.all.first?.tag == "batch")
        #expect(batch.tag == "batch")
    }

    @Test func theDeadlineOfAModifiedBatchAppliesToAllOfIt() async throws {
        let rig = Rig.numbers()
        for batch in [
            BatchRequest(GetUser(id: 1), GetUser(id: 2)).tag("x").header("X-A", "1").deadline(.zero),
            BatchRequest(GetUser(id: 1), GetUser(id: 2)).deadline(.zero).header("X-A", "1"),
        ] {
            await expect(kind: .timedOut) { try await rig.agent.send(batch) }
        }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func modifiersOfAChainAndOfItsStepsApply() async throws {
        let rig = Rig.numbers()
        let chain = ChainRequest(GetUser(id: 1).tag("first")).thenWithHistory { _, history in
            GetText(number: (history.model(of: GetUser.self) ?? 0) + 1)
        }
        #expect(try await rig.agent.send(chain.header("X-Chain", "1").priority(.low)) == "2")
        #expect(rig.transport.requests.map { $0.headers["X-Chain"] } == ["1", "1"])
    }

    @Test func aModifiedBatchCanBeStartedScopedAndIgnored() async throws {
        let rig = Rig.numbers()
        let batch = ArrayBatchRequest([1, 2].map { GetNumber(number: $0) }).timeout(.seconds(1))
        let scope = RequestScope()
        #expect(try await rig.agent.send(batch, in: scope) == [1, 2])
        #expect(scope.count == 0)
        #expect(try await rig.agent.send(GetNumber.failing().priority(.low).ignoringFailure()) == nil)
        #expect(await rig.agent.results(of: [batch, batch]).map { try? $0.get() } == [[1, 2], [1, 2]])
        await #expect(throws: NetworkError.self) { try await rig.agent.urlRequest(for: batch) }
    }
}
