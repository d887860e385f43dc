internal import Foundation

// Stages 6 to 8: one attempt.

/// An answer as received, with its times.
struct Received: Sendable {
    var response: RawResponse
    let metrics: Metrics.Attempt
}

extension Agent {
    /// Stage 6, before the wire: adapters change the final request, which is checked once more.
    func adapt(_ prepared: PreparedRequest, attempt: Int) async throws -> OutgoingRequest {
        var outgoing = prepared.outgoing
        guard !prepared.adapters.isEmpty else { return outgoing }
        var context = prepared.context
        context.attempt = attempt
        for adapter in prepared.adapters { try await adapter.adapt(&outgoing, for: context) }
        if outgoing.url != prepared.outgoing.url { try outgoing.normalize() }
        try outgoing.validate()
        return outgoing
    }

    /// Stage 6, on the wire.
    func transmit(_ outgoing: OutgoingRequest, of prepared: PreparedRequest) async throws -> Received {
        let began = ContinuousClock.now
        do {
            let options = prepared.transportOptions
            let answer = try await transport.send(outgoing, options: options)
            let body = try await answer.body.collect(upTo: options.maximumBodySize)
            let times = answer.timings
            let response = RawResponse(
                statusCode: answer.statusCode,
                headers: answer.headers,
                body: body,
                url: outgoing.url
            )
            let metrics = Metrics.Attempt(
                firstByte: times.headReceived.map { $0 - (times.started ?? began) },
                transfer: times.headReceived.flatMap { head in times.finished.map { $0 - head } },
                total: ContinuousClock.now - began
            )
            return Received(response: response, metrics: metrics)
        } catch let error as NetworkError {
            throw error.placed(at: outgoing.url, method: outgoing.method)
        }
    }

    /// Stage 7: marks an answer that is refused, and guards what is to be decoded.
    func accept(_ received: Received, of prepared: PreparedRequest) throws -> Received {
        var received = received
        if let refusal = prepared.acceptance.refusal(of: received.response) {
            received.response.failure = refusal.placed(at: received.response.url, method: prepared.outgoing.method)
                .tried(1)
        }
        guard prepared.needsJSONGuard, !received.response.body.isEmpty else { return received }
        do throws(JSONError) {
            try JSONGuard.check(received.response.body)
            received.response.isGuarded = true
        } catch {
            throw received.response.failure
                ?? NetworkError(.invalidJSON(error), response: received.response, underlying: error)
        }
        return received
    }

    /// Stage 8: the filter finds the payload, or throws what the service reported.
    func unwrap(_ received: Received, of prepared: PreparedRequest, attempt: Int) throws -> Answer {
        let began = ContinuousClock.now
        var context = prepared.context
        context.attempt = attempt
        let response = received.response
        var payload = try prepared.filter.filter(response, for: context)
        if let failure = response.failure, !prepared.filter.recovers(from: failure, in: response) { throw failure }
        payload.mediaType = payload.mediaType ?? response.mediaType
        payload.decoder = prepared.decoder
        var metrics = Metrics()
        metrics.attempts = [received.metrics]
        metrics.filter = ContinuousClock.now - began
        return Answer(response: response, payload: payload, metrics: metrics)
    }
}
