// One refresh at a time, for all sends that wait for it.

extension AuthenticationSession {
    func wouldWait(for reason: RefreshReason) -> Bool {
        let now = timeline.now()
        return state.withLock { $0.wouldWait(for: reason, at: now) }
    }

    func wait(for reason: RefreshReason, by client: any RefreshClient) async throws {
        guard let agent = client as? Agent else { throw NetworkError(.other("only an agent can refresh a credential")) }
        let id = state.withLock { $0.makeID() }
        let outcome = await withTaskCancellationHandler {
            await enter(id: id, for: reason, by: agent).value()
        } onCancel: {
            state.withLock { $0.refresh?.waiters.removeValue(forKey: id) }?.deliver(.cancelled)
        }
        switch outcome {
        case .settled: return
        case .failed(let error): throw error
        case .cancelled: throw CancellationError()
        }
    }

    private func enter(id: Int, for reason: RefreshReason, by agent: Agent) -> Delivery<RefreshOutcome> {
        let waiter = Delivery<RefreshOutcome>()
        let now = timeline.now()
        let (overdue, error) = state.withLock { ($0.takeOverdueRefresh(at: now), $0.overdueError) }
        overdue?.task?.cancel()
        overdue?.settle(.failed(error))
        let (outcome, refresh) = state.withLock { state -> (RefreshOutcome?, CredentialState<A.Credential>.Refresh?) in
            // The flag is set before the cancellation handler runs, and the handler needs this lock: either it is seen
            // here, or the handler finds the waiter.
            if Task.isCancelled { return (.cancelled, nil) }
            switch state.step(for: reason, at: now) {
            case .goOn: return (.settled, nil)
            case .fail(let error): return (.failed(error), nil)
            case .wait:
                state.refresh?.waiters[id] = waiter
                return (nil, nil)
            case .start(let refresh):
                state.refresh?.waiters[id] = waiter
                return (nil, refresh)
            }
        }
        if let outcome { waiter.deliver(outcome) }
        if let refresh { start(refresh, by: agent) }
        return waiter
    }

    /// Starts a refresh in a task that the session owns; it ends by itself or with ``replace(_:)``.
    private func start(_ refresh: CredentialState<A.Credential>.Refresh, by agent: Agent) {
        // Detached, so that it inherits nothing from the first waiter except the refreshes that it is part of, none of which
        // may wait for itself.
        let scope = RefreshScope(of: self)
        let task = Task.detached { await self.perform(refresh, in: scope, with: agent) }
        let isWanted = state.withLock { state in
            guard state.refresh?.id == refresh.id else { return false }
            state.refresh?.task = task
            return true
        }
        // The credential was replaced first, or the refresh is over already and this does nothing.
        if !isWanted { task.cancel() }
    }

    private func perform(
        _ refresh: CredentialState<A.Credential>.Refresh,
        in scope: RefreshScope,
        with agent: Agent
    ) async {
        let result: Result<A.Credential, any Error>
        var failure = RefreshFailureKind.rejection
        do {
            // Over before its waiters continue, because they may release a task that was started in it.
            result = .success(try await scope.run { try await self.credential(for: refresh, with: agent) })
        } catch {
            failure = RefreshFailureKind(error)
            result = .failure(Self.redacted(error))
        }
        let credential = try? result.get()  // A failure has none.
        let user = credential.flatMap(authenticator.scope)
        // It would be refreshed for every send, and is as new as it can be.
        let isShortLived = credential.map(authenticator.needsRefresh) ?? false
        let now = timeline.now()
        let ended = state.withLock {
            $0.end(
                refresh.id,
                with: result,
                isShortLived: isShortLived,
                scope: { self.scope(user, loginNumber: $0) },
                failure: failure,
                at: now
            )
        }
        ended?.refresh.settle(ended?.outcome ?? .settled)
    }

    private func credential(
        for refresh: CredentialState<A.Credential>.Refresh,
        with agent: Agent
    ) async throws -> A.Credential {
        if let challenged {
            return try await challenged.refresh(refresh.held?.credential, after: refresh.response, with: agent)
        }
        guard let held = refresh.held else { throw NetworkError(.other("there is no credential to refresh")) }
        return try await authenticator.refresh(held.credential, with: agent)
    }

    /// The error of a refresh for the sends that waited for it.
    ///
    /// Errors of the library don't mention a refresh, so they become the underlying error of a
    /// ``NetworkError/Reason/refreshFailed``; other errors are unchanged. With a bare `CancellationError`, a caller would seem
    /// to have been cancelled itself.
    private static func redacted(_ error: any Error) -> any Error {
        switch error {
        case is NetworkError, is ServiceError, is CancellationError: NetworkError(.refreshFailed, underlying: error)
        default: error
        }
    }
}

extension CredentialState.Refresh {
    /// Completes the refresh for all waiters.
    func settle(_ outcome: RefreshOutcome) {
        for waiter in waiters.values { waiter.deliver(outcome) }
    }
}
