// Stages 7 and 8: whether a response is accepted, and its payload.

extension Pipeline {
    /// Runs stages 7 and 8.
    ///
    /// A stored response that the server validated and that is no longer accepted is requested again.
    @inline(never)
    func judge(
        _ response: consuming RawResponse,
        of prepared: PreparedRequest,
        attempt: Int
    ) throws -> AcceptedResponse {
        guard response.cacheNote?.validated != nil else {
            try accept(&response, of: prepared)
            return try unwrap(consume response, of: prepared, attempt: attempt)
        }
        do {
            try accept(&response, of: prepared)
            return try unwrap(copy response, of: prepared, attempt: attempt)
        } catch {
            throw CacheValidation.Mismatch(response)
        }
    }

    /// Stage 7: marks a response that is not accepted, and applies the JSON guard.
    func accept(_ response: inout RawResponse, of prepared: PreparedRequest) throws {
        let method = prepared.built.outgoing.method
        func complete(_ error: NetworkError) -> NetworkError {
            error.with(exchangeOf: response, method: method).with(attempts: 1)
        }
        response.failure = prepared.settings.acceptance.value.failure(of: response).map(complete)
        let hasShape = prepared.settings.acceptance.value.shape != nil
        if !response.body.isEmpty {
            let isShaped = hasShape && response.failure == nil
            do throws(JSONError) {
                let strictness = isShaped ? .everything : prepared.guarding
                try JSONGuard.check(&response, against: strictness)
            } catch {
                let failure =
                    response.failure
                    ?? NetworkError(.invalidJSON(error), response: response, underlying: error)
                    .with(exchangeOf: response, method: method)
                throw prepared.markingUnauthorized(failure, of: response)
            }
        }
        guard hasShape, response.failure == nil, prepared.receiver?.received == nil else { return }
        response.failure = prepared.acceptance.shapeFailure(of: response, to: method).map(complete)
    }

    /// Runs stage 8: the filter returns the payload, or throws the error that the service reported.
    func unwrap(
        _ response: consuming RawResponse,
        of prepared: PreparedRequest,
        attempt: Int
    ) throws -> AcceptedResponse {
        // Most requests have no filter, and reading the clock takes longer than passing on the body.
        let began = prepared.settings.filter.source == .library ? nil : timeline.now()
        let payload = try prepared.payload(of: response, attempt: attempt)
        let timing = response.timing
        var accepted = AcceptedResponse(consume response, consume payload)
        accepted.attempt = timing.map {
            let outgoing = prepared.built.outgoing
            return AcceptedResponse.LastAttempt(
                timing: $0,
                origin: prepared.origin,
                url: outgoing.url,
                path: outgoing.notes.declared
            )
        }
        if let began { accepted.times.filter = timeline.now() - began }
        if let queued = prepared.queued { accepted.times.queue = queued.withLock { $0 } }
        return accepted
    }
}

extension PreparedRequest {
    /// Returns the payload of an accepted response, or throws the error of the service or of the response.
    fileprivate func payload(of response: RawResponse, attempt: Int) throws -> Payload {
        let method = context.method
        do {
            var payload = try content(of: response, attempt: attempt)
            if let failure = response.failure, !filter.recovers(from: failure, in: response) { throw failure }
            // Such as the body of an error response that the filter accepts.
            if let failure = response.notes.value.bodyFailure { throw failure }
            if self.guardsPayload { try payload.guardTraps(of: response) }
            if payload.data.isEmpty, response.body.isEmpty { payload.isAbsent = true }
            payload.headers = response.headers
            payload.decoding = decoding
            return payload
        } catch {
            let sent = response.method ?? method
            let error = error.decoding(with: decoder, method: sent)
            let located = (error as? NetworkError)?.with(exchangeOf: response, method: method)
            throw markingUnauthorized(located ?? error, of: response)
        }
    }

    /// Returns the content that the receiver has taken, or the payload that the filter returns.
    private func content(of response: RawResponse, attempt: Int) throws -> Payload {
        var payload: Payload
        if response.failure == nil, let received = receiver?.received {
            // Not in memory, so no filter can unwrap it.
            payload = Payload(response.body)
            payload.received = received
            return payload
        }
        if settings.filter.source == .library {
            payload = try PassthroughFilter.payload(of: response)
        } else {
            var context = context
            context.attempt = attempt
            payload = try filter.filter(response, for: context)
        }
        if let receiver { payload.received = receiver }
        return payload
    }
}
