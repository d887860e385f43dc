/// The sends of an agent that are under way, each cancellable from outside its own task.
struct Sends: Sendable {
    private struct Running {
        let context: RequestContext
        let task: Task<Answer, any Error>
    }

    private let running = Lock<[Int: Running]>([:])

    /// Runs the background part of a send in a task that ends with this call, and no later.
    ///
    /// - Throws: What the work throws; a typed error in place of `CancellationError` where the deadline cancelled it.
    func run(
        _ prepared: PreparedRequest,
        _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        // The task below may reach the wire before the handler below can cancel it.
        try Task.checkCancellation()
        let (context, deadline) = (prepared.context, prepared.deadline)
        let task = Task.starting { try await prepared.intercepted(work) }
        running.withLock { $0[context.id] = Running(context: context, task: task) }
        let watch = deadline.map { deadline in
            Task {
                try await deadline.sleep()
                task.cancel()
            }
        }
        defer {
            watch?.cancel()
            running.withLock { $0[context.id] = nil }
        }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError {
            if !Task.isCancelled { try deadline?.check(at: prepared.outgoing) }
            throw CancellationError()
        } catch let error as NetworkError {
            // Who cancels hears that, although the deadline may be over by the time the work notices.
            if Task.isCancelled, case .deadlineExceeded = error.reason { throw CancellationError() }
            throw error
        }
    }

    func cancelAll(where isMeant: (RequestContext) -> Bool) {
        let all = running.withLock { Array($0.values) }
        for send in all where isMeant(send.context) { send.task.cancel() }
    }
}

extension Task where Failure == any Error {
    /// A task that runs on the caller's thread until it first waits, where the system can do that.
    fileprivate static func starting(_ work: @escaping @Sendable () async throws -> Success) -> Task {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate { try await work() }
        } else {
            Task { try await work() }
        }
    }
}
