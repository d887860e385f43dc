/// What a ``StopSignal`` can end: a task, or an exchange of a transport.
protocol Stoppable: AnyObject, Sendable {
    /// Ends it soon; returns at once, and may come when it is over already.
    func stop()
}

/// Ends a send from outside its task: for `cancelAll(where:)` and for deadlines, which must not cancel the caller's own.
///
/// A send has one thing at a time that can be stopped. A task of its own costs a tenth of a send, so there is one only
/// where code outside of the library may wait.
final class StopSignal: Sendable {
    private struct State {
        var isStopped = false
        var stoppable: (any Stoppable)?
        /// Whether all that is left of the send runs in one task.
        var isInTask = false
    }

    private let state = Lock(State())

    init() {}

    /// Whether the send is to end.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Ends what the send is doing, and what it would do next.
    func stop() {
        let stoppable = state.withLock { state in
            state.isStopped = true
            return state.stoppable
        }
        stoppable?.stop()
    }

    /// - Throws: `CancellationError` when the send is to end, or its task was cancelled.
    func check() throws {
        try Task.checkCancellation()
        if isStopped { throw CancellationError() }
    }

    /// From now on the signal ends this, at once when it was given before.
    func begin(_ stoppable: any Stoppable) {
        let isStopped = state.withLock { state in
            state.stoppable = stoppable
            return state.isStopped
        }
        if isStopped { stoppable.stop() }
    }

    /// There is nothing to stop any more.
    func end() { state.withLock { $0.stoppable = nil } }

    /// Runs work so that the signal ends it: in a task that ends with this call, and no later.
    ///
    /// - Throws: What the work throws.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        // A task that has begun on this thread may be far before the handler below can cancel it.
        try check()
        let isInTask = state.withLock { state in
            defer { state.isInTask = true }
            return state.isInTask
        }
        if isInTask { return try await work() }
        let task = Task.starting(work)
        begin(StoppableTask { task.cancel() })
        defer {
            state.withLock { state in (state.stoppable, state.isInTask) = (nil, false) }
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}

/// A task of any type.
private final class StoppableTask: Stoppable {
    private let cancel: @Sendable () -> Void

    init(_ cancel: @escaping @Sendable () -> Void) { self.cancel = cancel }

    func stop() { cancel() }
}

extension Task where Failure == any Error {
    /// A task that runs on the caller's thread until it first waits, where the system can do that.
    fileprivate static func starting(_ work: @escaping @Sendable () async throws -> Success) -> Task {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate { try await work() }
        } else {
            Task { try await work() }
        }
    }
}
