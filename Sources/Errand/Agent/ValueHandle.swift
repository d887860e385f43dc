/// A handle to a send that was started without a callback, whose model can be awaited.
public struct ValueHandle<Model: Sendable>: Sendable {
    /// The handle that cancels the send and has its state.
    public let handle: RequestHandle
    fileprivate let result: Lock<Result<Model, any Error>>

    /// The model, which any number of tasks may await.
    ///
    /// Cancelling a waiting task neither ends its waiting nor cancels the send.
    ///
    /// - Throws: The error of the send, or `CancellationError` if its scope was deallocated.
    public var value: Model {
        get async throws {
            await handle.waitForResult()
            return try result.withLock { $0 }.get()
        }
    }

    /// The state of the send; see ``RequestHandle/state``.
    public var state: RequestHandle.State { handle.state }
    /// The progress of the transfer; see ``RequestHandle/progress``.
    public var progress: TransferProgress? { handle.progress }
    /// The progress of the transfer from now on; see ``RequestHandle/progressUpdates``.
    public var progressUpdates: AsyncStream<TransferProgress> { handle.progressUpdates }
    /// The priority of the request; see ``RequestHandle/priority``.
    public var priority: Priority { handle.priority }
    /// Cancels the send; ``value`` throws `CancellationError`, unless it is available already.
    public func cancel() { handle.cancel() }
}

extension Agent {
    /// Starts a send whose model can be awaited with ``ValueHandle/value``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled.
    /// - Returns: A handle to the send. It need not be kept.
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

    /// Starts a send whose model is created on the main actor and can be awaited with ``ValueHandle/value``.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - scope: The scope that owns the send, or `nil` for none. If it is deallocated, the send is cancelled.
    /// - Returns: A handle to the send. It need not be kept.
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
