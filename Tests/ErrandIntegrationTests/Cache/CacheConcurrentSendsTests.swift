import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Of the responses that one request receives, the one that was requested last stays, in whatever order they arrive.
@Suite(.limit(seconds: 60)) struct CacheConcurrentSendsTests {
    private let request = GeneralRequest("/x").expecting(String.self)
    private let next = Lock<Sent.Response?>(nil)
    private let server: MockServer

    /// A send whose request has reached the server, which holds back the response until the value is asked for.
    private struct Sent: Sendable {
        struct Response: Sendable {
            let response: MockResponse
            let release = DispatchSemaphore(value: 0)
        }

        let task: Task<String, any Error>
        let release: DispatchSemaphore

        var value: String {
            get async throws {
                release.signal()
                return try await task.value
            }
        }
    }

    init() throws {
        let next = next
        server = try MockServer { _ in
            let own = next.withLock { next in
                defer { next = nil }
                return next
            }
            guard let own else { return .status(404) }
            own.release.wait()
            return own.response
        }
    }

    private func agent(hasMemory: Bool, _ disk: (any CacheStore)? = nil) -> Agent {
        let cache = ResponseCache(
            memory: hasMemory ? MemoryStore() : nil,
            disk: disk ?? DelayedStore(),
            patience: 600_000
        )
        return server.agent(cache)
    }

    private static func text(_ text: String, vary: String? = nil) -> MockResponse {
        var headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        headers["Vary"] = vary
        return .text(text, headers: headers)
    }

    private static func unstored(_ text: String) -> MockResponse {
        .text(text, headers: ["Cache-Control": "no-store"])
    }

    private func of(_ kind: String) -> GeneralRequest<DefaultFormatter<String>> { request.header("X-Kind", kind) }

    private func begin(
        _ request: GeneralRequest<DefaultFormatter<String>>,
        _ response: MockResponse,
        _ policy: CachePolicy = .reload,
        on agent: Agent
    ) async -> Sent {
        let own = Sent.Response(response: response)
        next.withLock { $0 = own }
        let task = Task { try await agent.send(request.cachePolicy(policy)) }
        while next.withLock({ $0 != nil }), !Task.isCancelled { await Task.yield() }
        return Sent(task: task, release: own.release)
    }

    private func receive(
        _ request: GeneralRequest<DefaultFormatter<String>>,
        _ response: MockResponse,
        _ policy: CachePolicy = .reload,
        on agent: Agent
    ) async throws {
        _ = try await begin(request, response, policy, on: agent).value
        await agent.config.cache?.flush()
    }

    /// The response that a request finds, or `nil` if there is none.
    private func found(_ kind: String, on agent: Agent) async -> String? {
        await agent.config.cache?.flush()
        // The only reason to fail is that it is not stored.
        return try? await agent.send(of(kind).cachePolicy(.cacheOnly))
    }

    @Test(arguments: [true, false]) func variantsThatAnotherResponseHidDoNotComeBack(hasMemory: Bool) async throws {
        let agent = agent(hasMemory: hasMemory)
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: agent)
        try await receive(of("2"), Self.text("for all", vary: "X-Other"), on: agent)
        #expect(await found("1", on: agent) == "for all")
        try await receive(of("2"), Self.text("new", vary: "X-Kind"), on: agent)
        #expect(await found("1", on: agent) == nil)
        #expect(await found("2", on: agent) == "new")
    }

    @Test(arguments: [true, false])
    func variantsThatAPlainResponseReplacedDoNotComeBack(hasMemory: Bool) async throws {
        let agent = agent(hasMemory: hasMemory)
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: agent)
        try await receive(request, Self.text("without", vary: "X-Kind"), on: agent)
        try await receive(request.header("Cache-Control", "no-cache"), Self.text("for all"), .http, on: agent)
        try await receive(of("2"), Self.text("new", vary: "X-Kind"), on: agent)
        #expect(await found("1", on: agent) != "old")
    }

    @Test(arguments: [true, false])
    func aResponseDoesNotHideAVariantThatWasRequestedLater(hasMemory: Bool) async throws {
        let agent = agent(hasMemory: hasMemory)
        let early = await begin(of("1"), Self.text("early", vary: "X-Other"), on: agent)
        try await receive(of("2"), Self.text("late", vary: "X-Kind"), on: agent)
        #expect(try await early.value == "early")
        #expect(await found("2", on: agent) == "late")
    }

    @Test(arguments: [true, false])
    func aResponseThatIsNotStoredForALaterVariantRemovesItsOwn(hasMemory: Bool) async throws {
        let agent = agent(hasMemory: hasMemory)
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: agent)
        let plain = await begin(of("1"), Self.text("plain"), on: agent)
        try await receive(of("2"), Self.text("other", vary: "X-Kind"), on: agent)
        #expect(try await plain.value == "plain")
        #expect(await found("1", on: agent) == nil)
        #expect(await found("2", on: agent) == "other")
    }

    @Test(arguments: [true, false], ["X-Kind", nil])
    func aResponseThatIsNotStoredRemovesWhatWasStoredMeanwhile(hasMemory: Bool, vary: String?) async throws {
        let agent = agent(hasMemory: hasMemory)
        let first = await begin(of("1"), Self.text("first", vary: vary), .http, on: agent)
        let second = await begin(of("1"), Self.unstored("second"), .http, on: agent)
        #expect(try await first.value == "first")
        #expect(await found("1", on: agent) == "first")
        #expect(try await second.value == "second")
        #expect(await found("1", on: agent) == nil)
    }

    @Test(arguments: [true, false], ["X-Kind", nil])
    func anEarlierResponseIsNotStoredAfterOneThatMustNotBe(hasMemory: Bool, vary: String?) async throws {
        let agent = agent(hasMemory: hasMemory)
        let first = await begin(of("1"), Self.text("first", vary: vary), .http, on: agent)
        try await receive(of("1"), Self.unstored("second"), .http, on: agent)
        #expect(try await first.value == "first")
        #expect(await found("1", on: agent) == nil)
        // A later one is.
        try await receive(of("1"), Self.text("third", vary: vary), .http, on: agent)
        #expect(await found("1", on: agent) == "third")
    }

    /// A send that was requested later had read it before it was removed.
    @Test(arguments: [true, false]) func anIndexThatWasRemovedDoesNotComeBack(hasMemory: Bool) async throws {
        let agent = agent(hasMemory: hasMemory)
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: agent)
        let plain = await begin(of("1"), Self.text("plain"), on: agent)
        let variant = await begin(of("2"), Self.text("variant", vary: "X-Kind"), .http, on: agent)
        #expect(try await plain.value == "plain")
        #expect(await found("1", on: agent) == "plain")
        #expect(try await variant.value == "variant")
        #expect(await found("1", on: agent) != "old")
    }

    /// Another variant replaces it before it is stored.
    @Test func aResponseForAllThatARequestHasFoundHidesItsOlderVariant() async throws {
        let store = DelayedStore()
        let agent = agent(hasMemory: false, store)
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: agent)
        store.slow(30)
        _ = try await begin(of("2"), Self.text("for all", vary: "X-Other"), on: agent).value
        #expect(try await agent.send(of("1").cachePolicy(.http)) == "for all")
        _ = try await begin(of("2"), Self.text("new", vary: "X-Kind"), on: agent).value
        await store.recover()
        #expect(await found("1", on: agent) == nil)
        #expect(await found("2", on: agent) == "new")
    }

    /// Its index has a time of its own.
    @Test(arguments: [true, false]) func aResponseWithoutTheFieldIsStoredBesideALaterVariant(
        hasMemory: Bool
    ) async throws {
        let agent = agent(hasMemory: hasMemory)
        let plain = await begin(request, Self.text("without", vary: "X-Kind"), on: agent)
        try await receive(of("1"), Self.text("variant", vary: "X-Kind"), on: agent)
        #expect(try await plain.value == "without")
        #expect(await found("1", on: agent) == "variant")
        #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == "without")
    }

    @Test func aResponseToARequestThatWaitedForAnUnsafeOneIsStored() async throws {
        let agent = agent(hasMemory: true)
        agent.config.throttle = Throttle(maximumInTotal: 1)
        let post = await begin(of("1").method(.post), Self.text("done"), on: agent)
        next.withLock { next in
            next = Sent.Response(response: Self.text("after"))
            next?.release.signal()
        }
        let waiting = Task { try await agent.send(of("1")) }
        while agent.pipeline.admission.permits.waitingCount == 0, !Task.isCancelled { await Task.yield() }
        #expect(try await post.value == "done")
        #expect(try await waiting.value == "after")
        #expect(await found("1", on: agent) == "after")
    }

    /// Whether or not memory has them.
    @Test(arguments: [true, false]) func aResponseForAllReplacesTheOtherVariants(hasMemory: Bool) async throws {
        let store = DelayedStore()
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: agent(hasMemory: true, store))
        let launched = agent(hasMemory: hasMemory, store)
        try await receive(of("2"), Self.text("for all"), on: launched)
        launched.config.cache?.discard(try launched.cacheKey(for: request))
        #expect(await found("1", on: launched) == nil)
    }

    /// As before a program ends.
    @Test func aFlushWaitsForAResponseThatReadsFirstWhatItReplaces() async throws {
        let store = DelayedStore()
        store.slow(0.05)
        store.writeSeconds.withLock { $0 = 0.05 }
        try await receive(of("1"), Self.text("new", vary: "X-Kind"), on: agent(hasMemory: false, store))
        #expect(try store.totals().count == 2)
    }

    /// A process has variants in memory that another one has replaced.
    @Test func variantsThatAnotherProcessReplacedDoNotComeBack() async throws {
        let store = DelayedStore()
        let (one, other) = (agent(hasMemory: true, store), agent(hasMemory: true, store))
        try await receive(of("1"), Self.text("old", vary: "X-Kind"), on: one)
        #expect(await found("1", on: other) == "old")
        try await receive(of("2"), Self.text("for all"), on: one)
        try await receive(of("2"), Self.text("new", vary: "X-Kind"), on: other)
        let launched = agent(hasMemory: true, store)
        #expect(await found("1", on: launched) != "old")
        #expect(await found("2", on: launched) == "new")
    }

    /// What was received and is not stored leaves nothing that was requested before it.
    @Test(arguments: [true, false]) func aResponseForAllThatIsTooLateIsNotReplacedByAnOlderOne(
        hasMemory: Bool
    ) async throws {
        let agent = agent(hasMemory: hasMemory)
        let variant = await begin(of("1"), Self.text("oldest", vary: "X-Kind"), on: agent)
        let forAll = await begin(of("1"), Self.text("for all"), on: agent)
        let other = await begin(of("2"), Self.text("other", vary: "X-Kind"), on: agent)
        for (sent, text) in [(other, "other"), (forAll, "for all"), (variant, "oldest")] {
            #expect(try await sent.value == text)
            await agent.config.cache?.flush()
        }
        #expect(await found("1", on: agent) != "oldest")
    }

    /// A response that must not be stored, to another kind of request, is newer than the one for all.
    @Test(arguments: [true, false]) func aResponseForAllThatIsTooLateHidesTheOlderVariant(hasMemory: Bool) async throws
    {
        let agent = agent(hasMemory: hasMemory)
        try await receive(of("1"), Self.text("oldest", vary: "X-Kind"), on: agent)
        await agent.config.cache?.flush()
        let forAll = await begin(of("1"), Self.text("for all"), on: agent)
        var unstored = Self.unstored("other")
        unstored.headers["Vary"] = "X-Kind"
        let other = await begin(of("2"), unstored, on: agent)
        #expect(try await other.value == "other")
        await agent.config.cache?.flush()
        #expect(try await forAll.value == "for all")
        #expect(await found("1", on: agent) != "oldest")
    }

    /// No response may be older than one that the same request has received.
    @Test(arguments: [UInt64.random(in: 0...(.max)), 6, 10, 42, 105]) func requestsFindNothingOlderThanTheyReceived(
        seed: UInt64
    ) async throws {
        let random = Lock(Generator(state: seed))
        @Sendable func next(_ count: Int) -> Int { random.withLock { Int($0.next() >> 33) % count } }
        let number = Lock(0)
        let server = try MockServer { request in
            let kind = request.headers["X-Kind"] ?? ""
            var headers: HTTPHeaders = ["Cache-Control": next(8) == 0 ? "no-store" : "max-age=600"]
            let vary = next(4)
            headers["Vary"] = [nil, "X-Kind", "X-Kind, X-Other", "X-Other"][vary]
            let own = number.withLock { number in
                number += 1
                return number
            }
            let text = "\(own) \(vary == 1 || vary == 2 ? kind : "*")"
            return .text(text, headers: headers).delayed(by: .milliseconds(next(40)))
        }
        let store = DelayedStore()
        if seed % 2 == 1 { store.slow(0.005) }
        let cache = ResponseCache(memory: seed % 4 < 2 ? MemoryStore() : nil, disk: store, patience: 600_000)
        let agent = server.agent(cache)
        var received: [String: Int] = [:]
        for round in 0..<10 {
            let (kinds, policies) = (
                (0..<4).map { _ in "\(next(2))" }, (0..<4).map { _ in [.http, .reload][next(2)] as CachePolicy }
            )
            var tasks: [(String, Task<String, any Error>)] = []
            for (kind, policy) in zip(kinds, policies) {
                let (before, isDone) = (number.withLock { $0 }, Lock(false))
                let task = Task {
                    defer { isDone.withLock { $0 = true } }
                    return try await agent.send(of(kind).cachePolicy(policy))
                }
                tasks.append((kind, task))
                // In the order in which they are requested.
                while number.withLock({ $0 }) == before, !isDone.withLock({ $0 }) { await Task.yield() }
            }
            for (kind, task) in tasks {
                let own = try await task.value.split(separator: " ").first.flatMap { Int($0) }
                received[kind] = max(received[kind] ?? 0, own ?? 0)
            }
            for kind in ["0", "1"] {
                guard let found = await found(kind, on: agent)?.split(separator: " "), found.count == 2 else {
                    continue
                }
                #expect(Int(found[0]) ?? 0 >= received[kind] ?? 0, "seed \(seed), round \(round), kind \(kind)")
                #expect(found[1] == "*" || found[1] == kind, "seed \(seed), round \(round)")
            }
        }
    }

    private struct Generator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
    }
}
