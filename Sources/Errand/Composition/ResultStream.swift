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
        Iterator(run: ResultRun(requests.makeIterator(), agent, Swift.max(1, maximumConcurrent), start))
    }

    /// Sends the requests and hands out their results.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let run: ResultRun<Requests>

        /// Waits for the next result; `nil` when there are no more.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await run.next(endingWhenCancelled: true)
        }
    }

    /// All results, in the order of the requests.
    func all() async -> [Result<Requests.Element.Model, any Error>] {
        let run = makeAsyncIterator().run
        let cancelled: any Error = CancellationError()
        var results: [Result<Requests.Element.Model, any Error>] = []
        results.reserveCapacity(requests.underestimatedCount)
        while let next = await run.next(endingWhenCancelled: false) {
            while results.count <= next.index { results.append(.failure(cancelled)) }
            results[next.index] = next.result
        }
        return results
    }
}

/// The requests on their way, and the results that nobody has asked for yet; together never more than the maximum.
private final class ResultRun<Requests: Sequence> where Requests.Element: Request {
    /// Apart from the run, so that what is under way does not keep it.
    private final class Finished {
        /// The first one at the end.
        var results: [ResultStream<Requests>.Element] = []
    }

    private let window: RequestWindow<Requests.Iterator>
    private let finished = Finished()
    private let maximum: Int
    private let part: Part

    init(_ requests: Requests.Iterator, _ agent: Agent, _ maximum: Int, _ start: @escaping ResultStream<Requests>.Start)
    {
        let part = Part(agent: agent, loop: CallerLoop(), stop: PartStop())
        let finished = finished
        window = RequestWindow(requests) { request, index, window in
            await start(request, part) { made in
                window.didEndOne()
                finished.results.insert(IndexedResult(index: index, result: made.map { $0.model }), at: 0)
            }
        }
        self.maximum = maximum
        self.part = part
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
            if !(endingWhenCancelled && Task.isCancelled) {
                await window.fill(upTo: maximum - finished.results.count)
            }
            while finished.results.isEmpty, window.underWay > 0 { await part.loop.step() }
        } onCancel: { [stop = part.stop] in
            stop.stop()
        }
        return finished.results.popLast()
    }
}

extension Agent {
    /// Sends requests of any types at once, and returns what each came to, in their order.
    ///
    /// Cancelled, it returns at once, with `CancellationError` for each request that had no result.
    public func results<each R: Request & Sendable>(
        of request: repeat each R
    ) async -> (repeat Result<(each R).Model, any Error>)
    where repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        await BatchRequest(repeat each request).results(from: self)
    }

    /// Sends requests of any types at once, and returns what each came to, in their order; models are made on the
    /// caller's actor.
    ///
    /// Cancelled, it returns at once, with `CancellationError` for each request that had no result.
    public func results<each R: Request>(
        of request: repeat each R
    ) async -> (repeat Result<(each R).Model, any Error>) {
        await BatchRequest(repeat each request).results(from: self)
    }

    /// Sends the requests of a sequence, so many at once, and returns what each came to, in their order.
    ///
    /// - Parameters:
    ///   - requests: Taken when there is room for them; as many again as are on their way may wait.
    ///   - maximumConcurrent: How many are on their way at most; 1 sends one after the other, less counts as 1.
    /// - Returns: As many results as there were requests; cancelled, `CancellationError` for each that had none.
    public func results<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) async -> [Result<Requests.Element.Model, any Error>]
    where
        Requests.Element: Request & Sendable,
        Requests.Element.Model: Sendable,
        Requests.Element.Formatter: Sendable
    {
        let width = min(max(1, maximumConcurrent), Int.max / 2)
        let results = ResultList<Requests.Element.Model>()
        let isComposed = RequestType.of(Requests.Element.self).isComposed
        var count = 0
        await runLoop { part in
            let window = RequestWindow(requests.makeIterator()) { request, index, window in
                guard !isComposed, request.formattingContext == .background else {
                    return await part.beginInBackground(request) { made in
                        window.didEndOne()
                        results.set(index, made.map { $0.model })
                    }
                }
                window.didEndOne()
                part.loop.enqueue(width: width, endedBy: part.stop) {
                    // What was cancelled before it began is not sent; its result says so already.
                    guard !Task.isCancelled else { return }
                    do {
                        results.set(index, .success(try await self.runInBackground(request, isPart: true).model))
                    } catch {
                        results.set(index, .failure(error))
                    }
                }
            }
            while true {
                // What waits for a task keeps the tasks busy, so that the caller need not wake up for each request.
                await window.fill(upTo: (window.underWay == 0 ? 2 * width : width) - part.loop.enqueuedCount)
                if part.loop.isIdle { break }
                await part.loop.step(leaving: window.isExhausted ? -1 : width / 2)
            }
            count = window.count
        }
        return results.first(count)
    }

    /// Sends the requests of a sequence, so many at once, and returns what each came to, in their order; models are
    /// made on the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: Taken one by one, when there is room for them.
    ///   - maximumConcurrent: How many are on their way at most; 1 sends one after the other, less counts as 1.
    /// - Returns: As many results as there were requests; cancelled, `CancellationError` for each that had none.
    public func results<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) async -> [Result<Requests.Element.Model, any Error>] where Requests.Element: Request {
        await resultStream(of: requests, maximumConcurrent: maximumConcurrent).all()
    }

    /// Sends the requests of a sequence, so many at once, and hands out the results as they finish.
    ///
    /// - Parameters:
    ///   - requests: Taken one by one, when there is room for them.
    ///   - maximumConcurrent: How many are on their way, or finished and not asked for, at most; less than 1 counts as 1.
    /// - Returns: The results, each with the place of its request.
    public func resultStream<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) -> ResultStream<Requests>
    where
        Requests.Element: Request & Sendable,
        Requests.Element.Model: Sendable,
        Requests.Element.Formatter: Sendable
    {
        ResultStream(agent: self, requests: requests, maximumConcurrent: maximumConcurrent) { request, part, deliver in
            await part.beginInBackground(request, then: deliver)
        }
    }

    /// Sends the requests of a sequence, so many at once, and hands out the results as they finish; models are made on
    /// the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: Taken one by one, when there is room for them.
    ///   - maximumConcurrent: How many are on their way, or finished and not asked for, at most; less than 1 counts as 1.
    /// - Returns: The results, each with the place of its request.
    public func resultStream<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) -> ResultStream<Requests> where Requests.Element: Request {
        ResultStream(agent: self, requests: requests, maximumConcurrent: maximumConcurrent) { request, part, deliver in
            await part.begin(request, then: deliver)
        }
    }
}

/// What each request came to, in their order.
private final class ResultList<Model: Sendable>: Sendable {
    private let results = Lock<[Result<Model, any Error>]>([])
    private let unfinished: any Error = CancellationError()

    func set(_ index: Int, _ result: Result<Model, any Error>) {
        results.withLock { results in
            while results.count <= index { results.append(.failure(unfinished)) }
            results[index] = result
        }
    }

    /// So many results; what has none counts as cancelled.
    func first(_ count: Int) -> [Result<Model, any Error>] {
        results.withLock { results in
            while results.count < count { results.append(.failure(unfinished)) }
            return results
        }
    }
}
