/// Requests of one type that run at once, as many as there are, and whose models come together, in the order given.
///
/// ```swift
/// let users = try await agent.send(ArrayBatchRequest(ids.map { GetUser(id: $0) }))
/// ```
///
/// What ``BatchRequest`` does for requests of any types: the first failure is thrown as it is, after the others were
/// cancelled and have ended; its place is told by ``CompositionProgress/failed``. Without requests it succeeds at once.
/// Where each request may come to its own end, take `results(of:)` of ``Agent``.
public struct ArrayBatchRequest<R: Request>: CompositionRequest {
    /// The models, in the order of the requests.
    public typealias Model = [R.Model]

    private let members: [Member<R>]
    private let maximumConcurrent: Int
    /// What was said of the whole.
    public var _options = _CompositionOptions()

    /// A batch of requests that are prepared and formatted in the background.
    ///
    /// - Parameters:
    ///   - requests: All that belong to it.
    ///   - maximumConcurrent: How many are on their way at most; 1 sends one after the other, less counts as 1.
    public init(_ requests: some Sequence<R>, maximumConcurrent: Int = 8)
    where R: Sendable, R.Model: Sendable, R.Formatter: Sendable {
        members = requests.map { Member($0) }
        self.maximumConcurrent = max(1, maximumConcurrent)
    }

    /// A batch of requests that are prepared and formatted on their caller.
    ///
    /// - Parameters:
    ///   - requests: All that belong to it.
    ///   - maximumConcurrent: How many are on their way at most; 1 sends one after the other, less counts as 1.
    public init(_ requests: some Sequence<R>, maximumConcurrent: Int = 8) {
        members = requests.map { Member(staying: $0) }
        self.maximumConcurrent = max(1, maximumConcurrent)
    }

    /// Runs the requests, so many at once.
    public var _composition: _Composition<Model>? {
        _Composition { outer, deliver in
            let (part, stopID) = outer.inner(within: _options.deadline)
            let slots = ArraySlots<R.Model>(count: members.count)
            let teller = CompositionTeller("ArrayBatchRequest", total: members.count, _options, in: outer)
            let run = BatchRun(members.count, part.stop, false, teller) { run in
                outer.stop.remove(stopID)
                await run.teller.end(run.failure) { await deliver(slots.models(or: run.failure)) }
            }
            await run.teller.start()
            for _ in members.prefix(maximumConcurrent) { await beginNext(part, slots, run) }
            await run.begun()
        }
    }

    /// Starts the next request; once the batch has failed the rest ends without having begun.
    private func beginNext(_ part: Part, _ slots: ArraySlots<R.Model>, _ run: BatchRun) async {
        while slots.next < members.count {
            let index = slots.next
            slots.next += 1
            let child = CompositionChild(index: index, typeName: members[index].typeName)
            guard part.stop.isStopped else {
                await members[index].begin(part) { made in
                    slots.results[index] = made.map { $0.model }
                    await run.ended(child, made.failure)
                    await beginNext(part, slots, run)
                }
                return
            }
            await run.ended(child, CancellationError())
        }
    }
}

extension ArrayBatchRequest: Sendable where R: Sendable {}

/// Where the results of a batch wait for each other, and which request comes next.
private final class ArraySlots<Model> {
    var results: [Result<Model, any Error>]
    var next = 0

    init(count: Int) { results = Array(repeating: .failure(CancellationError()), count: count) }

    /// All models, or what ended the whole.
    func models(or failure: (any Error)?) -> Result<Made<[Model]>, any Error> {
        if let failure { return .failure(failure) }
        return Result { Made(try results.map { try $0.get() }) }
    }
}
