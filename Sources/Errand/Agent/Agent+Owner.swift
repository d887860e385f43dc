extension Agent {
    /// Starts a send for an owner that is held weakly.
    ///
    /// If the owner is deallocated, the send is cancelled and its completion isn't called.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - owner: The owner of the send. Whether it still exists is checked ten times a second, and before the
    ///     completion is called.
    ///   - completion: Called once with the owner, and the model or the error of the send.
    /// - Returns: A handle to cancel the send. It need not be kept.
    @MainActor
    @discardableResult
    public func start<R: Request, Owner: AnyObject>(
        _ request: R,
        owner: Owner,
        completion: @escaping @MainActor (Owner, Result<R.Model, any Error>) -> Void
    ) -> RequestHandle<Void> {
        let isWanted: @MainActor () -> Bool = { [weak owner] in owner != nil }
        let handle: RequestHandle<Void> = launchOnMain(request) { [weak owner] handle, result in
            let owner = owner
            if owner == nil { handle.abandon() }
            if let result = handle.settle(result), let owner { completion(owner, result) }
        }
        watch(handle, while: isWanted)
        return handle
    }

    /// Starts a send for a delegate that is held weakly, and whose methods have the type of the model.
    ///
    /// Spelling: `agent.start(GetUser(id: 7), delegate: self, didFinish: { $0.show($1) }, didFail: { $0.report($1) })`.
    ///
    /// If the delegate is deallocated, the send is cancelled and no method is called.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - delegate: The delegate.
    ///   - didFinish: Called with the delegate and the model.
    ///   - didFail: Called with the delegate and the error, which is `CancellationError` if the send was cancelled.
    /// - Returns: A handle to cancel the send. It need not be kept.
    @MainActor
    @discardableResult
    public func start<R: Request, Delegate: AnyObject>(
        _ request: R,
        delegate: Delegate,
        didFinish: @escaping @MainActor (Delegate, R.Model) -> Void,
        didFail: @escaping @MainActor (Delegate, any Error) -> Void
    ) -> RequestHandle<Void> {
        start(request, owner: delegate) { delegate, result in
            switch result {
            case .success(let model): didFinish(delegate, model)
            case .failure(let error): didFail(delegate, error)
            }
        }
    }

    /// Abandons a send once its owner is deallocated.
    ///
    /// There is no notification of that, so a task checks ten times a second.
    @MainActor
    func watch(_ handle: RequestHandle<Void>, while isWanted: @escaping @MainActor () -> Bool) {
        Task { @MainActor [weak handle] in
            while let current = handle, !current.isFinished {
                guard isWanted() else { return current.abandon() }
                // It is not cancelled.
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
