import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.serialized, .limit(seconds: 120))
struct ThrottleTests {
    /// Notes when each request arrives, and how many are on the wire.
    private final class Wire: Transport {
        private struct State {
            var arrivals: [Duration] = []
            var paths: [String] = []
            var running = 0
            var most = 0
            var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?

            /// The one who waits, if what it waits for has come.
            mutating func reached() -> CheckedContinuation<Void, Never>? {
                guard let waiter, waiter.count <= arrivals.count else { return nil }
                self.waiter = nil
                return waiter.continuation
            }
        }
        private let clock: ManualClock
        private let state = Lock(State())
        private let response: @Sendable (OutgoingRequest) async throws -> TransportResponse

        init(_ clock: ManualClock, _ response: @escaping @Sendable (OutgoingRequest) async throws -> TransportResponse)
        {
            self.clock = clock
            self.response = response
        }

        var arrivals: [Duration] { state.withLock { $0.arrivals } }
        var paths: [String] { state.withLock { $0.paths } }
        var most: Int { state.withLock { $0.most } }

        func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
            let now = clock.now.offset
            let waiter = state.withLock { state in
                state.arrivals.append(now)
                state.paths.append(request.url.path())
                state.running += 1
                state.most = max(state.most, state.running)
                return state.reached()
            }
            waiter?.resume()
            defer { state.withLock { $0.running -= 1 } }
            return try await response(request)
        }

        func waitForArrivals(_ count: Int) async {
            await withCheckedContinuation { continuation in
                let reached = state.withLock { state in
                    state.waiter = (count, continuation)
                    return state.reached()
                }
                reached?.resume()
            }
        }
    }

    private let clock = ManualClock()

    private func rig(
        _ throttle: Throttle,
        _ config: NetworkConfig = .test,
        responding response: @escaping @Sendable (OutgoingRequest) async throws -> TransportResponse = { _ in .json("7")
        }
    ) -> (agent: Agent, wire: Wire) {
        let wire = Wire(clock, response)
        var config = config
        config.throttle = throttle
        return (Agent(config: config, transport: wire, clock: clock), wire)
    }

    private func start(_ agent: Agent, _ request: GeneralRequest<DefaultFormatter<Int>>) -> Task<Int, any Error> {
        Task { try await agent.send(request) }
    }

    private func waitForQueue(_ agent: Agent, _ count: Int) async {
        await wait { agent.pipeline.admission.permits.waitingCount == count }
    }

    /// So many sends at so many per second, in bursts: with one of 50 the clock is moved 200 times and not 10,000.
    @Test(arguments: [(10_000, 50), (1_000, 1)])
    func noSecondExceedsTheRate(count: Int, burst: Int) async throws {
        let (agent, wire) = rig(Throttle(rate: .perSecond(50, burst: burst)))
        let tasks = (0..<count).map { _ in start(agent, AdmissionBench.get()) }
        await waitForQueue(agent, count - burst)
        for started in stride(from: burst, through: count, by: burst) {
            await wire.waitForArrivals(started)
            guard started < count else { break }
            await clock.waitForSleepers()
            clock.advanceToNextSleeper()
        }
        for task in tasks { #expect(try await task.value == 7) }
        let most = ThrottlePaceTests.most(wire.arrivals, in: .seconds(1))
        #expect(most == 50 && wire.arrivals.count == count)
        #expect(clock.now.offset == .milliseconds((count - burst) * 20))
        #expect(agent.pipeline.admission.permits.runningCount == 0 && clock.sleeperCount == 0)
        print("\(count) sends at 50 per second: at most \(most) in any one second, \(clock.now.offset) in all")
    }

    @Test func runningExchangesNeverExceedThePermits() async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 8, maximumInTotal: 12)) { _ in
            await Task.yield()
            return .json("7")
        }
        let tasks = (0..<2_000).map { start(agent, AdmissionBench.get("https://h\($0 % 3).example/")) }
        for task in tasks { #expect(try await task.value == 7) }
        #expect((2...12).contains(wire.most))
        #expect(agent.pipeline.admission.permits.runningCount == 0)
    }

    @Test func higherPrioritiesStartFirst() async throws {
        let gate = Gate()
        let (agent, wire) = rig(Throttle(maximumPerHost: 1)) { _ in
            try await gate.pass()
            return .json("7")
        }
        var tasks = [start(agent, AdmissionBench.get("/first"))]
        await wire.waitForArrivals(1)
        for (index, priority) in [Priority.low, .normal, .high, .normal, .high].enumerated() {
            tasks.append(start(agent, AdmissionBench.get("/\(priority)\(index)").priority(priority)))
            await waitForQueue(agent, index + 1)
        }
        gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        #expect(wire.paths == ["/first", "/high2", "/high4", "/normal1", "/normal3", "/low0"])
    }

    @Test func waitingIsReportedAndEndsBeforeSigning() async throws {
        let log = Record<String>()
        struct Told: Accessory {
            let log: Record<String>
            func request(_ context: RequestContext, did event: AccessoryEvent) {
                if case .didWait(let time) = event { log.add("\(context.attempt) \(time)") }
            }
        }
        let clock = clock
        let (agent, wire) = rig(
            Throttle(rate: .perSecond(10)),
            .test {
                $0.adapters = [
                    RequestAdapterTests.Adapter { request, _ in
                        request.headers["X-Signed"] = "\(clock.now.offset)"
                    }
                ]
            },
            responding: { .json("7", headers: ["X-Signed": $0.headers["X-Signed"] ?? ""]) }
        )
        #expect(try await agent.send(AdmissionBench.get()) == 7)
        let second = Task { try await agent.response(for: AdmissionBench.get().accessory(Told(log: log))) }
        await waitForQueue(agent, 1)
        clock.advance(by: .milliseconds(40))
        clock.advance(by: .milliseconds(60))
        let response = try await second.value
        #expect(response.metrics.queue == .milliseconds(100))
        #expect(response.headers["X-Signed"] == "0.1 seconds")
        #expect(log.all == ["1 0.1 seconds"])
        #expect(wire.arrivals == [.zero, .milliseconds(100)])
    }

    @Test func cancelledOrOverdueSendLeavesTheQueueAtOnce() async throws {
        let gate = Gate()
        let (agent, wire) = rig(Throttle(maximumPerHost: 1)) { _ in
            try await gate.pass()
            return .json("7")
        }
        let first = start(agent, AdmissionBench.get())
        await wire.waitForArrivals(1)
        let late = (0..<10).map { _ in start(agent, AdmissionBench.get().limits(Limits(deadline: .seconds(1)))) }
        let cancelled = (0..<500).map { _ in start(agent, AdmissionBench.get()) }
        let patient = start(agent, AdmissionBench.get())
        await waitForQueue(agent, 511)
        for task in cancelled { task.cancel() }
        for task in cancelled { await #expect(throws: CancellationError.self) { try await task.value } }
        await clock.waitForSleepers(10)
        clock.advance(by: .seconds(1))
        for task in late {
            let error = await #expect(throws: NetworkError.self) { try await task.value }
            #expect(error?.reason == .deadlineExceeded(.seconds(1)))
        }
        await waitForQueue(agent, 1)
        gate.open()
        #expect(try await first.value == 7)
        #expect(try await patient.value == 7)
        #expect(wire.arrivals.count == 2)
    }

    @Test func delayBetweenAttemptsHoldsNoPermit() async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 1), .test { $0.retryPolicy = .standard }) { request in
            request.url.path() == "/bad" ? .status(500) : .json("7")
        }
        let bad = start(agent, AdmissionBench.get("/bad"))
        await clock.waitForSleepers()
        #expect(try await agent.send(AdmissionBench.get("/good")) == 7)
        clock.advance(by: .seconds(1))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        await #expect(throws: NetworkError.self) { try await bad.value }
        #expect(wire.paths == ["/bad", "/good", "/bad", "/bad"])
    }

    @Test(arguments: [429, 503])
    func retryAfterDelaysAllSendsToTheHost(status: Int) async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 2)) { request in
            request.url.path() == "/busy" ? .status(status, headers: ["Retry-After": "7"]) : .json("7")
        }
        await #expect(throws: NetworkError.self) { try await agent.send(AdmissionBench.get("/busy")) }
        let waiting = (0..<5).map { _ in start(agent, AdmissionBench.get()) }
        await waitForQueue(agent, 5)
        #expect(try await agent.send(AdmissionBench.get("https://other.example/")) == 7)
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(6_999))
        #expect(agent.pipeline.admission.permits.waitingCount == 5)
        clock.advance(by: .milliseconds(1))
        for task in waiting { #expect(try await task.value == 7) }
        #expect(wire.arrivals.filter { $0 == .seconds(7) }.count == 5)
    }

    @Test func retryAfterDelaysAHostByAMinuteAtMost() async throws {
        let (agent, _) = rig(Throttle(maximumPerHost: 2)) { request in
            request.url.path() == "/busy" ? .status(429, headers: ["Retry-After": "99999999999999999999"]) : .json("7")
        }
        await #expect(throws: NetworkError.self) { try await agent.send(AdmissionBench.get("/busy")) }
        let waiting = start(agent, AdmissionBench.get())
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(try await waiting.value == 7)
    }

    @Test func everyHopOfARedirectTakesAPermit() async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 1, rate: .perSecond(1))) { request in
            switch request.url.absoluteString {
            case "https://api.example/a": .status(302, headers: ["Location": "/b"])
            case "https://api.example/b": .status(302, headers: ["Location": "https://other.example/c"])
            default: .json("7")
            }
        }
        let task = Task { try await agent.response(for: AdmissionBench.get("/a")) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1))
        #expect(try await task.value.metrics.queue == .seconds(1))
        #expect(wire.arrivals == [.zero, .seconds(1), .seconds(1)])
        #expect(agent.pipeline.admission.permits.runningCount == 0)
    }

    @Test func repetitionsByAnInterceptorTakePermits() async throws {
        struct Handshake: Interceptor {
            let isAtOnce: Bool
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                if isAtOnce {
                    async let one = next(request)
                    async let two = next(request)
                    return try await [one, two][1]
                }
                _ = try await next(request)
                return try await next(request)
            }
        }
        for isAtOnce in [true, false] {
            let (agent, wire) = rig(
                Throttle(maximumPerHost: 2, rate: .perSecond(10)),
                .test { $0.interceptors = [Handshake(isAtOnce: isAtOnce)] }
            )
            let began = clock.now.offset
            let task = start(agent, AdmissionBench.get("/a"))
            await clock.waitForSleepers()
            clock.advance(by: .milliseconds(100))
            #expect(try await task.value == 7)
            #expect(wire.arrivals == [began, began + .milliseconds(100)])
            #expect(agent.pipeline.admission.permits.runningCount == 0)
        }
    }

    @Test func requestsOfAnAdapterNeedNoPermit() async throws {
        let agents = Lock<[Agent]>([])
        let (agent, wire) = rig(
            Throttle(maximumPerHost: 2, maximumInTotal: 2),
            .test {
                $0.adapters = [
                    RequestAdapterTests.Adapter { request, context in
                        guard context.url?.path() != "/nonce" else { return }
                        let agent = agents.withLock { $0[0] }
                        let nonce = AdmissionBench.get("/nonce", context.id % 2 == 0 ? .share : .allow)
                        request.headers["X-Nonce"] = "\(try await agent.send(nonce))"
                    }
                ]
            }
        )
        agents.withLock { $0 = [agent] }
        let tasks = (0..<200).map { _ in start(agent, AdmissionBench.get()) }
        for task in tasks { #expect(try await task.value == 7) }
        #expect(wire.paths.filter { $0 == "/x" }.count == 200)
        agents.withLock { $0 = [] }
        #expect(agent.pipeline.admission.permits.runningCount == 0)
    }

    @Test func unlimitedServiceNeitherWaitsNorCounts() async throws {
        let gate = Gate()
        let (agent, wire) = rig(Throttle(maximumPerHost: 1)) { _ in
            try await gate.pass()
            return .json("7")
        }
        var service = Service(id: "free")
        service.throttle = .unlimited
        let tasks = [AdmissionBench.get(), AdmissionBench.get().service(service)].map { start(agent, $0) }
        await wire.waitForArrivals(2)
        gate.open()
        for task in tasks { #expect(try await task.value == 7) }
    }

    @Test func cancelledSendsReleaseTheirPermits() async throws {
        var random = SeededGenerator()
        let (agent, _) = rig(Throttle(maximumPerHost: 4)) { _ in
            for _ in 0..<3 { await Task.yield() }
            try Task.checkCancellation()
            return .json("7")
        }
        let tasks = (0..<2_000).map { _ in start(agent, AdmissionBench.get()) }
        for task in tasks.shuffled(using: &random).prefix(1_000) {
            task.cancel()
            if Int.random(in: 0..<10, using: &random) == 0 { await Task.yield() }
        }
        var values = 0
        for task in tasks {
            switch await task.result {
            case .success: values += 1
            case .failure(let error): #expect(error is CancellationError)
            }
        }
        #expect(values >= 1_000)
        #expect(
            agent.pipeline.admission.permits.runningCount == 0 && agent.pipeline.admission.permits.waitingCount == 0
        )
    }

    @Test(arguments: [false, true])
    func aThousandSendsWithAnExpiredTokenNeedOneRefreshAndDoNotBlockIt(isDetached: Bool) async {
        let transport = TokenTransport { $0.url.path() == "/token" ? .jsonResponse("new") : nil }
        var authenticator = TokenAuthenticator()
        authenticator.renew = { _, _, agent in
            let request = GeneralRequest("/token").expecting(String.self).authorization(.anonymous)
            if isDetached { return Token(access: try await Task.detached { try await agent.send(request) }.value) }
            return Token(access: try await agent.send(request))
        }
        let rig = AuthenticationRig(authenticator, transport: transport) { $0.throttle = Throttle(maximumPerHost: 4) }
        let results = await rig.results(1_000)
        #expect(results.filter { $0.value == 7 }.count == 1_000)
        #expect(authenticator.refreshCount == 1)
        #expect(rig.agent.pipeline.admission.permits.runningCount == 0)
        print("1000 sends with an expired token through 4 slots: \(transport.requests.count) requests")
    }

    /// A task that an adapter started and nobody waits for any more is like any other.
    @Test func taskThatOutlivesItsAttemptWaitsLikeOthers() async throws {
        let (gate, later) = (Gate(), Gate())
        let agents = Lock<[Agent]>([])
        let tasks = Record<Task<Int, any Error>>()
        let (agent, wire) = rig(
            Throttle(maximumPerHost: 1),
            .test {
                $0.adapters = [
                    RequestAdapterTests.Adapter { _, context in
                        guard context.url?.path() == "/first" else { return }
                        let agent = agents.withLock { $0[0] }
                        tasks.add(
                            Task {
                                try await later.pass()
                                return try await agent.send(AdmissionBench.get("/late"))
                            }
                        )
                    }
                ]
            }
        ) { request in
            if request.url.path() == "/slow" { try await gate.pass() }
            return .json("7")
        }
        agents.withLock { $0 = [agent] }
        defer { agents.withLock { $0 = [] } }
        #expect(try await agent.send(AdmissionBench.get("/first")) == 7)
        let slow = start(agent, AdmissionBench.get("/slow"))
        await wire.waitForArrivals(2)
        later.open()
        await wait { agent.pipeline.admission.permits.waitingCount == 1 || wire.arrivals.count > 2 }
        #expect(wire.paths == ["/first", "/slow"])
        gate.open()
        #expect(try await slow.value == 7)
        for task in tasks.all { #expect(try await task.value == 7) }
        #expect(wire.most == 1 && agent.pipeline.admission.permits.runningCount == 0)
    }

    /// Each host has one send; the slots are fewer.
    @Test func costOfASendDoesNotGrowWithTheHosts() async throws {
        func time(_ count: Int) async throws -> Double {
            let gate = Gate()
            let (agent, wire) = rig(Throttle(maximumInTotal: 4)) { _ in
                try await gate.pass()
                return .json("7")
            }
            let tasks = (0..<count).map { start(agent, AdmissionBench.get("https://h\($0).example/x")) }
            await waitForQueue(agent, count - 4)
            _ = wire
            let began = processTime()
            gate.open()
            for task in tasks { #expect(try await task.value == 7) }
            return processTime() - began
        }
        let (few, many) = (try await time(1_250), try await time(10_000))
        print("a send with 1,250 waiting hosts: \(few / 1_250 * 1e6) us, with 10,000: \(many / 10_000 * 1e6) us")
        #expect(many < 24 * few)
    }
}
