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
