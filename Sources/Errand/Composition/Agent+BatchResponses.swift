// Overloads that differ by `Sendable` are ranked as those of `response(for:)` are.
extension Agent {
    /// Sends the requests of a batch, and returns the response of each with its model.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<each R: Request & Sendable>(
        for batch: BatchRequest<repeat each R>
    ) async throws -> (repeat Response<(each R).Model>)
    where repeat (each R).Model: Sendable, repeat (each R).Formatter: Sendable {
        try await batch.responses(from: self)
    }

    /// Sends the requests of a batch, and returns the response of each with its model, which is created on the caller's
    /// actor.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<each R: Request>(
        for batch: BatchRequest<repeat each R>
    ) async throws -> (repeat Response<(each R).Model>) {
        try await batch.responses(from: self)
    }

    /// Sends the requests of a batch, and returns the response of each with its model.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<R: Request & Sendable>(
        for batch: ArrayBatchRequest<R>
    ) async throws -> [Response<R.Model>] where R.Model: Sendable, R.Formatter: Sendable {
        try await batch.responses(from: self)
    }

    /// Sends the requests of a batch, and returns the response of each with its model, which is created on the caller's
    /// actor.
    ///
    /// - Parameter batch: The batch. Its requests must not be batches or chains, which have no single response.
    /// - Returns: The responses in the order of the requests, such as to read ``Response/source`` or a header field.
    /// - Throws: The first error of a request, ``NetworkError/Reason/notOneRequest(_:)``, or `CancellationError`.
    public func response<R: Request>(for batch: ArrayBatchRequest<R>) async throws -> [Response<R.Model>] {
        try await batch.responses(from: self)
    }
}
