internal import Foundation

// Exchanges, as accessories that ask for them receive them.

/// An exchange that is observed, while it takes place; only its task uses it.
final class ObservedExchange {
    private var exchange: Exchange
    private let prepared: PreparedRequest
    private let timeline: Timeline
    private let limit: Int
    private let (began, handed): (Duration, Moment)
    private var body: ObservedChunks?
    /// When the final header section arrived.
    private var received: Moment?

    /// Creates it for an exchange that is about to begin, or returns `nil` if nobody observes it.
    @inline(never)
    init?(
        _ outgoing: OutgoingRequest,
        of prepared: PreparedRequest,
        _ record: AttemptRecord?,
        after redirects: [Redirect],
        in pipeline: Pipeline
    ) {
        guard let limit = prepared.accessories.exchangeBodyLimit else { return nil }
        (self.prepared, timeline) = (prepared, pipeline.timeline)
        self.limit = prepared.receiver == nil ? limit : 0
        var purpose: Exchange.Purpose = outgoing.notes.conditions.isEmpty ? .attempt : .revalidation
        if !redirects.isEmpty { purpose = .redirect }
        if prepared.accessories.isEmpty { purpose = .background }
        if RefreshScope.isActive { purpose = .refresh }
        let sent = pipeline.transport.sentFields(of: outgoing)
        var request = outgoing
        if let sent { request.headers = sent }
        var body = Data()
        if case .data(let data) = outgoing.body { body = data }
        exchange = Exchange(
            attempt: record?.number ?? 1,
            purpose: purpose,
            request: request,
            isExact: sent != nil,
            requestBody: Exchange.Body(body, of: outgoing.body.byteCount, upTo: limit),
            start: timeline.date()
        )
        (began, handed) = (timeline.now(), .now)
    }

    /// Notes the header section of the response, and observes its body.
    func didReceive(_ response: inout TransportResponse) {
        (exchange.statusCode, exchange.responseHeaders) = (response.statusCode, response.headers)
        if let whole = response.body.whole {
            exchange.responseBody = Exchange.Body(whole, of: Int64(whole.count), upTo: limit)
        } else {
            let chunks = ObservedChunks(response.body.chunks, upTo: limit)
            response.body = ResponseBody(chunks: chunks)
            body = chunks
        }
        let (times, connection) = (response.timings, response.connection)
        exchange.connection = connection
        exchange.phases.queue = times.startedMoment.map { $0 - handed }
        (exchange.phases.nameLookup, exchange.phases.connect) = (connection?.nameLookup, connection?.connect)
        exchange.phases.tls = connection?.tls
        received = times.headersReceivedMoment
        guard let started = times.startedMoment, let received else { return }
        let before = [connection?.nameLookup, connection?.connect, connection?.tls].compactMap(\.self).reduce(.zero, +)
        exchange.phases.firstByte = max(.zero, received - started - before)
        exchange.phases.receive = times.finishedMoment.map { $0 - received }
    }

    /// Passes the exchange to those who observe it.
    func end(_ failure: (any Error)?) {
        exchange.duration = timeline.now() - began
        exchange.failure = failure
        if let body {
            exchange.responseBody = body.body
            if failure == nil { exchange.phases.receive = received.map { .now - $0 } }
        }
        prepared.accessories.notify(exchange, of: prepared.context)
    }
}

/// The chunks of a body, whose beginning is kept while they pass.
private final class ObservedChunks: ResponseChunks {
    private let chunks: any ResponseChunks
    private let limit: Int
    private let state = Lock((beginning: Data(), count: Int64(0)))

    init(_ chunks: any ResponseChunks, upTo limit: Int) { (self.chunks, self.limit) = (chunks, limit) }

    func next() async throws -> Data? {
        let chunk = try await chunks.next()
        if let chunk {
            state.withLock { state in
                state.count += Int64(chunk.count)
                state.beginning.append(chunk.prefix(max(0, limit - state.beginning.count)))
            }
        }
        return chunk
    }

    func cancel() { chunks.cancel() }

    var body: Exchange.Body {
        state.withLock { Exchange.Body($0.beginning, of: $0.count, upTo: limit) }
    }
}
