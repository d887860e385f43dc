/// What one of many requests came to.
public struct IndexedResult<Model> {
    /// The place of the request among those given, from 0.
    public let index: Int
    /// The model, or what the send threw.
    public let result: Result<Model, any Error>
}

extension IndexedResult: Sendable where Model: Sendable {}

/// The results of many requests as they finish, made by `resultStream(of:maximumConcurrent:)` of ``Agent``.
///
/// Requests are taken from their sequence when there is room for them, so that one of a million keeps few in memory.
/// Whoever stops iterating cancels those that are on their way; a task that is cancelled gets their results, each
/// `CancellationError`, and then the end.
public struct ResultStream<Requests: Sequence>: AsyncSequence where Requests.Element: Request {
    /// A result with the place of its request.
    public typealias Element = IndexedResult<Requests.Element.Model>
    /// Nothing is thrown: each result carries its own error.
    public typealias Failure = Never

    typealias Start =
        nonisolated(nonsending) (Requests.Element, Part, @escaping Part.Deliver<Requests.Element.Model>) async -> Void

    let agent: Agent
    let requests: Requests
    let maximumConcurrent: Int
    let start: Start

    /// Starts to send; the first requests are on their way when the first result is asked for.
    public func makeAsyncIterator() -> Iterator {
        Iterator(window: ResultWindow(requests.makeIterator(), agent, Swift.max(1, maximumConcurrent), start))
    }

    /// Sends the requests and hands out their results.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let window: ResultWindow<Requests>

        /// Waits for the next result; `nil` when there are no more.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await window.next(endingWhenCancelled: true)
        }
    }

    /// All results, in the order of the requests.
    func all() async -> [Result<Requests.Element.Model, any Error>] {
        let window = makeAsyncIterator().window
        let cancelled: any Error = CancellationError()
        var results: [Result<Requests.Element.Model, any Error>] = []
        results.reserveCapacity(requests.underestimatedCount)
        while let next = await window.next(endingWhenCancelled: false) {
            while results.count <= next.index { results.append(.failure(cancelled)) }
            results[next.index] = next.result
        }
        return results
    }
}

/// The requests on their way, and the results that nobody has asked for yet; together never more than the maximum.
private final class ResultWindow<Requests: Sequence> where Requests.Element: Request {
    /// Apart from the window, so that what is under way does not keep it.
    private final class Counter {
        var underWay = 0
        /// The results that nobody has asked for yet, the first one at the end.
        var finished: [ResultStream<Requests>.Element] = []
    }

    private var requests: Requests.Iterator
    private let maximum: Int
    private let start: ResultStream<Requests>.Start
    private let part: Part
    private let counter = Counter()
    private var count = 0

    init(_ requests: Requests.Iterator, _ agent: Agent, _ maximum: Int, _ start: @escaping ResultStream<Requests>.Start)
    {
        self.requests = requests
        self.maximum = maximum
        self.start = start
        part = Part(agent: agent, loop: CallerLoop(), stop: PartStop(), deadline: nil, report: nil)
    }

    deinit {
        part.stop.stop()
        part.loop.abandon()
    }

    func next(
        endingWhenCancelled: Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async -> ResultStream<Requests>.Element? {
        await withTaskCancellationHandler {
            // What is captured isolates the closure; without it, it would leave the caller.
            _ = isolation
            if !(endingWhenCancelled && Task.isCancelled) { await fill() }
            while counter.finished.isEmpty, counter.underWay > 0 { await part.loop.step() }
        } onCancel: { [stop = part.stop] in
            stop.stop()
        }
        return counter.finished.popLast()
    }

    private func fill() async {
        while counter.underWay + counter.finished.count < maximum, let request = requests.next() {
            let (index, counter) = (count, counter)
            count += 1
            counter.underWay += 1
            await start(request, part) { made in
                counter.underWay -= 1
                counter.finished.insert(IndexedResult(index: index, result: made.map { $0.model }), at: 0)
            }
        }
    }
}
