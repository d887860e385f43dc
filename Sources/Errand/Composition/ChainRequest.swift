/// Requests that run one after the other, each made from the model before.
///
/// ```swift
/// let found = try await agent.send(
///     ChainRequest(Login(name: "x", password: "y"))
///         .then { session in GetUser(id: session.userID) }
///         .then { user in SearchUsers(query: user.name) }
/// )
/// ```
///
/// Its model is that of the last step. The first failure ends it and is thrown as it is, whether of a request or of a
/// closure; which step it was is told by ``CompositionProgress/failed``. Closures run on the caller, one at a time; a step
/// is prepared and formatted in the background when its types allow that, else on the caller.
///
/// A chain is a request itself: it goes into batches and other chains, and they into it. Where a step depends on
/// what came before, return a ``ChainStep``.
public struct ChainRequest<Model>: DeclaredComposition {
    typealias Walk = nonisolated(nonsending) (ChainRun, @escaping Part.Deliver<Model>) async -> Void

    private let walk: Walk
    /// How many steps there are; `nil` for those that are decided on the way.
    private let count: Int?
    var options = CompositionOptions()

    /// A chain that begins with a request that is prepared and formatted in the background.
    public init<R: Request & Sendable>(_ request: R)
    where R.Model == Model, Model: Sendable, R.Formatter: Sendable {
        self.init(count: 1) { run, deliver in await run.take(Member(request), at: 0, deliver) }
    }

    /// A chain that begins with a request that is prepared and formatted on its caller.
    public init<R: Request>(_ request: R) where R.Model == Model {
        self.init(count: 1) { run, deliver in await run.take(Member(staying: request), at: 0, deliver) }
    }

    private init(count: Int?, options: CompositionOptions = CompositionOptions(), walk: @escaping Walk) {
        self.count = count
        self.options = options
        self.walk = walk
    }

    func begin(in outer: Part, then deliver: @escaping Part.Deliver<Model>) async {
        let (part, stopID) = outer.inner(within: options.deadline, keepingResponses: true)
        let run = ChainRun(part, CompositionTeller("ChainRequest", total: count, options, in: outer))
        await run.teller.start()
        await walk(run) { made in
            var made = made
            if made.failure == nil, let refusal = run.part.refusal { made = .failure(refusal) }
            outer.stop.remove(stopID)
            await run.teller.end(made.failure) { await deliver(made) }
        }
    }
}

extension ChainRequest {
    /// Adds a step, which is prepared and formatted in the background.
    ///
    /// - Parameter next: Makes the request from the model before; what it throws ends the chain.
    /// - Returns: The longer chain.
    public func then<R: Request & Sendable>(_ next: @escaping (Model) throws -> R) -> ChainRequest<R.Model>
    where R.Model: Sendable, R.Formatter: Sendable {
        adding { model, _ in Member(try next(model)) }
    }

    /// Adds a step, which is prepared and formatted on the caller.
    ///
    /// - Parameter next: Makes the request from the model before; what it throws ends the chain.
    /// - Returns: The longer chain.
    public func then<R: Request>(_ next: @escaping (Model) throws -> R) -> ChainRequest<R.Model> {
        adding { model, _ in Member(staying: try next(model)) }
    }

    /// Adds a step, which is prepared and formatted in the background.
    ///
    /// - Parameter next: Makes the request from the model before and all responses so far; what it throws ends the chain.
    /// - Returns: The longer chain.
    public func thenWithHistory<R: Request & Sendable>(
        _ next: @escaping (Model, ChainHistory) throws -> R
    ) -> ChainRequest<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        adding { model, history in Member(try next(model, history)) }
    }

    /// Adds a step, which is prepared and formatted on the caller.
    ///
    /// - Parameter next: Makes the request from the model before and all responses so far; what it throws ends the chain.
    /// - Returns: The longer chain.
    public func thenWithHistory<R: Request>(
        _ next: @escaping (Model, ChainHistory) throws -> R
    ) -> ChainRequest<R.Model> {
        adding { model, history in Member(staying: try next(model, history)) }
    }

    private func adding<R: Request>(
        _ next: @escaping (Model, ChainHistory) throws -> Member<R>
    ) -> ChainRequest<R.Model> {
        let index = count ?? 0
        return ChainRequest<R.Model>(count: count.map { $0 + 1 }, options: options) { run, deliver in
            let goOn: Part.Deliver<Model> = { made in
                let member: Member<R>
                do {
                    member = try next(try made.get().model, run.history)
                } catch {
                    // A closure that throws is the failure of the step that it was to make.
                    run.fail(TypeNames.name(of: R.self), at: index)
                    return await deliver(.failure(error))
                }
                await run.take(member, at: index, deliver)
            }
            await walk(run, goOn)
        }
    }
}

extension ChainRequest where Model == ChainHistory {
    /// A chain that decides after each step whether and how to go on; its model is all that it went through.
    ///
    /// A request whose types may leave the caller does so as `ChainStep.send(request)`; any other is prepared and
    /// formatted there.
    ///
    /// - Parameters:
    ///   - request: The first step.
    ///   - next: Returns the next request, or `nil` to end the chain; what it throws ends it too.
    public init<R: Request>(startingWith request: R, next: @escaping (ChainHistory) throws -> (any Request)?) {
        self.init(count: nil) { run, deliver in await run.walk(request, next, deliver) }
    }
}

/// A step of a chain that may be one request or another, or no request at all.
///
/// ```swift
/// let orders = chain.then { user -> ChainStep<[Order]> in user.isGuest ? .value([]) : .send(GetOrders(of: user.id)) }
/// ```
///
/// To end a chain early, put the steps that may be left out into a chain of their own: `.send(ChainRequest(…).then …)`.
public struct ChainStep<Model>: Composition {
    private let start: nonisolated(nonsending) (Part, @escaping Part.Deliver<Model>) async -> Void

    /// The step is a request that is prepared and formatted in the background.
    public static func send<R: Request & Sendable>(_ request: R) -> ChainStep
    where R.Model == Model, Model: Sendable, R.Formatter: Sendable {
        ChainStep { await Member(request).begin($0, then: $1) }
    }

    /// The step is a request that is prepared and formatted on the caller.
    public static func send<R: Request>(_ request: R) -> ChainStep where R.Model == Model {
        ChainStep { await $0.begin(request, then: $1) }
    }

    /// The step sends nothing: its model is there already.
    public static func value(_ model: Model) -> ChainStep {
        ChainStep { part, deliver in await deliver(part.refusal.map { .failure($0) } ?? .success(Made(model))) }
    }

    func begin(in part: Part, then deliver: @escaping Part.Deliver<Model>) async { await start(part, deliver) }
}
