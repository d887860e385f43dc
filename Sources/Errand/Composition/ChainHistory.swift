/// What the steps of a chain made so far.
public struct ChainHistory {
    struct Entry {
        let child: CompositionChild
        let type: any Request.Type
        let model: Any
        let response: Any?
    }

    var entries: [Entry] = []

    /// The steps that have ended, in order.
    public var steps: [CompositionChild] { entries.map(\.child) }

    /// How many steps have ended.
    public var count: Int { entries.count }

    /// The model of the last step of a type, or `nil` when there was none.
    public func model<R: Request>(of type: R.Type) -> R.Model? { entry(of: type)?.model as? R.Model }

    /// The model and answer of the last step of a type.
    ///
    /// - Returns: `nil` when there was none, or when it was a batch or the like, which has no answer of its own.
    public func response<R: Request>(of type: R.Type) -> Response<R.Model>? {
        entry(of: type)?.response as? Response<R.Model>
    }

    /// Looks up the model of a step.
    ///
    /// - Parameters:
    ///   - index: The step's place, from 0; one that there is not yet gives `nil`.
    ///   - type: The type of its model.
    /// - Returns: The model, or `nil` when it is of another type.
    public func model<Model>(at index: Int, as type: Model.Type = Model.self) -> Model? {
        entries.indices.contains(index) ? entries[index].model as? Model : nil
    }

    private func entry<R: Request>(of type: R.Type) -> Entry? { entries.last { $0.type == type } }
}

/// The state of a chain under way.
final class ChainRun {
    let teller: CompositionTeller
    private(set) var history = ChainHistory()
    let part: Part
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
