import Errand
import ErrandTesting
import Foundation
import Testing

/// A store that takes 3 seconds for each read and each write ends no send later than 50 ms after its deadline, and delays
/// one without a deadline by half a second.
@Suite(.timing, .serialized)
struct CacheDiskTimingTests {
    private struct SleepingStore: CacheStore {
        private func sleep() { Thread.sleep(forTimeInterval: 3) }
        func entry(for key: CacheKey) -> CacheEntry? {
            sleep()
            return nil
        }
        func store(_ entry: CacheEntry, for key: CacheKey) { sleep() }
        func remove(for key: CacheKey) { sleep() }
        func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) {
            sleep()
        }
        func trim(toBytes limit: Int) { sleep() }
        func totals() -> (count: Int, size: Int) {
            sleep()
            return (0, 0)
        }
    }

    static let policies: [CachePolicy] = [
        .cacheOnly, .cacheElseNetwork(maxAge: .seconds(60)), .networkElseCache(maxStale: .seconds(60)),
        .cacheThenNetwork(maxAge: .seconds(60)), .staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(60)),
        .reload, .http,
    ]

    private func agent(_ server: MockServer, memory: MemoryStore?) -> Agent {
        server.agent { $0.cache = ResponseCache(memory: memory, disk: SleepingStore()) }
    }

    /// Whether memory keeps entries does not matter, nor whether the server is fast, slow or fails.
    @Test(arguments: policies) func deadlineHoldsWhateverTheStoreDoes(policy: CachePolicy) async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/fast", .json("1", headers: ["Cache-Control": "max-age=60"]))
        server.on(.head, "/fast", .json("", headers: ["Cache-Control": "max-age=60"]))
        server.on(.get, "/slow", .json("1").delayed(by: .seconds(5)))
        server.on(.get, "/failing", .status(503))
        server.on(.post, "/fast", .json("1"))
        var worst = Duration.zero
        for memory in [nil, MemoryStore()] {
            let agent = agent(server, memory: memory)
            for (method, path) in [
                (HTTPMethod.get, "/fast"), (.get, "/slow"), (.get, "/failing"), (.post, "/fast"), (.head, "/fast"),
                (.get, "/fast"),
            ] {
                let request = GeneralRequest(path).method(method).cachePolicy(policy)
                    .limits(Limits(deadline: .milliseconds(300)))
                let began = ContinuousClock.now
                _ = try? await agent.send(request)
                worst = max(worst, ContinuousClock.now - began)
            }
        }
        print("\(policy): at most \(worst)")
        #expect(worst < .milliseconds(350), "\(policy)")
    }

    @Test func sendWithoutADeadlineIsDelayedByHalfASecondAtMost() async throws {
        let server = try MockServer { _ in .json("1") }
        defer { server.stop() }
        let agent = agent(server, memory: nil)
        let request = GeneralRequest("/x").cachePolicy(.cacheElseNetwork(maxAge: .seconds(60))).expecting(Int.self)
        let began = ContinuousClock.now
        #expect(try await agent.send(request) == 1)
        #expect(ContinuousClock.now - began < .milliseconds(650))
    }
}
