/// Requests that run one after the other, each created from the model of the one before.
///
/// ```swift
/// let found = try await agent.send(
///     ChainRequest(Login(name: "x", password: "y"))
///         .then { session in GetUser(id: session.userID) }
///         .then { user in SearchUsers(query: user.name) }
/// )
/// ```
///
/// Its model is the model of the last step. The first error of a request or a closure ends it and is thrown unchanged;
/// ``CompositionProgress/failed`` is the step that failed. Closures run on the caller, one at a time; a step is
/// prepared and formatted in the background if its types allow that, otherwise on the caller.
///
/// A chain is a request itself: it can be part of batches and other chains, and contain them. If a step depends on the
/// result of the one before, return a ``ChainStep``.
public struct ChainRequest<Model>: DeclaredComposition {
    /// Not used, because a chain has no single response.
    public typealias ResponseInBatch = Response<Model>

    typealias Walk = nonisolated(nonsending) (ChainRun, @escaping MemberContext.Deliver<Model>) async -> Void

    private let walk: Walk
    /// The number of steps, or `nil` if they are decided during the run.
    private let count: Int?
    var options = CompositionOptions()

    /// Creates a chain whose first request is prepared and formatted in the background.
    public init<R: Request & Sendable>(_ request: R)
    where R.Model == Model, Model: Sendable, R.Formatter: Sendable {
        self.init(count: 1) { run, deliver in await run.take(Member(request), at: 0, deliver) }
    }

    /// Creates a chain whose first request is prepared and formatted on its caller.
    public init<R: Request>(_ request: R) where R.Model == Model {
        self.init(count: 1) { run, deliver in await run.take(Member(staying: request), at: 0, deliver) }
    }

    private init(count: Int?, options: CompositionOptions = CompositionOptions(), walk: @escaping Walk) {
        self.count = count
        self.options = options
        self.walk = walk
    }

    func begin(in outer: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        var (context, stopID) = outer.inner(within: options.deadline, keepingResponses: true)
        context.sequence = SendSequence("ChainRequest", in: outer.sequence, outer.agent.pipeline.sends) {
            [stop = context.stop] in stop.stop()
        }
        let notifier = CompositionNotifier("ChainRequest", total: count, options, endedBy: context, in: outer)
        let run = ChainRun(context, notifier)
        await run.notifier.start()
        await walk(run) { delivered in
            var delivered = delivered
            if delivered.failure == nil, let stopError = run.context.stopError { delivered = .failure(stopError) }
            await run.notifier.end(delivered.failure) { await deliver(delivered) }
            outer.stop.remove(stopID)
        }
    }
}

extension ChainRequest {
    /// Adds a step, which is prepared and formatted in the background.
    ///
    /// - Parameter next: Creates the request from the model of the step before. An error that it throws ends the chain.
    /// - Returns: The longer chain.
    public func then<R: Request & Sendable>(_ next: @escaping (Model) throws -> R) -> ChainRequest<R.Model>
    where R.Model: Sendable, R.Formatter: Sendable {
        adding { model, _ in Member(try next(model)) }
    }

    /// Adds a step, which is prepared and formatted on the caller.
    ///
    /// - Parameter next: Creates the request from the model of the step before. An error that it throws ends the chain.
    /// - Returns: The longer chain.
    public func then<R: Request>(_ next: @escaping (Model) throws -> R) -> ChainRequest<R.Model> {
        adding { model, _ in Member(staying: try next(model)) }
    }

    /// Adds a step that uses earlier steps, and is prepared and formatted in the background.
    ///
    /// - Parameter next: Creates the request from the model of the step before and the history of the chain. An error
    ///   that it throws ends the chain.
    /// - Returns: The longer chain.
    public func thenWithHistory<R: Request & Sendable>(
        _ next: @escaping (Model, ChainHistory) throws -> R
    ) -> ChainRequest<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        adding { model, history in Member(try next(model, history)) }
    }

    /// Adds a step that uses earlier steps, and is prepared and formatted on the caller.
    ///
    /// - Parameter next: Creates the request from the model of the step before and the history of the chain. An error
    ///   that it throws ends the chain.
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
            let goOn: MemberContext.Deliver<Model> = { delivered in
                let member: Member<R>
                do {
                    member = try next(try delivered.get().model, run.history)
                } catch {
                    // If a closure throws, the step that it was to create has failed.
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
    /// Creates a chain that decides after each step on the next one; its model is the history of all steps.
    ///
    /// A request whose types may leave the caller is prepared and formatted in the background if it is returned as
    /// `ChainStep.send(request)`; any other, on the caller.
    ///
    /// - Parameters:
    ///   - request: The first step.
    ///   - next: Returns the next request, or `nil` to end the chain. An error that it throws ends the chain too.
    public init<R: Request>(startingWith request: R, next: @escaping (ChainHistory) throws -> (any Request)?) {
        self.init(count: nil) { run, deliver in await run.walk(request, next, deliver) }
    }
}

/// A step of a chain that is one of several requests, or no request at all.
///
/// ```swift
/// let orders = chain.then { user -> ChainStep<[Order]> in user.isGuest ? .value([]) : .send(GetOrders(of: user.id)) }
/// ```
///
/// To end a chain early, put its optional steps into a chain of their own: `.send(ChainRequest(…).then …)`.
public struct ChainStep<Model>: Composition {
    /// Not used, because a step may have no response.
    public typealias ResponseInBatch = Response<Model>

    let sentType: RequestType?
    private let start: nonisolated(nonsending) (MemberContext, @escaping MemberContext.Deliver<Model>) async -> Void

    /// Returns a step with a request that is prepared and formatted in the background.
    public static func send<R: Request & Sendable>(_ request: R) -> ChainStep
    where R.Model == Model, Model: Sendable, R.Formatter: Sendable {
        ChainStep(sentType: .sent(by: request)) { await Member(request).begin($0, then: $1) }
    }

    /// Returns a step with a request that is prepared and formatted on the caller.
    public static func send<R: Request>(_ request: R) -> ChainStep where R.Model == Model {
        ChainStep(sentType: .sent(by: request)) { await $0.begin(request, then: $1) }
    }

    /// Returns a step that sends nothing and has this model.
    public static func value(_ model: Model) -> ChainStep {
        ChainStep(sentType: nil) { await $1($0.stopError.map { .failure($0) } ?? .success(Delivered(model))) }
    }

    func begin(in context: MemberContext, then deliver: @escaping MemberContext.Deliver<Model>) async {
        await start(context, deliver)
    }
}
