/// A handle to a send that was started with a callback.
///
/// A batch or chain has one for the whole.
public final class RequestHandle: Sendable {
    /// The state of a send.
    public enum State: Sendable {
        /// The send is running.
        case running
        /// The callback was called with the model.
        case succeeded
        /// The callback was called with this error.
        case failed(any Error)
        /// The callback was called with `CancellationError`, or isn't called because the scope or owner was
        /// deallocated.
        case cancelled
    }

    private struct Record {
        var state: State = .running
        var stop: (@Sendable () -> Void)?
        var watch: Task<Void, Never>?
        var isCancelled = false
        var isAbandoned = false
        var isDelivered = false
        var isFinished = false
        var composition: CompositionProgress?
        var waiters = Table<Int, Delivery<Void>>()
        /// The number of the last waiter.
        var lastNumber = 0
    }

    /// The tag of the request.
    public let tag: String
    /// The priority of the request among those that wait for a permit.
    public let priority: Priority
    private let record = Lock(Record())
    private let updates = ProgressUpdates()

    init(_ request: some Request) {
        tag = request.tag
        priority = request.priority
    }

    /// The state of the send; it is final when the callback is called.
    public var state: State { record.withLock { $0.state } }

    /// The progress of the transfer, as last reported.
    ///
    /// It is `nil` before the first report. It never runs backwards in one direction, and the end of an upload is reported
    /// once its response is accepted, as for `send(_:progress:)`.
    public var progress: TransferProgress? { updates.latest }

    /// The progress of the transfer from now on, in both directions, beginning with what was last reported.
    ///
    /// The upload goes up to 1, and then the download of the response does: filter by ``TransferProgress/direction`` for a
    /// bar of one of them.
    ///
    /// A reader that is far behind the transfer gets the latest 256 updates. The sequence ends with the send, also if
    /// that fails. Each use creates another sequence, for one reader.
    public var progressUpdates: AsyncStream<TransferProgress> { updates.makeStream() }

    /// The progress of a batch or chain, and which of its requests failed; `nil` for a single request.
    public var compositionProgress: CompositionProgress? { record.withLock { $0.composition } }

    /// Whether the callback was called, or will never be called.
    public var isFinished: Bool { record.withLock { $0.isFinished } }

    /// Cancels the send; its callback is called once with `CancellationError`, unless it was called already.
    public func cancel() { end { $0.isCancelled = true } }

    private func end(_ change: (inout Record) -> Void) {
        let stop = record.withLock { record in
            change(&record)
            return record.stop
        }
        stop?()
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

    /// Waits until the send is finished, whether the waiting task is cancelled or not.
    func waitForResult() async { await wait(Delivery()) }

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

    /// Cancels the send; its callback is not called from now on.
    func abandon() { end { ($0.isCancelled, $0.isAbandoned) = (true, true) } }

    /// Records the result that the callback is called with, right before the call.
    ///
    /// - Returns: The result; `CancellationError` if the send was cancelled in the meantime; `nil` if the callback must
    ///   not be called, because the send was abandoned or a result has been recorded before.
    func settle<Success>(_ result: Result<Success, any Error>) -> Result<Success, any Error>? {
        record.withLock { record in
            guard !record.isDelivered else { return nil }
            record.isDelivered = true
            let result = record.isCancelled ? .failure(CancellationError()) : result
            record.state =
                switch result {
                case .success: .succeeded
                case .failure(is CancellationError): .cancelled
                case .failure(let error): .failed(error)
                }
            return record.isAbandoned ? nil : result
        }
    }

    /// Whether a result was recorded.
    var isDelivered: Bool { record.withLock { $0.isDelivered } }

    /// Whether the send was cancelled before its result was recorded.
    var isCancelled: Bool {
        record.withLock { record in
            if case .cancelled = record.state { true } else { false }
        }
    }

    /// Records a change of the progress of a batch or chain.
    func note(_ change: CompositionProgress.Change) {
        record.withLock { record in
            if case .started(let total) = change {
                record.composition = CompositionProgress(total: total)
            } else {
                record.composition?.apply(change)
            }
        }
    }

    /// An accessory that records the progress of the send.
    var observer: some Accessory { CallerProgress { [updates] in updates.note($0) } }

    /// Records what cancels the send, and a task that watches its owner.
    func own(watch: Task<Void, Never>? = nil, _ stop: @escaping @Sendable () -> Void) {
        let (isCancelled, isFinished) = record.withLock { record in
            if !record.isFinished { (record.stop, record.watch) = (stop, watch) }
            return (record.isCancelled, record.isFinished)
        }
        if isCancelled { stop() }
        if isFinished { watch?.cancel() }
    }

    func finish() {
        let (watch, waiters) = record.withLock { record in
            defer { (record.stop, record.watch, record.waiters, record.isFinished) = (nil, nil, Table(), true) }
            return (record.watch, record.waiters)
        }
        watch?.cancel()
        updates.finish()
        for waiter in waiters.values { waiter.deliver(()) }
    }
}
