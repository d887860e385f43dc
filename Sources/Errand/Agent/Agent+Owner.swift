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

/// A delegate that receives the results of requests, as an alternative to closures.
///
/// The agent holds it weakly: once it is deallocated, its sends are cancelled and no method is called. All calls are on
/// the main actor, in this order: accessories receive `willStop`; ``request(_:didReceive:)`` is called if there was a
/// response, accepted or not, unless an error of your own follows that does not contain it; then exactly one of ``request(_:didFinishWith:)`` and ``request(_:didFailWith:)``; then
/// accessories receive `didStop`. One object may be the delegate of requests of many types: check the request's type or
/// ``Request/tag``.
@MainActor
public protocol RequestDelegate: AnyObject {
    /// Called with the response as it was received; never for a batch or chain, which has none of its own.
    ///
    /// - Parameters:
    ///   - request: The request that was started.
    ///   - response: The response. If the send failed, it is the response of the error, with the body truncated as there.
    func request<R: Request>(_ request: R, didReceive response: RawResponse)

    /// Called with the model.
    func request<R: Request>(_ request: R, didFinishWith model: R.Model)

    /// Called with the error of the send, which is `CancellationError` if it was cancelled.
    func request<R: Request>(_ request: R, didFailWith error: any Error)
}

extension RequestDelegate {
    /// Does nothing, which is the default.
    public func request<R: Request>(_ request: R, didReceive response: RawResponse) {}
}

extension Agent {
    /// Starts a send for a delegate that is held weakly.
    ///
    /// If the delegate is deallocated, the send is cancelled and no method is called. The request is prepared and its
    /// model created on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - delegate: The delegate that is notified of the response and the result.
    /// - Returns: A handle to cancel the send. It need not be kept.
    @MainActor
    @discardableResult
    public func start<R: Request>(_ request: R, delegate: any RequestDelegate) -> RequestHandle<Void> {
        let isWanted: @MainActor () -> Bool = { [weak delegate] in delegate != nil }
        let handle: RequestHandle<Void> = launchOnMain(request) { [weak delegate] handle, delivered in
            let delegate = delegate
            if delegate == nil { handle.abandon() }
            guard let result = handle.settle(delivered), let delegate else { return }
            switch result {
            case .success(let model):
                if let response = try? delivered.get().response { delegate.request(request, didReceive: response.raw) }
                delegate.request(request, didFinishWith: model)
            case .failure(let error):
                if let response = error.rawResponse { delegate.request(request, didReceive: response) }
                delegate.request(request, didFailWith: error)
            }
        }
        watch(handle, while: isWanted)
        return handle
    }
}
