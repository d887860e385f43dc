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
            await run.next()
        }
    }
}

/// The running requests and the results that are not requested yet; together they never exceed the maximum.
private final class ResultRun<Requests: Sequence> where Requests.Element: Request {
    /// A separate object, so that running requests do not keep the run alive.
    private final class Finished {
        private var arrived: [ResultStream<Requests>.Element] = []
        /// Earlier ones, in reverse order.
        private var due: [ResultStream<Requests>.Element] = []

        var count: Int { arrived.count + due.count }

        func append(_ result: ResultStream<Requests>.Element) { arrived.append(result) }

        func popFirst() -> ResultStream<Requests>.Element? {
            if due.isEmpty {
                swap(&arrived, &due)
                due.reverse()
            }
            return due.popLast()
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

    func next(isolation: isolated (any Actor)? = #isolation) async -> ResultStream<Requests>.Element? {
        await withTaskCancellationHandler {
            // The capture isolates the closure, which would otherwise leave the caller.
            _ = isolation
            if !Task.isCancelled, !context.stop.isStopped {
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
    ///   - requests: The requests. They are taken from the sequence before the first one is sent.
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
        let requests = Array(requests)
        let type = RequestType.of(Requests.Element.self)
        guard !type.isComposed, requests.allSatisfy({ $0.formattingContext == .background }) else {
            return await ArrayBatchRequest(requests, maximumConcurrent: maximumConcurrent).results(from: self)
        }
        return await results(of: requests, type, atOnce: max(1, maximumConcurrent))
    }

    /// Sends requests that may leave their caller, in as many tasks as may run at once.
    ///
    /// A task and a wake-up of the caller for each would cost as much as a request does apart from the network.
    @concurrent
    private func results<R: Request & Sendable>(
        of requests: [R],
        _ type: RequestType,
        atOnce width: Int
    ) async -> [Result<R.Model, any Error>] where R.Model: Sendable, R.Formatter: Sendable {
        let (stop, next) = (CompositionStop(), Lock(0))
        let results = ResultList(Result<R.Model, any Error>.failure(CancellationError()), count: requests.count)
        let sequence = SendSequence(pipeline.sends) { stop.stop() }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<min(width, requests.count) {
                group.addTask {
                    while !stop.isStopped, !Task.isCancelled {
                        let index = next.withLock { next in
                            defer { next += 1 }
                            return next
                        }
                        guard index < requests.count else { return }
                        do {
                            // Not in a variable, whose type of two generic members would be looked up for each request.
                            results.set(
                                index,
                                .success(try await self.runInBackground(requests[index], of: type, in: sequence).model)
                            )
                        } catch {
                            results.set(index, .failure(error))
                        }
                    }
                }
            }
        }
        return results.all
    }

    /// Sends the requests of a sequence, a limited number at once, and returns their results in the same order; models
    /// are created on the caller's actor.
    ///
    /// - Parameters:
    ///   - requests: The requests. They are taken from the sequence before the first one is sent.
    ///   - maximumConcurrent: The maximum number of requests that run at the same time, at least 1.
    /// - Returns: A result for each request. If the task is cancelled, or all sends are with ``cancelAll()``,
    ///   `CancellationError` for each request that had none.
    public func results<Requests: Sequence>(
        of requests: Requests,
        maximumConcurrent: Int = 8
    ) async -> [Result<Requests.Element.Model, any Error>] where Requests.Element: Request {
        await ArrayBatchRequest(requests, maximumConcurrent: maximumConcurrent).results(from: self)
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
/// result. An empty tuple in the lock has the address of the lock's own type, whose reading the thread sanitizer reports as a
/// race.
private final class ResultList<Element: Sendable>: @unchecked Sendable {
    private let lock = Lock(false)
    private var results: [Element]

    init(_ missing: Element, count: Int) { results = Array(repeating: missing, count: count) }

    var all: [Element] { lock.withLock { _ in results } }

    func set(_ index: Int, _ result: Element) { lock.withLock { _ in results[index] = result } }
}
