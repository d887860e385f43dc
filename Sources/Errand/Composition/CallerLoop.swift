/// Jobs in the background whose results are taken in on the caller, one after the other.
///
/// So several requests whose types must not leave their caller can be on their way at once.
final class CallerLoop {
    private struct Job {
        let receive: nonisolated(nonsending) () async -> Void
        let abandon: (@Sendable () async -> Void)?
    }

    private let landings = Landings()
    private var jobs: [Int: Job] = [:]
    /// What has landed and is not taken in yet, the first one at the end.
    private var landed: [Int] = []
    private var lastID = 0

    init() {}

    /// Takes nothing in any more: for who leaves before ``run()`` has ended.
    ///
    /// Jobs that were not ended yet go on until they are; jobs keep their loop, so it does not do this by itself.
    func abandon() {
        let abandons = (landed + landings.close()).compactMap { jobs[$0]?.abandon }
        (landed, jobs) = ([], [:])
        guard !abandons.isEmpty else { return }
        // Nobody owns this task, for nobody is left; it tells accessories and ends.
        Task { for abandon in abandons { await abandon() } }
    }

    /// Whether no job is under way and no result waits.
    var isIdle: Bool { jobs.isEmpty }

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
        let task = Task { [landings] in
            let value = await work()
            slot.withLock { $0 = value }
            if !landings.land(id) { await abandoned?() }
        }
        let stopID = stop.add { task.cancel() }
        // With its type: one that is inferred would leave the caller.
        let takeIn: nonisolated(nonsending) () async -> Void = {
            stop.remove(stopID)
            if let value = slot.withLock({ $0 }) { await receive(value) }
        }
        jobs[id] = Job(receive: takeIn, abandon: abandoned)
    }

    /// Waits for the next result and takes it in.
    func step() async {
        if landed.isEmpty { landed = await landings.next().reversed() }
        guard let id = landed.popLast(), let job = jobs.removeValue(forKey: id) else { return }
        await job.receive()
    }

    /// Takes in results until no job is left.
    func run() async { while !isIdle { await step() } }
}

/// Which jobs have a result that nobody has taken in.
private final class Landings: Sendable {
    private struct State {
        var landed: [Int] = []
        var waiter: Delivery<Void>?
        var isClosed = false
    }

    private let state = Lock(State())

    /// - Returns: Whether somebody will take the result in.
    func land(_ id: Int) -> Bool {
        let (isTaken, waiter) = state.withLock { state -> (Bool, Delivery<Void>?) in
            guard !state.isClosed else { return (false, nil) }
            state.landed.append(id)
            defer { state.waiter = nil }
            return (true, state.waiter)
        }
        waiter?.deliver(())
        return isTaken
    }

    /// Waits until something has landed, and returns all of it in order.
    func next() async -> [Int] {
        let taken = take()
        guard taken.isEmpty else { return taken }
        let waiter = Delivery<Void>()
        let isThere = state.withLock { state in
            if state.landed.isEmpty { state.waiter = waiter }
            return !state.landed.isEmpty
        }
        if !isThere { await waiter.value() }
        return take()
    }

    private func take() -> [Int] {
        state.withLock { state in
            defer { state.landed = [] }
            return state.landed
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
