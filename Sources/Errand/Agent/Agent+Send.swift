extension Agent {
    /// Sends a request and returns its model.
    public func send<R: Request & Sendable>(_ request: R) async throws -> R.Model
    where R.Model: Sendable, R.Formatter: Sendable {
        let type = RequestType.of(R.self)
        if type.isComposed { return try await runComposed(request) }
        if request.formattingContext == .caller { return try await runOnCaller(request).model }
        return try await runInBackground(request, of: type).model
    }

    /// Sends a request and returns its model, which is created on the caller's actor.
    public func send<R: Request>(_ request: R) async throws -> R.Model {
        if RequestType.of(R.self).isComposed { return try await runComposed(request) }
        return try await run(request, formatting: .callerByNeed).model
    }

    /// Sends a request and returns its model with the response that it was created from.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - policy: A policy in place of the request's own, such as ``CachePolicy/cacheOnly`` to only read the cache, or
    ///     ``CachePolicy/reload`` not to read it; ``CachePolicy/inherited``, the default, is the request's own.
    /// - Returns: The model and the response that it was created from.
    /// - Throws: The errors of `send(_:)`.
    @_disfavoredOverload  // A batch has overloads of its own, which would otherwise be ambiguous.
    public func response<R: Request & Sendable>(
        for request: R,
        cachePolicy policy: CachePolicy = .inherited
    ) async throws -> Response<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        try await response(for: request, step: .of(policy))
    }

    /// Sends a request and returns its model, created on the caller's actor, with the response that it was created
    /// from.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - policy: A policy in place of the request's own, such as ``CachePolicy/cacheOnly`` to only read the cache, or
    ///     ``CachePolicy/reload`` not to read it; ``CachePolicy/inherited``, the default, is the request's own.
    /// - Returns: The model and the response that it was created from.
    /// - Throws: The errors of `send(_:)`.
    @_disfavoredOverload  // A batch has overloads of its own, which would otherwise be ambiguous.
    public func response<R: Request>(
        for request: R,
        cachePolicy policy: CachePolicy = .inherited
    ) async throws -> Response<R.Model> {
        try await response(for: request, step: .of(policy))
    }

    func response<R: Request & Sendable>(
        for request: R,
        step: CacheStep,
        in sequence: SendSequence? = nil
    ) async throws -> Response<R.Model> where R.Model: Sendable, R.Formatter: Sendable {
        try sequence?.check()
        if request.formattingContext == .caller {
            let (model, accepted) = try await runOnCaller(request, step: step, in: sequence)
            return Response(model: model, of: accepted)
        }
        let (model, accepted) = try await runInBackground(request, step: step, in: sequence)
        return Response(model: model, of: accepted)
    }

    func response<R: Request>(
        for request: R,
        step: CacheStep,
        in sequence: SendSequence? = nil
    ) async throws -> Response<R.Model> {
        try sequence?.check()
        let (model, accepted) = try await run(request, formatting: .callerByNeed, step: step, in: sequence)
        return Response(model: model, of: accepted)
    }

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

    /// Sends a request and returns the output of a formatter that is used in place of the request's own.
    public func send<R: Request & Sendable, F: ResponseFormatter & Sendable>(
        _ request: R,
        formattedBy formatter: F
    ) async throws -> F.Output where R.Model: Sendable, R.Formatter: Sendable, F.Output: Sendable {
        try await send(FormattedRequest(base: request, formatter: formatter))
    }

    /// Sends a request and returns the output of a formatter that is used on the caller's actor, in place of the
    /// request's own.
    public func send<R: Request, F: ResponseFormatter>(
        _ request: R,
        formattedBy formatter: F
    ) async throws -> F.Output {
        try await send(FormattedRequest(base: request, formatter: formatter))
    }
}

extension Request {
    fileprivate func reporting(_ progress: @escaping @Sendable (TransferProgress) -> Void) -> ModifiedRequest<Self> {
        accessory(CallerProgress(progress))
    }
}

/// A request whose model is created by another formatter; its ``Request/didProduce(_:from:)`` isn't called.
struct FormattedRequest<Base: Request, Formatter: ResponseFormatter>: RequestWrapper {
    typealias Model = Formatter.Output

    let base: Base
    let formatter: Formatter

    var filter: Base.Filter { base.filter }
}

extension FormattedRequest: Sendable where Base: Sendable, Formatter: Sendable {}
