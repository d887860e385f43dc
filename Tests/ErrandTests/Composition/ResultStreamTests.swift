import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ResultStreamTests {
    @Test func resultsComeInTheOrderOfTheRequestsWhateverFails() async throws {
        let agent = Rig.numbers().agent
        let (one, two, three) = await agent.results(of: GetNumber(number: 1), GetNumber.failing(), GetText(number: 3))
        #expect(try one.get() == 1)
        #expect(throws: NetworkError.self) { try two.get() }
        #expect(try three.get() == "3")
        let many = await agent.results(
            of: (0..<100).map { $0.isMultiple(of: 7) ? GetNumber.failing($0) : GetNumber(number: $0) },
            maximumConcurrent: 9
        )
        #expect(many.count == 100)
        for (index, result) in many.enumerated() {
            #expect((try? result.get()) == (index.isMultiple(of: 7) ? nil : index))
        }
    }

    /// A rig that returns the number in the path, and counts how many requests run at once.
    private func counting() -> (Rig, running: Lock<(now: Int, most: Int)>) {
        let running = Lock((now: 0, most: 0))
        let rig = Rig { request in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            for _ in 0..<5 { await Task.yield() }
            running.withLock { $0.now -= 1 }
            return .json(request.url.lastPathComponent)
        }
        return (rig, running)
    }

    @Test(arguments: [1, 3, 64, 0, -5, .max]) func runningRequestsNeverExceedTheMaximum(maximum: Int) async throws {
        let (rig, running) = counting()
        _ = await rig.agent.results(of: (0..<200).map { GetNumber(number: $0) }, maximumConcurrent: maximum)
        #expect(rig.transport.requestCount == 200)
        #expect(running.withLock { $0.most } <= max(1, maximum))
    }

    @Test func requestsThatStayOnTheirCallerAreBoundedToo() async throws {
        let (rig, running) = counting()
        let requests = (0..<60).map { GeneralRequest("/\($0)").expecting(Int.self).formattingContext(.caller) }
        let results = await rig.agent.results(of: requests, maximumConcurrent: 4)
        #expect(results.map { try? $0.get() } == Array(0..<60))
        #expect(running.withLock { $0.most } == 4)
    }

    @Test(arguments: [1, 2, 5]) func theMaximumHoldsForRequestsOfBothFormattingContexts(maximum: Int) async throws {
        let (rig, running) = counting()
        for period in 2...5 {
            let requests = (0..<60).map { number in
                let isOnCaller = number % period == 0
                return GeneralRequest("/\(number)").expecting(Int.self)
                    .formattingContext(isOnCaller ? .caller : .background)
            }
            let results = await rig.agent.results(of: requests, maximumConcurrent: maximum)
            #expect(results.map { try? $0.get() } == Array(0..<60))
        }
        #expect(running.withLock { $0.most } == maximum)
    }

    @Test func oneAtATimeIsInOrder() async throws {
        let rig = Rig.numbers()
        _ = await rig.agent.results(of: (0..<50).map { GetNumber(number: $0) }, maximumConcurrent: 1)
        #expect(rig.transport.requests.map { $0.url.path() } == (0..<50).map { "/ok/\($0)" })
    }

    /// Counts how many requests were taken from it.
    struct Counting: Sequence, IteratorProtocol {
        let taken: Record<Int>
        var number = 0
        mutating func next() -> GetNumber? {
            number += 1
            taken.add(number)
            return GetNumber(number: number)
        }
    }

    @Test func requestsAreTakenOnlyWhenThereIsRoom() async throws {
        let taken = Record<Int>()
        var seen = 0
        for await next in Rig.numbers().agent.resultStream(of: Counting(taken: taken), maximumConcurrent: 5) {
            #expect(try next.result.get() == next.index + 1)
            seen += 1
            #expect(taken.all.count <= seen + 5)
            if seen == 100 { break }
        }
        #expect(taken.all.count <= 105)
    }

    @Test func resultsCanComeInOrderOfCompletion() async throws {
        let gate = Record<CheckedContinuation<Void, Never>>()
        let rig = Rig { request in
            if request.url.path() == "/ok/0" { await withCheckedContinuation { gate.add($0) } }
            return .json(request.url.lastPathComponent)
        }
        var order: [Int] = []
        for await next in rig.agent.resultStream(of: (0..<4).map { GetNumber(number: $0) }, maximumConcurrent: 2) {
            order.append(next.index)
            if order.count == 3 {
                await wait { !gate.all.isEmpty }
                gate.all.first?.resume()
            }
        }
        #expect(order == [1, 2, 3, 0])
    }

    @Test func endOfIterationCancelsRunningRequests() async throws {
        let events = Record<String>()
        let rig = Rig.numbers(config: .test { $0.accessories = [AccessoryPathsTests.Recorder(events: events)] })
        let requests = [GetNumber(number: 0)] + (1..<4).map { GetNumber.waiting($0) }
        for await _ in rig.agent.resultStream(of: requests, maximumConcurrent: 4) { break }
        await wait { events.all.filter { $0.hasPrefix("didStop") }.count == 4 }
        for await _ in rig.agent.resultStream(of: requests.map(Unsendable.init), maximumConcurrent: 4) { break }
        await wait { events.all.filter { $0.hasPrefix("didStop") }.count == 8 }
        #expect(events.all.filter { $0 == "didStop cancelled" }.count == 6)
    }

    final class Box {}
    /// Must not leave its caller.
    struct Unsendable: Request {
        typealias Model = Int
        let base: GetNumber
        let box = Box()
        init(_ base: GetNumber) { self.base = base }
        var path: String { base.path }
        var formatter: ClosureFormatter<Int> { base.formatter }
    }

    @Test func cancelledTaskGetsEveryRemainingResult() async throws {
        let rig = Rig.numbers()
        let task = Task {
            await rig.agent.results(
                of: [GetNumber(number: 0)] + (1..<20).map { GetNumber.waiting($0) },
                maximumConcurrent: 4
            )
        }
        await rig.transport.waitForRequests(5)
        task.cancel()
        let results = await task.value
        #expect(results.count == 20)
        #expect(try results.first?.get() == 0)
        for result in results.dropFirst() { #expect(throws: CancellationError.self) { try result.get() } }
        #expect(rig.transport.requestCount <= 6)
    }

    @Test func aCancelledStreamEnds() async throws {
        let rig = Rig.numbers()
        let task = Task {
            var count = 0
            let endless = sequence(first: 0) { $0 + 1 }.lazy.map { GetNumber.waiting($0) }
            for await next in rig.agent.resultStream(of: endless, maximumConcurrent: 3) {
                #expect(next.result.failure is CancellationError)
                count += 1
            }
            return count
        }
        await rig.transport.waitForRequests(3)
        task.cancel()
        #expect(await task.value == 3)
    }

    @Test func batchesAndChainsAreRequestsHereToo() async throws {
        let results = await Rig.numbers().agent.results(
            of: (0..<5).map { number in ChainRequest(GetNumber(number: number)).then { GetNumber(number: $0 + 1) } }
        )
        #expect(results.map { try? $0.get() } == [1, 2, 3, 4, 5])
    }
}
