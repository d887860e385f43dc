/// The state of a batch under way.
final class BatchRun {
    let teller: CompositionTeller
    /// What ended the whole; `nil` while nothing has.
    private(set) var failure: (any Error)?
    private let stop: PartStop
    private let isTolerant: Bool
    private let end: nonisolated(nonsending) (BatchRun) async -> Void
    /// How many have not ended; one more while not all have begun.
    private var left: Int

    init(
        _ count: Int,
        _ stop: PartStop,
        _ isTolerant: Bool,
        _ teller: CompositionTeller,
        end: nonisolated(nonsending) @escaping (BatchRun) async -> Void
    ) {
        left = count + 1
        self.stop = stop
        self.isTolerant = isTolerant
        self.teller = teller
        self.end = end
    }

    func ended(_ child: CompositionChild, _ error: (any Error)?) async {
        if error == nil || isTolerant {
            await teller.finish(child)
        } else if failure == nil {
            failure = error
            // A batch that was cancelled has no request that failed.
            if !(stop.isStopped && error is CancellationError) { teller.fail(child) }
            stop.stop()
        }
        await begun()
    }

    /// One less to wait for.
    func begun() async {
        left -= 1
        guard left == 0 else { return }
        if failure == nil, stop.isStopped { failure = CancellationError() }
        await end(self)
    }
}

extension Member {
    var typeName: String { TypeNames.name(of: R.self) }
}

extension Result {
    /// The error; `nil` on success.
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
