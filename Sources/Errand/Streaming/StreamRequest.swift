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

/// The additions to the caller's request for one connection of a stream of events.
struct EventConnection: Sendable {
    /// The ID of the last event that was received, or an empty string.
    let lastEventID: String
    /// The key of a request that has an automatic one.
    let idempotencyKey: String
    /// Whether there was an accepted header section before.
    let isReconnection: Bool

    /// What a stream of events accepts: events, or a 204, which ends it.
    static let acceptance = Acceptance(statusCodes: 200..<201, contentTypes: ["text/event-stream"]).accepting(204)

    /// Content that consists of events, whatever the status.
    static let content = Acceptance(statusCodes: 0..<1000, contentTypes: ["text/event-stream"])

    /// The fields of a request that has none of its own; they replace the service's and the config's.
    static let fields: HTTPHeaders = ["Accept": "text/event-stream", "Cache-Control": "no-cache"]

    /// Adds the header fields that the request doesn't have.
    func prepare(_ request: inout OutgoingRequest) {
        request.headers = Self.fields.merging(request.headers)
        if !lastEventID.isEmpty { request.headers["Last-Event-ID"] = lastEventID }
    }
}
