/// The result of one of many requests.
public struct IndexedResult<Model> {
    /// The index of the request in its sequence, starting at 0.
    public let index: Int
    /// The model or the error of the send.
    public let result: Result<Model, any Error>
}

extension IndexedResult: Sendable where Model: Sendable {}

/// The results of many requests as they finish, created by `resultStream(of:maximumConcurrent:)` of ``Agent``.
///
/// Requests are taken from their sequence only when they can be sent, so that a sequence of a million keeps few in
/// memory. Requests that are running when the iterator is deallocated are cancelled. If the task is cancelled, or all sends
/// are with ``Agent/cancelAll()``, their results are `CancellationError`, and the sequence ends after them.
public struct ResultStream<Requests: Sequence>: AsyncSequence where Requests.Element: Request {
    /// A result with the index of its request.
    public typealias Element = IndexedResult<Requests.Element.Model>
    /// The sequence does not throw: errors are part of the results.
    public typealias Failure = Never

    typealias Start =
        nonisolated(nonsending) (
            Requests.Element, MemberContext, @escaping MemberContext.Deliver<Requests.Element.Model>
        ) async -> Void

    let agent: Agent
    let requests: Requests
    let maximumConcurrent: Int
    let start: Start

    /// Returns an iterator; the first requests are started when the first result is requested.
    public func makeAsyncIterator() -> Iterator {
        Iterator(run: ResultRun(requests.makeIterator(), agent, Swift.max(1, maximumConcurrent), start))
    }

    /// An iterator that sends the requests and returns their results.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let run: ResultRun<Requests>

        /// Returns the next result, waiting for it, or `nil` if there are no more.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await run.next(endingWhenCancelled: true)
        }
    }

    /// Returns all results, in the order of the requests.
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

/// The running requests and the results that are not requested yet; together they never exceed the maximum.
private final class ResultRun<Requests: Sequence> where Requests.Element: Request {
    /// A separate object, so that running requests do not keep the run alive.
    private final class Finished {
        /// The results that were not requested yet, and before them places of those that were.
        private var results: [ResultStream<Requests>.Element?] = []
        private var first = 0

        var count: Int { results.count - first }

        func append(_ result: ResultStream<Requests>.Element) { results.append(result) }

        func popFirst() -> ResultStream<Requests>.Element? {
            guard first < results.count else { return nil }
            defer {
                results[first] = nil
                first += 1
                if first == results.count || first >= 256 {
                    results.removeFirst(first)
                    first = 0
                }
            }
            return results[first]
        }
    }

    private let window: RequestWindow<Requests.Iterator>
    private let finished = Finished()
    private let maximum: Int
    private let context: MemberContext

    init(_ requests: Requests.Iterator, _ agent: Agent, _ maximum: Int, _ start: @escaping ResultStream<Requests>.Start)
    {
        let context = MemberContext(agent: agent, loop: CallerLoop(), stop: CompositionStop()).ofMany()
        let finished = finished
        window = RequestWindow(requests) { request, index, window in
            await start(request, context) { delivered in
                window.didEndOne()
                finished.append(IndexedResult(index: index, result: delivered.map { $0.model }))
            }
        }
        self.maximum = maximum
        self.context = context
    }

    deinit {
        context.stop.stop()
        context.loop.abandon()
    }

    func next(
        endingWhenCancelled: Bool,
        isolation: isolated (any Actor)? = #isolation
    ) async -> ResultStream<Requests>.Element? {
        await withTaskCancellationHandler {
            // The capture isolates the closure, which would otherwise leave the caller.
            _ = isolation
            if !endingWhenCancelled || !Task.isCancelled && !context.stop.isStopped {
                await window.fill(upTo: maximum - finished.count)
            }
            while finished.count == 0, window.runningCount > 0 { await context.loop.step() }
        } onCancel: { [stop = context.stop] in
            stop.stop()
        }
        return finished.popFirst()
    }
}

extension Agent {
    /// Sends requests of any types concurrently, and returns their results in the same order.
    ///
    /// If the task is cancelled, or all sends are with ``cancelAll()``, it returns at once, with `CancellationError` for each
    /// request that had no result.
    public func results<each R: Request & Sendable>(
        of request: repeat each R
    ) async -> (repeat Result<(each R).Model, any Error>)
    where repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        await BatchRequest(repeat each request).results(from: self)
    }

    /// Sends requests of any types concurrently, and returns their results in the same order; models are created on the
    /// caller's actor.
    ///
    /// If the task is cancelled, or all sends are with ``cancelAll()``, it returns at once, with `CancellationError` for each
    /// request that had no result.
    public func results<each R: Request>(
        of request: repeat each R
    ) async -> (repeat Result<(each R).Model, any Error>) {
        await BatchRequest(repeat each request).results(from: self)
    }

    /// Sends the requests of a sequence, a limited number at once, and returns their results in the same order.
    ///
    /// - Parameters:
    ///   - requests: The requests. They are taken from the sequence as needed; as many again as are running may wait.
    ///   - maximumConcurrent: The maximum number of requests that run at the same time, at least 1.
    /// - Returns: A result for each request. If the task is cancelled, or all sends are with ``cancelAll()``,
    ///   `CancellationError` for each request that had none.
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
        let results = ResultList<Result<Requests.Element.Model, any Error>>(missing: .failure(CancellationError()))
        let type = RequestType.of(Requests.Element.self)
        var count = 0
        await runLoop { outer in
            let context = outer.ofMany()
            let (stop, sequence) = (context.stop, context.sequence)
            let window = RequestWindow(requests.makeIterator()) { request, index, window in
                // Enqueued requests and others share the width; only enqueued ones may wait for a task.
                guard !type.isComposed, request.formattingContext == .background, window.runningCount == 1 else {
                    while context.loop.enqueuedCount + window.runningCount > width {
                        await context.loop.step(leaving: .max)
                    }
                    return await context.beginInBackground(request) { delivered in
                        window.didEndOne()
                        results.set(index, delivered.map { $0.model })
                    }
                }
                window.didEndOne()
                context.loop.enqueue(width: width, endedBy: context.stop) {
                    // A request that was cancelled before it began is not sent; its result is a `CancellationError`
                    // already. The stop is what cancels this task.
                    guard !stop.isStopped else { return }
                    do {
                        // Not in a variable, whose type of two generic members would be looked up for each request.
                        results.set(
                            index,
                            .success(try await self.runInBackground(request, of: type, in: sequence).model)
                        )
                    } catch {
                        results.set(index, .failure(error))
                    }
                }
            }
            while true {
                // Waiting requests keep the tasks busy, so that the caller need not wake up for each request.
                await window.fill(upTo: (window.runningCount == 0 ? 2 * width : width) - context.loop.enqueuedCount)
                if context.loop.isIdle { break }
                await context.loop.step(leaving: window.isExhausted ? -1 : width / 4)
            }
            count = window.count
        }
        return results.first(count)
    }

    /// Sends the requests of a sequence, a limited number at once, and returns their results in the same order; models
    /// are created on the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: The requests. They are taken from the sequence one by one, when they can be sent.
    ///   - maximumConcurrent: The maximum number of requests that run at the same time, at least 1.
    /// - Returns: A result for each request. If the task is cancelled, or all sends are with ``cancelAll()``,
    ///   `CancellationError` for each request that had none.
    public func results<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) async -> [Result<Requests.Element.Model, any Error>] where Requests.Element: Request {
        await resultStream(of: requests, maximumConcurrent: maximumConcurrent).all()
    }

    /// Sends the requests of a sequence, a limited number at once, and returns a sequence of results as they finish.
    ///
    /// - Parameters:
    ///   - requests: The requests. They are taken from the sequence one by one, when they can be sent.
    ///   - maximumConcurrent: The maximum number of requests that run, or whose result is not requested yet, at least
    ///     1.
    /// - Returns: The results, each with the index of its request.
    public func resultStream<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) -> ResultStream<Requests>
    where
        Requests.Element: Request & Sendable,
        Requests.Element.Model: Sendable,
        Requests.Element.Formatter: Sendable
    {
        ResultStream(agent: self, requests: requests, maximumConcurrent: maximumConcurrent) {
            await $1.beginInBackground($0, then: $2)
        }
    }

    /// Sends the requests of a sequence, a limited number at once, and returns a sequence of results as they finish;
    /// models are created on the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: The requests. They are taken from the sequence one by one, when they can be sent.
    ///   - maximumConcurrent: The maximum number of requests that run, or whose result is not requested yet, at least
    ///     1.
    /// - Returns: The results, each with the index of its request.
    public func resultStream<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) -> ResultStream<Requests> where Requests.Element: Request {
        ResultStream(agent: self, requests: requests, maximumConcurrent: maximumConcurrent) {
            await $1.begin($0, then: $2)
        }
    }
}

/// The results of the requests, in their order.
///
/// Unchecked: `results` is only accessed while `lock` is held. It is not in the lock, whose type would be looked up for each
/// result; so would be that of `Result` with a model in place of `Element`. An empty tuple in the lock has the address of the
/// lock's own type, whose reading the thread sanitizer reports as a race.
private final class ResultList<Element: Sendable>: @unchecked Sendable {
    private let lock = Lock(false)
    private var results: [Element] = []
    /// The result of a request that has none.
    private let missing: Element

    init(missing: Element) { self.missing = missing }

    func set(_ index: Int, _ result: Element) { lock.withLock { _ in set(index, result, in: &results) } }

    private func set(_ index: Int, _ result: Element, in results: inout [Element]) {
        guard index >= results.count else {
            results[index] = result
            return
        }
        while results.count < index { results.append(missing) }
        results.append(result)
    }

    /// Returns this number of results, with those that are missing.
    func first(_ count: Int) -> [Element] {
        lock.withLock { _ in
            while results.count < count { results.append(missing) }
            return results
        }
    }
}
