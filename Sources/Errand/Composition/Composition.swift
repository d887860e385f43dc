/// How a request of several runs: a batch, a chain, one whose failure is ignored.
///
/// Made by the library's own requests only.
public struct _Composition<Model> {
    let begin: nonisolated(nonsending) (Part, @escaping Part.Deliver<Model>) async -> Void

    /// - Parameter begin: Starts what can be started, and calls back exactly once with the model or the failure.
    init(begin: nonisolated(nonsending) @escaping (Part, @escaping Part.Deliver<Model>) async -> Void) {
        self.begin = begin
    }
}

extension Agent {
    /// Runs a composition: its loop on the caller, everything else where the requests in it say.
    ///
    /// - Parameters:
    ///   - composition: What to run.
    ///   - report: Told how far it is, whenever that changes.
    ///   - deliver: Called with the result, between `willStop` and `didStop`.
    /// - Returns: The model.
    /// - Throws: What the request threw that failed first, or `CancellationError`.
    func run<Model>(
        _ composition: _Composition<Model>,
        reporting report: (@Sendable (CompositionProgress) -> Void)? = nil,
        delivering deliver: (nonisolated(nonsending) (Result<Made<Model>, any Error>) async -> Void)? = nil
    ) async throws -> Model {
        var result = Result<Made<Model>, any Error>.failure(CancellationError())
        await runLoop(reporting: report) { part in
            await composition.begin(part) { made in
                result = made
                await deliver?(made)
            }
        }
        return try result.get().model
    }

    /// Starts something on a loop of its own, and runs that until nothing is left.
    func runLoop(
        reporting report: (@Sendable (CompositionProgress) -> Void)? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ start: nonisolated(nonsending) (Part) async -> Void
    ) async {
        let stop = PartStop()
        let loop = CallerLoop()
        await withTaskCancellationHandler {
            // What is captured isolates the closure; without it, it would leave the caller.
            _ = isolation
            await start(Part(agent: self, loop: loop, stop: stop, deadline: nil, report: report))
            await loop.run()
        } onCancel: {
            stop.stop()
        }
    }
}
