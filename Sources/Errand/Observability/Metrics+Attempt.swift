internal import Foundation

extension Metrics.Attempt: SafeDescription {
    init(_ timing: ExchangeTiming, of request: BuiltRequest) {
        self.init(timing, origin: request.credentials.origin, url: request.outgoing.url)
    }

    init(_ timing: ExchangeTiming, origin: String, url: URL) {
        self.init(
            firstByte: timing.firstByte,
            transfer: timing.transfer,
            total: timing.total,
            origin: origin,
            url: url,
            statusCode: timing.statusCode,
            connection: timing.connection?.value
        )
    }

    /// The status, the host and the path, and the time, such as `503 from cdn.example/x in 3 ms`.
    public var description: String { "\(outcome)\(url.map { " from \($0.place)" } ?? "") in \(total.words)" }

    /// The status, or that there was no response.
    var outcome: String { statusCode.map { "\($0)" } ?? "no response" }
}
