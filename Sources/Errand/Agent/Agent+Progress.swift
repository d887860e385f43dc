extension Agent {
    /// Sends a request, reports the progress of its body and of the response's, and returns its model.
    ///
    /// - Parameters:
    ///   - request: The request to send. A batch or a chain reports the progress of each of its requests.
    ///   - progress: Called in the background as described for ``AccessoryEvent/didProgress(_:)``, so not for a body of at most
    ///     64 KiB.
    /// - Returns: The model.
    /// - Throws: The errors of `send(_:)`.
    public func send<R: Request & Sendable>(
        _ request: R,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> R.Model where R.Model: Sendable, R.Formatter: Sendable {
        try await send(request.reporting(progress))
    }

    /// Sends a request, reports the progress of its body and of the response's, and returns its model, which is created on
    /// the caller's actor.
    ///
    /// - Parameters:
    ///   - request: The request to send. A batch or a chain reports the progress of each of its requests.
    ///   - progress: Called in the background as described for ``AccessoryEvent/didProgress(_:)``, so not for a body of at most
    ///     64 KiB.
    /// - Returns: The model.
    /// - Throws: The errors of `send(_:)`.
    public func send<R: Request>(
        _ request: R,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> R.Model {
        try await send(request.reporting(progress))
    }
}

extension Request {
    fileprivate func reporting(_ progress: @escaping @Sendable (TransferProgress) -> Void) -> ModifiedRequest<Self> {
        accessory { event in if case .didProgress(let one) = event { progress(one) } }
    }
}
