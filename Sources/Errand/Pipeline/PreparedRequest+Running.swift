internal import Foundation

extension PreparedRequest {
    /// Whether anything has to run around the rest of the send.
    var isEnclosed: Bool { !sendInterceptors.isEmpty || cacheUse != nil }

    /// Runs a send inside its send interceptors and the gates that precede the cache.
    func enclosed(_ work: @escaping @Sendable () async throws -> AcceptedResponse) async throws -> AcceptedResponse {
        do {
            try stop.check()
            let gates = cacheUse == nil ? [] : sendGates.filter(\.guardsCache)
            guard !sendInterceptors.isEmpty || !gates.isEmpty else { return try await work() }
            return try await stop.run {
                try await self.intercepted {
                    for gate in gates { try await gate.admit(self.context) }
                    return try await work()
                }
            }
        } catch is CancellationError {
            throw stopError
        }
    }

    /// The meaning of a `CancellationError`: that the deadline has passed, or that the send was cancelled.
    var stopError: any Error {
        guard stop.isOverDeadline, let deadline else { return CancellationError() }
        return deadline.error.with(request: outgoing)
    }

    /// Whether the send may wait outside its exchange: for other sends, or in code that is not the library's.
    var waitsElsewhere: Bool {
        pinnedCredential != nil || needsAdmission || queued != nil || !(adapters.isEmpty && interceptors.isEmpty)
            || receiver != nil
    }
}
