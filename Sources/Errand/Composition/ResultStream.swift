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
        var results: [ResultStream<Requests>.Element] = []
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
                finished.results.append(IndexedResult(index: index, result: delivered.map { $0.model }))
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
                await window.fill(upTo: maximum - finished.results.count)
            }
            while finished.results.isEmpty, window.runningCount > 0 { await context.loop.step() }
        } onCancel: { [stop = context.stop] in
            stop.stop()
        }
        return finished.results.isEmpty ? nil : finished.results.removeFirst()
    }
}

extension Agent {
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
