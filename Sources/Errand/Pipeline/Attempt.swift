internal import Foundation

// Stages 6 to 8: one attempt.

extension Pipeline {
    /// Runs stage 6, with the adapters and interceptors that may change the request.
    @inline(never)
    func adaptAndTransmit(
        _ prepared: PreparedRequest,
        attempt: Int,
        validating entry: CacheValidation?,
        _ record: AttemptRecord?
    ) async throws -> RawResponse {
        var isRepeated = false
        while true {
            let outgoing = try await prepared.adapted(
                attempt: attempt,
                validating: entry,
                receivedBy: prepared.receiver
            )
            do {
                return try await transmit(outgoing, of: prepared, attempt: attempt, record)
            } catch  where !isRepeated && prepared.receiver?.wantsAnotherResponse == true {
                isRepeated = true
            }
        }
    }

    /// Runs stage 6 from the transport on: through the interceptors, and following redirects.
    func transmit(
        _ outgoing: OutgoingRequest,
        of prepared: PreparedRequest,
        attempt: Int,
        _ record: AttemptRecord?
    ) async throws -> RawResponse {
        var response: RawResponse
        if prepared.interceptors.isEmpty {
            response = try await follow(outgoing, of: prepared, record)
        } else {
            var context = prepared.context
            context.attempt = attempt
            response = try await intercept(
                outgoing,
                prepared.interceptors[...],
                adapted: outgoing,
                of: prepared,
                context,
                record
            )
        }
        response.credentialVersion = outgoing.credentialVersion
        // A response from no exchange of this send was made by an interceptor, or kept from another send.
        if let check = prepared.userCheck, response.cacheNote?.send != prepared.context.id { check.fail() }
        return response
    }

    private func intercept(
        _ outgoing: OutgoingRequest,
        _ interceptors: ArraySlice<any Interceptor>,
        adapted: OutgoingRequest,
        of prepared: PreparedRequest,
        _ context: RequestContext,
        _ record: AttemptRecord?
    ) async throws -> RawResponse {
        guard let first = interceptors.first else {
            var outgoing = outgoing
            // An interceptor may have made another request of this one.
            outgoing.noteCredential(of: adapted)
            try prepared.withholdCredentials(from: &outgoing)
            if outgoing.url != prepared.outgoing.url { try outgoing.normalize() }
            try outgoing.validate()
            return try await follow(outgoing, of: prepared, record)
        }
        let hook = prepared.adapters.count + interceptors.startIndex
        // Also a jar that another one replaces.
        if !prepared.exchangeInterceptors.isEmpty, first is any ExchangeInterceptor {
            let rest = interceptors.dropFirst()
            return try await intercept(outgoing, rest, adapted: adapted, of: prepared, context, record)
        }
        let next = AttemptChain { [self] request in
            try await intercept(
                request,
                interceptors.dropFirst(),
                adapted: adapted,
                of: prepared,
                context,
                record
            )
        }
        var own = context
        own.credentialScope = prepared.scopes[hook]
        return try await first.intercept(outgoing, for: own, next: next)
    }

    /// Sends a request and follows redirects as the policy allows.
    ///
    /// - Parameters:
    ///   - outgoing: The request to send.
    ///   - prepared: The prepared request of the send.
    ///   - record: Records what the attempt sent so far, or `nil` if it isn't needed.
    /// - Returns: The last response.
    /// - Throws: ``NetworkError``, an error of the policy's veto, or `CancellationError`.
    func follow(
        _ outgoing: consuming OutgoingRequest,
        of prepared: PreparedRequest,
        _ record: AttemptRecord?
    ) async throws -> RawResponse {
        prepared.checkUser()
        if let key = record?.idempotencyKey, !outgoing.method.isIdempotent {
            // Adapters run for each attempt; with a new key, the server could process the request twice.
            outgoing.headers["Idempotency-Key"] = key
        }
        var trail = RedirectTrail(of: prepared, sending: outgoing.headers)
        while true {
            do {
                // Code of the user may return after the end of the send.
                try prepared.stop.check()
                var response: RawResponse
                if !prepared.exchangeInterceptors.isEmpty {
                    response = try await interceptedExchange(outgoing, of: prepared, record, after: trail.redirects)
                } else if let permit = ThrottlePermit.current(of: prepared) {
                    let (next, earlier) = (copy outgoing, trail.redirects)
                    response = try await permit.sending(next) {
                        try await exchange(next, of: prepared, record, after: earlier)
                    }
                } else {
                    response = try await exchange(copy outgoing, of: prepared, record, after: trail.redirects)
                }
                record?.didReceive(response.statusCode)
                trail.complete(&response, to: outgoing, of: prepared, on: timeline)
                guard response.statusCode / 100 == 3,
                    let hop = try trail.next(after: response, to: outgoing, of: prepared)
                else { return consume response }
                await prepared.accessories.notify(.didRedirect(hop.redirect), of: prepared.context)
                trail.redirects.append(hop.redirect)
                outgoing = hop.request
            } catch {
                throw error.located(at: outgoing)
            }
        }
    }

    /// Sends one request to one URL, and reads the complete body.
    func exchange(
        _ outgoing: consuming OutgoingRequest,
        of prepared: PreparedRequest,
        _ record: AttemptRecord?,
        after redirects: [Redirect]
    ) async throws -> RawResponse {
        let began = timeline.now()
        try retries.willSend(outgoing, of: prepared, in: record, isRedirected: !redirects.isEmpty, at: began)
        outgoing.setCodingForRange()
        let outgoing = consume outgoing
        let options = prepared.transportOptions
        let slot = prepared.stop.slot()
        defer { slot.clear() }
        let received: TransportResponse
        if prepared.reportsUpload(of: outgoing) {
            received = try await prepared.reportingUpload(of: outgoing) { outgoing in
                try await transport.send(outgoing, options: options, stop: slot)
            }
        } else {
            received = try await transport.send(outgoing, options: options, stop: slot)
        }
        return try await prepared.read(received, to: outgoing, after: redirects, on: timeline) {
            timeline.now() - began
        }
    }

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
                response.isGuarded = try JSONGuard.check(response.body, against: strictness)
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
                path: outgoing.declared
            )
        }
        if let began { accepted.times.filter = timeline.now() - began }
        if let queued = prepared.queued { accepted.times.queue = queued.withLock { $0 } }
        return accepted
    }
}

extension Error {
    /// Returns this error, if it is the library's with the URL and method of a request.
    @inline(never)
    fileprivate func located(at request: OutgoingRequest) -> any Error {
        guard let error = self as? NetworkError else { return self }
        return error.with(request: request)
    }
}

/// The redirects that led to a request, and the facts about the first one that the cache needs.
private struct RedirectTrail {
    private let note: CacheNote?
    var redirects: [Redirect] = []
    /// The time of the first request, once it was redirected.
    private var began = Duration.zero

    init(of prepared: PreparedRequest, sending sent: HTTPHeaders) {
        let isNoted = prepared.cacheUse != nil || prepared.userCheck != nil
        let (id, ticket) = (prepared.context.id, prepared.cacheUse?.cache?.ticket)
        note = isNoted ? CacheNote(send: id, sent: sent, ticket: ticket) : nil
    }

    /// Completes a response with the redirects before it, and invalidates the stored responses that its request has changed.
    @inline(never)
    mutating func complete(
        _ response: inout RawResponse,
        to outgoing: OutgoingRequest,
        of prepared: PreparedRequest,
        on timeline: Timeline
    ) {
        if !redirects.isEmpty || !response.redirects.isEmpty { response.redirects = redirects }
        if redirects.isEmpty, response.statusCode / 100 == 3 {
            began = timeline.now() - (response.timing?.total ?? .zero)
        }
        if !redirects.isEmpty { response.timing?.begin(at: began, ended: timeline.now()) }
        if let note { response.cacheNote = note }
        if prepared.hasCache, !outgoing.method.isSafe {
            prepared.invalidate(by: response, to: outgoing, isFirst: redirects.isEmpty)
        }
    }

    /// Returns the request that a redirect leads to, or `nil` if it is the last response.
    @inline(never)
    func next(
        after response: RawResponse,
        to outgoing: OutgoingRequest,
        of prepared: PreparedRequest
    ) throws -> (request: OutgoingRequest, redirect: Redirect)? {
        try prepared.settings.redirectPolicy.value.next(
            after: response,
            to: outgoing,
            hops: redirects.count,
            credentials: prepared.redirectCredentials
        )
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
            if let failure = response.bodyFailure { throw failure }
            if self.guardsPayload { try payload.guardTraps(of: response) }
            if payload.data.isEmpty, response.hasNoBody(to: method) { payload.isAbsent = true }
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
