import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60))
struct MinimumIntervalTests {
    private let bench = AdmissionBench()
    private let request = AdmissionBench.get().limits(Limits(minimumInterval: .seconds(2)))

    private func send(_ request: GeneralRequest<DefaultFormatter<Int>>) async throws -> Int {
        try await bench.agent.send(request)
    }

    @Test func laterSendsFailWithTheTimeToWait() async throws {
        #expect(try await send(request) == 7)
        bench.clock.advance(by: .milliseconds(500))
        let error = await expect(throwing: .tooSoon(retryAfter: .milliseconds(1_500))) { try await send(request) }
        #expect(error?.kind == .rejected && error?.path == "/x" && error?.attempts == 0)
        bench.clock.advance(by: .milliseconds(1_500))
        #expect(try await send(request) == 7)
        #expect(bench.transport.requestCount == 2)
    }

    @Test func aThousandConcurrentSendsMakeOneRequest() async {
        let tasks = (0..<1_000).map { _ in bench.start(request) }
        var values = 0
        for task in tasks { if case .success = await task.result { values += 1 } }
        #expect(values == 1 && bench.transport.requestCount == 1)
    }

    @Test func onlyEqualSendsAreRejected() async throws {
        #expect(try await send(request) == 7)
        #expect(try await send(request.query(["q": 1])) == 7)
        #expect(try await send(request.authorization(.bearer("a"))) == 7)
        #expect(try await send(AdmissionBench.get()) == 7)
        #expect(try await send(request.query(["q": 2]).duplicateKey("key")) == 7)
        await #expect(throws: NetworkError.self) { try await send(request.query(["q": 3]).duplicateKey("key")) }
    }

    @Test func accessoriesDoNotMakeAnotherSend() async throws {
        let observed = request.accessory(EventLog())
        #expect(try await send(request) == 7)
        await #expect(throws: NetworkError.self) { try await send(observed) }
        await #expect(throws: NetworkError.self) { try await bench.agent.start(request).value }
        bench.clock.advance(by: .seconds(2))
        #expect(try await send(observed) == 7)
        await #expect(throws: NetworkError.self) { try await send(request) }
        #expect(bench.transport.requestCount == 2)
    }

    @Test func anotherTraceOrTimeoutDoesNotMakeAnotherSend() async throws {
        #expect(try await send(request.header("X-Trace", "1")) == 7)
        await #expect(throws: NetworkError.self) { try await send(request.header("X-Trace", "2")) }
        let slower = Limits(timeout: .seconds(90), minimumInterval: .seconds(2))
        await #expect(throws: NetworkError.self) { try await send(request.limits(slower)) }
        #expect(bench.transport.requestCount == 1)
    }

    @Test func joiningAnInFlightFetchNeedsNoInterval() async throws {
        let bench = AdmissionBench(isOpen: false)
        let shared = request.duplicatePolicy(.share)
        let tasks = (0..<10).map { _ in bench.start(shared) }
        await bench.waitForFlightWaiters(10)
        bench.gate.open()
        for task in tasks { #expect(try await task.value == 7) }
        await #expect(throws: NetworkError.self) { try await bench.agent.send(shared) }
    }

    @Test func earlyDuplicateDoesNotCancelTheFirstSend() async throws {
        let bench = AdmissionBench(isOpen: false)
        let newest = request.duplicatePolicy(.cancelPrevious)
        let first = bench.start(newest)
        await bench.waitForFlightWaiters(1)
        await #expect(throws: NetworkError.self) { try await bench.agent.send(newest) }
        bench.gate.open()
        #expect(try await first.value == 7)
    }

    @Test func aSendThatAnInterceptorRepeatsIsTheSameSend() async throws {
        struct Twice: SendInterceptor {
            func intercept(_ context: RequestContext, next: SendChain) async throws {
                try await next()
                try await next()
            }
        }
        let bench = AdmissionBench(config: .test { $0.sendInterceptors = [Twice()] })
        #expect(try await bench.agent.send(request) == 7)
        #expect(bench.transport.requestCount == 2)
    }

    @Test(.ownThread) func intervalsBeyondTheMaximumAreForgotten() throws {
        var table = InFlightTable()
        let agent = Agent(config: .test)
        func isAdmitted(_ number: Int, sendID: Int, _ interval: Duration, at now: Duration) throws -> Bool {
            let request = GeneralRequest("/\(number)")
            let prepared = try agent.makeSend(request).prepare(request)
            let key = try #require(
                DuplicateKey(prepared, body: prepared.outgoing.body, isPassing: false, filters: FilterNumbers())
            )
            let subscriber = InFlightSubscriber(receivesEvents: false, of: prepared.stop)
            let step = table.enter(key, .allow, sendID: sendID, subscriber: subscriber, interval: interval, at: now)
            guard case .alone = step else { return false }
            return true
        }
        for number in 0..<2 * InFlightTable.maximumIntervalCount {
            #expect(try isAdmitted(number, sendID: number, .seconds(Int64.max), at: .seconds(number)))
        }
        #expect(table.intervalCount <= InFlightTable.maximumIntervalCount)
        let last = 2 * InFlightTable.maximumIntervalCount - 1
        #expect(try !isAdmitted(last, sendID: -1, .seconds(1), at: .seconds(20_000)))
    }
}
