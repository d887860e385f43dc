/// The state of a running chain.
final class ChainRun {
    let notifier: CompositionNotifier
    private(set) var history = ChainHistory()
    let context: MemberContext
    private var hasFailed = false

    init(_ context: MemberContext, _ notifier: CompositionNotifier) {
        self.context = context
        self.notifier = notifier
    }

    /// Starts a step, and records its result.
    func take<R: Request>(_ member: Member<R>, at index: Int, _ deliver: @escaping MemberContext.Deliver<R.Model>) async
    {
        let type = RequestType.sent(by: member.request)
        // Without a capture list, here and below: a closure that has one leaves the caller (Swift 6.3.1).
        await member.begin(context) { delivered in
            switch delivered {
            case .success(let one):
                let child = CompositionChild(index: index, typeName: type.name)
                self.history.entries.append(
                    ChainHistory.Entry(child: child, type: type.id, model: one.model, response: one.response)
                )
                await self.notifier.finish(child)
            case .failure(is CancellationError) where self.context.stop.isStopped: break
            case .failure: self.fail(type.name, at: index)
            }
            await deliver(delivered)
        }
    }

    /// Records the step that failed, if it is the first.
    func fail(_ typeName: String, at index: Int) {
        guard !hasFailed, !context.stop.isStopped else { return }
        hasFailed = true
        notifier.fail(CompositionChild(index: index, typeName: typeName))
    }

    /// Runs a step, then those that the closure returns, until it returns `nil`.
    func walk<R: Request>(
        _ request: R,
        _ next: @escaping (ChainHistory) throws -> (any Request)?,
        _ deliver: @escaping MemberContext.Deliver<ChainHistory>
    ) async {
        var following: (any Request)? = request
        while let current = following { following = await step(current, next, deliver) }
    }

    /// Runs a step; returns the next one if it is known at once, so that steps don't recurse.
    private func step<R: Request>(
        _ request: R,
        _ next: @escaping (ChainHistory) throws -> (any Request)?,
        _ deliver: @escaping MemberContext.Deliver<ChainHistory>
    ) async -> (any Request)? {
        var isBeginning = true
        var following: (any Request)?
        await take(Member(staying: request), at: history.count) { delivered in
            let found: (any Request)?
            do {
                _ = try delivered.get()
                found = try next(self.history)
            } catch {
                // The step was not created, so only its index is known.
                if delivered.failure == nil { self.fail("", at: self.history.count) }
                return await deliver(.failure(error))
            }
            guard let found else { return await deliver(.success(Delivered(self.history))) }
            if isBeginning { following = found } else { await self.walk(found, next, deliver) }
        }
        isBeginning = false
        return following
    }
}

/// The models and responses of the steps of a chain that have ended.
public struct ChainHistory {
    struct Entry {
        let child: CompositionChild
        let type: ObjectIdentifier
        let model: Any
        let response: Any?
    }

    var entries: [Entry] = []

    /// The steps that have ended, in order.
    public var steps: [CompositionChild] { entries.map(\.child) }

    /// The number of steps that have ended.
    public var count: Int { entries.count }

    /// Returns the model of the last step with a request of this type, or `nil` if there was none.
    public func model<R: Request>(of type: R.Type) -> R.Model? { entry(of: type)?.model as? R.Model }

    /// Returns the model and response of the last step with a request of this type.
    ///
    /// - Returns: `nil` if there was none, or if it was a composition, such as a batch, which has no response of its
    ///   own.
    public func response<R: Request>(of type: R.Type) -> Response<R.Model>? {
        entry(of: type)?.response as? Response<R.Model>
    }

    /// Returns the model of a step.
    ///
    /// - Parameters:
    ///   - index: The index of the step, starting at 0.
    ///   - type: The type of its model.
    /// - Returns: The model, or `nil` if it is of another type or there is no such step yet.
    public func model<Model>(at index: Int, as type: Model.Type = Model.self) -> Model? {
        entries.indices.contains(index) ? entries[index].model as? Model : nil
    }

    private func entry<R: Request>(of type: R.Type) -> Entry? { entries.last { $0.type == RequestType.of(type).id } }
}
