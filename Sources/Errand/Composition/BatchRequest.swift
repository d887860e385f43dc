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
/// A batch is a request itself: it can be used wherever a request can, also in other batches and in chains, except
/// where the one response of a request is needed. If all its requests may leave the caller, each is prepared and
/// formatted in the background; otherwise all are, one after the other, on the caller. In both cases they are sent
/// concurrently.
public struct BatchRequest<each R: Request>: DeclaredComposition {
    /// The models, in the order of the requests.
    public typealias Model = (repeat (each R).Model)

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
        let slots = BatchSlots<repeat (each R).Model>()
        await begin(context, slots, tolerant: false) { failure in await deliver(slots.models(or: failure)) }
    }

    /// Runs all requests, and returns their responses.
    func responses(from agent: Agent) async throws -> (repeat Response<(each R).Model>) {
        let slots = BatchSlots<repeat (each R).Model>()
        try await agent.runComposed { context, deliver in
            await begin(context, slots, tolerant: false, keepingResponses: true) { failure in
                await deliver(failure.map { .failure($0) } ?? .success(Delivered(())))
            }
        }
        return try slots.responses()
    }

    /// Runs all requests to their end, and returns their results.
    func results(from agent: Agent) async -> (repeat Result<(each R).Model, any Error>) {
        let slots = BatchSlots<repeat (each R).Model>()
        await agent.runLoop { context in await begin(context, slots, tolerant: true) { _ in } }
        return slots.results()
    }

    private func begin(
        _ context: MemberContext,
        _ slots: BatchSlots<repeat (each R).Model>,
        tolerant isTolerant: Bool,
        keepingResponses: Bool = false,
        end: nonisolated(nonsending) @escaping ((any Error)?) async -> Void
    ) async {
        var context = context
        if keepingResponses { context.keepsResponses = true }
        let run = BatchRun("BatchRequest", count: slots.count, options, tolerant: isTolerant, in: context, end: end)
        await run.start()
        var index = 0
        for (member, slot) in repeat (each members, each slots.places) {
            let child = CompositionChild(index: index, typeName: member.typeName)
            await member.begin(run.context) { delivered in
                slot.result = delivered
                await run.didEnd(child, delivered.failure)
            }
            index += 1
        }
        await run.didEndOne()
    }
}

extension BatchRequest: Sendable where repeat each R: Sendable {}

// Overloads that differ by `Sendable` are ranked as those of `response(for:)` are.
extension Agent {
    /// Sends the requests of a batch, and returns the response of each with its model.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<each R: Request & Sendable>(
        for batch: BatchRequest<repeat each R>
    ) async throws -> (repeat Response<(each R).Model>)
    where repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        try await batch.responses(from: self)
    }

    /// Sends the requests of a batch, and returns the response of each with its model, which is created on the caller's
    /// actor.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<each R: Request>(
        for batch: BatchRequest<repeat each R>
    ) async throws -> (repeat Response<(each R).Model>) {
        try await batch.responses(from: self)
    }
}

/// The slots in which the results of a batch wait for each other.
private final class BatchSlots<each Model> {
    let places: (repeat BatchSlot<each Model>)
    let count: Int

    init() {
        places = (repeat BatchSlot<each Model>())
        var count = 0
        for _ in repeat (each Model).self { count += 1 }
        self.count = count
    }

    /// Returns the results of the requests.
    func results() -> (repeat Result<each Model, any Error>) { (repeat read(each places)) }

    private func read<One>(_ slot: BatchSlot<One>) -> Result<One, any Error> { slot.result.map { $0.model } }

    /// Returns the responses of the requests.
    ///
    /// - Throws: The error of a request, or ``NetworkError/Reason/notOneRequest(_:)`` for one that is a batch or a chain.
    func responses() throws -> (repeat Response<each Model>) { (repeat try (each places).response()) }

    /// Returns all models, or the error that ended the batch.
    func models(or failure: (any Error)?) -> Result<Delivered<(repeat each Model)>, any Error> {
        do {
            if let failure { throw failure }
            return .success(Delivered(try allModels()))
        } catch {
            return .failure(error)
        }
    }

    private func allModels() throws -> (repeat each Model) { (repeat try read(each places).get()) }
}

/// The slot in which a request's result waits for those of the others.
final class BatchSlot<Model> {
    var result: Result<Delivered<Model>, any Error> = .failure(CancellationError())

    /// Returns the response.
    ///
    /// - Throws: The error of the request, or ``NetworkError/Reason/notOneRequest(_:)`` if it is a batch or a chain.
    func response() throws -> Response<Model> {
        guard let response = try result.get().response else {
            throw NetworkError(.notOneRequest("a batch, a chain, or a request with ignoringFailure() in a batch"))
        }
        return response
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
        (context, stopID) = outer.inner(within: options.deadline, keepingResponses: outer.keepsResponses)
        left = count + 1
        notifier = CompositionNotifier(typeName, total: count, options, in: outer)
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
        if failure == nil, context.stop.isStopped { failure = CancellationError() }
        outer.stop.remove(stopID)
        guard !isTolerant else { return }
        await notifier.end(failure) { await end(failure) }
    }
}
