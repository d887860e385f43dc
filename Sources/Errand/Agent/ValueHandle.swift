/// A send that was started without a callback, and whose model can be waited for.
public struct ValueHandle<Model: Sendable>: Sendable {
    /// Cancels the send, and tells how it stands.
    public let handle: RequestHandle
    fileprivate let result: Lock<Result<Model, any Error>>

    /// The model, once it is there; any number of tasks may ask.
    ///
    /// A task that is cancelled while it waits goes on waiting, and the send goes on: it is not that task's own.
    ///
    /// - Throws: What the send threw; `CancellationError` when its scope is gone, too.
    public var value: Model {
        get async throws {
            await handle.waitForResult()
            return try result.withLock { $0 }.get()
        }
    }

    /// As ``RequestHandle/state``.
    public var state: RequestHandle.State { handle.state }
    /// As ``RequestHandle/progress``.
    public var progress: TransferProgress? { handle.progress }
    /// As ``RequestHandle/priority``.
    public var priority: Priority { handle.priority }
    /// Ends the send: ``value`` throws `CancellationError`, unless it was there already.
    public func cancel() { handle.cancel() }
}

extension Agent {
    /// Starts a send whose model is asked for later, by ``ValueHandle/value``.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - scope: Owns the send: when it goes away the send ends; `nil` is nobody.
    /// - Returns: A handle to the send, which need not be kept.
    public func start<R: Request & Sendable>(
        _ request: R,
        in scope: RequestScope? = nil
    ) -> ValueHandle<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        let kept = Lock(Result<R.Model, any Error>.failure(CancellationError()))
        let handle = launch(request, in: scope) { handle, result in
            if let result = handle.settle(result) { kept.withLock { $0 = result.map { $0.model } } }
        }
        return ValueHandle(handle: handle, result: kept)
    }

    /// Starts a send whose model is made on the main actor and asked for later, by ``ValueHandle/value``.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - scope: Owns the send: when it goes away the send ends; `nil` is nobody.
    /// - Returns: A handle to the send, which need not be kept.
    @MainActor
    public func start<R: Request>(
        _ request: R,
        in scope: RequestScope? = nil
    ) -> ValueHandle<R.Model> where R.Model: Sendable {
        let kept = Lock(Result<R.Model, any Error>.failure(CancellationError()))
        let handle = launchOnMain(request, in: scope) { handle, result in
            if let result = handle.settle(result) { kept.withLock { $0 = result.map { $0.model } } }
        }
        return ValueHandle(handle: handle, result: kept)
    }
}
