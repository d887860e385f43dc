import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Each policy with a fresh, a stale and a missing entry, online and offline.
@Suite struct CacheStageTests {
    private let counter = ResponseCounter()

    private let request = GeneralRequest("/x").expecting(Int.self)

    private func rig(_ policy: CachePolicy) -> CachedRig {
        CachedRig(policy) { [counter] _ in .json("\(try counter.next())") }
    }

    /// The result of a send: the model and its source, or the error.
    private func outcome(_ rig: CachedRig) async -> String {
        do {
            let response = try await rig.agent.response(for: request)
            switch response.source {
            case .network: return "\(response.model) network"
            case .cache(let age): return "\(response.model) cache \(age.components.seconds)"
            case .revalidated: return "\(response.model) revalidated"
            case .stale(let age, let error):
                return
                    "\(response.model) stale \(age.components.seconds) \((error as? NetworkError)?.kind.rawValue ?? "-")"
            }
        } catch {
            return (error as? NetworkError)?.kind.rawValue ?? "\(error)"
        }
    }

    private static let within = Duration.seconds(60)

    /// The table of the guide: nothing stored, something fresh (10 s), something stale (100 s), each on- and offline.
    @Test(arguments: [
        (CachePolicy.networkOnly, "1 network|2 network|2 network", "unreachable|unreachable|unreachable"),
        (.cacheOnly, "cacheMiss|1 cache 10|1 cache 100", "cacheMiss|1 cache 10|1 cache 100"),
        (
            .cacheElseNetwork(maxAge: within), "1 network|1 cache 10|2 network",
            "unreachable|1 cache 10|unreachable"
        ),
        (
            .networkElseCache(maxStale: within), "1 network|2 network|2 network",
            "unreachable|1 stale 10 unreachable|unreachable"
        ),
        (
            .networkElseCache(maxStale: nil), "1 network|2 network|2 network",
            "unreachable|1 stale 10 unreachable|1 stale 100 unreachable"
        ),
        (
            .cacheThenNetwork(maxAge: within), "1 network|2 network|2 network",
            "unreachable|1 stale 10 unreachable|unreachable"
        ),
        (
            .staleWhileRevalidate(maxAge: within, maxStale: within), "1 network|1 cache 10|1 cache 100",
            "unreachable|1 cache 10|1 cache 100"
        ),
        (.reload, "1 network|2 network|2 network", "unreachable|unreachable|unreachable"),
        (.http, "1 network|1 cache 10|2 network", "unreachable|1 cache 10|1 stale 100 unreachable"),
    ])
    func policiesBehaveAsTheGuideDescribes(policy: CachePolicy, online: String, offline: String) async throws {
        for (isOffline, expected) in [(false, online), (true, offline)] {
            var outcomes: [String] = []
            for age in [nil, 10, 100] as [Double?] {
                let counter = ResponseCounter()
                let rig = CachedRig(policy) { _ in
                    .json("\(try counter.next())", headers: ["Cache-Control": "max-age=60"])
                }
                if let age {
                    _ = try await rig.agent.response(for: request, cachePolicy: .reload)
                    rig.clock.advance(by: age)
                }
                counter.failure = isOffline ? NetworkError(.noConnection) : nil
                outcomes.append(await outcome(rig))
            }
            #expect(outcomes.joined(separator: "|") == expected)
        }
    }

    private var url: URL { URL(string: "https://api.example/x") ?? URL(filePath: "/") }

    @Test func aPolicyOfNetworkOnlyNeitherReadsNorWritesNorNamesAnything() async throws {
        let rig = rig(.networkOnly)
        _ = await outcome(rig)
        #expect(await rig.cache.count == 0)
        let send = rig.agent.makeSend(request)
        #expect(try send.prepare(request).cacheUse == nil)
    }

    @Test func vetoOfANonSendableRequestIsCalledLater() async throws {
        let rig = rig(.staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(60)))
        let plain = NotSendable()
        #expect(try await rig.agent.send(plain) == 1)
        rig.clock.advance(by: 100)
        #expect(try await rig.agent.send(plain) == 1)
        var last = 1
        while last == 1 {
            last = try await rig.agent.send(plain)
            await Task.yield()
        }
        #expect(last == 2)
        // The result is stored before the revalidation is over, and until then no other one starts.
        await wait { rig.cache.revalidations.count == 0 }
        // The request rejects what was fetched in the background, so it is discarded and the network is used.
        plain.refused = "3"
        rig.clock.advance(by: 100)
        #expect(try await rig.agent.send(plain) == 2)
        await rig.transport.waitForRequests(3)
        while try await rig.agent.send(plain) == 2 { await Task.yield() }
        #expect(rig.count == 4)
        #expect(try await rig.agent.send(plain) == 4)
    }

    final class NotSendable: Request {
        typealias Model = Int
        var refused = ""
        var path: String { "/x" }
        func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { payload.data != Data(refused.utf8) }
    }

    @Test func aStaleResponseIsRefreshedOnceBehindTheSend() async throws {
        let rig = rig(.staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(60)))
        #expect(await outcome(rig) == "1 network")
        rig.clock.advance(by: 100)
        #expect(await outcome(rig) == "1 cache 100")
        await rig.transport.waitForRequests(2)
        var last = ""
        while last != "2 cache 0" {
            last = await outcome(rig)
            await Task.yield()
        }
        #expect(rig.count == 2)
    }

    @Test func serviceErrorsAndRejectedResponsesAreNotStored() async throws {
        let envelope = EnvelopeFilter(code: "code", data: "data")
        let rig = CachedRig { _ in .json(#"{"code":7,"data":1}"#) }
        _ = try? await rig.agent.send(request.filter(envelope))
        let failing = CachedRig { _ in .json("1", status: 404) }
        _ = try? await failing.agent.send(request)
        #expect(await (rig.cache.count, failing.cache.count) == (0, 0))
    }

    @Test func aHitPassesAcceptanceFilterFormatterAndAccessories() async throws {
        let (seen, log) = (Record<Int>(), EventLog())
        let filter = ClosureFilter { response, _ in
            seen.add(response.statusCode)
            return Payload(response.body)
        }
        let rig = CachedRig(config: { $0.accessories = [log] }, responding: { _ in .json("1") })
        _ = try await rig.agent.send(request.filter(filter))
        let hit = try await rig.agent.response(for: request.filter(filter))
        #expect(hit.source.isFromCache && hit.headers["Content-Type"] == "application/json" && hit.statusCode == 200)
        #expect(seen.all == [200, 200])
        #expect(log.names == ["willStart", "willStop", "didStop", "willStart", "willStop", "didStop"])
        #expect(hit.metrics.attempts.isEmpty && hit.metrics.cacheMiss == nil)
        // Another request may reject it; it is fetched again, and kept for those that accept it.
        let other = request.acceptance(Acceptance(contentTypes: ["text/plain"]))
        await expect(throwing: .contentType("application/json")) { _ = try await rig.agent.send(other) }
        #expect(rig.count == 2)
        _ = try await rig.agent.send(request.filter(filter))
        #expect(rig.count == 2)
    }

    struct Old: Decodable, Sendable { var a: Int }
    struct New: Decodable, Sendable { var b: Int }

    @Test func hitThatCannotBeDecodedIsReplacedByTheResponseToItsRequest() async throws {
        let counter = counter
        let rig = CachedRig { _ in .json(try counter.next() == 1 ? #"{"a":1}"# : #"{"b":2}"#) }
        _ = try await rig.agent.send(GeneralRequest("/x").expecting(Old.self))
        let response = try await rig.agent.response(for: GeneralRequest("/x").expecting(New.self))
        #expect(response.model.b == 2 && !response.source.isFromCache)
        #expect(response.metrics.cacheMiss == .notDecodable)
        #expect(try await rig.agent.send(GeneralRequest("/x").expecting(New.self)).b == 2)
        #expect(rig.count == 2)
    }

    @Test func requestWhoseModelDoesNotFitKeepsTheEntryOfAnother() async throws {
        let rig = CachedRig { _ in .json(#"{"a":1}"#) }
        let (old, new) = (GeneralRequest("/x").expecting(Old.self), GeneralRequest("/x").expecting(New.self))
        _ = try await rig.agent.send(old)
        await expect(throwing: .notCached) { _ = try await rig.agent.response(for: new, cachePolicy: .cacheOnly) }
        await #expect(throws: (any Error).self) { _ = try await rig.agent.send(new) }
        #expect(rig.count == 2)
        #expect(try await rig.agent.response(for: old, cachePolicy: .cacheOnly).model.a == 1)
        #expect(await rig.cache.count == 1)
    }

    @Test func whatCannotBeFormattedDoesNotTakeThePlaceOfWhatCan() async throws {
        let counter = counter
        let rig = CachedRig(.reload) { _ in .json(try counter.next() == 1 ? "1" : "{}") }
        _ = try await rig.agent.send(request)
        _ = try? await rig.agent.send(request)
        #expect(try await rig.agent.response(for: request, cachePolicy: .cacheOnly).model == 1)
    }

    struct Picky: Request, Sendable {
        typealias Model = Int
        var path: String { "/x" }
        func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { payload.data != Data("1".utf8) }
    }

    @Test func requestCanVetoStoring() async throws {
        let rig = rig(.cacheElseNetwork(maxAge: .seconds(60)))
        #expect(try await [rig.agent.send(Picky()), rig.agent.send(Picky()), rig.agent.send(Picky())] == [1, 2, 2])
    }

    @Test func anotherPolicyMayBeUsedForOneSend() async throws {
        let rig = rig(.cacheElseNetwork(maxAge: .seconds(60)))
        await expect(throwing: .notCached) { _ = try await rig.agent.response(for: request, cachePolicy: .cacheOnly) }
        _ = try await rig.agent.send(request)
        #expect(try await rig.agent.response(for: request, cachePolicy: .reload).model == 2)
        #expect(try await rig.agent.send(request) == 2)
        #expect(try await rig.agent.response(for: request, cachePolicy: .networkOnly).model == 3)
        #expect(try await rig.agent.send(request) == 2)
    }

    @Test func inheritedPolicyOfOneSendIsTheRequests() async throws {
        let policy = CachePolicy.cacheElseNetwork(maxAge: .seconds(60))
        for (rig, request) in [(rig(.networkOnly), request.cachePolicy(policy)), (rig(policy), request)] {
            _ = try await rig.agent.send(request)
            #expect(try await rig.agent.response(for: request, cachePolicy: .inherited).source.isFromCache)
            for try await response in rig.agent.responses(for: request, cachePolicy: .inherited) {
                #expect(response.source.isFromCache)
            }
            #expect(rig.count == 1)
        }
    }

    @Test func seededResponseIsFound() async throws {
        let rig = rig(.cacheElseNetwork(maxAge: .seconds(60)))
        let list = try await rig.agent.response(for: request)
        let other = GeneralRequest("/y").expecting(Int.self)
        try rig.agent.store(list.raw, for: other)
        #expect(try await rig.agent.response(for: other).source.isFromCache)
        #expect(try await rig.cache.entry(for: rig.agent.cacheKey(for: other)).text == "1")
        try rig.agent.removeStored(for: other)
        #expect(try await rig.agent.send(other) == 2)
    }

    @Test func theReasonsForAMissAreReported() async throws {
        let rig = rig(.cacheElseNetwork(maxAge: .seconds(60)))
        func forecast(_ request: some Request & Sendable) async throws -> CacheForecast {
            try await Self.plan(request, rig.agent)
        }
        #expect(try await forecast(request) == .miss(.absent))
        #expect(try await rig.agent.response(for: request).metrics.cacheMiss == .absent)
        rig.clock.advance(by: 10)
        #expect(try await forecast(request) == .hit(age: .seconds(10)))
        rig.clock.advance(by: 51)
        #expect(try await forecast(request) == .miss(.expired))
        rig.clock.advance(by: -100)
        #expect(try await forecast(request) == .miss(.clockSkew))
        #expect(try await forecast(request.method(.post)) == .miss(.methodNotCached))
        #expect(try await forecast(request.header("Range", "bytes=0-1,3-4")) == .miss(.bypassed))
        #expect(try await forecast(request.header("If-None-Match", "\"1\"")) == .miss(.bypassed))
        #expect(try await forecast(request.header("Cache-Control", "no-store")) == .miss(.bypassed))
        #expect(try await forecast(request.authorization(.bearer("t"))) == .miss(.absent))
        #expect(try await forecast(request.cachePolicy(.reload)) == .miss(.bypassed))
        #expect(try await forecast(request.cachePolicy(.networkOnly)) == .unused)
        rig.agent.config.cache = nil
        #expect(try await forecast(request) == .miss(.noCache))
        await expect(throwing: .notCached) { _ = try await rig.agent.send(request.cachePolicy(.cacheOnly)) }
        #expect(rig.count == 1)
    }

    @Test func nothingIsSentForARequestThatAllowsOnlyAStoredResponse() async throws {
        let rig = rig(.http)
        let stored = request.header("Cache-Control", "only-if-cached")
        let requests = [
            stored, stored.method(.post), stored.method(.delete), stored.authorization(.bearer("t")),
            stored.header("Range", "bytes=0-1,3-4"), stored.header("If-None-Match", "\"1\""),
        ]
        for request in requests { await expect(throwing: .notCached) { _ = try await rig.agent.send(request) } }
        rig.agent.config.cache = nil
        await expect(throwing: .notCached) { _ = try await rig.agent.send(stored) }
        #expect(rig.count == 0)
        // Other policies ignore the field.
        #expect(try await rig.agent.send(stored.cachePolicy(.networkOnly)) == 1)
    }

    @Test func requestThatAllowsOnlyAStoredResponseIsNotValidatedInTheBackground() async throws {
        let rig = CachedRig(.http) { _ in
            .json("1", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=600"])
        }
        _ = try await rig.agent.send(request)
        rig.clock.advance(by: 61)
        let stored = request.header("Cache-Control", "only-if-cached")
        #expect(try await rig.agent.response(for: stored).source.isFromCache)
        #expect(try await rig.agent.response(for: request).source.isFromCache)
        // The revalidation of the last request, which would have found the one before running.
        await rig.transport.waitForRequests(2)
        #expect(rig.transport.requests.allSatisfy { $0.headers["Cache-Control"] == nil })
    }

    private static func plan<R: Request & Sendable>(_ request: R, _ agent: Agent) async throws -> CacheForecast {
        try await agent.plan(for: request).cache
    }

    @Test func unsafeRequestInvalidatesItsURLs() async throws {
        let rig = CachedRig { request in
            .json(
                "1",
                headers: request.method == .post
                    ? ["Location": "/made", "Content-Location": "https://other.example/y"] : [:]
            )
        }
        let paths = ["/x", "/made", "/y"]
        for path in paths { _ = try await rig.agent.send(GeneralRequest(path).header("Accept", "a")) }
        try rig.agent.store(
            RawResponse(headers: ["Content-Type": "application/json"], body: Data("1".utf8), url: url),
            for: GeneralRequest("https://other.example/y")
        )
        _ = try await rig.agent.send(GeneralRequest("/x").method(.post))
        let urls = await rig.cache.entries.compactMap { $0.url?.absoluteString }.sorted()
        #expect(urls == ["https://api.example/y", "https://other.example/y"])
        #expect(
            try await rig.agent.response(for: GeneralRequest("https://other.example/y"), cachePolicy: .cacheOnly).model
                == 1
        )
    }

    @Test func staleResponseIsDeliveredAtTheDeadline() async throws {
        let (clock, wall, calls) = (ManualClock(), WallClock(), Lock(0))
        let cache = ResponseCache(disk: nil) { wall.now }
        let config = NetworkConfig.test {
            $0.cache = cache
            $0.cachePolicy = .networkElseCache(maxStale: nil)
            $0.limits.deadline = .seconds(5)
        }
        let transport = StubTransport { _ in
            if calls.next() > 1 { try await Task.sleep(for: .seconds(3600)) }
            return .json("1")
        }
        let agent = Agent(config: config, transport: transport, clock: clock)
        _ = try await agent.send(request)
        let send = Task { [request] in try await agent.response(for: request) }
        await transport.waitForRequests(2)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        let response = try await send.value
        guard case .stale(_, let error as NetworkError) = response.source else { throw Boom() }
        #expect(error.kind == .timedOut && response.model == 1)
    }

    @Test(arguments: [
        "https://api.example:443/made", "HTTPS://API.example/made", "/made#top", "https://user@api.example/made",
        "//api.example/x/../made",
    ])
    func targetsAreInvalidatedHoweverTheyAreSpelled(location: String) async throws {
        let rig = CachedRig { .json("1", headers: $0.method == .post ? ["Content-Location": location] : [:]) }
        _ = try await rig.agent.send(GeneralRequest("/made"))
        _ = try await rig.agent.send(GeneralRequest("/made/publish").method(.post))
        #expect(await rig.cache.entries.isEmpty)
    }

    /// An adapter has moved a resource, so that the server confirms the version of another one.
    private func movedRig(status: Int = 200) -> CachedRig {
        let fields: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
        let count = Lock(0)
        let moving = ClosureAdapter(scope: "") { request, _ in
            if count.next() > 1 { request.url = try #require(URL(string: "https://api.example/y")) }
        }
        return CachedRig(.http) {
            $0.adapters = [moving]
        } responding: { request in
            if request.url.path() == "/x" { return .json("1", headers: fields) }
            if request.headers["If-None-Match"] != nil { return .status(304, headers: fields) }
            return .json("2", status: status, headers: fields)
        }
    }

    @Test func metricsHaveTheAttemptWhoseValidationCouldNotBeUsed() async throws {
        let rig = movedRig()
        _ = try await rig.agent.send(request)
        let response = try await rig.agent.response(for: request)
        #expect(response.model == 2)
        #expect(response.metrics.attempts.map(\.statusCode) == [304, 200])
    }

    @Test func errorCountsTheAttemptWhoseValidationCouldNotBeUsed() async throws {
        let rig = movedRig(status: 404)
        _ = try await rig.agent.send(request)
        let error = await #expect(throws: NetworkError.self) { try await rig.agent.send(request) }
        #expect(error?.statusCode == 404 && error?.attempts == 2)
    }
}
