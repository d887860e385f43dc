/// A wait for work on a queue of the cache: it ends once, with the work, or when the waiting task or its send ends.
final class CacheWait<Value: Sendable>: StoppableExchange {
    private let outcome = Delivery<Result<Value, any Error>>()

    init() {}

    /// Whether a caller still waits for the result.
    var isWanted: Bool { !outcome.isDelivered }

    /// Ends the wait, unless it has ended.
    func finish(with result: Result<Value, any Error>) { outcome.deliver(result) }

    func stop() { finish(with: .failure(CancellationError())) }

    /// Waits for the result; called once.
    ///
    /// - Throws: The error of the work, or `CancellationError`.
    func value(endedBy signal: StopSignal? = nil) async throws -> Value {
        // After its deadline, which may have cancelled its task, a send looks up what it returns in place of an error.
        if signal?.reason == .deadline { return try await outcome.value().get() }
        let slot = signal?.slot()
        slot?.fill(with: self)
        defer { slot?.clear() }
        return try await withTaskCancellationHandler {
            try await outcome.value().get()
        } onCancel: {
            stop()
        }
    }
}
