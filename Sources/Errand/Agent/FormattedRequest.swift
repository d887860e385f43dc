/// A request whose model is created by another formatter; its ``Request/didProduce(_:from:)`` isn't called.
struct FormattedRequest<Base: Request, Formatter: ResponseFormatter>: RequestWrapper {
    typealias Model = Formatter.Output

    let base: Base
    let formatter: Formatter

    var filter: Base.Filter { base.filter }
}

extension FormattedRequest: Sendable where Base: Sendable, Formatter: Sendable {}

extension Agent {
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
