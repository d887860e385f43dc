public import Foundation

/// A request whose model another formatter makes; its ``Request/didProduce(_:from:)`` is not asked.
struct FormattedRequest<Base: Request, Formatter: ResponseFormatter>: _RequestWrapper {
    typealias Model = Formatter.Output

    let base: Base
    let formatter: Formatter

    var filter: Base.Filter { base.filter }
}

extension FormattedRequest: Sendable where Base: Sendable, Formatter: Sendable {}

extension Agent {
    /// Sends a request and returns what a formatter makes of its payload, in place of the request's own.
    public func send<R: Request & Sendable, F: ResponseFormatter & Sendable>(
        _ request: R,
        formattedBy formatter: F
    ) async throws -> F.Output where R.Model: Sendable, R.Formatter: Sendable, F.Output: Sendable {
        try await send(FormattedRequest(base: request, formatter: formatter))
    }

    /// Sends a request and returns what a formatter makes of its payload, on the caller's actor, in place of the
    /// request's own.
    public func send<R: Request, F: ResponseFormatter>(
        _ request: R,
        formattedBy formatter: F
    ) async throws -> F.Output {
        try await send(FormattedRequest(base: request, formatter: formatter))
    }
}

/// A request whose model is the body as it arrived: neither its filter nor its formatter is asked.
///
/// Made by ``Request/raw``. What makes an answer acceptable still holds.
public struct RawRequest<Base: Request>: _RequestWrapper {
    /// The whole body.
    public typealias Model = Data

    /// The request that is sent.
    public let base: Base

    /// Opens no envelope.
    public var filter: PassthroughFilter { .passthrough }
    /// Takes the bytes.
    public var formatter: DataFormatter { DataFormatter() }
}

extension RawRequest: Sendable where Base: Sendable {}

extension Request {
    /// This request with the whole body for its model: no envelope is opened, nothing is formatted.
    ///
    /// `response(for: request.raw)` has the head with it.
    public var raw: RawRequest<Self> { RawRequest(base: self) }
}
