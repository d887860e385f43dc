import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60))
struct SendGateTests {
    private struct Asking: SendGate {
        let response: @Sendable (RequestContext) async throws -> Void
        func admit(_ context: RequestContext) async throws { try await response(context) }
    }

    @Test func errorOfAGateReachesTheCallerAndNothingIsSent() async {
        let bench = AdmissionBench(config: .test { $0.sendGates = [Asking { _ in throw Boom(id: 3) }] })
        await #expect(throws: Boom(id: 3)) { try await bench.agent.send(AdmissionBench.get()) }
        #expect(bench.transport.requestCount == 0)
    }

    @Test func configGatesRunBeforeServiceGatesOncePerSend() async throws {
        let asked = Record<String>()
        let gate = { @Sendable (name: String) in Asking { asked.add("\(name) \($0.url?.path() ?? "-") \($0.tag)") } }
        let config = NetworkConfig.test {
            $0.sendGates = [gate("one"), gate("two")]
            $0.retryPolicy = .standard
        }
        let bench = AdmissionBench(config: config) { _ in .status(503, headers: ["Retry-After": "0"]) }
        var service = Service(id: "own")
        service.sendGates = [gate("three")]
        let request = AdmissionBench.get().service(service).tag("feed")
        let error = await #expect(throws: NetworkError.self) { try await bench.agent.send(request) }
        #expect(error?.attempts == 3)
        #expect(asked.all == ["one /x feed", "two /x feed", "three /x feed"])
    }

    @Test func waitingAtAGateIsMeasuredAndCountsAgainstTheDeadline() async throws {
        let door = Gate()
        let bench = AdmissionBench(config: .test { $0.sendGates = [Asking { _ in try await door.pass() }] })
        let first = Task { try await bench.agent.response(for: AdmissionBench.get()).metrics.queue }
        let second = bench.start(AdmissionBench.get().limits(Limits(deadline: .seconds(1))))
        let third = bench.start(AdmissionBench.get())
        await door.waitForArrivals(3)
        await bench.clock.waitForSleepers()
        third.cancel()
        await #expect(throws: CancellationError.self) { try await third.value }
        bench.clock.advance(by: .seconds(1))
        await expect(throwing: .deadlineExceeded(.seconds(1))) { try await second.value }
        door.open()
        #expect(try await first.value == .seconds(1))
        #expect(bench.transport.requestCount == 1)
    }

    @Test func gatesRunForEachSubscriber() async throws {
        let asked = Record<Int>()
        let bench = AdmissionBench(isOpen: false, config: .test { $0.sendGates = [Asking { asked.add($0.id) }] })
        let tasks = (0..<3).map { _ in bench.start(AdmissionBench.get("/x", .share)) }
        await bench.waitForFlightWaiters(3)
        bench.gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        #expect(Set(asked.all).count == 3 && bench.transport.requestCount == 1)
    }

    @Test func planListsGatesAndThrottleWithoutCallingThem() async throws {
        let config = NetworkConfig.test {
            $0.sendGates = [Asking { _ in throw Boom() }]
            $0.throttle = Throttle(maximumPerHost: 8, rate: .perSecond(50))
        }
        let bench = AdmissionBench(config: config)
        let plan = try await bench.agent.plan(for: AdmissionBench.get())
        #expect(plan["sendGates"]?.value == "Asking" && plan["sendGates"]?.source == .config)
        #expect(plan["throttle"]?.value == "8 at once per host, 50 per 1.0 seconds and host")
        #expect(plan["throttle"]?.source == .config)
    }

    private struct Guarding: SendGate {
        let isOpen: Lock<Bool>
        let guardsCache: Bool
        func admit(_ context: RequestContext) async throws { if !isOpen.withLock({ $0 }) { throw Boom(id: 5) } }
    }

    /// A rig with a gate that is open as long as a lock is true.
    private func rig(
        _ isOpen: Lock<Bool>,
        _ policy: CachePolicy = .networkElseCache(maxStale: nil),
        guardsCache: Bool = false
    ) -> CachedRig {
        CachedRig(policy) {
            $0.sendGates = [Guarding(isOpen: isOpen, guardsCache: guardsCache)]
        } responding: { _ in
            .json("7")
        }
    }

    @Test func aFreshCachedResponseNeedsNoGate() async throws {
        let isOpen = Lock(true)
        let rig = rig(isOpen, .cacheElseNetwork(maxAge: .seconds(60)))
        #expect(try await rig.agent.send(AdmissionBench.get()) == 7)
        isOpen.withLock { $0 = false }
        #expect(try await rig.agent.send(AdmissionBench.get()) == 7)
        #expect(try await rig.agent.send(AdmissionBench.get().cachePolicy(.cacheOnly)) == 7)
        rig.clock.advance(by: 61)
        await #expect(throws: Boom(id: 5)) { try await rig.agent.send(AdmissionBench.get()) }
        #expect(rig.count == 1)
    }

    /// A 304 with another entity tag validates nothing, so the request is sent again without its conditions.
    @Test func validationOfAnotherResponseIsNeitherARetryNorAskedAgain() async throws {
        let asked = Record<Int>()
        let events = EventLog()
        let rig = CachedRig(.http) {
            $0.sendGates = [Asking { asked.add($0.id) }]
            $0.retryPolicy = RetryPolicy(baseDelay: .zero).retrying(if: { _, _ in true })
            $0.accessories = [events]
        } responding: { request in
            let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
            guard request.headers.contains("If-None-Match") else { return .json("7", headers: headers) }
            return .status(304, headers: ["ETag": "\"2\""])
        }
        for _ in 0..<2 { #expect(try await rig.agent.send(AdmissionBench.get()) == 7) }
        #expect(rig.count == 3)
        #expect(asked.all.count == 2)
        #expect(!events.names.contains("willRetry"))
    }

    @Test func gateThatGuardsTheCacheRunsBeforeIt() async throws {
        let isOpen = Lock(true)
        let rig = rig(isOpen, guardsCache: true)
        #expect(try await rig.agent.send(AdmissionBench.get()) == 7)
        isOpen.withLock { $0 = false }
        for policy in [
            CachePolicy.networkElseCache(maxStale: nil), .cacheOnly, .cacheElseNetwork(maxAge: .seconds(60)),
        ] {
            await #expect(throws: Boom(id: 5)) {
                try await rig.agent.send(AdmissionBench.get().cachePolicy(policy))
            }
        }
    }

    @Test func rejectionFallsBackToAStaleResponse() async throws {
        let isOpen = Lock(true)
        let rig = rig(isOpen)
        #expect(try await rig.agent.send(AdmissionBench.get()) == 7)
        isOpen.withLock { $0 = false }
        let response = try await rig.agent.response(for: AdmissionBench.get())
        guard case .stale(_, let error) = response.source else { throw Unexpected(response.source) }
        #expect(response.model == 7 && error as? Boom == Boom(id: 5))
        await #expect(throws: Boom(id: 5)) { try await rig.agent.send(AdmissionBench.get("/other")) }
    }
}
