internal import Foundation

// Stages 6 to 8: one attempt.

extension Agent {
    /// Stage 6, before the wire: adapters change the final request, the login's credential goes on last, for the host
    /// that it has become, and it is checked once more.
    func adapt(
        _ prepared: PreparedRequest,
        attempt: Int,
        validating validation: CacheValidation? = nil
    ) async throws -> OutgoingRequest {
        var outgoing = prepared.outgoing
        if let validation { outgoing.headers.merge(validation.conditions) }
        guard !prepared.adapters.isEmpty || prepared.login != nil else { return outgoing }
        var context = prepared.context
        context.attempt = attempt
        for adapter in prepared.adapters { try await adapter.adapt(&outgoing, for: context) }
        try await prepared.login?.place(on: &outgoing, for: context)
        if outgoing.url != prepared.outgoing.url { try outgoing.normalize() }
        try outgoing.validate()
        return outgoing
    }

    /// Stage 6, on the wire: through the interceptors, and over redirects.
    func transmit(_ outgoing: OutgoingRequest, of prepared: PreparedRequest, attempt: Int) async throws -> RawResponse {
        var response: RawResponse
        if prepared.interceptors.isEmpty {
            response = try await follow(outgoing, of: prepared)
        } else {
            var context = prepared.context
            context.attempt = attempt
            response = try await intercept(outgoing, prepared.interceptors[...], of: prepared, context)
        }
        response.credentialVersion = outgoing.credentialVersion
        return response
    }

    private func intercept(
        _ outgoing: OutgoingRequest,
        _ interceptors: ArraySlice<any Interceptor>,
        of prepared: PreparedRequest,
        _ context: RequestContext
    ) async throws -> RawResponse {
        guard let first = interceptors.first else {
            var outgoing = outgoing
            if outgoing.url != prepared.outgoing.url { try outgoing.normalize() }
            try outgoing.validate()
            return try await follow(outgoing, of: prepared)
        }
        let next = AttemptChain { [self] request in
            try await intercept(request, interceptors.dropFirst(), of: prepared, context)
        }
        return try await first.intercept(outgoing, for: context, next: next)
    }

    /// Sends a request and follows redirects as the policy says.
    private func follow(_ outgoing: OutgoingRequest, of prepared: PreparedRequest) async throws -> RawResponse {
        let sent = outgoing.headers
        var outgoing = outgoing
        var redirects: [Redirect] = []
        let began = ContinuousClock.now
        while true {
            do {
                var response = try await WireTurn.sending(outgoing, of: prepared) {
                    try await exchange(outgoing, of: prepared)
                }
                response.redirects = redirects
                if !redirects.isEmpty { response.timing?.begin(at: began) }
                if prepared.cacheUse != nil {
                    response.cacheNote = CacheNote(prepared, sent: sent, response: response.headers)
                }
                let hop = try prepared.choices.redirectPolicy.value.next(
                    after: response,
                    to: outgoing,
                    hops: redirects.count,
                    secretHeaders: prepared.secrets.headers
                )
                guard let hop else { return response }
                await prepared.accessories.tell(.didRedirect(hop.redirect), of: prepared.context)
                redirects.append(hop.redirect)
                outgoing = hop.request
            } catch let error as NetworkError {
                throw error.placed(at: outgoing.url, method: outgoing.method)
            }
        }
    }

    /// One request to one URL, its body whole.
    private func exchange(_ outgoing: OutgoingRequest, of prepared: PreparedRequest) async throws -> RawResponse {
        let began = ContinuousClock.now
        let options = prepared.transportOptions
        let answer: TransportResponse
        let body: Data
        if let stoppableTransport {
            answer = try await prepared.tellingUpload(of: outgoing) { outgoing in
                try await stoppableTransport.send(outgoing, options: options, stop: prepared.stop)
            }
            body = try await prepared.collect(answer)
        } else {
            (answer, body) = try await prepared.stop.run { [transport] in
                let answer = try await prepared.tellingUpload(of: outgoing) { outgoing in
                    try await transport.send(outgoing, options: options)
                }
                return (answer, try await prepared.collect(answer))
            }
        }
        let times = answer.timings
        var response = RawResponse(
            statusCode: answer.statusCode,
            headers: answer.headers,
            body: body,
            url: outgoing.url
        )
        response.timing = Metrics.Attempt(
            firstByte: times.headReceived.map { $0 - (times.started ?? began) },
            transfer: times.headReceived.flatMap { head in times.finished.map { $0 - head } },
            total: ContinuousClock.now - began
        )
        return response
    }

    /// Stage 7: marks an answer that is refused, and guards what is to be decoded.
    func accept(_ response: RawResponse, of prepared: PreparedRequest) throws -> RawResponse {
        var response = response
        let acceptance = prepared.acceptance
        func mark(_ refusal: NetworkError?) {
            response.failure = refusal?.placed(at: response.url, method: prepared.outgoing.method).tried(1)
        }
        mark(acceptance.refusal(of: response))
        if !response.body.isEmpty {
            let isShaped = acceptance.shape != nil && response.failure == nil
            do throws(JSONError) {
                let strictness = isShaped ? .everything : prepared.guarding
                response.isGuarded = try JSONGuard.check(response.body, against: strictness)
            } catch {
                let failure =
                    response.failure ?? NetworkError(.invalidJSON(error), response: response, underlying: error)
                throw prepared.refusal(failure, of: response)
            }
        }
        if response.failure == nil { mark(acceptance.shapeRefusal(of: response, to: prepared.outgoing.method)) }
        return response
    }

    /// Stage 8: the filter finds the payload, or throws what the service reported.
    func unwrap(_ response: RawResponse, of prepared: PreparedRequest, attempt: Int) throws -> Answer {
        let began = ContinuousClock.now
        var context = prepared.context
        context.attempt = attempt
        var payload: Payload
        do {
            payload = try prepared.filter.filter(response, for: context)
            if let failure = response.failure, !prepared.filter.recovers(from: failure, in: response) { throw failure }
        } catch {
            throw prepared.refusal(error.decoding(with: prepared.decoder), of: response)
        }
        payload.headers = response.headers
        payload.decoder = prepared.decoder
        var metrics = Metrics()
        metrics.attempts = [response.timing].compactMap(\.self)
        metrics.filter = ContinuousClock.now - began
        if let queued = prepared.queued { metrics.queue = queued.withLock { $0 } }
        return Answer(response: response, payload: payload, metrics: metrics)
    }
}
