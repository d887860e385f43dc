internal import Foundation

extension Metrics.Attempt: SafeDescription {
    init(_ timing: ExchangeTiming, of request: BuiltRequest) {
        self.init(
            timing,
            origin: request.credentials.origin,
            url: request.outgoing.url,
            path: request.outgoing.notes.declared
        )
    }

    init(_ timing: ExchangeTiming, origin: Origin, url: URL, path: DeclaredPath?) {
        self.init(
            start: timing.start,
            firstByte: timing.firstByte,
            transfer: timing.transfer,
            total: timing.total,
            origin: origin.description,
            url: url,
            statusCode: timing.statusCode,
            connection: timing.connection?.value
        )
        self.path = path
    }

    /// The status, the host and the declared path, and the time, such as `503 from cdn.example/x in 3 ms`.
    public var description: String { "\(outcome)\(place) in \(total.words)" }

    /// The host and the path that the request declares, after the status; empty if the URL is not known.
    var place: String { url.map { " from \($0.origin.authority)\(path?.shown ?? "")" } ?? "" }

    /// The status, or that there was no response.
    var outcome: String { statusCode.map { "\($0)" } ?? "no response" }
}
