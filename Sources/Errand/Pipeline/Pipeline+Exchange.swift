internal import Foundation

// Stage 6, at the transport: exchanges, and the redirects from one to the next.

extension Pipeline {
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
                    trail.complete(&response, to: outgoing, of: prepared, on: timeline)
                } else if let permit = ThrottlePermit.current(of: prepared) {
                    let (next, earlier) = (copy outgoing, trail.redirects)
                    response = try await permit.sending(next) {
                        var response = try await exchange(next, of: prepared, record, after: earlier)
                        // Invalidates what is stored before the next request has the permit.
                        trail.complete(&response, to: next, of: prepared, on: timeline)
                        return response
                    }
                } else {
                    response = try await exchange(copy outgoing, of: prepared, record, after: trail.redirects)
                    trail.complete(&response, to: outgoing, of: prepared, on: timeline)
                }
                record?.didReceive(response.statusCode)
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
        let observed = ObservedExchange(outgoing, of: prepared, record, after: redirects, in: self)
        do {
            var received: TransportResponse
            if prepared.reportsUpload(of: outgoing) {
                received = try await prepared.reportingUpload(of: outgoing) { outgoing in
                    try await transport.send(outgoing, options: options, stop: slot)
                }
            } else {
                received = try await transport.send(outgoing, options: options, stop: slot)
            }
            observed?.didReceive(&received)
            let read = try await prepared.read(received, to: outgoing, after: redirects, on: timeline, since: began)
            observed?.end(read.notes.value.bodyFailure)
            return read
        } catch {
            observed?.end(error)
            throw error
        }
    }

    /// Sends one request to one URL, inside the interceptors of each exchange.
    @inline(never)
    func interceptedExchange(
        _ outgoing: OutgoingRequest,
        of prepared: PreparedRequest,
        _ record: AttemptRecord?,
        after redirects: [Redirect]
    ) async throws -> RawResponse {
        var context = prepared.context
        (context.url, context.declared) = (outgoing.url, outgoing.notes.declared)
        // A request that an adapter or interceptor moved to another origin has none of its credentials either.
        context.allowsCredentials =
            try prepared.mayHoldCredentials && !redirects.contains(where: \.leavesOrigin)
            && prepared.allowsCredentials(for: outgoing.url)
        return try await intercept(
            outgoing,
            prepared.exchangeInterceptors[...],
            of: prepared,
            context,
            record,
            after: redirects
        )
    }

    private func intercept(
        _ outgoing: OutgoingRequest,
        _ interceptors: ArraySlice<ExchangeHook>,
        of prepared: PreparedRequest,
        _ context: RequestContext,
        _ record: AttemptRecord?,
        after redirects: [Redirect]
    ) async throws -> RawResponse {
        guard let first = interceptors.first else {
            try prepared.stop.check()
            try outgoing.validate()
            let response: RawResponse
            if let permit = ThrottlePermit.current(of: prepared) {
                response = try await permit.sending(outgoing) {
                    try await exchange(outgoing, of: prepared, record, after: redirects)
                }
            } else {
                response = try await exchange(outgoing, of: prepared, record, after: redirects)
            }
            record?.didReceive(response.statusCode)
            return response
        }
        let next = AttemptChain { [self] request in
            let scope = first.interceptor.credentialScope(of: request, isRedirected: !redirects.isEmpty)
            prepared.checkUser(scope, of: first)
            let rest = interceptors.dropFirst()
            return try await intercept(request, rest, of: prepared, context, record, after: redirects)
        }
        return try await first.interceptor.intercept(outgoing, for: context, as: first.identity, next: next)
    }
}

extension PreparedRequest {
    /// Whether credentials may be sent to a URL within the origin of the request, or one that it was moved to.
    fileprivate func allowsCredentials(for url: URL) throws -> Bool {
        guard credentials.policy != .anyOrigin, url != outgoing.url else { return true }
        guard let parts = try URLParts(absolute: url.absoluteString) else { return false }
        return try parts.origin == origin || credentialOrigins().contains(parts.origin)
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
        if !redirects.isEmpty || !response.redirects.isEmpty { response.notes.value.redirects = redirects }
        if redirects.isEmpty, response.statusCode / 100 == 3 {
            began = timeline.now() - (response.timing?.total ?? .zero)
        }
        if !redirects.isEmpty { response.notes.value.timing?.begin(at: began, ended: timeline.now()) }
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
