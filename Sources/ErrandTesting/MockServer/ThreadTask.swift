import Dispatch
import Errand
import Foundation

/// A task that runs on the thread that waits for it, so that a handler occupies only the thread of its connection.
final class ThreadTask: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isOver = false
    }

    private let state = Lock(State())
    private let signal = DispatchSemaphore(value: 0)

    /// Runs a function, and cancels it once its result is of no use.
    ///
    /// - Throws: ``ConnectionEnded`` if that is so at its end.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value,
        until isUseless: () -> Bool
    ) throws(ConnectionEnded) -> Result<Value, any Error> {
        let (thread, result) = (ThreadTask(), Lock<Result<Value, any Error>?>(nil))
        let task = Task(executorPreference: thread) {
            let value: Result<Value, any Error>
            do { value = .success(try await body()) } catch { value = .failure(error) }
            result.withLock { $0 = value }
            thread.end()
        }
        while !thread.runJobs(within: .milliseconds(10)) {
            if isUseless() { task.cancel() }
        }
        guard let value = result.withLock({ $0 }), !task.isCancelled else { throw ConnectionEnded() }
        return value
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        signal.signal()
    }

    private func end() {
        state.withLock { $0.isOver = true }
        signal.signal()
    }

    /// Runs the jobs that there are, waiting for one.
    ///
    /// - Returns: Whether the task has ended.
    private func runJobs(within time: DispatchTimeInterval) -> Bool {
        _ = signal.wait(timeout: .now() + time)
        while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return state.withLock { $0.isOver && $0.jobs.isEmpty }
    }
}

extension MockResponse {
    /// The response that a handler returned or threw, or the fault that shows its error.
    init(_ result: Result<MockResponse, any Error>) {
        switch result {
        case .success(let response): self = response
        case .failure(let response as MockResponse): self = response
        case .failure(let error as NetworkError):
            self = MockResponse().faulted(error.kind == .timedOut ? .hang : .resetBeforeHead)
        case .failure(let error): self = .text("the handler of the test failed: \(error)\n", status: 500)
        }
    }
}
