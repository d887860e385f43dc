import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.serialized, .limit(seconds: 60))
struct DuplicateTests {
    @Test func aThousandSharedSendsAreCoalescedIntoOneRequest() async throws {
        let rig = AdmissionBench(isOpen: false)
        let tasks = (0..<1_000).map { _ in rig.start(AdmissionBench.get("/x", .share)) }
        await rig.waitForFlightWaiters(1_000)
        await rig.transport.waitForRequests()
        rig.gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        #expect(rig.transport.requestCount == 1)
        #expect(rig.agent.pipeline.admission.fetches.count == 0)
    }

    @Test func cancelledSubscriberDoesNotAffectTheOthers() async throws {
        let rig = AdmissionBench(isOpen: false)
        let tasks = (0..<1_000).map { _ in rig.start(AdmissionBench.get("/x", .share)) }
        await rig.waitForFlightWaiters(1_000)
        for task in tasks[..<500] { task.cancel() }
        for task in tasks[..<500] { await #expect(throws: CancellationError.self) { try await task.value } }
        await rig.waitForFlightWaiters(500)
        rig.gate.open()
        for task in tasks[500...] { #expect(try await task.value == 7) }
        #expect(rig.transport.requestCount == 1)
    }

    @Test func sendThatStartedTheFetchMayBeCancelledToo() async throws {
        let rig = AdmissionBench(isOpen: false)
        let first = rig.start(AdmissionBench.get("/x", .share))
        await rig.transport.waitForRequests()
        let second = rig.start(AdmissionBench.get("/x", .share))
        await rig.waitForFlightWaiters(2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        rig.gate.open()
        #expect(try await second.value == 7)
        #expect(rig.transport.requestCount == 1)
    }

    @Test func cancellingTheLastSubscriberCancelsTheRequest() async throws {
        let ended = Record<Bool>()
        let door = Gate()
        let rig = AdmissionBench { _ in
            do { try await door.pass() } catch {
                ended.add(true)
                throw error
            }
            return .json("7")
        }
        let tasks = (0..<3).map { _ in rig.start(AdmissionBench.get("/x", .share)) }
        await rig.waitForFlightWaiters(3)
        await door.waitForArrivals(1)
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        await wait { !ended.all.isEmpty }
        #expect(rig.agent.pipeline.admission.fetches.count == 0)
        // The next one does not receive the response of a cancelled one.
        door.open()
        #expect(try await rig.start(AdmissionBench.get("/x", .share)).value == 7)
        #expect(rig.transport.requestCount == 2)
    }

    @Test func errorReachesAllSubscribers() async throws {
        let rig = AdmissionBench(isOpen: false, responding: { _ in .status(500) })
        let tasks = (0..<10).map { _ in rig.start(AdmissionBench.get("/x", .share)) }
        await rig.waitForFlightWaiters(10)
        rig.gate.open()
        for task in tasks {
            await expect(throwing: .status(500)) { try await task.value }
        }
    }

    @Test func eachSubscriberKeepsItsDeadline() async throws {
        let rig = AdmissionBench(isOpen: false)
        let request = AdmissionBench.get("/x", .share)
        let first = rig.start(request.limits(Limits(deadline: .seconds(1))))
        await rig.waitForFlightWaiters(1)
        let second = rig.start(request.limits(Limits(deadline: .seconds(9))))
        let third = rig.start(request)
        await rig.waitForFlightWaiters(3)
        await rig.clock.waitForSleepers(2)
        rig.clock.advance(by: .seconds(1))
        await expect(throwing: .deadlineExceeded(.seconds(1))) { try await first.value }
        rig.gate.open()
        #expect(try await second.value == 7)
        #expect(try await third.value == 7)
        #expect(rig.transport.requestCount == 1)
    }

    @Test func allSubscribersAreNotifiedOfRetries() async throws {
        let number = Lock(0)
        let rig = AdmissionBench(isOpen: false, config: .test { $0.retryPolicy = .standard }) { _ in
            number.next() == 1 ? .status(503, headers: ["Retry-After": "5"]) : .json("7")
        }
        let logs = (0..<3).map { _ in EventLog() }
        let tasks = logs.map { rig.start(AdmissionBench.get("/x", .share).accessory($0)) }
        await rig.waitForFlightWaiters(3)
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        rig.gate.open()
        await rig.clock.waitForSleepers(1)
        rig.clock.advanceToNextSleeper()
        #expect(try await tasks[1].value == 7)
        #expect(try await tasks[2].value == 7)
        #expect(logs[0].names == ["willStart", "willStop", "didStop"])
        #expect(logs[1].names == ["willStart", "willRetry", "willStop", "didStop"])
        #expect(logs[2].names == logs[1].names)
        #expect(Set(logs.flatMap(\.events.all).map(\.context.id)).count == 3)
        #expect(rig.transport.requestCount == 2)
    }

    @Test(
        arguments: [
            { $0.authorization(.bearer("b")) }, { $0.header("Cookie", "b") }, { $0.header("X-Api-Key", "b") },
            { $0.query(["access_token": "b"]) },
        ] as [@Sendable (GeneralRequest<DefaultFormatter<Int>>) -> GeneralRequest<DefaultFormatter<Int>>]
    )
    func nothingIsSharedAcrossCredentials(
        other: @Sendable (GeneralRequest<DefaultFormatter<Int>>) -> GeneralRequest<DefaultFormatter<Int>>
    ) async throws {
        for key in ["", "key"] {
            let rig = AdmissionBench(isOpen: false)
            let request = AdmissionBench.get("/x", .share).duplicateKey(key)
            let tasks = [request, other(request), request, other(request)].map(rig.start)
            await rig.waitForFlightWaiters(4)
            #expect(rig.agent.pipeline.admission.fetches.count == 2)
            rig.gate.open()
            for task in tasks { _ = try await task.value }
            #expect(rig.transport.requestCount == 2)
        }
    }

    @Test func nothingIsSharedAcrossUsersOfASession() async throws {
        let gate = Gate()
        let transport = StubTransport.tokens { _ in
            try await gate.pass()
            return nil
        }
        let rig = AuthenticationRig(token: Token(access: "new a", user: "a"), transport: transport)
        let request = AuthenticationRig.request().duplicatePolicy(.share).duplicateKey("key")
        let fetches = rig.agent.pipeline.admission.fetches
        let first = (0..<10).map { _ in Task { try await rig.agent.send(request) } }
        await wait { fetches.waiterCount == 10 }
        await gate.waitForArrivals(1)
        rig.session.login(Token(access: "new b", user: "b"))
        let second = (0..<10).map { _ in Task { try await rig.agent.send(request) } }
        await wait { fetches.waiterCount == 20 }
        await gate.waitForArrivals(2)
        gate.open()
        for task in first + second { #expect(try await task.value == 7) }
        #expect(transport.shown.compactMap(\.self).sorted() == ["Bearer new a", "Bearer new b"])
    }

    @Test func differentRequestsAreNotShared() async throws {
        struct Other: Request {
            typealias Model = Int
            let path = "/x"
            let duplicatePolicy = DuplicatePolicy.share
        }
        let rig = AdmissionBench(isOpen: false)
        let request = AdmissionBench.get("/x", .share)
        let tasks = [
            request, request.query(["q": 1]), request.method(.put), request.header("Accept-Language", "de"),
            request.service(.shop), request.duplicateKey("own"), request.cachePolicy(.reload),
        ].map(rig.start)
        let other = Task { try await rig.agent.send(Other()) }
        await rig.waitForFlightWaiters(8)
        #expect(rig.agent.pipeline.admission.fetches.count == 8)
        rig.gate.open()
        for task in tasks + [other] { #expect(try await task.value == 7) }
    }

    @Test func duplicateKeyMakesDifferentRequestsEqual() async throws {
        let rig = AdmissionBench(isOpen: false)
        let request = AdmissionBench.get("/search", .cancelPrevious).duplicateKey("search")
        let first = rig.start(request.query(["q": "t"]))
        await rig.waitForFlightWaiters(1)
        let second = rig.start(request.query(["q": "te"]))
        await #expect(throws: CancellationError.self) { try await first.value }
        rig.gate.open()
        #expect(try await second.value == 7)
    }

    /// It cannot be compared, which matters only to sends that would receive the result of another send's filter.
    @Test func closureAsAFilterPreventsOnlySharing() async throws {
        let rig = AdmissionBench(isOpen: false)
        let filter = ClosureFilter { response, _ in Payload(response.body) }
        let search = AdmissionBench.get("/search", .cancelPrevious).filter(filter)
        let first = rig.start(search)
        await rig.waitForFlightWaiters(1)
        let second = rig.start(search)
        await #expect(throws: CancellationError.self) { try await first.value }
        let rejected = search.duplicatePolicy(.rejectNew)
        await expect(throwing: .duplicate) { try await rig.agent.send(rejected) }
        let shared = AdmissionBench.get("/shared", .share).filter(filter)
        let others = [rig.start(shared), rig.start(shared)]
        rig.gate.open()
        for task in others + [second] { #expect(try await task.value == 7) }
        #expect(rig.transport.requestCount >= 3)

        let limited = AdmissionBench.get("/limited", .share).filter(filter)
            .limits(Limits(minimumInterval: .seconds(2)))
        #expect(try await rig.agent.send(limited) == 7)
        await expect(kind: .rejected) { try await rig.agent.send(limited) }
    }

    /// The config may have got another decoder since the exchange began.
    @Test func sharedPayloadIsDecodedByTheDecoderOfEachSend() async throws {
        struct User: Decodable {
            let userName: String?
        }
        let rig = AdmissionBench(isOpen: false) { _ in .json(#"{"user_name": "Ada"}"#) }
        let request = GeneralRequest("/x").expecting(User.self).duplicatePolicy(.share)
        let first = Task { [agent = rig.agent] in try await agent.send(request) }
        await rig.waitForFlightWaiters(1)
        rig.agent.config.decoder = {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return decoder
        }()
        let second = Task { [agent = rig.agent] in try await agent.send(request) }
        await rig.waitForFlightWaiters(2)
        rig.gate.open()
        #expect(try await first.value.userName == nil)
        #expect(try await second.value.userName == "Ada")
        #expect(rig.transport.requestCount == 1)
    }

    /// A filter's description may omit what distinguishes it.
    @Test func filtersThatPrintTheSameShareNothing() async throws {
        struct Pick: ResponseFilter, Hashable, CustomStringConvertible {
            let key: String
            var description: String { "Pick" }
            func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
                Payload(Data(key.utf8))
            }
        }
        let rig = AdmissionBench(isOpen: false)
        let tasks = [1, 1, 2].map { rig.start(AdmissionBench.get("/x", .share).filter(Pick(key: "\($0)"))) }
        await rig.waitForFlightWaiters(3)
        rig.gate.open()
        for (task, value) in zip(tasks, [1, 1, 2]) { #expect(try await task.value == value) }
        #expect(rig.transport.requestCount == 2)
    }

    private struct Scaling: ResponseFilter, Hashable {
        let factor: Double
        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload { Payload(response.body) }
    }

    @Test func filterThatIsNotEqualToItselfSharesNothing() async throws {
        let rig = AdmissionBench(isOpen: false)
        let request = AdmissionBench.get("/x", .share).filter(Scaling(factor: .nan))
        let tasks = (0..<2).map { _ in rig.start(request) }
        await rig.transport.waitForRequests(2)
        rig.gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        #expect(rig.agent.pipeline.admission.fetches.count == 0)
    }

    /// A filter that is equal to filters with the same number; its hash value is the number, or always 0.
    private final class Numbered: ResponseFilter, Hashable {
        let number: Lock<Int>
        private let isHashed: Bool

        init(_ number: Int, isHashed: Bool) { (self.number, self.isHashed) = (Lock(number), isHashed) }

        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload { Payload(response.body) }
        static func == (one: Numbered, other: Numbered) -> Bool {
            one === other || one.number.withLock { $0 } == other.number.withLock { $0 }
        }
        func hash(into hasher: inout Hasher) { hasher.combine(isHashed ? number.withLock { $0 } : 0) }
    }

    @Test(arguments: [true, false])
    func filtersThatChangeDuringTheirFetchesReceiveTheirResponses(isHashed: Bool) async throws {
        let rig = AdmissionBench(isOpen: false)
        let filters = (0..<20).map { Numbered($0, isHashed: isHashed) }
        let tasks = filters.map { rig.start(AdmissionBench.get("/x", .share).filter($0)) }
        await rig.waitForFlightWaiters(20)
        await rig.transport.waitForRequests(20)
        for filter in filters { filter.number.withLock { $0 = 100 } }
        rig.gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        #expect(rig.agent.pipeline.admission.fetches.count == 0)
    }

    // It has no state.
    private class Plain: ResponseFilter, Hashable, @unchecked Sendable {
        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload { Payload(Data("1".utf8)) }
        static func == (one: Plain, other: Plain) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    // Nor does it.
    private final class Strict: Plain, @unchecked Sendable {
        override func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
            Payload(Data("2".utf8))
        }
    }

    @Test func filtersThatInheritTheirEqualityShareNothing() async throws {
        let rig = AdmissionBench(isOpen: false)
        let filters = [Plain(), Strict(), Plain(), Strict()]
        let tasks = filters.map { rig.start(AdmissionBench.get("/x", .share).filter($0)) }
        await rig.waitForFlightWaiters(4)
        rig.gate.open()
        for (task, value) in zip(tasks, [1, 2, 1, 2]) { #expect(try await task.value == value) }
        #expect(rig.transport.requestCount == 2)
    }

    @Test func streamedBodyHasNoDuplicate() throws {
        struct Source: BodySource {
            var byteCount: Int64? { 1 }
            func makeReader() throws -> any BodyReader { throw Boom() }
        }
        let request = GeneralRequest("/x").method(.post)
        func key(_ request: GeneralRequest<JSONValueFormatter>, body: OutgoingBody? = nil) throws -> DuplicateKey? {
            let send = Agent(config: .test).makeSend(request)
            let prepared = try send.prepare(request)
            return DuplicateKey(
                prepared,
                body: body ?? prepared.outgoing.body,
                isPassing: false,
                filters: FilterNumbers()
            )
        }
        #expect(try key(request) == key(request.idempotencyKey(.automatic)))
        #expect(try key(request, body: .source(Source())) == nil)
        #expect(try key(request.duplicateKey("a"), body: .source(Source())) != nil)
    }

    @Test func newestOfAThousandSendsCancelsTheOthers() async throws {
        let rig = AdmissionBench(isOpen: false)
        let tasks = (0..<1_000).map { _ in rig.start(AdmissionBench.get("/x", .cancelPrevious)) }
        let ended = Record<Int>()
        let results = Task {
            await withTaskGroup(of: Result<Int, any Error>.self) { group in
                for (index, task) in tasks.enumerated() {
                    group.addTask {
                        defer { ended.add(index) }
                        return await task.result
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        await wait { ended.all.count == 999 }
        rig.gate.open()
        let all = await results.value
        #expect(all.filter { $0.value == 7 }.count == 1)
        #expect(all.filter { $0.failure is CancellationError }.count == 999)
        #expect(rig.agent.pipeline.admission.fetches.count == 0)
    }

    @Test func newestSendCancelsAnOlderOneDuringItsDelay() async throws {
        let rig = AdmissionBench(config: .test { $0.retryPolicy = .standard }) {
            $0.headers["X-New"] == nil ? .status(503, headers: ["Retry-After": "5"]) : .json("7")
        }
        let request = AdmissionBench.get("/x", .cancelPrevious).duplicateKey("key")
        let old = rig.start(request)
        await rig.clock.waitForSleepers()
        #expect(try await rig.start(request.header("X-New", "1")).value == 7)
        await #expect(throws: CancellationError.self) { try await old.value }
        await wait { rig.clock.sleeperCount == 0 }
    }

    @Test func newSendIsRejectedWhileAnEqualOneRuns() async throws {
        let rig = AdmissionBench(isOpen: false)
        let first = rig.start(AdmissionBench.get("/x", .rejectNew))
        await rig.waitForFlightWaiters(1)
        let error = await expect(throwing: .duplicate) {
            try await rig.start(AdmissionBench.get("/x", .rejectNew)).value
        }
        #expect(error?.kind == .rejected && error?.path == "/x")
        rig.gate.open()
        #expect(try await first.value == 7)
        #expect(try await rig.start(AdmissionBench.get("/x", .rejectNew)).value == 7)
        #expect(rig.transport.requestCount == 2)
    }

    @Test(arguments: [DuplicatePolicy.share, .cancelPrevious, .rejectNew], [true, false])
    func sendWithAccessoriesEqualsOneWithout(_ policy: DuplicatePolicy, isFirst: Bool) async throws {
        let rig = AdmissionBench(isOpen: false)
        let plain = AdmissionBench.get("/x", policy)
        let observed = plain.accessory(EventLog())
        let first = rig.start(isFirst ? observed : plain)
        await rig.waitForFlightWaiters(1)
        let second = rig.start(isFirst ? plain : observed)
        let ended = Record<Bool>()
        let watchers = [first, second].map { task in
            Task {
                _ = await task.result
                ended.add(true)
            }
        }
        await wait { !ended.all.isEmpty || rig.agent.pipeline.admission.fetches.waiterCount == 2 }
        rig.gate.open()
        let results = (await first.result, await second.result)
        for watcher in watchers { await watcher.value }
        switch policy {
        case .share:
            #expect(results.0.value == 7 && results.1.value == 7)
            #expect(rig.transport.requestCount == 1)
        case .cancelPrevious: #expect(results.0.failure is CancellationError && results.1.value == 7)
        default:
            #expect(results.0.value == 7)
            #expect((results.1.failure as? NetworkError)?.reason == .duplicate)
            #expect(rig.transport.requestCount == 1)
        }
    }

    @Test func deadlineFailsAtOnceIfNothingIsShared() async throws {
        let rig = AdmissionBench(config: .test { $0.retryPolicy = .standard }) { _ in
            .status(503, headers: ["Retry-After": "50"])
        }
        let request = AdmissionBench.get("/x", .cancelPrevious).limits(Limits(deadline: .seconds(30)))
        await expect(throwing: .status(503)) { try await rig.start(request).value }
    }

    @Test func sendsWithPoliciesEndOnceWhateverHappens() async throws {
        var random = SeededGenerator()
        let rig = AdmissionBench { _ in
            await Task.yield()
            return .json("7")
        }
        let policies: [DuplicatePolicy] = [.share, .cancelPrevious, .rejectNew, .allow]
        let tasks = (0..<2_000).map { index in
            let request = AdmissionBench.get("/\(index % 3)", policies.randomElement(using: &random) ?? .share)
            let task = rig.start(request)
            if Bool.random(using: &random) { task.cancel() }
            return task
        }
        for task in tasks {
            switch await task.result {
            case .success(let value): #expect(value == 7)
            case .failure(let error as NetworkError): #expect(error.reason == .duplicate)
            case .failure(let error): #expect(error is CancellationError)
            }
        }
        #expect(
            rig.agent.pipeline.admission.fetches.count == 0 && rig.agent.pipeline.admission.fetches.waiterCount == 0
        )
    }

    @Test func subscriberPastItsDeadlineGetsTheStaleResponse() async throws {
        let hangs = Lock(false)
        let rig = CachedRig(.networkElseCache(maxStale: nil)) { _ in
            if hangs.withLock({ $0 }) { try await Task.sleep(for: .seconds(3600)) }
            return .json("7")
        }
        let request = AdmissionBench.get("/x", .share)
        #expect(try await rig.agent.send(request) == 7)
        hangs.withLock { $0 = true }
        let patient = Task { try await rig.agent.send(request) }
        await rig.transport.waitForRequests(2)
        let waiter = request.limits(Limits(deadline: .seconds(2)))
        let response = try await rig.agent.response(for: waiter)
        guard case .stale(_, let error) = response.source else { throw Unexpected(response.source) }
        #expect(response.model == 7 && (error as? NetworkError)?.reason == .deadlineExceeded(.seconds(2)))
        #expect(rig.count == 2)
        patient.cancel()
    }

    @Test func sendIsNoDuplicateOfOneWhoseCancellationIsKnown() async throws {
        let rig = Rig.silent()
        for number in 1...1_000 {
            let isOver = Lock(false)
            let task = Task {
                defer { isOver.withLock { $0 = true } }
                return try await rig.agent.send(GetNumber().duplicatePolicy(.rejectNew))
            }
            while rig.transport.requestCount < number, !isOver.withLock({ $0 }), !Task.isCancelled {
                await Task.yield()
            }
            task.cancel()
            let error = await failure { try await task.value }
            try #require(error is CancellationError, "\(number): \(error as Any)")
        }
    }
}
