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
        let queue = PoolQueue(width: width)
        let results = PoolResults<R.Model>()
        var rest = rest
        var count = 0
        await withTaskGroup(of: Void.self) { group in
            // What is captured isolates the closure; without it, it would leave the caller.
            _ = isolation
            var workers = 0
            var next: R? = first
            while let request = next {
                if Self.takes(request) {
                    if workers < width {
                        workers += 1
                        group.addTask { await queue.work() }
                    }
                    let isFull = queue.add(job(request, at: count, of: results))
                    if isFull { await queue.waitForRoom() }
                } else {
                    results.set(count, await result(of: request))
                }
                count += 1
                next = rest.next()
            }
            queue.close()
            await group.waitForAll()
        }
        return results.first(count)
    }

    private func job(_ request: R, at index: Int, of results: PoolResults<R.Model>) -> PoolQueue.Job {
        PoolQueue.Job { [agent] in
            // What was cancelled before it began is not sent; its result says so already.
            guard !Task.isCancelled else { return }
            do {
                results.set(index, .success(try await agent.runInBackground(request, isPart: true).model))
            } catch {
                results.set(index, .failure(error))
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

/// What each request came to, in their order.
private final class PoolResults<Model: Sendable>: Sendable {
    private let results = Lock<[Result<Model, any Error>]>([])
    private let unfinished: any Error = CancellationError()

    func set(_ index: Int, _ result: Result<Model, any Error>) {
        results.withLock { results in
            while results.count <= index { results.append(.failure(unfinished)) }
            results[index] = result
        }
    }

    /// So many results; what has none counts as cancelled.
    func first(_ count: Int) -> [Result<Model, any Error>] {
        results.withLock { results in
            while results.count < count { results.append(.failure(unfinished)) }
            return results
        }
    }
}

/// The jobs that wait for a worker, never more than the pool is wide.
///
/// Without type parameters, for the types of a job are looked up anew with each use.
private final class PoolQueue: Sendable {
    /// A struct, for each generic container wraps a bare closure once more.
    struct Job: Sendable {
        let run: @Sendable () async -> Void
    }

    private struct State {
        /// Those before `head` are taken.
        var jobs: [Job] = []
        var head = 0
        var isClosed = false
        var idle: [Delivery<Job?>] = []
        var feeder: Delivery<Void>?

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

    init(width: Int) { self.width = width }

    /// Hands a job to a worker.
    ///
    /// - Returns: Whether so many wait for one that no more should be added for now.
    func add(_ job: Job) -> Bool {
        let (worker, isFull) = state.withLock { state -> (Delivery<Job?>?, Bool) in
            if let worker = state.idle.popLast() { return (worker, false) }
            state.jobs.append(job)
            return (nil, state.waiting >= width)
        }
        worker?.deliver(job)
        return isFull
    }

    func waitForRoom() async {
        let room = Delivery<Void>()
        let mayGoOn = state.withLock { state in
            if state.waiting >= width { state.feeder = room }
            return state.feeder == nil
        }
        if !mayGoOn { await room.value() }
    }

    /// Runs jobs until no more will come.
    func work() async {
        while true {
            if let job = take() {
                await job.run()
            } else if let job = await waitForJob() {
                await job.run()
            } else {
                return
            }
        }
    }

    private func take() -> Job? {
        let (job, feeder) = state.withLock { state in
            let job = state.takeFirst()
            var feeder: Delivery<Void>?
            // When half are gone, so that the caller need not wake up for each.
            if state.waiting <= width / 2 { swap(&feeder, &state.feeder) }
            return (job, feeder)
        }
        feeder?.deliver(())
        return job
    }

    /// Waits for the next job; `nil` when no more will come.
    private func waitForJob() async -> Job? {
        let worker = Delivery<Job?>()
        let (isThere, job) = state.withLock { state -> (Bool, Job?) in
            if let job = state.takeFirst() { return (true, job) }
            if !state.isClosed { state.idle.append(worker) }
            return (state.isClosed, nil)
        }
        return isThere ? job : await worker.value()
    }

    /// No more jobs come.
    func close() {
        let idle = state.withLock { state in
            defer { (state.isClosed, state.idle) = (true, []) }
            return state.idle
        }
        for worker in idle { worker.deliver(nil) }
    }
}
