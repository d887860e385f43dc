extension Agent {
    /// Sends a request, reports the progress of its body and of the response's, and returns its model.
    ///
    /// - Parameters:
    ///   - request: The request to send. A batch or a chain reports the progress of each of its requests.
    ///   - progress: Called in the background after each hundredth of a body, at least 64 KiB, and at its end, whatever its
    ///     size; first for the request's body, and then for the response's, as ``TransferProgress/direction`` shows.
    ///     Neither runs backwards: a body that is sent again, for a retry, a redirect or a new credential, is reported
    ///     from the position that was reached before. The end of the upload is reported once its response is accepted,
    ///     so a send that fails does not report it.
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
    ///   - progress: Called in the background after each hundredth of a body, at least 64 KiB, and at its end, whatever its
    ///     size; first for the request's body, and then for the response's, as ``TransferProgress/direction`` shows.
    ///     Neither runs backwards: a body that is sent again, for a retry, a redirect or a new credential, is reported
    ///     from the position that was reached before. The end of the upload is reported once its response is accepted,
    ///     so a send that fails does not report it.
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
        accessory(CallerProgress(progress))
    }
}
