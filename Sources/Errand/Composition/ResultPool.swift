/// Requests that may leave their caller, worked off by so many tasks, where nobody asks for a result before the last.
///
/// A task and a wake-up of the caller for each request would cost as much as the request does beside the wire.
struct ResultPool<R: Request & Sendable> where R.Model: Sendable, R.Formatter: Sendable {
    let agent: Agent
    let width: Int

    /// Whether the pool is for a request: not for one that is formatted on the caller, or for several in one.
    static func takes(_ request: R) -> Bool { request.formattingContext == .background && request._composition == nil }

    /// Sends all requests, and returns what each came to, in their order.
    func results<Rest: IteratorProtocol>(
        of first: R,
        and rest: Rest,
        isolation: isolated (any Actor)? = #isolation
    ) async -> [Result<R.Model, any Error>] where Rest.Element == R {
        let queue = PoolQueue<R>(width: width)
        var rest = rest
        await withTaskGroup(of: Void.self) { group in
            // What is captured isolates the closure; without it, it would leave the caller.
            _ = isolation
            var workers = 0
            var next: R? = first
            while let request = next {
                if Self.takes(request) {
                    if workers < width {
                        workers += 1
                        group.addTask { await work(off: queue) }
                    }
                    await queue.add(request)
                } else {
                    queue.add(await result(of: request))
                }
                next = rest.next()
            }
            queue.close()
            await group.waitForAll()
        }
        return queue.results
    }

    private func work(off queue: PoolQueue<R>) async {
        var last: (index: Int, result: Result<R.Model, any Error>)?
        while let (index, request) = await queue.next(after: last) {
            last = nil
            // What was cancelled before it began is not sent; its result says so already.
            if Task.isCancelled { continue }
            do {
                last = (index, .success(try await agent.runInBackground(request).model))
            } catch {
                last = (index, .failure(error))
            }
        }
    }

    private func result(of request: R) async -> Result<R.Model, any Error> {
        do {
            try Task.checkCancellation()
            return .success(try await agent.send(request))
        } catch {
            return .failure(error)
        }
    }
}

/// The requests that wait for a worker, never more than the pool is wide, and the results of all.
private final class PoolQueue<R: Request & Sendable>: Sendable where R.Model: Sendable {
    typealias Job = (index: Int, request: R)

    private struct State {
        /// Those before `head` are taken.
        var jobs: [Job] = []
        var head = 0
        var isClosed = false
        var results: [Result<R.Model, any Error>] = []
        var idle: [CheckedContinuation<Job?, Never>] = []
        var feeder: CheckedContinuation<Void, Never>?

        var waiting: Int { jobs.count - head }

        mutating func takeFirst() -> Job? {
            guard waiting > 0 else { return nil }
            defer {
                head += 1
                if head == jobs.count || head > 64 {
                    jobs.removeFirst(head)
                    head = 0
                }
            }
            return jobs[head]
        }
    }

    private let state = Lock(State())
    private let width: Int
    private let unfinished: any Error = CancellationError()

    init(width: Int) { self.width = width }

    var results: [Result<R.Model, any Error>] { state.withLock { $0.results } }

    /// Hands a request to a worker; waits while enough of them wait for one.
    func add(_ request: R) async {
        let (worker, job, isFull) = state.withLock { state -> (CheckedContinuation<Job?, Never>?, Job, Bool) in
            let job = (index: state.results.count, request: request)
            state.results.append(.failure(unfinished))
            if let worker = state.idle.popLast() { return (worker, job, false) }
            state.jobs.append(job)
            return (nil, job, state.waiting >= width)
        }
        worker?.resume(returning: job)
        guard isFull else { return }
        await withCheckedContinuation { continuation in
            let mayGoOn = state.withLock { state in
                if state.waiting >= width { state.feeder = continuation }
                return state.feeder == nil
            }
            if mayGoOn { continuation.resume() }
        }
    }

    /// Keeps a result that is there already.
    func add(_ result: Result<R.Model, any Error>) { state.withLock { $0.results.append(result) } }

    /// Keeps the result of the request before, and waits for another one; `nil` when no more will come.
    func next(after last: (index: Int, result: Result<R.Model, any Error>)?) async -> Job? {
        let (job, isOver, feeder) = state.withLock { state in
            if let last { state.results[last.index] = last.result }
            let job = state.takeFirst()
            var feeder: CheckedContinuation<Void, Never>?
            // When half are gone, so that the caller need not wake up for each.
            if state.waiting <= width / 2 { swap(&feeder, &state.feeder) }
            return (job, state.isClosed, feeder)
        }
        feeder?.resume()
        if job != nil || isOver { return job }
        return await withCheckedContinuation { continuation in
            let (isThere, job) = state.withLock { state -> (Bool, Job?) in
                if let job = state.takeFirst() { return (true, job) }
                if !state.isClosed { state.idle.append(continuation) }
                return (state.isClosed, nil)
            }
            if isThere { continuation.resume(returning: job) }
        }
    }

    /// No more requests come.
    func close() {
        let idle = state.withLock { state in
            defer { (state.isClosed, state.idle) = (true, []) }
            return state.idle
        }
        for worker in idle { worker.resume(returning: nil) }
    }
}
