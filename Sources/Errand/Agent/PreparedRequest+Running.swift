internal import Foundation

extension PreparedRequest {
    /// Runs what goes to the network, which ends at the deadline of the send and when it is stopped from outside.
    ///
    /// - Throws: What the work throws; a typed error in place of `CancellationError` if the deadline ended it.
    func endingInTime(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        try await mappingStop {
            try stop.check()
            return waitsElsewhere ? try await stop.run(work) : try await work()
        }
    }

    /// Runs a send inside its send interceptors and the gates that stand before the cache.
    func enclosed(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        try await mappingStop {
            try stop.check()
            let gates = cacheUse == nil ? [] : sendGates.filter(\.guardsCache)
            guard !sendInterceptors.isEmpty || !gates.isEmpty else { return try await work() }
            return try await stop.run(grace: .send) {
                try await self.intercepted {
                    for gate in gates { try await gate.admit(self.context) }
                    return try await work()
                }
            }
        }
    }

    private func mappingStop(_ work: () async throws -> Answer) async throws -> Answer {
        do {
            return try await work()
        } catch is CancellationError {
            guard stop.isOverDeadline, let deadline else { throw CancellationError() }
            throw deadline.error.placed(at: outgoing.url, method: outgoing.method)
        }
    }

    /// Whether the send may wait elsewhere than in its exchange: for others, or in code that is not the library's.
    private var waitsElsewhere: Bool {
        login != nil || needsAdmission || queued != nil || !(adapters.isEmpty && interceptors.isEmpty)
    }
}
