import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The requests that need a permit of the throttle, and how long it is held.
@Suite(.serialized, .limit(seconds: 120))
struct ThrottlePermitsTests: ThrottleSuite {
    let clock = ManualClock()

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
        for isAtOnce in [true, false] {
            let handshake = ClosureInterceptor { request, next in
                if isAtOnce {
                    async let one = next(request)
                    async let two = next(request)
                    return try await [one, two][1]
                }
                _ = try await next(request)
                return try await next(request)
            }
            let (agent, wire) = rig(
                Throttle(maximumPerHost: 2, rate: .perSecond(10)),
                .test { $0.interceptors = [handshake] }
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

    @Test func serverThatRequestsADelayGetsNoWaitingRequest() async throws {
        let (doors, count) = ([Gate(), Gate()], Lock(0))
        let doubling = ClosureInterceptor { request, next in
            guard request.url.path() == "/both" else { return try await next(request) }
            async let one = next(request)
            await wait { count.withLock { $0 } == 1 }
            async let two = next(request)
            return try await [one, two][0]
        }
        let (agent, wire) = rig(Throttle(maximumPerHost: 2), .test { $0.interceptors = [doubling] }) { request in
            guard request.url.path() == "/both" else { return .json("7") }
            let number = count.next()
            try await doors[number - 1].pass()
            return number == 1 ? .json("7") : .status(429, headers: ["Retry-After": "60"])
        }
        let both = start(agent, AdmissionBench.get("/both"))
        await wire.waitForArrivals(2)
        let other = start(agent, AdmissionBench.get("/other"))
        await waitForQueue(agent, 1)
        // The one that was sent with the second permit ends first.
        doors[1].open()
        await wait { agent.pipeline.admission.permits.runningCount == 1 }
        await clock.waitForSleepers()
        #expect(wire.paths == ["/both", "/both"])
        doors[0].open()
        _ = await both.result
        clock.advance(by: .seconds(60))
        #expect(try await other.value == 7)
    }

    private func get(_ user: String, _ path: String = "/x") -> GeneralRequest<DefaultFormatter<Int>> {
        AdmissionBench.get(path).authorization(.bearer(user))
    }

    @Test(arguments: [true, false])
    func usersQuotaThatIsUsedUpDelaysThatUserOnlyIfAskedFor(waitsForReset: Bool) async throws {
        let throttle = Throttle(maximumPerHost: 8, waitsForReset: waitsForReset)
        let (agent, wire) = rig(throttle) { request in
            guard request.url.path() == "/last" else { return .json("7") }
            return .json("7", headers: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"])
        }
        _ = try await agent.send(get("ada", "/last"))
        #expect(try await agent.send(get("bob")) == 7)
        let tasks = (0..<20).map { _ in start(agent, get("ada")) }
        if waitsForReset {
            await clock.waitForSleepers(20)
            #expect(wire.arrivals.count == 2)
            clock.advance(by: .milliseconds(29_999))
            #expect(clock.sleeperCount == 20)
            while clock.sleeperCount > 0 {
                clock.advanceToNextSleeper()
                await Task.yield()
            }
        }
        for task in tasks { #expect(try await task.value == 7) }
        let waited = wire.arrivals.dropFirst(2)
        #expect(waited.count == 20)
        if waitsForReset {
            #expect(waited.allSatisfy { $0 >= .seconds(30) && $0 <= .seconds(33) }, "\(waited)")
            #expect(Set(waited).count > 5, "spread")
        } else {
            #expect(waited.allSatisfy { $0 == .zero })
        }
    }

    @Test func usedQuotaDelaysForAMinuteAtMostAndACancellationEndsTheWait() async throws {
        let (agent, wire) = rig(Throttle(waitsForReset: true)) { _ in
            .json("7", headers: ["RateLimit-Remaining": "0", "RateLimit-Reset": "3600"])
        }
        _ = try await agent.send(get("ada"))
        let tasks = [start(agent, get("ada")), start(agent, get("ada"))]
        await clock.waitForSleepers(2)
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        clock.advance(by: .seconds(65))
        #expect(try await tasks[1].value == 7)
        #expect(wire.arrivals == [.zero, .seconds(65)])
    }

    @Test(arguments: [true, false])
    func a403ThatReportsALimitDelaysItsHost(hasDelay: Bool) async throws {
        let (agent, wire) = rig(Throttle(maximumPerHost: 8)) { request in
            guard request.url.path() == "/limited" else { return .json("7") }
            return .status(403, headers: hasDelay ? ["Retry-After": "30"] : [:])
        }
        await #expect(throws: NetworkError.self) { try await agent.send(AdmissionBench.get("/limited")) }
        let task = start(agent, AdmissionBench.get("/x"))
        if hasDelay {
            await waitForQueue(agent, 1)
            clock.advance(by: .seconds(30))
        }
        #expect(try await task.value == 7)
        #expect(wire.arrivals == [.zero, hasDelay ? .seconds(30) : .zero])
    }

    /// A session that counts a 403 as unauthorized repeats the request at once with a new token.
    @Test func a403ThatIsUnauthorizedGoesToTheSession() async throws {
        let transport = StubTransport.tokens { request in
            guard request.headers["Authorization"] == "Bearer old" else { return nil }
            return .json("1", status: 403, headers: ["Retry-After": "30"])
        }
        let authenticator = TokenAuthenticator(unauthorizedResponse: UnauthorizedResponse(statusCodes: [401, 403]))
        let rig = AuthenticationRig(authenticator, transport: transport) {
            $0.throttle = Throttle(maximumPerHost: 4)
            $0.retryPolicy = .standard
        }
        #expect(try await rig.get() == 7)
        #expect(authenticator.refreshCount == 1)
        #expect(transport.shown == ["Bearer old", "Bearer new1"])
    }

    /// Cancellation handlers of a user's own code may block.
    @Test func permitIsReleasedBeforeTheCodeThatHoldsItIsCancelled() async throws {
        let (counts, agents, door) = (Record<Int>(), Lock<[Agent]>([]), Delivery<Void>())
        defer { door.deliver(()) }
        let deaf = ClosureInterceptor { request, next in
            try await withTaskCancellationHandler {
                await door.value()
                return try await next(request)
            } onCancel: {
                counts.add(agents.withLock { $0[0] }.pipeline.admission.permits.runningCount)
            }
        }
        let (agent, wire) = rig(Throttle(maximumPerHost: 1), .test { $0.interceptors = [deaf] })
        agents.withLock { $0 = [agent] }
        let task = start(agent, AdmissionBench.get("/x").deadline(.seconds(1)))
        await wait { agent.pipeline.admission.permits.runningCount == 1 }
        clock.advance(by: .seconds(1))
        await wait { !counts.all.isEmpty }
        #expect(counts.all == [0])
        door.deliver(())
        await #expect(throws: NetworkError.self) { try await task.value }
        #expect(wire.paths.isEmpty)
    }

    /// Neither the transport nor the interceptor reacts to the cancellation.
    @Test(arguments: [DuplicatePolicy.allow, .cancelPrevious, .rejectNew, .share])
    func permitOfASendThatHasToEndIsReleased(_ policy: DuplicatePolicy) async throws {
        let (doors, arrival) = ([Delivery<Void>(), Delivery<Void>()], Delivery<Void>())
        defer { for door in doors { door.deliver(()) } }
        let deaf = ClosureInterceptor { request, next in
            guard request.url.path() == "/deaf" else { return try await next(request) }
            let response = try? await next(request)
            await doors[0].value()
            guard let response else { throw Boom() }
            return response
        }
        let transport = ClosureTransport { request, _ in
            guard request.url.path() == "/deaf" else { return .json("7") }
            arrival.deliver(())
            await doors[1].value()
            return .json("7")
        }
        let config = NetworkConfig.test { ($0.interceptors, $0.throttle) = ([deaf], Throttle(maximumPerHost: 1)) }
        let agent = Agent(config: config, transport: transport, clock: clock)
        let task = start(agent, AdmissionBench.get("/deaf", policy))
        await arrival.value()
        task.cancel()
        #expect(try await agent.send(AdmissionBench.get("/other")) == 7)
        for door in doors { door.deliver(()) }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func requestsOfAnAdapterNeedNoPermit() async throws {
        let agents = Lock<[Agent]>([])
        let (agent, wire) = rig(
            Throttle(maximumPerHost: 2, maximumInTotal: 2),
            .test {
                $0.adapters = [
                    ClosureAdapter { request, context in
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
        let transport = StubTransport.tokens { $0.url.path() == "/token" ? .json("new") : nil }
        let authenticator = TokenAuthenticator { _, _, agent in
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

    /// A task that an adapter started, and that no attempt waits for, waits like any other.
    @Test func taskThatOutlivesItsAttemptWaitsLikeOthers() async throws {
        let (gate, later) = (Gate(), Gate())
        let agents = Lock<[Agent]>([])
        let tasks = Record<Task<Int, any Error>>()
        let (agent, wire) = rig(
            Throttle(maximumPerHost: 1),
            .test {
                $0.adapters = [
                    ClosureAdapter { _, context in
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
}
