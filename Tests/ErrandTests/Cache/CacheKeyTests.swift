import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What distinguishes stored responses.
@Suite struct CacheKeyTests {
    private let request = GeneralRequest("/x").expecting(Int.self)
    private let counter = ResponseCounter()

    private func rig() -> CachedRig {
        CachedRig(.cacheElseNetwork(maxAge: .seconds(60))) { [counter] _ in .json("\(try counter.next())") }
    }

    @Test func inputsOfTheCacheKey() async throws {
        let rig = rig()
        let base = request.query(["a": 1])
        let others = [
            base, request.query(["a": 2]), base.method(.head), base.header("Accept", "text/csv"),
            base.header("Accept-Language", "de"), base.cacheIdentity(CacheIdentity(version: 2)),
            base.cacheIdentity(CacheIdentity(variant: "v")), base.header("X-Api-Key", "one"),
            base.header("X-Api-Key", "two"),
            base.header("X-Tenant", "t").cacheIdentity(CacheIdentity(headers: ["x-tenant"])),
            base.cacheIdentity(CacheIdentity(user: "v")),
            base.authorization(.bearer("a")), base.authorization(.bearer("b")), base.header("Cookie", "a"),
        ]
        var keys = Set(try others.map { try rig.agent.cacheKey(for: $0) })
        #expect(keys.count == others.count)
        #expect(try keys.contains(rig.agent.cacheKey(for: base.header("X-Other", "1").tag("t"))))
        // The user is named, whatever the token is.
        for token in ["a", "b"] {
            let own = base.authorization(.bearer(token)).header("Cookie", token)
            #expect(try keys.contains(rig.agent.cacheKey(for: own.cacheIdentity(CacheIdentity(user: "v")))))
        }
        let later = CachedRig(appVersion: "2") { _ in .json("1") }
        keys.insert(try later.agent.cacheKey(for: base))
        #expect(keys.count == others.count + 1)
    }

    @Test func keysAreTheSameInEveryProcess() throws {
        let rig = rig()
        let key = try rig.agent.cacheKey(for: request)
        #expect(key.description == "43c76489bdadbd294b40c3121e51b0dc5b8f33db699db343b114162df557d593")
    }

    @Test func equalSetsHaveOneKey() throws {
        let names = (0..<40).map { "name\($0)" }
        var reserved = Set<String>(minimumCapacity: 4_000)
        for name in names.reversed() { reserved.insert(name) }
        let agent = rig().agent
        let keys = try [Set(names), reserved].map { try agent.cacheKey(for: request.query(["names": $0])) }
        #expect(keys[0] == keys[1])
    }

    @Test func ignoredParametersDoNotCount() throws {
        let rig = rig()
        let identity = CacheIdentity(ignoredParameters: ["ts", "n once"], allowsAnyMethod: true)
        func keys(_ make: (Int) -> GeneralRequest<DefaultFormatter<Int>>) throws -> Set<CacheKey> {
            try Set((0..<3).map { try rig.agent.cacheKey(for: make($0).cacheIdentity(identity)) })
        }
        #expect(try keys { request.query(["a": 1, "ts": $0, "n once": $0]) }.count == 1)
        #expect(try keys { request.query(["a": $0, "ts": 1]) }.count == 3)
        #expect(try keys { request.method(.post).parameters(["a": 1, "ts": $0]) }.count == 1)
        #expect(try keys { request.method(.post).parameters(["a": $0, "ts": 1]) }.count == 3)
        #expect(try keys { request.query(["a": 1, "ts": [$0, 2]]) }.count == 1)
        #expect(try keys { request.query(["a": 1, "ts": ["x": ["y": $0]]]) }.count == 1)
        #expect(try keys { request.query(["a": ["ts": $0], "ts.x": 1, "tsx": 2]) }.count == 3)
        #expect(try keys { request.query(["a": 1, "ts.x": $0]) }.count == 3)
        let dotted = request.parameterEncoding(.query.nesting(.dots))
        #expect(try keys { dotted.parameters(["a": 1, "ts": ["x": $0]]) }.count == 1)
        let form = request.method(.post).parameterEncoding(.form)
        #expect(try keys { form.parameters(["a": 1, "ts": [$0], "n once": ["x": $0]]) }.count == 1)
        #expect(try keys { form.parameters(["a": 1, "ts": $0]) }.count == 1)
        #expect(try keys { form.parameters(["a": $0, "ts": 1]) }.count == 3)
    }

    @Test func aPostIsStoredOnlyIfTheRequestAllowsIt() async throws {
        let rig = rig()
        let post = request.method(.post).parameters(["q": "a"])
        #expect(try await [rig.agent.send(post), rig.agent.send(post)] == [1, 2])
        let search = post.cacheIdentity(CacheIdentity(allowsAnyMethod: true))
        #expect(try await [rig.agent.send(search), rig.agent.send(search)] == [3, 3])
        #expect(try await rig.agent.send(search.parameters(["q": "b"])) == 4)
    }
}
