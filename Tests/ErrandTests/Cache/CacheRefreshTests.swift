import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Revalidations in the background, `shouldCache` before they are stored, and invalidation by unsafe requests.
@Suite(.limit(seconds: 60)) struct CacheRefreshTests {
    private static let stale = CachePolicy.staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(60))

    private func rig(_ policy: CachePolicy = Self.stale, memory: MemoryStore? = MemoryStore()) -> CachedRig {
        let counter = ResponseCounter()
        return CachedRig(policy, memory: memory) { _ in .json("\(try counter.next())") }
    }

    /// A request that permits storing only its first response.
    struct Picky: Request, Sendable {
        typealias Model = Int
        var context = FormattingContext.background
        let asked: Record<String>
        var path: String { "/x" }
        var formattingContext: FormattingContext { context }
        func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool {
            let text = String(decoding: payload.data, as: UTF8.self)
            asked.add(text)
            return text == "1"
        }
    }

    @Test func staleWhileRevalidateForOneCallRevalidates() async throws {
        let rig = rig(.networkOnly)
        let request = GeneralRequest("/x").expecting(Int.self)
        func send() async throws -> Int {
            try await rig.agent.response(for: request, cachePolicy: Self.stale).model
        }
        #expect(try await send() == 1)
        rig.clock.advance(by: 100)
        #expect(try await send() == 1)
        await rig.transport.waitForRequests(2)
        await wait { rig.cache.memory?.text(of: request, rig.agent) == "2" }
        #expect(try await send() == 2)
        #expect(rig.count == 2)
    }

    @Test(arguments: [(false, "200 in "), (true, "failed: ")])
    func accessoriesAreNotifiedOfARevalidation(isOffline: Bool, words: String) async throws {
        let (lines, events) = (Record<String>(), EventLog())
        let counter = ResponseCounter()
        let rig = CachedRig(
            Self.stale,
            config: { $0.accessories = [LoggingAccessory(level: .outcomes) { lines.add($0) }, events] },
            responding: { _ in .json("\(try counter.next())") }
        )
        let request = GeneralRequest("/x").expecting(Int.self)
        #expect(try await rig.agent.send(request) == 1)
        rig.clock.advance(by: 100)
        counter.failure = isOffline ? NetworkError(.noConnection) : nil
        #expect(try await rig.agent.send(request) == 1)
        await wait { lines.all.count == 3 && events.names.contains("didRevalidate") }
        #expect(rig.cache.revalidations.count == 0)
        #expect(lines.all.contains { $0.contains("/x: revalidation in the background: \(words)") }, "\(lines.all)")
        let ids = events.events.all.map(\.context.id)
        let id = zip(ids, events.names).first { $1 == "didRevalidate" }?.0
        // It is not one of the events of a send.
        #expect(ids.count { $0 == id } == 1)
    }

    /// The ways to send a `Sendable` request that is revalidated in the background.
    private static let ways: [@Sendable (Agent, Picky) async throws -> Int] = [
        { try await $0.send($1) },
        { try await $0.response(for: $1, cachePolicy: Self.stale).model },
        { try await $0.send(BatchRequest($1, GeneralRequest("/y").expecting(Int.self))).0 },
        { try await $0.send(ArrayBatchRequest([$1]))[0] },
        { try await $0.send(ChainRequest($1)) },
        { try await $0.results(of: $1, $1).0.get() },
        { try await $0.results(of: [$1])[0].get() },
        { agent, request in
            try await withCheckedThrowingContinuation { done in
                agent.start(request, on: DispatchQueue(label: "test")) { done.resume(with: $0) }
            }
        },
    ]

    @Test(arguments: ways.indices, [FormattingContext.background, .caller])
    func refreshIsStoredOnlyIfTheRequestAgrees(way: Int, context: FormattingContext) async throws {
        let rig = rig()
        let request = Picky(context: context, asked: Record())
        #expect(try await rig.agent.send(request) == 1)
        rig.clock.advance(by: 100)
        #expect(try await Self.ways[way](rig.agent, request) == 1)
        // `shouldCache` is called in the background, with no other send in between.
        await wait { request.asked.all.contains { $0 != "1" } }
        await wait { rig.cache.revalidations.count == 0 }
        #expect(rig.cache.memory?.text(of: request, rig.agent) == "1")
    }

    @Test(arguments: ways.indices, [FormattingContext.background, .caller])
    func storedResponseThatCannotBeUsedIsReplaced(way: Int, context: FormattingContext) async throws {
        let rig = CachedRig(Self.stale) { _ in .json("1") }
        let request = Picky(context: context, asked: Record())
        let url = try #require(URL(string: "https://api.example/x"))
        try rig.agent.store(RawResponse(statusCode: 200, body: Data("{}".utf8), url: url), for: request)
        #expect(try await Self.ways[way](rig.agent, request) == 1)
        // One way sends it twice, and both sends may find the stored response.
        let count = rig.transport.requests.filter { $0.url.path() == "/x" }.count
        #expect((1...(way == 5 ? 2 : 1)).contains(count))
        #expect(rig.cache.memory?.text(of: request, rig.agent) == "1")
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .delete, HTTPMethod(rawValue: "PURGE")])
    func unsafeRequestInvalidatesUnderEveryPolicy(method: HTTPMethod) async throws {
        for policy in [CachePolicy.inherited, .networkOnly, .reload, .http, .cacheElseNetwork(maxAge: .seconds(60))] {
            for status in [200, 204, 303, 400, 500] {
                let rig = CachedRig(.networkOnly) { request in
                    request.method == .get
                        ? .json("1", headers: ["Cache-Control": "max-age=60"])
                        : .status(status, headers: ["Location": "/made"])
                }
                for path in ["/x", "/made"] {
                    _ = try await rig.agent.response(for: GeneralRequest(path), cachePolicy: .reload)
                }
                _ = try? await rig.agent.send(
                    GeneralRequest("/x").method(method).cachePolicy(policy).redirectPolicy(.refuse)
                )
                #expect(await rig.cache.count == (status < 400 ? 0 : 2), "\(policy) \(status)")
            }
        }
    }

    @Test func requestThatAnAdapterMakesUnsafeInvalidates() async throws {
        let posting = ClosureAdapter(scope: "") { request, context in
            if context.tag == "post" { request.method = .post }
        }
        let rig = CachedRig(.networkOnly, config: { $0.adapters = [posting] }, responding: { _ in .json("1") })
        let request = GeneralRequest("/x").expecting(Int.self)
        _ = try await rig.agent.response(for: request, cachePolicy: .reload)
        #expect(await rig.cache.count == 1)
        _ = try await rig.agent.send(request.tag("post"))
        #expect(await rig.cache.count == 0)
    }

    @Test func searchByPostInvalidatesNoOther() async throws {
        let rig = rig(.cacheElseNetwork(maxAge: .seconds(60)))
        let search = GeneralRequest("/x").expecting(Int.self).method(.post)
            .cacheIdentity(CacheIdentity(allowsAnyMethod: true))
        #expect(try await rig.agent.send(search.parameters(["q": 1])) == 1)
        #expect(try await rig.agent.send(search.parameters(["q": 2])) == 2)
        #expect(try await rig.agent.send(search.parameters(["q": 1])) == 1)
    }
}

extension MemoryStore {
    fileprivate func text(of request: some Request, _ agent: Agent) -> String? {
        (try? agent.cacheKey(for: request)).flatMap { entry(for: $0)?.text }
    }
}
