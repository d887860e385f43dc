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
            switch reason {
            case .ended: task.cancel()
            case .overdue(let error): _ = end(.failure(error))
            }
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

    /// Waits for the next result and receives it.
    func step() async {
        if completed.isEmpty { completed = await board.next().reversed() }
        guard let id = completed.popLast(), let job = jobs.removeValue(forKey: id) else { return }
        await job.receive()
    }

    /// Receives results until no job is left.
    func run() async { while !jobs.isEmpty { await step() } }
}

/// The completed jobs of a loop whose results are not received.
private final class JobBoard: Sendable {
    private struct State {
        var completed: [Int] = []
        var isClosed = false
        var waiter: Delivery<Void>?
    }

    private let state = Lock(State())

    /// Records the completion of a job.
    ///
    /// - Returns: Whether its result will be received.
    func complete(_ id: Int) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, Delivery<Void>?) in
            guard !state.isClosed else { return (false, nil) }
            state.completed.append(id)
            return (true, state.waiter.take())
        }
        waiter?.deliver(())
        return isTaken
    }

    /// Waits until a job has completed, and returns all completed ones in order.
    func next() async -> [Int] {
        let waiter = Delivery<Void>()
        let isReady = state.withLock { state in
            if state.completed.isEmpty { state.waiter = waiter }
            return !state.completed.isEmpty
        }
        if !isReady { await waiter.value() }
        return state.withLock { state in
            defer { state.completed = [] }
            return state.completed
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

/// Begins the requests of a sequence, limiting how many run at once.
///
/// It stays on the caller, and takes a request from the sequence only to begin it.
final class RequestWindow<Requests: IteratorProtocol> {
    typealias Begin = nonisolated(nonsending) (Requests.Element, Int, RequestWindow) async -> Void

    private var rest: Requests
    private let begin: Begin
    /// The number of requests that were begun.
    private var count = 0
    /// The number of these that have not ended.
    private(set) var runningCount = 0
    private var isExhausted = false
    private var isFilling = false

    /// Creates a window.
    ///
    /// - Parameters:
    ///   - requests: The requests to begin.
    ///   - begin: Begins a request with its index; calls ``didEndOne()`` when it has ended.
    init(_ requests: Requests, begin: @escaping Begin) {
        rest = requests
        self.begin = begin
    }

    /// Begins requests until `maximum` are running, or none is left.
    ///
    /// Does nothing if it is called while it is running: if a request ends at once, the same loop begins the next.
    func fill(upTo maximum: @autoclosure () -> Int) async {
        guard !isFilling else { return }
        isFilling = true
        defer { isFilling = false }
        while !isExhausted, runningCount < maximum() {
            guard let request = rest.next() else {
                isExhausted = true
                return
            }
            count += 1
            runningCount += 1
            await begin(request, count - 1, self)
        }
    }

    func didEndOne() { runningCount -= 1 }
}
