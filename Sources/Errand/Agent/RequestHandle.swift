/// A send that was started with a callback.
public final class RequestHandle: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var watch: Task<Void, Never>?
        var isCancelled = false
        var isAbandoned = false
        var isFinished = false
    }

    private let state = Lock(State())

    init() {}

    /// Ends the send: its callback is called once with `CancellationError`, unless it was called already.
    public func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Whether the callback was called, or never will be.
    public var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Ends the send in silence: its callback is never called from now on.
    func abandon() {
        state.withLock { $0.isAbandoned = true }
        cancel()
    }

    /// Whether the callback may be called now; `false` for a send that was abandoned.
    var mayDeliver: Bool { state.withLock { !$0.isAbandoned } }

    /// Takes over the task that runs the send, and one that watches over it.
    func own(_ task: Task<Void, Never>, watch: Task<Void, Never>? = nil) {
        let (isCancelled, isFinished) = state.withLock { state in
            if !state.isFinished { (state.task, state.watch) = (task, watch) }
            return (state.isCancelled, state.isFinished)
        }
        if isCancelled { task.cancel() }
        if isFinished { watch?.cancel() }
    }

    func finish() {
        let watch = state.withLock { state in
            defer { (state.task, state.watch, state.isFinished) = (nil, nil, true) }
            return state.watch
        }
        watch?.cancel()
    }
}
