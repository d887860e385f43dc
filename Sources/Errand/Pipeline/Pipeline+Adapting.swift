internal import Foundation

// Stage 6, before the transport: what may change a request on its way.

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
        response.notes.value.credentialVersion = outgoing.notes.credentialVersion
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
}

extension PreparedRequest {
    /// Runs stage 6 up to the interceptors: adapters change the final request, the credential is applied last, for the
    /// host of the final URL, and the request is validated again.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt.
    ///   - validation: The stored response to validate, or `nil`.
    ///   - receiver: Changes the request first, or `nil`.
    /// - Returns: The request to send.
    /// - Throws: The error of an adapter, of the credential, of the receiver, or ``NetworkError``.
    func adapted(
        attempt: Int,
        validating validation: CacheValidation? = nil,
        receivedBy receiver: (any BodyReceiver)? = nil
    ) async throws -> OutgoingRequest {
        var request = outgoing
        try await receiver?.willAttempt(&request, of: self)
        if let validation {
            request.headers.merge(validation.conditions)
            request.notes.conditions = validation.conditions
        }
        guard !self.adapters.isEmpty || self.pinnedCredential != nil else {
            if receiver != nil || validation != nil { try request.validate() }
            return request
        }
        var context = context
        context.attempt = attempt
        for (index, adapter) in self.adapters.enumerated() {
            context.credentialScope = self.scopes[index]
            try await adapter.adapt(&request, for: context)
        }
        context.credentialScope = nil
        if !self.adapters.isEmpty { try withholdCredentials(from: &request) }
        try await self.pinnedCredential?.place(on: &request, for: context)
        if request.url != outgoing.url { try request.normalize() }
        try request.validate()
        return request
    }
}
