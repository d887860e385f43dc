public import Dispatch

// Sends with a callback. The completion is called exactly once, on the queue asked for or the main actor, but never
// after the scope or the owner is gone.

extension Agent {
    /// Sends a request and calls back on a queue.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - scope: Owns the send: when it goes away the send ends in silence; `nil` is nobody.
    ///   - queue: Where the completion is called.
    ///   - completion: Called once with the model, or with what the send threw.
    /// - Returns: A handle to cancel it by; it need not be kept.
    @discardableResult
    public func start<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope? = nil,
        on queue: DispatchQueue,
        completion: @escaping @Sendable (Result<R.Model, any Error>) -> Void
    ) -> RequestHandle where R.Model: Sendable, R.Formatter: Sendable {
        let deliver: @Sendable (RequestHandle, Result<Made<R.Model>, any Error>) async -> Void = { handle, result in
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

    /// Sends a request and calls back on the main actor.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - scope: Owns the send: when it goes away the send ends in silence; `nil` is nobody.
    ///   - completion: Called once with the model, or with what the send threw.
    /// - Returns: A handle to cancel it by; it need not be kept.
    @discardableResult
    public func start<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope? = nil,
        completion: @escaping @MainActor (Result<R.Model, any Error>) -> Void
    ) -> RequestHandle where R.Model: Sendable, R.Formatter: Sendable {
        let deliver: @Sendable (RequestHandle, Result<Made<R.Model>, any Error>) async -> Void = { handle, result in
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

    /// Sends a request, formats its payload and calls back on the main actor.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - scope: Owns the send: when it goes away the send ends in silence; `nil` is nobody.
    ///   - completion: Called once with the model, or with what the send threw.
    /// - Returns: A handle to cancel it by; it need not be kept.
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

    /// Sends a request for an owner that is held weakly: once it is gone, the send is cancelled in silence.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - owner: Whose send it is; asked for ten times a second, and once more before the completion.
    ///   - completion: Called once with the owner and the model, or what the send threw.
    /// - Returns: A handle to cancel it by; it need not be kept.
    @MainActor
    @discardableResult
    public func start<R: Request, Owner: AnyObject>(
        _ request: R,
        owner: Owner,
        completion: @escaping @MainActor (Owner, Result<R.Model, any Error>) -> Void
    ) -> RequestHandle {
        let isWanted: @MainActor () -> Bool = { [weak owner] in owner != nil }
        return launchOnMain(request, in: nil, watching: isWanted) { [weak owner] handle, result in
            if let owner, let result = handle.settle(result) { completion(owner, result.map { $0.model }) }
        }
    }

    /// Runs what was started.
    typealias Running<R: Request> =
        @Sendable (
            Agent, R, RequestHandle, @escaping @Sendable (Result<Made<R.Model>, any Error>) async -> Void
        ) async -> Void

    func launch<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope?,
        running run: @escaping Running<R> = { await $0.runInBackground($1, for: $2, deliver: $3) },
        deliver: @escaping @Sendable (RequestHandle, Result<Made<R.Model>, any Error>) async -> Void
    ) -> RequestHandle where R.Model: Sendable, R.Formatter: Sendable {
        let handle = RequestHandle(request)
        let task = Task { [weak scope] in
            await run(self, request, handle) { await deliver(handle, $0) }
            handle.finish()
            scope?.remove(handle)
        }
        handle.own { task.cancel() }
        scope?.add(handle)
        return handle
    }

    @concurrent
    private func runInBackground<R: Request & Sendable>(
        _ request: R,
        for handle: RequestHandle,
        deliver: @escaping @Sendable (Result<Made<R.Model>, any Error>) async -> Void
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        if RequestType.of(R.self).isComposed { return await runComposed(request, for: handle, deliver: deliver) }
        do {
            let observer = HandleObserver(handle: handle)
            let (model, answer) = try await runInBackground(request, observedBy: observer) { result in
                await deliver(result.map(Made.init))
                return !handle.isCancelled
            }
            // An accessory that blocks was left behind before the callback.
            if !handle.isDelivered { await deliver(.success(Made(answer.response(with: model)))) }
        } catch  where !handle.isDelivered {
            await deliver(.failure(error))
        } catch {
            // It was delivered.
        }
    }

    @MainActor
    func launchOnMain<R: Request>(
        _ request: R,
        in scope: RequestScope?,
        watching isWanted: (@MainActor () -> Bool)? = nil,
        deliver: @escaping @MainActor (RequestHandle, Result<Made<R.Model>, any Error>) -> Void
    ) -> RequestHandle {
        let handle = RequestHandle(request)
        let task = Task { @MainActor [weak scope] in
            await self.run(request, formatting: .callerByNeed, for: handle) { deliver(handle, $0) }
            handle.finish()
            scope?.remove(handle)
        }
        handle.own(watch: isWanted.map { watch(handle, while: $0) }) { task.cancel() }
        scope?.add(handle)
        return handle
    }

    /// Runs on its caller what was started, a single request or several; the result goes through `deliver`.
    fileprivate func run<R: Request>(
        _ request: R,
        formatting: Metrics.Formatting,
        veto: CacheVeto? = nil,
        for handle: RequestHandle,
        deliver: nonisolated(nonsending) @escaping (Result<Made<R.Model>, any Error>) async -> Void
    ) async {
        if RequestType.of(R.self).isComposed { return await runComposed(request, for: handle, deliver: deliver) }
        // What is thrown was delivered.
        let (asking, observer) = ({ veto }, HandleObserver(handle: handle))
        _ = try? await run(request, formatting: formatting, veto: asking, observedBy: observer) { result in
            await deliver(result.map(Made.init))
            return !handle.isCancelled
        }
    }

    private func runComposed<R: Request>(
        _ request: R,
        for handle: RequestHandle,
        deliver: nonisolated(nonsending) @escaping (Result<Made<R.Model>, any Error>) async -> Void
    ) async {
        // What is thrown was delivered.
        _ = try? await runComposed(request, reporting: handle.note, delivering: deliver)
    }

    /// Looks after an owner: nothing tells when an object goes away, so it is asked for, ten times a second.
    @MainActor
    private func watch(_ handle: RequestHandle, while isWanted: @escaping @MainActor () -> Bool) -> Task<Void, Never> {
        Task { @MainActor [weak handle] in
            while !Task.isCancelled, let current = handle, !current.isFinished {
                guard isWanted() else { return current.abandon() }
                // A cancelled sleep ends the loop above.
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}

/// Lets a dispatch queue be the caller of a send, so that the request is prepared and formatted there.
///
/// One for each send, which does one thing after the other; so the queue may be a concurrent one.
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
        deliver: @escaping @Sendable (Result<Made<R.Model>, any Error>) async -> Void
    ) async where R.Model: Sendable, R.Formatter: Sendable {
        let veto: CacheVeto = { request.shouldCache($0, of: $1) }
        await agent.run(request, formatting: .callerByChoice, veto: veto, for: handle, deliver: deliver)
    }
}
