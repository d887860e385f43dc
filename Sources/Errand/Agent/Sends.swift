/// The sends of an agent that are under way, each cancellable from outside its own task.
struct Sends: Sendable {
    private struct Running {
        let context: RequestContext
        let task: Task<Answer, any Error>
    }

    private let running = Lock<[Int: Running]>([:])

    /// Runs the background part of a send in a task that ends with this call, and no later.
    func run(
        _ context: RequestContext,
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        let task = Task { try await work() }
        running.withLock { $0[context.id] = Running(context: context, task: task) }
        defer { running.withLock { $0[context.id] = nil } }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    func cancelAll(where isMeant: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for send in all where isMeant(send.context) { send.task.cancel() }
    }
}
