internal import Foundation

extension Pipeline {
    /// Sends one request to one URL, inside the interceptors of each exchange.
    @inline(never)
    func interceptedExchange(
        _ outgoing: OutgoingRequest,
        of prepared: PreparedRequest,
        _ record: AttemptRecord?,
        after redirects: [Redirect]
    ) async throws -> RawResponse {
        var context = prepared.context
        (context.url, context.declared) = (outgoing.url, outgoing.declared)
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
