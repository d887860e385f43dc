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
    ) -> RequestHandle<Void> where R.Model: Sendable, R.Formatter: Sendable {
        let deliver: StartedDelivery<R.Model, Void> = { handle, result in
            await withCheckedContinuation { continuation in
                queue.async {
                    if let result = handle.settle(result) { completion(result) }
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
    ) -> RequestHandle<Void> where R.Model: Sendable, R.Formatter: Sendable {
        let deliver: StartedDelivery<R.Model, Void> = { handle, result in
            await MainActor.run {
                if let result = handle.settle(result) { completion(result) }
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
    ) -> RequestHandle<Void> {
        launchOnMain(request, in: scope) { handle, result in
            if let result = handle.settle(result) { completion(result) }
        }
    }

    /// Starts a send whose model can be awaited with ``RequestHandle/value``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled.
    /// - Returns: A handle to the send. It need not be kept.
    public func start<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope? = nil
    ) -> RequestHandle<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        launch(request, in: scope) { handle, result in _ = handle.settle(result) { $0 } }
    }

    /// Starts a send whose model is created on the main actor and can be awaited with ``RequestHandle/value``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled.
    /// - Returns: A handle to the send. It need not be kept.
    @MainActor
    public func start<R: Request>(
        _ request: R,
        in scope: RequestScope? = nil
    ) -> RequestHandle<R.Model> where R.Model: Sendable {
        launchOnMain(request, in: scope) { handle, result in _ = handle.settle(result) { $0 } }
    }

    /// A function that passes the result of a started send to its callback, or to its handle.
    typealias StartedDelivery<Model, Value: Sendable> =
        @Sendable (RequestHandle<Value>, Result<Delivered<Model>, any Error>) async -> Void

    /// A function that runs a started send.
    typealias Running<R: Request, Value: Sendable> =
        @Sendable (
            Agent, R, RequestHandle<Value>, @escaping @Sendable (Result<Delivered<R.Model>, any Error>) async -> Void
        ) async -> Void

    func launch<R: Request & Sendable, Value>(
        _ request: R,
        in scope: RequestScope? = nil,
        reporting report: (@Sendable (TransferProgress) -> Void)? = nil,
        running run: @escaping Running<R, Value> = { await $0.runInBackground($1, for: $2, deliver: $3) },
        deliver: @escaping StartedDelivery<R.Model, Value>
    ) -> RequestHandle<Value> where R.Model: Sendable, R.Formatter: Sendable {
        let handle = RequestHandle<Value>(request, in: scope, among: pipeline.sends, reporting: report)
        handle.begin { handle, one in
            Task {
                await handle.perform(one) { await run(self, request, handle) { await deliver(handle, $0) } }
            }
        }
        return handle
    }

    @concurrent
    private func runInBackground<R: Request & Sendable, Value>(
        _ request: R,
        for handle: RequestHandle<Value>,
        deliver: @escaping @Sendable (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        // An error was delivered.
        if RequestType.of(R.self).isComposed {
            _ = try? await runComposed(request, for: handle, delivering: deliver)
            return
        }
        _ = try? await runInBackground(request, observedBy: [handle.observer]) { result in
            await deliver(result.map(Delivered.init))
            return !handle.isCancelled
        }
    }

    @MainActor
    func launchOnMain<R: Request, Value>(
        _ request: R,
        in scope: RequestScope? = nil,
        reporting report: (@Sendable (TransferProgress) -> Void)? = nil,
        deliver: @escaping @MainActor (RequestHandle<Value>, Result<Delivered<R.Model>, any Error>) -> Void
    ) -> RequestHandle<Value> {
        let handle = RequestHandle<Value>(request, in: scope, among: pipeline.sends, reporting: report)
        let send: @MainActor (RequestHandle<Value>) async -> Void = { handle in
            await self.run(request, formatting: .callerByNeed, for: handle) { deliver(handle, $0) }
        }
        handle.begin { handle, one in
            Task { @MainActor in await handle.perform(one) { await send(handle) } }
        }
        return handle
    }

    /// Runs a started send on its caller, a composition or a single request; the result is passed to `deliver`.
    fileprivate func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        veto: CacheVeto? = nil,
        for handle: RequestHandle<some Sendable>,
        deliver: nonisolated(nonsending) @escaping (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async {
        // An error was delivered.
        if RequestType.of(R.self).isComposed {
            _ = try? await runComposed(request, for: handle, delivering: deliver)
            return
        }
        let (asking, observer) = ({ veto }, handle.observer)
        _ = try? await run(request, formatting: formatting, veto: asking, observedBy: [observer]) { result in
            await deliver(result.map(Delivered.init))
            return !handle.isCancelled
        }
    }
}

extension RequestHandle where Value == Void {
    /// Records the result of a send whose callback is the only one that gets the model.
    func settle<Model>(_ result: Result<Delivered<Model>, any Error>) -> Result<Model, any Error>? {
        settle(result) { _ in }
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
        for handle: RequestHandle<Void>,
        deliver: @escaping @Sendable (Result<Delivered<R.Model>, any Error>) async -> Void
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        let veto: CacheVeto = { request.shouldCache($0, of: $1) }
        await agent.run(request, formatting: .callerByChoice, veto: veto, for: handle, deliver: deliver)
    }
}
