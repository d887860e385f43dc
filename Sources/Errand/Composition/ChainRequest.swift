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
public struct ChainRequest<Model>: CompositionRequest {
    typealias Walk = nonisolated(nonsending) (ChainRun, @escaping Part.Deliver<Model>) async -> Void

    private let walk: Walk
    /// How many steps there are; `nil` for those that are decided on the way.
    private let count: Int?
    /// What was said of the whole.
    public var _options = _CompositionOptions()

    /// A chain that begins with a request that is prepared and formatted in the background.
    public init<R: Request & Sendable>(_ request: R)
    where R.Model == Model, Model: Sendable, R.Formatter: Sendable {
        self.init(count: 1) { run, deliver in await run.take(Member(request), at: 0, deliver) }
    }

    /// A chain that begins with a request that is prepared and formatted on its caller.
    public init<R: Request>(_ request: R) where R.Model == Model {
        self.init(count: 1) { run, deliver in await run.take(Member(staying: request), at: 0, deliver) }
    }

    private init(count: Int?, options: _CompositionOptions = _CompositionOptions(), walk: @escaping Walk) {
        self.count = count
        _options = options
        self.walk = walk
    }

    /// Runs the steps, one after the other.
    public var _composition: _Composition<Model>? {
        _Composition { outer, deliver in
            let (part, stopID) = outer.inner(within: _options.deadline)
            let run = ChainRun(part, CompositionTeller("ChainRequest", total: count, _options, in: outer))
            await run.teller.start()
            let end: Part.Deliver<Model> = { made in
                var made = made
                if made.failure == nil, let refusal = part.refusal { made = .failure(refusal) }
                outer.stop.remove(stopID)
                await run.teller.end(made.failure) { await deliver(made) }
            }
            await walk(run, end)
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
        return ChainRequest<R.Model>(count: count.map { $0 + 1 }, options: _options) { run, deliver in
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

/// The state of a chain under way.
final class ChainRun {
    let teller: CompositionTeller
    private(set) var history = ChainHistory()
    private let part: Part
    private var hasFailed = false

    init(_ part: Part, _ teller: CompositionTeller) {
        self.part = part
        self.teller = teller
    }

    /// Starts a step, and keeps what becomes of it.
    func take<R: Request>(_ member: Member<R>, at index: Int, _ deliver: @escaping Part.Deliver<R.Model>) async {
        // Without a capture list, here and below: a closure that has one leaves the caller (Swift 6.3.1).
        await member.begin(part) { made in
            switch made {
            case .success(let one):
                let child = CompositionChild(index: index, typeName: TypeNames.name(of: R.self))
                self.history.entries.append(
                    ChainHistory.Entry(child: child, type: R.self, model: one.model, response: one.response)
                )
                await self.teller.finish(child)
            case .failure(is CancellationError) where self.part.stop.isStopped: break
            case .failure: self.fail(TypeNames.name(of: R.self), at: index)
            }
            await deliver(made)
        }
    }

    /// Notes the step that failed; only the first one did.
    func fail(_ typeName: String, at index: Int) {
        guard !hasFailed, !part.stop.isStopped else { return }
        hasFailed = true
        teller.fail(CompositionChild(index: index, typeName: typeName))
    }

    /// Takes a step, then whatever the closure says, until it says nothing.
    func walk<R: Request>(
        _ request: R,
        _ next: @escaping (ChainHistory) throws -> (any Request)?,
        _ deliver: @escaping Part.Deliver<ChainHistory>
    ) async {
        var following: (any Request)? = request
        while let current = following { following = await step(current, next, deliver) }
    }

    /// Takes a step; returns what follows when that is known at once, so that no step stands on those before it.
    private func step<R: Request>(
        _ request: R,
        _ next: @escaping (ChainHistory) throws -> (any Request)?,
        _ deliver: @escaping Part.Deliver<ChainHistory>
    ) async -> (any Request)? {
        var isBeginning = true
        var following: (any Request)?
        await take(Member(staying: request), at: history.count) { made in
            let found: (any Request)?
            do {
                _ = try made.get()
                found = try next(self.history)
            } catch {
                // Of a step that there is not yet only the place is known.
                if made.failure == nil { self.fail("", at: self.history.count) }
                return await deliver(.failure(error))
            }
            guard let found else { return await deliver(.success(Made(self.history))) }
            if isBeginning { following = found } else { await self.walk(found, next, deliver) }
        }
        isBeginning = false
        return following
    }
}
