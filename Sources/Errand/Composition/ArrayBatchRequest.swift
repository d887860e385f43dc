/// Requests of one type that run concurrently, and whose model is an array of their models, in the same order.
///
/// ```swift
/// let users = try await agent.send(ArrayBatchRequest(ids.map { GetUser(id: $0) }))
/// ```
///
/// Like ``BatchRequest``, it cancels the other requests after the first failure, waits until they have ended, and
/// throws the error unchanged; ``CompositionProgress/failed`` is the request that failed. Without requests it succeeds
/// at once. To get a result for each request, use `results(of:)` of ``Agent``.
public struct ArrayBatchRequest<R: Request>: DeclaredComposition {
    /// The models, in the order of the requests.
    public typealias Model = [R.Model]

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
        let slots = members.map { _ in BatchSlot<R.Model>() }
        await begin(context, slots) { failure in
            let models = Result { try slots.map { try $0.result.get().model } }
            await deliver(failure.map { .failure($0) } ?? models.map { Delivered($0) })
        }
    }

    /// Runs all requests, and returns their responses.
    func responses(from agent: Agent) async throws -> [Response<R.Model>] {
        let slots = members.map { _ in BatchSlot<R.Model>() }
        try await agent.runComposed { context, deliver in
            var context = context
            context.keepsResponses = true
            await begin(context, slots) { failure in
                await deliver(failure.map { .failure($0) } ?? .success(Delivered(())))
            }
        }
        return try slots.map { try $0.response() }
    }

    private func begin(
        _ context: MemberContext,
        _ slots: [BatchSlot<R.Model>],
        end: nonisolated(nonsending) @escaping ((any Error)?) async -> Void
    ) async {
        let run = BatchRun("ArrayBatchRequest", count: members.count, options, in: context, end: end)
        let window = RequestWindow(members.makeIterator()) { member, index, window in
            let child = CompositionChild(index: index, typeName: member.typeName)
            // If the batch has failed, the remaining requests end without being sent.
            guard !run.context.stop.isStopped else {
                window.didEndOne()
                return await run.didEnd(child, CancellationError())
            }
            await member.begin(run.context) { delivered in
                slots[index].result = delivered
                window.didEndOne()
                await run.didEnd(child, delivered.failure)
                await window.fill(upTo: maximumConcurrent)
            }
        }
        await run.start()
        await window.fill(upTo: maximumConcurrent)
        await run.didEndOne()
    }
}

extension ArrayBatchRequest: Sendable where R: Sendable {}

// Overloads that differ by `Sendable` are ranked as those of `response(for:)` are.
extension Agent {
    /// Sends the requests of a batch, and returns the response of each with its model.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<R: Request & Sendable>(
        for batch: ArrayBatchRequest<R>
    ) async throws -> [Response<R.Model>] where R.Model: Sendable, R.Formatter: Sendable {
        try await batch.responses(from: self)
    }

    /// Sends the requests of a batch, and returns the response of each with its model, which is created on the caller's
    /// actor.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<R: Request>(for batch: ArrayBatchRequest<R>) async throws -> [Response<R.Model>] {
        try await batch.responses(from: self)
    }
}
