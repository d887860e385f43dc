import Errand

/// One exchange, which ends with the closure's response or with cancellation.
final class StubExchange: Sendable {
    private struct State {
        var waiter: CheckedContinuation<TransportResponse, any Error>?
        var task: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Lock(State())

    func start(
        _ continuation: CheckedContinuation<TransportResponse, any Error>,
        _ work: @escaping @Sendable () async throws -> TransportResponse
    ) {
        state.withLock { $0.waiter = continuation }
        let task = Task { [self] in
            do { settle(.success(try await work())) } catch { settle(.failure(error)) }
        }
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if isCancelled { cancel() }
    }

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
        settle(.failure(CancellationError()))
    }

    private func settle(_ result: Result<TransportResponse, any Error>) {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(with: result)
    }
}
