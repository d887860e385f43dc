/// Requests that run at once, of any types, and whose models come together, in the order given.
///
/// ```swift
/// let (me, hits) = try await agent.send(BatchRequest(GetUser(id: 7), SearchUsers(query: "a")))
/// ```
///
/// The first failure is thrown as it is, after the others were cancelled and have ended; its place is told by
/// ``CompositionProgress/failed``. A request whose failure does not matter says `ignoringFailure()` and yields
/// an optional. Without requests a batch succeeds at once.
///
/// A batch is a request itself: it goes wherever one goes, into other batches and into chains too. Only what asks for
/// the one answer of one request cannot take it. When all its requests may leave the caller, each is prepared and
/// formatted in the background on its own; otherwise all are, one after the other, on the caller. What lies between
/// always runs at once.
public struct BatchRequest<each R: Request>: CompositionRequest {
    /// The models, in the order of the requests.
    public typealias Model = (repeat (each R).Model)

    private let members: (repeat Member<each R>)
    /// What was said of the whole.
    public var _options = _CompositionOptions()

    /// A batch of requests that are prepared and formatted in the background.
    public init(_ request: repeat each R)
    where repeat each R: Sendable, repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        members = (repeat Member(each request))
    }

    /// A batch of requests that are prepared and formatted on their caller.
    public init(_ request: repeat each R) { members = (repeat Member(staying: each request)) }

    /// Runs the requests at once.
    public var _composition: _Composition<Model>? {
        _Composition { part, deliver in
            let slots = BatchSlots<repeat (each R).Model>()
            await begin(part, slots, tolerant: false) { run in
                await run.teller.end(run.failure) { await deliver(slots.models(or: run.failure)) }
            }
        }
    }

    /// Runs all requests to their own end, and returns what each came to.
    func results(from agent: Agent) async -> (repeat Result<(each R).Model, any Error>) {
        let slots = BatchSlots<repeat (each R).Model>()
        await agent.runLoop { part in await begin(part, slots, tolerant: true) { _ in } }
        return slots.results()
    }
}

extension BatchRequest: Sendable where repeat each R: Sendable {}

extension BatchRequest {
    /// Starts the requests.
    ///
    /// - Parameters:
    ///   - outer: Where.
    ///   - slots: Where their results wait.
    ///   - isTolerant: Whether the others go on when one fails.
    ///   - end: Called once, when all have ended.
    private func begin(
        _ outer: Part,
        _ slots: BatchSlots<repeat (each R).Model>,
        tolerant isTolerant: Bool,
        end: nonisolated(nonsending) @escaping (BatchRun) async -> Void
    ) async {
        let (part, stopID) = outer.inner(within: _options.deadline)
        let teller = CompositionTeller("BatchRequest", total: slots.count, _options, in: outer)
        let run = BatchRun(slots.count, part.stop, isTolerant, teller) { run in
            outer.stop.remove(stopID)
            await end(run)
        }
        await teller.start()
        var index = 0
        for (member, slot) in repeat (each members, each slots.places) {
            let child = CompositionChild(index: index, typeName: member.typeName)
            await member.begin(part) { made in
                slot.take(made)
                await run.ended(child, made.failure)
            }
            index += 1
        }
        await run.begun()
    }
}

/// Where the results of a batch wait for each other.
private final class BatchSlots<each Model> {
    let places: (repeat Slot<each Model>)
    let count: Int

    init() {
        places = (repeat Slot<each Model>())
        var count = 0
        for _ in repeat (each Model).self { count += 1 }
        self.count = count
    }

    /// What each request came to.
    func results() -> (repeat Result<each Model, any Error>) { (repeat read(each places)) }

    private func read<One>(_ slot: Slot<One>) -> Result<One, any Error> { slot.result }

    /// All models, or what ended the whole.
    func models(or failure: (any Error)?) -> Result<Made<(repeat each Model)>, any Error> {
        if let failure { return .failure(failure) }
        do {
            return .success(Made(try allModels()))
        } catch {
            return .failure(error)
        }
    }

    private func allModels() throws -> (repeat each Model) { (repeat try (each places).get()) }
}

/// Where a request's result waits for those of the others.
private final class Slot<Model> {
    var result: Result<Model, any Error> = .failure(CancellationError())
    func take(_ made: Result<Made<Model>, any Error>) { result = made.map { $0.model } }
    func get() throws -> Model { try result.get() }
}
