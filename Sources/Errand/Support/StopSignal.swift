internal import Synchronization

/// Something that a send waits for, and that any thread can end.
package protocol StoppableExchange: AnyObject, Sendable {
    /// Ends it, for its caller at once and as cancelled.
    ///
    /// Must not wait, and may be called more than once, also after the end.
    func stop()
}

/// Ends a send from outside its task: for `cancelAll(where:)`, handles, scopes and deadlines.
///
/// Everything that a send waits for registers here, the innermost last. Waits of the library end at once. The child task in
/// which user code runs is cancelled, and the send waits until it has ended.
final class StopSignal: Sendable {
    /// The reason why a send has to end.
    enum Reason: Sendable {
        case cancelled
        case deadline
        /// A newer equal send replaced it, by ``DuplicatePolicy/cancelPrevious``.
        case superseded
        /// It has ended by itself; work that user code did not wait for ends, and begins nothing more.
        case finished
    }

    private struct State {
        var reason: Reason?
        /// The outermost entry, which is not in an array, because most sends wait for one thing at a time.
        var outermost: (id: Int, stoppable: any StoppableExchange)?
        var inner: [(id: Int, stoppable: any StoppableExchange)] = []
        /// The number of child tasks among them.
        var childCount = 0

        mutating func remove(_ id: Int) {
            if outermost?.id == id {
                outermost = nil
            } else if let place = inner.lastIndex(where: { $0.id == id }) {
                inner.remove(at: place)
            }
        }
    }

    private let state = Lock(State())
    /// Whether there is a reason; it is read often, so without the lock.
    private let isEnding = Atomic(false)
    private let lastID = Atomic(0)

    init() {}

    /// The reason why the send has to end, or `nil` if it does not.
    ///
    /// Cancellation of the caller's own task is recorded only while the send has a child task.
    var reason: Reason? { state.withLock { $0.reason } }

    /// Whether the send waits for nothing that could be ended.
    var isIdle: Bool { state.withLock { $0.outermost == nil && $0.inner.isEmpty } }

    /// Ends everything that the send waits for, the innermost first, and prevents it from beginning more.
    ///
    /// Cancellation takes precedence over an expired deadline.
    func stop(_ reason: Reason = .cancelled) {
        let (outermost, inner) = state.withLock { state in
            if state.reason == nil || reason == .cancelled { state.reason = reason }
            return (state.outermost, state.inner)
        }
        isEnding.store(true, ordering: .releasing)
        for entry in inner.reversed() { entry.stoppable.stop() }
        outermost?.stoppable.stop()
    }

    /// Whether the deadline, and not the caller, ended the send.
    ///
    /// A child task is cancelled for the deadline, too; the send's own task is cancelled only by the caller.
    var isOverDeadline: Bool {
        let (reason, hasChild) = state.withLock { ($0.reason, $0.childCount > 0) }
        return reason == .deadline && (hasChild || !Task.isCancelled)
    }

    /// - Throws: `CancellationError` if the send has to end, or if its task was cancelled.
    func check() throws {
        if mustEnd || Task.isCancelled { throw CancellationError() }
    }

    /// Whether the send has to end, other than by the cancellation of its task.
    var mustEnd: Bool { isEnding.load(ordering: .acquiring) }

    /// Returns a slot for something that the send will wait for.
    func slot() -> StopSlot { StopSlot(signal: self, id: makeID()) }

    private func makeID() -> Int { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Adds something to end, which ends at once if the send has to end.
    ///
    /// - Returns: Whether there is no child task yet.
    @discardableResult
    fileprivate func add(_ stoppable: any StoppableExchange, _ id: Int, isChild: Bool = false) -> Bool {
        let (mustEnd, isOutermost) = state.withLock { state in
            if state.outermost == nil, state.inner.isEmpty {
                state.outermost = (id, stoppable)
            } else {
                state.inner.append((id, stoppable))
            }
            defer { if isChild { state.childCount += 1 } }
            return (state.reason != nil, state.childCount == 0)
        }
        if mustEnd { stoppable.stop() }
        return isOutermost
    }

    fileprivate func remove(_ id: Int, isChild: Bool = false) {
        state.withLock { state in
            state.remove(id)
            if isChild { state.childCount -= 1 }
        }
    }

    /// Runs work in a child task, which is cancelled when the send has to end, and waits for it.
    ///
    /// - Parameter work: The work. It runs on this thread until it first suspends, which costs less.
    /// - Returns: The result of the work.
    /// - Throws: The error of the work, or `CancellationError` if the send has to end already.
    @inline(never)
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try check()
        let (child, id) = (ChildTask<Value>(), makeID())
        let isOutermost = add(child, id, isChild: true)
        defer { remove(id, isChild: true) }
        return try await withTaskCancellationHandler {
            // Not earlier: a hook may work for long before it suspends, and its send may have to end meanwhile.
            try await child.start(work).value
        } onCancel: {
            // A task further inside may not be the caller's: an interceptor may cancel one of several requests.
            if isOutermost { stop() } else { child.stop() }
        }
    }
}

/// A place among the things that a send waits for, in which a ``StoppableTransport`` puts its exchange.
package struct StopSlot: Sendable {
    fileprivate let signal: StopSignal
    fileprivate let id: Int

    /// Registers the exchange that the send waits for from now on, and ends it at once if the send has to end.
    ///
    /// Called once, before the exchange begins.
    package func fill(with exchange: any StoppableExchange) { signal.add(exchange, id) }

    /// Registers a closure that ends something.
    func fill(stopping stop: @escaping @Sendable () -> Void) { fill(with: StoppingClosure(stop)) }

    /// Removes an entry that the send no longer waits for.
    func clear() { signal.remove(id) }
}

private final class StoppingClosure: StoppableExchange {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func stop() { body() }
}

/// The child task of a send, which is cancelled at its start if it was stopped before.
private final class ChildTask<Value: Sendable>: StoppableExchange {
    private let state = Lock((isStopped: false, task: Task<Value, any Error>?.none))

    func start(_ work: @escaping @Sendable () async throws -> Value) -> Task<Value, any Error> {
        let task: Task<Value, any Error>
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            task = Task.immediate { try await work() }
        } else {
            task = Task { try await work() }
        }
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() }
        return task
    }

    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }
}
