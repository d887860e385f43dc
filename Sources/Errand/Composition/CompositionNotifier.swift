/// Records the progress of one run of a batch or chain, and notifies its accessories.
final class CompositionNotifier {
    private var context: CompositionContext
    private let accessories: [any CompositionAccessory]
    private let handle: (any StartedSend)?
    /// Waits for the time at which the batch or chain ends, even if some of its requests still run.
    private let watch: DeadlineWatch?

    /// - Parameters:
    ///   - typeName: The type of the batch or chain.
    ///   - total: The number of its requests, if known.
    ///   - options: Its accessories and its tag.
    ///   - inner: The stop of the batch or chain.
    ///   - outer: The context that it is part of.
    init(
        _ typeName: String,
        total: Int?,
        _ options: CompositionOptions,
        endedBy inner: MemberContext,
        in outer: MemberContext
    ) {
        watch = inner.ownDeadline?.watchOverdue(inner.stop)
        context = CompositionContext(
            id: outer.agent.pipeline.makeID(),
            typeName: typeName,
            tag: options.tag,
            progress: CompositionProgress(total: total)
        )
        accessories = options.accessories
        handle = outer.handle
        handle?.note(.started(total: total))
    }

    func start() async { await notify(.willStart) }

    func finish(_ child: CompositionChild) async {
        note(.finished(child))
        await notify(.didFinish(child))
    }

    func fail(_ child: CompositionChild) { note(.failed(child)) }

    private func note(_ change: CompositionProgress.Change) {
        context.progress.apply(change)
        handle?.note(change)
    }

    /// Notifies of the end, with the delivery between the two events.
    func end(_ error: (any Error)?, delivery: nonisolated(nonsending) () async -> Void) async {
        let outcome = CompositionOutcome(error)
        await notify(.willStop(outcome))
        await delivery()
        // Until it is delivered, a callback may still be cancelled.
        await notify(.didStop(handle?.isCancelled == true ? .cancelled : outcome))
    }

    deinit { watch?.cancel() }

    private func notify(_ event: CompositionEvent) async {
        if !accessories.isEmpty { await Self.notify(event, of: context, to: accessories) }
    }

    @concurrent
    private static func notify(
        _ event: CompositionEvent,
        of context: CompositionContext,
        to accessories: [any CompositionAccessory]
    ) async {
        switch event {
        case .willStop, .didStop: for one in accessories.reversed() { one.composition(context, did: event) }
        default: for one in accessories { one.composition(context, did: event) }
        }
    }
}
