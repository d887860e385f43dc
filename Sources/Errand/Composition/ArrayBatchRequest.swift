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
