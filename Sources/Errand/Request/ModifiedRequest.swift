public import Foundation

/// A request with some members changed, created by modifiers such as `GetUser(id: 7).timeout(.seconds(5))`.
///
/// Every other member is the wrapped request's, read when it is sent. A modified batch or chain applies its changes to each
/// of its requests.
public struct ModifiedRequest<Base: Request>: RequestWrapper, ModifiableRequest {
    /// The model of the wrapped request.
    public typealias Model = Base.Model
    /// The response in a batch of the wrapped request.
    public typealias ResponseInBatch = Base.ResponseInBatch

    /// The wrapped request, without the changes.
    public let base: Base
    private(set) var changes: Shared<RequestChanges>

    init(_ base: Base, _ changes: Shared<RequestChanges> = RequestChanges.none) {
        self.base = base
        self.changes = changes
    }

    /// The filter of the wrapped request.
    public var filter: Base.Filter { base.filter }
    /// The formatter of the wrapped request.
    public var formatter: Base.Formatter { base.formatter }
    /// Calls the hook of the wrapped request.
    public func didProduce(_ model: Base.Model, from response: RawResponse) throws {
        try base.didProduce(model, from: response)
    }

    /// Returns a copy with a further change, which replaces an earlier one of the same member.
    public consuming func applying(_ modification: RequestModification) -> Self {
        changes.value.append(modification)
        return self
    }
}

extension ModifiedRequest: Sendable where Base: Sendable {}

/// A type of modified requests, whatever they wrap.
protocol AnyModifiedRequest {
    /// The type of the request without its changes.
    static var unmodified: ObjectIdentifier { get }
}

extension ModifiedRequest: AnyModifiedRequest {
    static var unmodified: ObjectIdentifier { RequestType.of(Base.self).id }
}

extension ModifiedRequest: ComposedRequest where Base: ComposedRequest {
    var sentType: RequestType? { base.sentType }
}

extension ModifiedRequest: ReceivingRequest where Base: ReceivingRequest {
    func makeReceiver() throws -> any BodyReceiver { try base.makeReceiver() }
}

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
