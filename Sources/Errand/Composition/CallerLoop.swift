/// Jobs in the background whose results are taken in on the caller, one after the other.
///
/// So several requests whose types must not leave their caller can be on their way at once. Batches, chains, streams and
/// `results(of:)` all run on one; a ``RequestWindow`` bounds how many of them are under way.
final class CallerLoop {
    private struct Job {
        let receive: nonisolated(nonsending) () async -> Void
        let abandon: (@Sendable () async -> Void)?
    }

    private let board = JobBoard()
    private var jobs: [Int: Job] = [:]
    /// What has landed and is not taken in yet, the first one at the end.
    private var landed: [Int] = []
    private var lastID = 0
    /// How many jobs are under way, or wait for a task, whose end is only counted.
    private(set) var enqueuedCount = 0
    private var isCancellable = false

    /// Takes nothing in any more: for who leaves before ``run()`` has ended.
    ///
    /// Jobs that were not ended yet go on until they are; jobs keep their loop, so it does not do this by itself.
    func abandon() {
        let abandons = (landed + board.close()).compactMap { jobs[$0]?.abandon }
        (landed, jobs) = ([], [:])
        guard !abandons.isEmpty else { return }
        // Nobody owns this task, for nobody is left; it tells accessories and ends.
        Task { for abandon in abandons { await abandon() } }
    }

    /// Whether no job is under way and no result waits.
    var isIdle: Bool { jobs.isEmpty && enqueuedCount == 0 }

    /// Adds a job whose end is only counted; at most so many run at once, and tasks go from one to the next.
    ///
    /// A task and a wake-up of the caller for each would cost as much as a request does beside the wire.
    ///
    /// - Parameters:
    ///   - width: How many run at once, the same for all of a loop.
    ///   - stop: Cancels the tasks.
    ///   - work: Runs in the background.
    func enqueue(width: Int, endedBy stop: PartStop, _ work: @escaping @Sendable () async -> Void) {
        if !isCancellable { _ = stop.add { [board] in board.cancelTasks() } }
        (isCancellable, enqueuedCount) = (true, enqueuedCount + 1)
        board.add(JobBoard.Work(run: work), width: width)
    }

    /// Starts a job.
    ///
    /// - Parameters:
    ///   - stop: Cancels the job's task.
    ///   - work: Runs in the background.
    ///   - abandoned: Called in the background in place of `receive` once the loop was abandoned.
    ///   - receive: Called on the caller, by ``step()``.
    func launch<Value: Sendable>(
        endedBy stop: PartStop,
        _ work: @escaping @Sendable () async -> Value,
        abandoned: (@Sendable () async -> Void)? = nil,
        then receive: nonisolated(nonsending) @escaping (Value) async -> Void
    ) {
        lastID += 1
        let id = lastID
        let slot = Lock<Value?>(nil)
        let task = Task { [board] in
            let value = await work()
            slot.withLock { $0 = value }
            if !board.land(id) { await abandoned?() }
        }
        let stopID = stop.add { task.cancel() }
        // With its type: one that is inferred would leave the caller.
        let takeIn: nonisolated(nonsending) () async -> Void = {
            stop.remove(stopID)
            if let value = slot.withLock({ $0 }) { await receive(value) }
        }
        jobs[id] = Job(receive: takeIn, abandon: abandoned)
    }

    /// Waits for the next result and takes it in, or for jobs whose end is only counted.
    ///
    /// - Parameter reserve: Of the latter so many may still wait for a task when this returns; less than 0 waits for all.
    func step(leaving reserve: Int = -1) async {
        if landed.isEmpty {
            let (landed, endedCount) = await board.next(leaving: reserve)
            self.landed = landed.reversed()
            enqueuedCount -= endedCount
        }
        guard let id = landed.popLast(), let job = jobs.removeValue(forKey: id) else { return }
        await job.receive()
    }

    /// Takes in results until no job is left.
    func run() async { while !isIdle { await step() } }
}

/// The jobs of a loop that have ended and are not taken in, and those that wait for a task.
private final class JobBoard: Sendable {
    /// A struct, for each generic container wraps a bare closure once more.
    struct Work: Sendable {
        let run: @Sendable () async -> Void
    }

    private struct State {
        var landed: [Int] = []
        var isClosed = false
        /// Those before `head` are taken.
        var queue: [Work] = []
        var head = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastID = 0
        var isCancelled = false
        var endedCount = 0
        var waiter: Delivery<Void>?
        var reserve = -1

        var waitingCount: Int { queue.count - head }
        var hasNews: Bool { !landed.isEmpty || (endedCount > 0 && (waitingCount <= reserve || tasks.isEmpty)) }

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

        /// The waiter, if there is something to wake up for.
        mutating func takeWaiter() -> Delivery<Void>? {
            guard hasNews else { return nil }
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Lock(State())

    /// - Returns: Whether somebody will take the result in.
    func land(_ id: Int) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, Delivery<Void>?) in
            guard !state.isClosed else { return (false, nil) }
            state.landed.append(id)
            return (true, state.takeWaiter())
        }
        waiter?.deliver(())
        return isTaken
    }

    /// Runs work in a task of its own, or once one of so many is free.
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

    /// One job less to wait for; returns the next.
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

    /// Waits until something has landed, or enough has ended, and returns all of it in order.
    func next(leaving reserve: Int) async -> (landed: [Int], endedCount: Int) {
        let waiter = Delivery<Void>()
        let isThere = state.withLock { state in
            state.reserve = reserve
            if !state.hasNews { state.waiter = waiter }
            return state.hasNews
        }
        if !isThere { await waiter.value() }
        return state.withLock { state in
            defer { (state.landed, state.endedCount) = ([], 0) }
            return (state.landed, state.endedCount)
        }
    }

    /// Nothing can land any more; returns what had.
    func close() -> [Int] {
        state.withLock { state in
            defer { (state.landed, state.isClosed) = ([], true) }
            return state.landed
        }
    }
}

/// Begins the requests of a sequence while there is room: what bounds how many are under way at once.
///
/// Lives on the caller, and takes a request only to begin it.
final class RequestWindow<Requests: IteratorProtocol> {
    typealias Begin = nonisolated(nonsending) (Requests.Element, Int, RequestWindow) async -> Void

    private var rest: Requests
    private let begin: Begin
    /// How many were begun.
    private(set) var count = 0
    /// How many of these have not ended.
    private(set) var underWay = 0
    private(set) var isExhausted = false
    private var isFilling = false

    /// - Parameters:
    ///   - requests: What to begin.
    ///   - begin: Begins a request, given its place; calls ``didEndOne()`` when it has ended.
    init(_ requests: Requests, begin: @escaping Begin) {
        rest = requests
        self.begin = begin
    }

    /// Begins requests until so many are under way, or none is left.
    ///
    /// Does nothing while it is at that already: what ends at once makes room for the next in the same loop.
    func fill(upTo maximum: @autoclosure () -> Int) async {
        guard !isFilling else { return }
        isFilling = true
        defer { isFilling = false }
        while !isExhausted, underWay < maximum() {
            guard let request = rest.next() else {
                isExhausted = true
                return
            }
            count += 1
            underWay += 1
            await begin(request, count - 1, self)
        }
    }

    func didEndOne() { underWay -= 1 }
}
