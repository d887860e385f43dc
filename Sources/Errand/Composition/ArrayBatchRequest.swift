/// Requests of one type that run concurrently, and whose model is an array of their models, in the same order.
///
/// ```swift
/// let users = try await agent.send(ArrayBatchRequest(ids.map { GetUser(id: $0) }))
/// ```
///
/// Like ``BatchRequest``, it cancels the other requests after the first failure, waits until they have ended, and
/// throws the error unchanged; ``CompositionProgress/failed`` is the request that failed. Without requests it succeeds
/// at once. To get a result for each request, use `results(of:)` of ``Agent``, which runs them in the same way.
public struct ArrayBatchRequest<R: Request>: DeclaredComposition {
    /// The models, in the order of the requests.
    public typealias Model = [R.Model]
    /// The responses, in the order of the requests.
    public typealias ResponseInBatch = [R.ResponseInBatch]

    private let members: [Member<R>]
    private let maximumConcurrent: Int
    var options = CompositionOptions()

    /// Creates a batch of requests that are prepared and formatted in the background.
    ///
    /// - Parameters:
    ///   - requests: The requests of the batch.
    ///   - maximumConcurrent: The maximum number of requests that run at the same time, at least 1.
    public init(_ requests: some Sequence<R>, maximumConcurrent: Int = 8)
    where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
        members = requests.map { Member($0) }
        self.maximumConcurrent = max(1, maximumConcurrent)
    }

    /// Creates a batch of requests that are prepared and formatted on their caller.
    ///
    /// - Parameters:
    ///   - requests: The requests of the batch.
    ///   - maximumConcurrent: The maximum number of requests that run at the same time, at least 1.
    public init(_ requests: some Sequence<R>, maximumConcurrent: Int = 8) {
        members = requests.map { Member(staying: $0) }
        self.maximumConcurrent = max(1, maximumConcurrent)
    }

    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        let slots = members.map { _ in BatchSlot<R>() }
        await begin(context, slots) { failure in
            let models = Result { try slots.map { try $0.model.get() } }
            await deliver(failure.map { .failure($0) } ?? models.map { Delivered($0) })
        }
    }

    static func checkResponses() throws { try R.checkResponse() }

    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async {
        let slots = members.map { _ in BatchSlot<R>(keepingResponse: true) }
        await begin(context, slots) { failure in
            let responses = Result { try slots.map { try $0.response.get() } }
            await deliver(failure.map { .failure($0) } ?? responses.map { Delivered($0) })
        }
    }

    /// Runs all requests to their end, and returns their results.
    func results(from agent: Agent) async -> [Result<R.Model, any Error>] {
        let slots = members.map { _ in BatchSlot<R>() }
        await agent.runLoop { context in await begin(context.ofMany(), slots, tolerant: true) { _ in } }
        return slots.map(\.model)
    }

    private func begin(
        _ outer: MemberContext,
        _ slots: [BatchSlot<R>],
        tolerant isTolerant: Bool = false,
        end: nonisolated(nonsending) @escaping ((any Error)?) async -> Void
    ) async {
        let run = BatchRun(
            "ArrayBatchRequest",
            count: members.count,
            options,
            tolerant: isTolerant,
            in: outer,
            end: end
        )
        let context = run.context
        let window = RequestWindow(members.makeIterator()) { member, index, window in
            let child = CompositionChild(index: index, typeName: member.typeName)
            // If the batch has failed, the remaining requests end without being sent.
            guard !context.stop.isStopped else {
                window.didEndOne()
                return await run.didEnd(child, CancellationError())
            }
            await slots[index].begin(member, in: context) { failure in
                window.didEndOne()
                await run.didEnd(child, failure)
                await window.fill(upTo: maximumConcurrent)
            }
        }
        await run.start()
        await window.fill(upTo: maximumConcurrent)
        await run.didEndOne()
    }
}

extension ArrayBatchRequest: Sendable where R: Sendable {}

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
        let sequence = SendSequence("results", pipeline.sends) { stop.stop() }
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
