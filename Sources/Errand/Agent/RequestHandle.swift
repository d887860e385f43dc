/// A send that was started with a callback.
///
/// A batch or chain has one for the whole.
public final class RequestHandle: Sendable {
    /// How a send stands.
    public enum State: Sendable {
        /// It is under way.
        case running
        /// Its callback has the model.
        case succeeded
        /// Its callback has this error.
        case failed(any Error)
        /// Its callback has `CancellationError`, or never hears of it because its scope or owner is gone.
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
        var progress: TransferProgress?
        var composition: CompositionProgress?
        var waiters = Table<Int, Delivery<Void>>()
        var lastWaiter = 0
    }

    /// The mark of the request.
    public let tag: String
    /// The place of the request among those that wait for a slot.
    public let priority: Priority
    private let record = Lock(Record())

    init(_ request: some Request) {
        tag = request.tag
        priority = request.priority
    }

    /// How the send stands; it has its last state when the callback is called.
    public var state: State { record.withLock { $0.state } }

    /// How far the transfer is, as ``AccessoryEvent/didProgress(_:)`` told last; `nil` before, and for small bodies.
    public var progress: TransferProgress? { record.withLock { $0.progress } }

    /// How far a batch or chain is, and which request of it failed; `nil` for a single request.
    public var compositionProgress: CompositionProgress? { record.withLock { $0.composition } }

    /// Whether the callback was called, or never will be.
    public var isFinished: Bool { record.withLock { $0.isFinished } }

    /// Ends the send: its callback is called once with `CancellationError`, unless it was called already.
    public func cancel() {
        let stop = record.withLock { record in
            record.isCancelled = true
            return record.stop
        }
        stop?()
    }

    /// Waits until the send is finished.
    ///
    /// Returns at once if it is finished, or if the waiting task is cancelled, before or meanwhile. That ends the
    /// waiting only, not the send; ``isFinished`` tells which it was.
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
            record.lastWaiter &+= 1
            record.waiters[record.lastWaiter] = waiter
            return record.lastWaiter
        }
        guard let id else { return }
        await waiter.value()
        record.withLock { $0.waiters[id] = nil }
    }

    /// Ends the send in silence: its callback is never called from now on.
    func abandon() {
        record.withLock { $0.isAbandoned = true }
        cancel()
    }

    /// Settles what the callback is called with; where it is called, right before that.
    ///
    /// - Returns: The result; `CancellationError` for a send that was cancelled meanwhile; `nil` if the callback must not be
    ///   called, because the send was abandoned or has been settled before.
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

    /// Whether a result was settled.
    var isDelivered: Bool { record.withLock { $0.isDelivered } }

    /// Whether the send was cancelled before its result was settled.
    var isCancelled: Bool {
        record.withLock { record in
            if case .cancelled = record.state { true } else { false }
        }
    }

    /// Keeps how far a batch or chain is.
    func note(_ progress: CompositionProgress) { record.withLock { $0.composition = progress } }

    fileprivate func note(_ progress: TransferProgress) { record.withLock { $0.progress = progress } }

    /// Takes over what ends the send, and a task that watches over it.
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
        for waiter in waiters.values { waiter.deliver(()) }
    }
}

/// Tells a handle how far the transfer is.
struct HandleObserver: Accessory {
    let handle: RequestHandle

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        if case .didProgress(let progress) = event { handle.note(progress) }
    }
}
