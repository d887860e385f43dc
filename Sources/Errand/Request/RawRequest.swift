public import Foundation

/// A request whose model is the body as received, without the filter and the formatter of the request that it wraps.
///
/// Created by ``Request/raw``. The conditions for accepting a response still apply.
public struct RawRequest<Base: Request>: RequestWrapper {
    /// The complete body.
    public typealias Model = Data

    let base: Base

    /// The filter, which unwraps nothing.
    public var filter: PassthroughFilter { .passthrough }
    /// The formatter, which returns the bytes.
    public var formatter: DataFormatter { DataFormatter() }
}

extension RawRequest: Sendable where Base: Sendable {}

extension Request {
    /// This request with the complete body as its model: without unwrapping an envelope and without formatting.
    ///
    /// `response(for: request.raw)` also returns the header section.
    public var raw: RawRequest<Self> { RawRequest(base: self) }
}
