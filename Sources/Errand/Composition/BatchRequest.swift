/// Requests of any types that run concurrently, and whose model is a tuple of their models, in the same order.
///
/// ```swift
/// let (me, hits) = try await agent.send(BatchRequest(GetUser(id: 7), SearchUsers(query: "a")))
/// ```
///
/// After the first failure the other requests are cancelled; once they have ended, the error is thrown unchanged, and
/// ``CompositionProgress/failed`` is the request that failed. If the failure of a request does not matter, use
/// `ignoringFailure()`, which makes its model an optional. Without requests a batch succeeds at once.
///
/// A batch is a request itself: it can be used wherever a request can, also in other batches and in chains, except where a
/// single response is needed. If all its requests may leave the caller, each is prepared and formatted in the background;
/// otherwise all are, one after the other, on the caller. In both cases they are sent concurrently.
public struct BatchRequest<each R: Request>: DeclaredComposition {
    /// The models, in the order of the requests.
    public typealias Model = (repeat (each R).Model)
    /// The responses, in the order of the requests.
    public typealias ResponseInBatch = (repeat (each R).ResponseInBatch)

    private let members: (repeat Member<each R>)
    var options = CompositionOptions()

    /// Creates a batch of requests that are prepared and formatted in the background.
    public init(_ request: repeat each R)
    where repeat each R: Sendable, repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        members = (repeat Member(each request))
    }

    /// Creates a batch of requests that are prepared and formatted on their caller.
    public init(_ request: repeat each R) { members = (repeat Member(staying: each request)) }

    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        let slots = BatchSlots<repeat each R>()
        await begin(context, slots, tolerant: false) { failure in await deliver(slots.models(or: failure)) }
    }

    static func checkResponses() throws {
        for type in repeat (each R).self { try type.checkResponse() }
    }

    func beginForResponse(
        in context: MemberContext,
        then deliver: @escaping MemberContext.Deliver<ResponseInBatch>
    ) async {
        let slots = BatchSlots<repeat each R>(keepingResponses: true)
        await begin(context, slots, tolerant: false) { failure in await deliver(slots.responses(or: failure)) }
    }

    /// Runs all requests to their end, and returns their results.
    func results(from agent: Agent) async -> (repeat Result<(each R).Model, any Error>) {
        let slots = BatchSlots<repeat each R>()
        await agent.runLoop { context in await begin(context.ofMany(), slots, tolerant: true) { _ in } }
        return slots.results()
    }

    private func begin(
        _ context: MemberContext,
        _ slots: BatchSlots<repeat each R>,
        tolerant isTolerant: Bool,
        end: nonisolated(nonsending) @escaping ((any Error)?) async -> Void
    ) async {
        let run = BatchRun("BatchRequest", count: slots.count, options, tolerant: isTolerant, in: context, end: end)
        await run.start()
        var index = 0
        for (member, slot) in repeat (each members, each slots.places) {
            let child = CompositionChild(index: index, typeName: member.typeName)
            await slot.begin(member, in: run.context) { failure in await run.didEnd(child, failure) }
            index += 1
        }
        await run.didEndOne()
    }
}

extension BatchRequest: Sendable where repeat each R: Sendable {}

/// The slots in which the results of a batch wait for each other.
private final class BatchSlots<each R: Request> {
    let places: (repeat BatchSlot<each R>)
    let count: Int

    init(keepingResponses: Bool = false) {
        places = (repeat BatchSlot<each R>(keepingResponse: keepingResponses))
        var count = 0
        for _ in repeat (each R).self { count += 1 }
        self.count = count
    }

    /// Returns the results of the requests.
    func results() -> (repeat Result<(each R).Model, any Error>) { (repeat (each places).model) }

    /// Returns all models, or the error that ended the batch.
    func models(or failure: (any Error)?) -> Result<Delivered<(repeat (each R).Model)>, any Error> {
        do {
            if let failure { throw failure }
            return .success(Delivered((repeat try (each places).model.get())))
        } catch {
            return .failure(error)
        }
    }

    /// Returns all responses, or the error that ended the batch.
    func responses(or failure: (any Error)?) -> Result<Delivered<(repeat (each R).ResponseInBatch)>, any Error> {
        do {
            if let failure { throw failure }
            return .success(Delivered((repeat try (each places).response.get())))
        } catch {
            return .failure(error)
        }
    }
}

/// The slot in which a request's result waits for the results of the others.
final class BatchSlot<R: Request> {
    private(set) var model: Result<R.Model, any Error> = .failure(CancellationError())
    private(set) var response: Result<R.ResponseInBatch, any Error> = .failure(CancellationError())
    private let keepsResponse: Bool

    init(keepingResponse: Bool = false) { keepsResponse = keepingResponse }

    /// Starts the request, and keeps its response, or else its model.
    func begin(
        _ member: Member<R>,
        in context: MemberContext,
        then end: nonisolated(nonsending) @escaping ((any Error)?) async -> Void
    ) async {
        guard keepsResponse else {
            return await member.begin(context) { delivered in
                self.model = delivered.map { $0.model }
                await end(delivered.failure)
            }
        }
        await member.beginForResponse(context) { delivered in
            self.response = delivered.map { $0.model }
            await end(delivered.failure)
        }
    }
}

/// A running batch.
final class BatchRun {
    /// The context in which its requests run.
    let context: MemberContext
    /// The error that ended the batch, or `nil` if there is none yet.
    private var failure: (any Error)?
    private let outer: MemberContext
    private let stopID: Int
    private let notifier: CompositionNotifier
    private let isTolerant: Bool
    private let end: nonisolated(nonsending) ((any Error)?) async -> Void
    /// The number of requests that have not ended, plus one while not all have begun.
    private var left: Int

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - typeName: The name of the batch.
    ///   - count: The number of its requests.
    ///   - options: The options of the batch.
    ///   - isTolerant: Whether the other requests continue if one fails.
    ///   - outer: The context in which the batch runs.
    ///   - end: Called once, when all have ended, with the error that ended the batch.
    init(
        _ typeName: String,
        count: Int,
        _ options: CompositionOptions,
        tolerant isTolerant: Bool = false,
        in outer: MemberContext,
        end: nonisolated(nonsending) @escaping ((any Error)?) async -> Void
    ) {
        var (context, stopID) = outer.inner(within: options.deadline)
        // `cancelAll` finds it here, not by the requests that run at that time: their failures may be ignored.
        context.sequence = SendSequence(typeName, in: outer.sequence, outer.agent.pipeline.sends) {
            [stop = context.stop] in stop.stop()
        }
        (self.context, self.stopID) = (context, stopID)
        left = count + 1
        notifier = CompositionNotifier(typeName, total: count, options, endedBy: context, in: outer)
        self.outer = outer
        self.isTolerant = isTolerant
        self.end = end
    }

    func start() async { await notifier.start() }

    /// Records the end of a request.
    func didEnd(_ child: CompositionChild, _ error: (any Error)?) async {
        if error == nil || isTolerant {
            await notifier.finish(child)
        } else if failure == nil {
            failure = error
            // If the batch was cancelled, no request of it failed.
            if !(context.stop.isStopped && error is CancellationError) { notifier.fail(child) }
            context.stop.stop()
        }
        await didEndOne()
    }

    /// Reduces the number of requests to wait for.
    func didEndOne() async {
        left -= 1
        guard left == 0 else { return }
        failure = failure ?? context.stop.error
        // Not before the end of the notifications, which are ended from outside too.
        defer { outer.stop.remove(stopID) }
        guard !isTolerant else { return }
        await notifier.end(failure) { await end(failure) }
    }
}
