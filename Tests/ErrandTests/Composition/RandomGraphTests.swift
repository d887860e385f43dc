import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// Random graphs of batches and chains on a clock of our own, with random failures and cancels.
///
/// `ERRAND_GRAPHS` is their number; the library guarantees 10,000.
@Suite(.limit(seconds: 60)) struct RandomGraphTests {
    /// A batch, a chain or a request, before it is made into one.
    indirect enum Node: Sendable {
        case leaf(id: Int, delay: Int, fails: Bool, ignored: Bool, stays: Bool)
        case batch([Node], deadline: Int?)
        case chain([Node], deadline: Int?)

        /// The sum of all ids when nothing fails.
        var sum: Int {
            switch self {
            case .leaf(let id, _, let fails, let ignored, _): fails && ignored ? 0 : id
            case .batch(let nodes, _), .chain(let nodes, _): nodes.map(\.sum).reduce(0, +)
            }
        }

        var ids: [Int] {
            switch self {
            case .leaf(let id, _, _, _, _): [id]
            case .batch(let nodes, _), .chain(let nodes, _): nodes.flatMap(\.ids)
            }
        }

        /// Whether a failure is certain in any order of events.
        var mustFail: Bool {
            switch self {
            case .leaf(_, _, let fails, let ignored, _): fails && !ignored
            case .batch(let nodes, _), .chain(let nodes, _): nodes.contains(where: \.mustFail)
            }
        }

        var hasDeadline: Bool {
            switch self {
            case .leaf: false
            case .batch(let nodes, let deadline), .chain(let nodes, let deadline):
                deadline != nil || nodes.contains(where: \.hasDeadline)
            }
        }

        /// The pairs of ids in which the first must have ended before the second begins.
        var order: [(Int, Int)] {
            switch self {
            case .leaf: return []
            case .batch(let nodes, _): return nodes.flatMap(\.order)
            case .chain(let nodes, _):
                let pairs = zip(nodes, nodes.dropFirst()).flatMap { one, other in
                    one.ids.flatMap { first in other.ids.map { (first, $0) } }
                }
                return nodes.flatMap(\.order) + pairs
            }
        }
    }

    struct Maker {
        var random: SeededGenerator
        var lastID = 0

        mutating func node(depth: Int) -> Node {
            let kind = depth == 0 ? 0 : Int.random(in: 0..<5, using: &random)
            guard kind > 1 else { return leaf() }
            let nodes = (0..<Int.random(in: 0...5, using: &random)).map { _ in node(depth: depth - 1) }
            let deadline = Int.random(in: 0..<12, using: &random) == 0 ? Int.random(in: 0..<9, using: &random) : nil
            if kind == 2 || nodes.isEmpty { return .batch(nodes, deadline: deadline) }
            return .chain(nodes, deadline: deadline)
        }

        private mutating func leaf() -> Node {
            lastID += 1
            return .leaf(
                id: lastID,
                delay: Int.random(in: 0..<8, using: &random),
                fails: Int.random(in: 0..<10, using: &random) == 0,
                ignored: Int.random(in: 0..<3, using: &random) == 0,
                stays: Bool.random(using: &random)
            )
        }
    }

    struct Failed: Error, Equatable { let id: Int }

    /// Yields its id.
    struct Leaf: Request, Sendable {
        typealias Model = Int
        let id: Int
        let delay: Int
        let fails: Bool
        var path: String { "/\(id)/\(delay)" }
        var tag: String { String(id) }
        var formatter: ClosureFormatter<Int> {
            ClosureFormatter { [id, fails] _ in
                if fails { throw Failed(id: id) }
                return id
            }
        }
    }

    /// The same, but it must not leave its caller.
    struct Staying: Request {
        typealias Model = Int
        let leaf: Leaf
        let box = ResultStreamTests.Box()
        var path: String { leaf.path }
        var tag: String { leaf.tag }
        var formatter: ClosureFormatter<Int> { leaf.formatter }
    }

    /// Any node as a request for the sum of its ids.
    static func step(_ node: Node) -> ChainStep<Int> {
        switch node {
        case .leaf(let id, let delay, let fails, let ignored, let stays):
            let leaf = Leaf(id: id, delay: delay, fails: fails)
            switch (ignored, stays) {
            case (false, false): return .send(leaf)
            case (false, true): return .send(Staying(leaf: leaf))
            case (true, false): return .send(ChainRequest(leaf.ignoringFailure()).then { ChainStep.value($0 ?? 0) })
            case (true, true):
                return .send(ChainRequest(Staying(leaf: leaf).ignoringFailure()).then { ChainStep.value($0 ?? 0) })
            }
        case .batch(let nodes, let deadline): return batch(nodes[...].map(step), deadline.map { .seconds($0) })
        case .chain(let nodes, let deadline):
            var chain = ChainRequest(step(nodes[0]))
            for node in nodes.dropFirst() {
                chain = chain.then { sum in ChainRequest(step(node)).then { ChainStep.value($0 + sum) } }
            }
            return .send(chain.deadline(deadline.map { .seconds($0) }))
        }
    }

    private static func batch(_ steps: [ChainStep<Int>], _ deadline: Duration?) -> ChainStep<Int> {
        switch steps.count {
        case 0: .send(ChainRequest(BatchRequest().deadline(deadline)).then { ChainStep.value(0) })
        case 1: .send(BatchRequest(steps[0]).deadline(deadline))
        case 2:
            .send(
                ChainRequest(BatchRequest(steps[0], steps[1]).deadline(deadline)).then { ChainStep.value($0.0 + $0.1) }
            )
        case 4...:
            .send(
                ChainRequest(ArrayBatchRequest(steps, maximumConcurrent: steps.count).deadline(deadline))
                    .then { ChainStep.value($0.reduce(0, +)) }
            )
        default:
            .send(
                ChainRequest(BatchRequest(steps[0], steps[1], steps[2]).deadline(deadline))
                    .then { ChainStep.value($0.0 + $0.1 + $0.2) }
            )
        }
    }

    /// The events of each request: when it began, and how often and when it ended.
    final class Ledger: Accessory {
        private let state = Lock((time: 0, starts: [Int: [Int]](), stops: [Int: [Int]]()))
        func request(_ context: RequestContext, did event: AccessoryEvent) {
            let id = Int(context.tag) ?? -1
            state.withLock { state in
                state.time += 1
                switch event {
                case .willStart: state.starts[id, default: []].append(state.time)
                case .didStop: state.stops[id, default: []].append(state.time)
                default: break
                }
            }
        }
        /// Whether all requests that began have ended.
        var isBalanced: Bool { state.withLock { $0.starts.mapValues(\.count) == $0.stops.mapValues(\.count) } }
        var starts: [Int: [Int]] { state.withLock { $0.starts } }
        var stops: [Int: [Int]] { state.withLock { $0.stops } }
    }

    /// The number of graphs that have ended at a deadline before their last event.
    private let lateCount = Lock(0)

    @Test func everyRequestEndsOnceInOrderAndNothingIsLeftRunning() async throws {
        let count = ProcessInfo.processInfo.environment["ERRAND_GRAPHS"].flatMap { Int($0) } ?? 1_000
        var maker = Maker(random: SeededGenerator())
        var outcomes: [String: Int] = [:]
        for number in 0..<count {
            maker.lastID = 0
            let node = maker.node(depth: 4)
            let cancelTime =
                Int.random(in: 0..<4, using: &maker.random) == 0
                ? Int.random(in: 0..<12, using: &maker.random) : nil
            outcomes[try await run(node, cancelledAt: cancelTime, "graph \(number)"), default: 0] += 1
        }
        print("graphs: \(outcomes.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))")
        #expect(count < 500 || outcomes.count == 4)
        #expect(lateCount.withLock { $0 } <= count / 200)
    }

    private func run(_ node: Node, cancelledAt cancelTime: Int?, _ name: String) async throws -> String {
        let clock = ManualClock()
        let ledger = Ledger()
        let running = Atomic<Int>(0)
        let rig = Rig(config: .test { $0.accessories = [ledger] }, clock: clock) { request in
            running.wrappingAdd(1, ordering: .relaxed)
            defer { running.wrappingSubtract(1, ordering: .relaxed) }
            let delay = Int(request.url.lastPathComponent) ?? 0
            if delay > 0 { try await clock.sleep(until: clock.now.advanced(by: .seconds(delay))) }
            return .json("1")
        }
        let isOver = Atomic<Bool>(false)
        let task = Task {
            defer { isOver.store(true, ordering: .releasing) }
            return try await rig.agent.send(Self.step(node))
        }
        if let cancelTime, cancelTime == 0 { task.cancel() }
        while !isOver.load(ordering: .acquiring) {
            // Let everything run before the clock moves; it need not get equally far each time.
            for _ in 0..<4 { await Task.yield() }
            clock.advanceToNextSleeper()
            if let cancelTime, clock.now.offset >= .seconds(cancelTime) { task.cancel() }
        }
        let result = await task.result
        // On a busy machine, a batch may report at its deadline before its requests have ended (decision 42, cooperative cancellation).
        if case .failure = result, !ledger.isBalanced, node.hasDeadline {
            lateCount.withLock { $0 += 1 }
            await wait { ledger.isBalanced }
        }
        #expect(ledger.isBalanced, "\(name)")
        let (starts, stops) = (ledger.starts, ledger.stops)
        for id in node.ids {
            let (begun, ended) = (starts[id] ?? [], stops[id] ?? [])
            #expect(
                begun.count <= 1 && begun.count == ended.count,
                "\(name): request \(id) \(begun) \(ended) of \(node)"
            )
        }
        for (first, second) in node.order {
            guard let begun = starts[second]?.first else { continue }
            #expect((stops[first]?.first ?? .max) < begun, "\(name): \(second) began before \(first) ended in \(node)")
        }
        await wait { running.load(ordering: .relaxed) == 0 }
        switch result {
        case .success(let sum):
            // A deadline may have made an ignored failure of what would have had a model.
            #expect((sum == node.sum || node.hasDeadline) && !node.mustFail, "\(name): \(sum) of \(node)")
            #expect(node.hasDeadline || node.ids.allSatisfy { stops[$0]?.count == 1 }, "\(name)")
            return "succeeded"
        case .failure(let error as Failed):
            #expect(node.ids.contains(error.id) && node.mustFail, "\(name): \(error) of \(node)")
            return "failed"
        case .failure(is CancellationError):
            #expect(cancelTime != nil, "\(name): \(node)")
            return "were cancelled"
        case .failure(let error as NetworkError):
            #expect(error.kind == .timedOut && node.hasDeadline, "\(name): \(error) of \(node)")
            return "took too long"
        case .failure(let error):
            Issue.record("\(name): \(error)")
            return "\(error)"
        }
    }
}
