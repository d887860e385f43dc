/// Runs jobs in the background, and receives their results on the caller, one after the other.
///
/// So several requests whose types must not leave their caller can run at the same time. Batches, chains, streams and
/// `results(of:)` all run on one; a ``RequestWindow`` limits how many of them run at once.
final class CallerLoop {
    private struct Job {
        let receive: nonisolated(nonsending) () async -> Void
        let abandon: (@Sendable () async -> Void)?
    }

    private let board = JobBoard()
    private var jobs: [Int: Job] = [:]
    /// The completed jobs whose results are not received yet, in reverse order.
    private var completed: [Int] = []
    private var lastID = 0
    /// The number of jobs that run or wait for a task, and that have no result to receive.
    private(set) var enqueuedCount = 0
    private var isCancellable = false

    /// Receives no more results, because the caller leaves before ``run()`` has ended.
    ///
    /// Jobs that are not stopped yet continue until they are; jobs keep their loop alive, so this must be called
    /// explicitly.
    func abandon() {
        let abandons = (completed + board.close()).compactMap { jobs[$0]?.abandon }
        (completed, jobs) = ([], [:])
        guard !abandons.isEmpty else { return }
        // This task has no owner, because the caller has left; it notifies accessories and ends.
        Task { for abandon in abandons { await abandon() } }
    }

    /// Whether no job is running and no result waits.
    var isIdle: Bool { jobs.isEmpty && enqueuedCount == 0 }

    /// Adds a job without a result to receive; a limited number run at once, and tasks are reused for the next job.
    ///
    /// A task and a wake-up of the caller for each would cost as much as a request does apart from the network.
    ///
    /// - Parameters:
    ///   - width: The maximum number of jobs that run at once, the same for all jobs of a loop.
    ///   - stop: Cancels the tasks.
    ///   - work: Runs in the background.
    func enqueue(width: Int, endedBy stop: CompositionStop, _ work: @escaping @Sendable () async -> Void) {
        if !isCancellable { _ = stop.add { [board] _ in board.cancelTasks() } }
        (isCancellable, enqueuedCount) = (true, enqueuedCount + 1)
        board.add(JobBoard.Work(run: work), width: width)
    }

    /// Starts a job.
    ///
    /// - Parameters:
    ///   - stop: Cancels the job's task.
    ///   - work: Runs in the background.
    ///   - abandoned: Called in the background if the loop was abandoned, or the job overdue, once the work has ended.
    ///   - overdue: Called on the caller in place of `receive` if the deadline of a composition passed before the work ended.
    ///   - receive: Called on the caller, by ``step()``.
    func launch<Value: Sendable>(
        endedBy stop: CompositionStop,
        _ work: @escaping @Sendable () async -> Value,
        abandoned: (@Sendable () async -> Void)? = nil,
        overdue: nonisolated(nonsending) @escaping (NetworkError) async -> Void,
        then receive: nonisolated(nonsending) @escaping (Value) async -> Void
    ) {
        lastID += 1
        let id = lastID
        // A result, or the error of a deadline; the first one counts.
        let slot = Lock<Result<Value, NetworkError>?>(nil)
        let end: @Sendable (Result<Value, NetworkError>) -> Bool = { [board] result in
            let isFirst = slot.withLock { slot in
                defer { slot = slot ?? result }
                return slot == nil
            }
            return isFirst && board.complete(id)
        }
        let task = Task { if await !end(.success(work())) { await abandoned?() } }
        let stopID = stop.add { reason in
            task.cancel()
            if case .overdue(let error) = reason { _ = end(.failure(error)) }
        }
        // With an explicit type: with an inferred one, the closure would leave the caller.
        let receiveResult: nonisolated(nonsending) () async -> Void = {
            stop.remove(stopID)
            switch slot.withLock({ $0 }) {
            case .success(let value)?: await receive(value)
            case .failure(let error)?: await overdue(error)
            case nil: break
            }
        }
        jobs[id] = Job(receive: receiveResult, abandon: abandoned)
    }

    /// Waits for the next result and receives it, or for jobs without a result.
    ///
    /// - Parameter reserve: The number of jobs without a result that may still wait for a task on return; if less than
    ///   0, waits for all of them to end.
    func step(leaving reserve: Int = -1) async {
        if completed.isEmpty {
            let (completed, endedCount) = await board.next(leaving: reserve)
            self.completed = completed.reversed()
            enqueuedCount -= endedCount
        }
        guard let id = completed.popLast(), let job = jobs.removeValue(forKey: id) else { return }
        await job.receive()
    }

    /// Receives results until no job is left.
    func run() async { while !isIdle { await step() } }
}

/// The completed jobs of a loop whose results are not received, and the jobs that wait for a task.
private final class JobBoard: Sendable {
    /// A struct, because generic containers wrap a bare closure once more.
    struct Work: Sendable {
        let run: @Sendable () async -> Void
    }

    private struct State {
        var completed: [Int] = []
        var isClosed = false
        /// The queue; elements before `head` are taken.
        var queue: [Work] = []
        var head = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastID = 0
        var isCancelled = false
        var endedCount = 0
        var waiter: Delivery<Void>?
        var reserve = -1

        var waitingCount: Int { queue.count - head }
        var hasResults: Bool { !completed.isEmpty || (endedCount > 0 && (waitingCount <= reserve || tasks.isEmpty)) }

        mutating func takeFirst() -> Work? {
            guard waitingCount > 0 else { return nil }
            defer {
                head += 1
                if head == queue.count || head > 64 {
                    queue.removeFirst(head)
                    head = 0
                }
            }
            return queue[head]
        }

        /// Takes the waiter, if there is something to wake it up for.
        mutating func takeWaiter() -> Delivery<Void>? {
            guard hasResults else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Lock(State())

    /// Records the completion of a job.
    ///
    /// - Returns: Whether its result will be received.
    func complete(_ id: Int) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, Delivery<Void>?) in
            guard !state.isClosed else { return (false, nil) }
            state.completed.append(id)
            return (true, state.takeWaiter())
        }
        waiter?.deliver(())
        return isTaken
    }

    /// Runs work in a task of its own, or, if `width` tasks are running, once one of them is free.
    func add(_ work: Work, width: Int) {
        state.withLock { state in
            guard state.tasks.count < width else { return state.queue.append(work) }
            state.lastID &+= 1
            let (id, isCancelled) = (state.lastID, state.isCancelled)
            let task = Task {
                var next: Work? = work
                while let work = next {
                    await work.run()
                    next = self.takeNext(id)
                }
            }
            if isCancelled { task.cancel() }
            state.tasks[id] = task
        }
    }

    /// Ends one job, and returns the next.
    private func takeNext(_ id: Int) -> Work? {
        let (work, waiter) = state.withLock { state in
            state.endedCount += 1
            let work = state.takeFirst()
            if work == nil { state.tasks[id] = nil }
            return (work, state.takeWaiter())
        }
        waiter?.deliver(())
        return work
    }

    func cancelTasks() {
        let tasks = state.withLock { state in
            state.isCancelled = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
    }

    /// Waits until a job has completed, or enough have ended, and returns all completed ones in order.
    func next(leaving reserve: Int) async -> (completed: [Int], endedCount: Int) {
        let waiter = Delivery<Void>()
        let isReady = state.withLock { state in
            state.reserve = reserve
            if !state.hasResults { state.waiter = waiter }
            return state.hasResults
        }
        if !isReady { await waiter.value() }
        return state.withLock { state in
            defer { (state.completed, state.endedCount) = ([], 0) }
            return (state.completed, state.endedCount)
        }
    }

    /// Rejects completions from now on, and returns the previous ones.
    func close() -> [Int] {
        state.withLock { state in
            defer { (state.completed, state.isClosed) = ([], true) }
            return state.completed
        }
    }
}
