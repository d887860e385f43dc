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
