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
