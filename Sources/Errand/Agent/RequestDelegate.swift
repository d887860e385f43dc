/// Told of sends by methods instead of closures, for code bases that are built that way.
///
/// The agent holds it weakly: once it is gone, its sends are cancelled and nobody is told. All calls come on the main
/// actor, in this order: accessories are told `willStop`; ``request(_:didReceive:)`` comes when an answer arrived, accepted
/// or not; then exactly one of ``request(_:didFinishWith:)`` and ``request(_:didFailWith:)``; then accessories are told
/// `didStop`. One object may serve requests of many types: look at the request's type or ``Request/tag``.
@MainActor
public protocol RequestDelegate: AnyObject {
    /// Told the answer as it arrived, before any model; never for a batch or chain, which has none of its own.
    ///
    /// - Parameters:
    ///   - request: The request that was started.
    ///   - answer: The answer; of a failure the one that its error carries, its body cut off where that does.
    func request<R: Request>(_ request: R, didReceive answer: RawResponse)

    /// Told the model.
    func request<R: Request>(_ request: R, didFinishWith model: R.Model)

    /// Told what the send threw; `CancellationError` when it was cancelled.
    func request<R: Request>(_ request: R, didFailWith error: any Error)
}

extension RequestDelegate {
    /// The default: does nothing.
    public func request<R: Request>(_ request: R, didReceive answer: RawResponse) {}
}

extension Agent {
    /// Sends a request for a delegate that is held weakly: once it is gone, the send is cancelled in silence.
    ///
    /// The request is prepared and its model made on the main actor.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - delegate: Told what becomes of it.
    /// - Returns: A handle to cancel it by; it need not be kept.
    @MainActor
    @discardableResult
    public func start<R: Request>(_ request: R, delegate: any RequestDelegate) -> RequestHandle {
        let isWanted: @MainActor () -> Bool = { [weak delegate] in delegate != nil }
        return launchOnMain(request, in: nil, watching: isWanted) { [weak delegate] handle, result in
            guard let delegate, let result = handle.settle(result) else { return }
            if let answer = result.answer() { delegate.request(request, didReceive: answer) }
            switch result {
            case .success(let made): delegate.request(request, didFinishWith: made.model)
            case .failure(let error): delegate.request(request, didFailWith: error)
            }
        }
    }
}

extension Result where Failure == any Error {
    /// The one answer that a result comes from; `nil` when there is none.
    fileprivate func answer<Model>() -> RawResponse? where Success == Made<Model> {
        switch self {
        case .success(let made): made.response?.raw
        case .failure(let error): (error as? NetworkError)?.response ?? (error as? ServiceError)?.response
        }
    }
}
