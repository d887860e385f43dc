/// A handle to a send that was started: with a callback, to await its value, or as a download that can be paused.
///
/// It need not be kept: the send goes on without it. A batch or chain has one for all of its requests.
public final class RequestHandle<Value: Sendable>: StartedSend {
    /// The state of a send.
    public enum State: Sendable {
        /// The send is running.
        case running
        /// The download was paused; its bytes are kept if the rest can be requested alone.
        case paused
        /// The send has this value, which is `Void` for a send with a callback.
        case succeeded(Value)
        /// The send failed with this error.
        case failed(any Error)
        /// The send was cancelled, by the handle, its scope or its owner, or by ``Agent/cancelAll(where:)``.
        case cancelled
    }

    /// One of the runs that a download has if it is paused.
    struct Run: Sendable {
        /// The run before it, which may still have the file.
        let previous: Task<Void, Never>?
        /// Its number among the started sends, or `nil` for a request of a refresh.
        let number: Int?
    }

    struct Record {
        weak var scope: RequestScope?
        var state = State.running
        /// Makes the task of a run, which calls ``perform(_:_:)``.
        var begin: (@Sendable (RequestHandle, Run) -> Task<Void, Never>)?
        /// The closure that cancels the latest run.
        var stop: (@Sendable () -> Void)?
        var task: Task<Void, Never>?
        /// The number of runs that were paused and have not ended; they are the earliest.
        var pausedCount = 0
        var isAbandoned = false
        var isDelivered = false
        var isFinished = false
        var composition: CompositionProgress?
        var waiters = Table<Int, Delivery<Void>>()
        /// The number of the last waiter.
        var lastNumber = 0

        var isPaused: Bool { if case .paused = state { true } else { false } }
    }

    /// The tag of the request.
    public let tag: String
    /// The priority of the request among those that wait for a permit.
    public let priority: RequestPriority
    let record: Lock<Record>
    private let sends: RunningSends?
    private let updates = ProgressUpdates()
    /// An accessory that records the progress of all runs.
    let observer: CallerProgress

    /// - Parameters:
    ///   - request: The request.
    ///   - scope: The scope that owns the send, or `nil` for none.
    ///   - sends: The running sends of the agent, so that it ends with all of them; `nil` if its send is one of them.
    ///   - report: Called with the progress, or `nil`.
    init(
        _ request: some Request,
        in scope: RequestScope? = nil,
        among sends: RunningSends? = nil,
        reporting report: (@Sendable (TransferProgress) -> Void)? = nil
    ) {
        (tag, priority, self.sends) = (request.tag, request.priority, sends)
        record = Lock(Record(scope: scope))
        observer = CallerProgress(joiningSends: true) { [updates] progress in
            updates.note(progress)
            report?(progress)
        }
        scope?.add(self)
    }

    deinit { updates.finish() }

    /// The state of the send; it is final when the callback is called.
    public var state: State { record.withLock { $0.state } }

    /// The progress of the transfer, as last reported.
    ///
    /// It is `nil` before the first report. It never runs backwards in one direction, also across a pause, and includes what an
    /// earlier download has left. The end of an upload is reported once its response is accepted, as for `send(_:progress:)`.
    public var progress: TransferProgress? { updates.latest }

    /// The progress of the transfer from now on, in both directions, beginning with what was last reported.
    ///
    /// The upload goes up to 1, and then the download of the response does: filter by ``TransferProgress/direction`` for a
    /// bar of one of them.
    ///
    /// A reader that is far behind the transfer gets the latest 256 updates. The sequence ends with the send, also if
    /// that fails, or with a handle whose download is paused. Each use creates another sequence, for one reader.
    public var progressUpdates: AsyncStream<TransferProgress> { updates.makeStream() }

    /// The progress of a batch or chain, and which of its requests failed; `nil` for a single request.
    public var compositionProgress: CompositionProgress? { record.withLock { $0.composition } }

    /// Whether the send has ended, and its callback was called or never will be.
    public var isFinished: Bool { record.withLock { $0.isFinished } }

    /// The value, which any number of tasks may await, also while the download is paused.
    ///
    /// Cancelling a waiting task neither ends its waiting nor cancels the send.
    ///
    /// - Throws: The error of the send; `CancellationError` if it was cancelled, once a file is free for another download.
    public var value: Value {
        get async throws {
            await wait(Delivery())
            switch state {
            case .succeeded(let value): return value
            case .failed(let error): throw error
            default: throw CancellationError()
            }
        }
    }

    /// Waits until the send is finished.
    ///
    /// Returns at once if it is finished, or if the waiting task is or gets cancelled. That ends the waiting only, not
    /// the send; check ``isFinished``.
    public func waitUntilFinished() async {
        let waiter = Delivery<Void>()
        await withTaskCancellationHandler {
            await wait(waiter)
        } onCancel: {
            waiter.deliver(())
        }
    }

    private func wait(_ waiter: Delivery<Void>) async {
        let id = record.withLock { record -> Int? in
            guard !record.isFinished else { return nil }
            record.lastNumber &+= 1
            record.waiters[record.lastNumber] = waiter
            return record.lastNumber
        }
        guard let id else { return }
        await waiter.value()
        record.withLock { $0.waiters[id] = nil }
    }

    /// Cancels the send, unless its outcome is known; a callback is called once with `CancellationError`.
    ///
    /// The bytes of a download are kept if the rest can be requested alone.
    public func cancel() { end { _ in } }

    /// Cancels the send; its callback is not called from now on.
    func abandon() { end { $0.isAbandoned = true } }

    private func end(_ change: (inout Record) -> Void) {
        let stop = record.withLock { record in
            change(&record)
            // Waiters for a paused download get its end from another run, which sends nothing.
            if record.isPaused { run(&record) }
            if !record.isDelivered { record.state = .cancelled }
            return record.stop
        }
        stop?()
    }

    // MARK: The runs

    /// Begins the send.
    func begin(_ makeTask: @escaping @Sendable (RequestHandle, Run) -> Task<Void, Never>) {
        record.withLock { record in
            record.begin = makeTask
            run(&record)
        }
        if isCancelled { cancel() }
    }

    /// Begins a run, unless the send has ended.
    func run(_ record: inout Record) {
        guard let begin = record.begin else { return }
        let number = sends?.noteStarted { self.endWithAllSends() } ?? nil
        let task = begin(self, Run(previous: record.task, number: number))
        (record.task, record.stop) = (task, { task.cancel() })
    }

    /// Cancels the send, unless it is paused, because then it is not a send.
    private func endWithAllSends() { if !record.withLock({ $0.isPaused }) { cancel() } }

    /// Sends the request in the task of a run, unless the result is known or the run was paused meanwhile.
    func perform(_ run: Run, _ send: () async -> Void) async {
        await run.previous?.value
        if record.withLock({ !$0.isDelivered && $0.pausedCount == 0 }) { await send() }
        sends?.forget(started: run.number)
        let isLast = record.withLock { record in
            defer { record.pausedCount = max(0, record.pausedCount - 1) }
            return record.pausedCount == 0 || record.isDelivered
        }
        if isLast { finish() }
    }

    /// Records the result that the callback is called with, right before the call.
    ///
    /// - Parameters:
    ///   - result: The result of the send.
    ///   - keep: Returns the value of the handle.
    /// - Returns: The result; `CancellationError` if the send was cancelled in the meantime; `nil` if the callback must
    ///   not be called, because the send was abandoned or paused, or a result has been recorded before.
    func settle<Model>(
        _ result: Result<Delivered<Model>, any Error>,
        keeping keep: (Model) -> Value
    ) -> Result<Model, any Error>? {
        record.withLock { record in
            guard !record.isDelivered, record.pausedCount == 0 || !(result.failure is CancellationError) else {
                return nil
            }
            record.isDelivered = true
            if case .cancelled = record.state { return record.isAbandoned ? nil : .failure(CancellationError()) }
            switch result {
            case .success(let delivered): record.state = .succeeded(keep(delivered.model))
            case .failure(is CancellationError): record.state = .cancelled
            case .failure(let error): record.state = .failed(error)
            }
            return result.map { $0.model }
        }
    }

    /// Whether the send was cancelled before its result was recorded.
    var isCancelled: Bool {
        record.withLock { record in
            if case .cancelled = record.state { true } else { false }
        }
    }

    /// Records the closure that cancels a send without a task of its own.
    func own(_ stop: @escaping @Sendable () -> Void) {
        record.withLock { $0.stop = stop }
        if isCancelled { stop() }
    }

    func finish() {
        record.withLock(\.scope)?.remove(self)
        let waiters = record.withLock { record in
            (record.begin, record.stop, record.task, record.isFinished) = (nil, nil, nil, true)
            defer { record.waiters = Table() }
            return record.waiters
        }
        updates.finish()
        for waiter in waiters.values { waiter.deliver(()) }
    }
}
