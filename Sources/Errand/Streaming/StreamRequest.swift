/// A request with a body that is read outside of its send; its formatter and its hooks on the model aren't used.
struct StreamRequest<Base: Request>: RequestWrapper, ReceivingRequest {
    typealias Model = Void

    let base: Base
    let receiver: StreamReceiver

    var filter: Base.Filter { base.filter }
    var formatter: VoidFormatter { VoidFormatter() }
    func makeReceiver() -> any BodyReceiver { receiver }

    var headers: HTTPHeaders {
        receiver.events == nil ? base.headers : EventConnection.fields.merging(base.headers)
    }
    /// A stream of events replaces what the request accepts.
    var acceptance: Acceptance { receiver.events == nil ? base.acceptance : EventConnection.acceptance }
    /// A ``ReconnectionPolicy`` takes the place of the request's policy.
    var retryPolicy: RetryPolicy { receiver.events?.isReconnection == true ? .never : base.retryPolicy }
    /// All connections of a stream of events are one request for the server.
    var idempotencyKey: IdempotencyKey {
        guard let events = receiver.events, base.idempotencyKey == .automatic else { return base.idempotencyKey }
        return IdempotencyKey(events.idempotencyKey)
    }
    /// A body that is not in memory can neither be stored nor shared.
    var cachePolicy: CachePolicy { .networkOnly }
    var duplicatePolicy: DuplicatePolicy { base.duplicatePolicy == .share ? .allow : base.duplicatePolicy }
}

extension StreamRequest: Sendable where Base: Sendable {}

/// The request that the end of a stream refers to, because the caller's own must not leave its caller.
struct EndOfStream: Request {
    typealias Model = Void
    var path: String { "" }
    var formatter: VoidFormatter { VoidFormatter() }
}
