extension PreparedRequest {
    /// Runs the background part of the send, which ends at its deadline, and when it is stopped from outside.
    ///
    /// - Throws: What the work throws; a typed error in place of `CancellationError` where the deadline cancelled it.
    func run(_ work: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        let watch = deadline.map { deadline in
            Task { [stop] in
                try await deadline.sleep()
                stop.stop()
            }
        }
        defer { watch?.cancel() }
        do {
            try stop.check()
            return waitsElsewhere ? try await stop.run { try await self.intercepted(work) } : try await work()
        } catch is CancellationError {
            if !Task.isCancelled { try deadline?.check(at: outgoing) }
            throw CancellationError()
        } catch let error as NetworkError {
            // Who cancels hears that, although the deadline may be over by the time the work notices.
            if Task.isCancelled, case .deadlineExceeded = error.reason { throw CancellationError() }
            throw error
        }
    }

    /// Whether the send may wait elsewhere than in its exchange: for others, or in code that is not the library's.
    private var waitsElsewhere: Bool {
        login != nil || needsAdmission || queued != nil
            || !(adapters.isEmpty && interceptors.isEmpty && sendInterceptors.isEmpty)
    }
}
