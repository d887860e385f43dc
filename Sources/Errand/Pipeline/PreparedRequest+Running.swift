internal import Foundation

extension PreparedRequest {
    /// Whether anything has to run around the rest of the send.
    var isEnclosed: Bool { !self.sendInterceptors.isEmpty || self.cacheUse != nil }

    /// Runs a send inside its send interceptors and the gates that precede the cache.
    func enclosed(_ work: @escaping @Sendable () async throws -> AcceptedResponse) async throws -> AcceptedResponse {
        do {
            try self.stop.check()
            let gates = self.cacheUse == nil ? [] : self.sendGates.filter(\.guardsCache)
            guard !self.sendInterceptors.isEmpty || !gates.isEmpty else { return try await work() }
            return try await self.stop.run {
                try await self.intercepted {
                    for gate in gates { try await gate.admit(self.context) }
                    return try await work()
                }
            }
        } catch is CancellationError {
            throw stopError
        }
    }

    /// Whether the send may wait outside its exchange: for other sends, or in code that is not the library's.
    var waitsElsewhere: Bool {
        self.pinnedCredential != nil || needsAdmission || self.queued != nil
            || !(self.adapters.isEmpty && self.interceptors.isEmpty)
            || receiver != nil
    }
}

extension PreparedRequest {
    /// Runs a send inside its send interceptors, or directly if it has none.
    func intercepted(_ work: @escaping @Sendable () async throws -> AcceptedResponse) async throws -> AcceptedResponse {
        guard !self.sendInterceptors.isEmpty else { return try await work() }
        let last = Lock(Result<AcceptedResponse, any Error>?.none)
        try await intercept(self.sendInterceptors[...]) { [stop = self.stop] in
            try stop.check()
            do {
                let response = try await work()
                last.withLock { $0 = .success(response) }
            } catch {
                // An interceptor that swallows an error has no response to continue with.
                last.withLock { last in if case .success? = last {} else { last = .failure(error) } }
                throw error
            }
        }
        guard let last = last.withLock({ $0 }) else {
            try self.stop.check()
            throw NetworkError(
                .invalidRequest("a send interceptor returned without calling next; call it, or throw")
            ).with(request: outgoing)
        }
        return try last.get()
    }

    private func intercept(
        _ interceptors: ArraySlice<any SendInterceptor>,
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let first = interceptors.first else { return try await work() }
        try await first.intercept(
            context,
            next: SendChain { [self] in try await intercept(interceptors.dropFirst(), work) }
        )
    }
}
