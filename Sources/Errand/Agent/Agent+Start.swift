public import Dispatch

// Sends with a callback. The completion is called exactly once, on the given queue or the main actor, but never after
// the scope or the owner has been deallocated.

extension Agent {
    /// Starts a send and calls a completion on a queue.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled and its
    ///     completion isn't called.
    ///   - queue: The queue on which the completion is called.
    ///   - completion: Called once with the model or the error of the send.
    /// - Returns: A handle to cancel the send. It need not be kept.
    @discardableResult
    public func start<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope? = nil,
        on queue: DispatchQueue,
        completion: @escaping @Sendable (Result<R.Model, any Error>) -> Void
    ) -> RequestHandle where R.Model: Sendable, R.Formatter: Sendable {
        let deliver: StartedDelivery<R.Model> = { handle, result in
            await withCheckedContinuation { continuation in
                queue.async {
                    if let result = handle.settle(result) { completion(result.map { $0.model }) }
                    continuation.resume()
                }
            }
        }
        guard request.formattingContext == .caller else { return launch(request, in: scope, deliver: deliver) }
        let caller = QueueCaller(queue)
        return launch(
            request,
            in: scope,
            running: { agent, request, handle, deliver in
                await caller.run(request, by: agent, for: handle, deliver: deliver)
            },
            deliver: deliver
        )
    }

    /// Starts a send and calls a completion on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled and its
    ///     completion isn't called.
    ///   - completion: Called once with the model or the error of the send.
    /// - Returns: A handle to cancel the send. It need not be kept.
    @discardableResult
    public func start<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope? = nil,
        completion: @escaping @MainActor (Result<R.Model, any Error>) -> Void
    ) -> RequestHandle where R.Model: Sendable, R.Formatter: Sendable {
        let deliver: StartedDelivery<R.Model> = { handle, result in
            await MainActor.run {
                if let result = handle.settle(result) { completion(result.map { $0.model }) }
            }
        }
        guard request.formattingContext == .caller else { return launch(request, in: scope, deliver: deliver) }
        return launch(
            request,
            in: scope,
            running: { @MainActor agent, request, handle, deliver in
                let veto: CacheVeto = { request.shouldCache($0, of: $1) }
                await agent.run(request, formatting: .callerByChoice, veto: veto, for: handle, deliver: deliver)
            },
            deliver: deliver
        )
    }

    /// Starts a send, creates its model on the main actor, and calls a completion there.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled and its
    ///     completion isn't called.
    ///   - completion: Called once with the model or the error of the send.
    /// - Returns: A handle to cancel the send. It need not be kept.
    @MainActor
    @discardableResult
    public func start<R: Request>(
        _ request: R,
        in scope: RequestScope? = nil,
        completion: @escaping @MainActor (Result<R.Model, any Error>) -> Void
    ) -> RequestHandle {
        launchOnMain(request, in: scope) { handle, result in
            if let result = handle.settle(result) { completion(result.map { $0.model }) }
        }
    }

    /// A function that passes the result of a started send to its callback.
    typealias StartedDelivery<Model> = @Sendable (RequestHandle, Result<Delivered<Model>, any Error>) async -> Void

    /// A function that runs a started send.
    typealias Running<R: Request> =
        @Sendable (
            Agent, R, RequestHandle, @escaping @Sendable (Result<Delivered<R.Model>, any Error>) async -> Void
        ) async -> Void

    func launch<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope?,
        running run: @escaping Running<R> = { await $0.runInBackground($1, for: $2, deliver: $3) },
        deliver: @escaping StartedDelivery<R.Model>
    ) -> RequestHandle where R.Model: Sendable, R.Formatter: Sendable {
        let handle = RequestHandle(request)
        scope?.add(handle)
        let number = pipeline.sends.noteStarted { handle.cancel() }
        let task = Task { [weak scope] in
            await run(self, request, handle) { await deliver(handle, $0) }
            pipeline.sends.forget(started: number)
            scope?.remove(handle)
            handle.finish()
        }
        handle.own { task.cancel() }
        return handle
    }

    @concurrent
    private func runInBackground<R: Request & Sendable>(
        _ request: R,
        for handle: RequestHandle,
        deliver: @escaping @Sendable (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        if RequestType.of(R.self).isComposed { return await runComposed(request, for: handle, deliver: deliver) }
        // An error was delivered.
        _ = try? await runInBackground(request, observedBy: [handle.observer]) { result in
            await deliver(result.map(Delivered.init))
            return !handle.isCancelled
        }
    }

    @MainActor
    func launchOnMain<R: Request>(
        _ request: R,
        in scope: RequestScope?,
        watching isWanted: (@MainActor () -> Bool)? = nil,
        deliver: @escaping @MainActor (RequestHandle, Result<Delivered<R.Model>, any Error>) -> Void
    ) -> RequestHandle {
        let handle = RequestHandle(request)
        scope?.add(handle)
        let number = pipeline.sends.noteStarted { handle.cancel() }
        let task = Task { @MainActor [weak scope] in
            await self.run(request, formatting: .callerByNeed, for: handle) { deliver(handle, $0) }
            pipeline.sends.forget(started: number)
            scope?.remove(handle)
            handle.finish()
        }
        handle.own(watch: isWanted.map { watch(handle, while: $0) }) { task.cancel() }
        return handle
    }

    /// Runs a started send on its caller, a composition or a single request; the result is passed to `deliver`.
    fileprivate func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        veto: CacheVeto? = nil,
        for handle: RequestHandle,
        deliver: nonisolated(nonsending) @escaping (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async {
        if RequestType.of(R.self).isComposed { return await runComposed(request, for: handle, deliver: deliver) }
        // An error was delivered.
        let (asking, observer) = ({ veto }, handle.observer)
        _ = try? await run(request, formatting: formatting, veto: asking, observedBy: [observer]) { result in
            await deliver(result.map(Delivered.init))
            return !handle.isCancelled
        }
    }

    private func runComposed<R: Request>(
        _ request: R,
        for handle: RequestHandle,
        deliver: nonisolated(nonsending) @escaping (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async {
        // An error was delivered.
        _ = try? await runComposed(request, for: handle, delivering: deliver)
    }
}

/// A caller on a dispatch queue, so that the request is prepared and formatted there.
///
/// There is one for each send, which runs one job at a time, so the queue may be a concurrent one.
private actor QueueCaller {
    private final class Executor: SerialExecutor {
        private let queue: DispatchQueue

        init(_ queue: DispatchQueue) { self.queue = queue }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    private let executor: Executor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ queue: DispatchQueue) { executor = Executor(queue) }

    func run<R: Request & Sendable>(
        _ request: R,
        by agent: Agent,
        for handle: RequestHandle,
        deliver: @escaping @Sendable (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        let veto: CacheVeto = { request.shouldCache($0, of: $1) }
        await agent.run(request, formatting: .callerByChoice, veto: veto, for: handle, deliver: deliver)
    }
}
