/// Keeps and tells how far one run of a batch or chain is.
final class CompositionTeller {
    private var context: CompositionContext
    private let accessories: [any CompositionAccessory]
    private let report: (@Sendable (CompositionProgress) -> Void)?

    init(_ typeName: String, total: Int?, _ options: _CompositionOptions, in part: Part) {
        context = CompositionContext(
            id: part.agent.pipeline.makeID(),
            typeName: typeName,
            tag: options.tag,
            progress: CompositionProgress(total: total)
        )
        accessories = options.accessories
        report = part.report
        report?(context.progress)
    }

    func start() async { await tell(.willStart) }

    func finish(_ child: CompositionChild) async {
        context.progress.finished.append(child)
        report?(context.progress)
        await tell(.didFinish(child))
    }

    func fail(_ child: CompositionChild) {
        context.progress.failed = child
        report?(context.progress)
    }

    /// Tells the end, with the delivery between its two events.
    func end(_ error: (any Error)?, delivery: nonisolated(nonsending) () async -> Void) async {
        let outcome = CompositionOutcome(error)
        await tell(.willStop(outcome))
        await delivery()
        await tell(.didStop(outcome))
    }

    private func tell(_ event: CompositionEvent) async {
        if !accessories.isEmpty { await Self.tell(event, of: context, to: accessories) }
    }

    @concurrent
    private static func tell(
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
