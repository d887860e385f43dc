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
        if let validation { request.headers.merge(validation.conditions) }
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
