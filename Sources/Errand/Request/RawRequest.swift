public import Foundation

/// A request whose model is the body as it arrived: neither its filter nor its formatter is asked.
///
/// Made by ``Request/raw``. What makes an answer acceptable still holds.
public struct RawRequest<Base: Request>: RequestWrapper {
    /// The whole body.
    public typealias Model = Data

    let base: Base

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

/// A request that consists of requests, such as a batch: it is never sent itself.
protocol ComposedRequest: Request {}

// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension ComposedRequest {
    public var path: String { "" }
    /// Never called, for there is no one response.
    public var formatter: DefaultFormatter<Model> { DefaultFormatter() }
    /// Throws, wherever one response is asked for.
    public func check() throws {
        throw NetworkError(.notOneRequest(String(TypeNames.name(of: Self.self).prefix { $0 != "<" })))
    }
}
