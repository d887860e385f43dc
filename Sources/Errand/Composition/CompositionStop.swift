internal import Dispatch

/// Ends a composition: its running requests, and requests that would begin.
///
/// A nested composition has its own, which the outer one ends too.
final class CompositionStop: Sendable {
    /// The reason why a composition ends.
    enum Reason: Sendable {
        /// It ends.
        case ended
        /// The deadline of the composition passed a moment ago with this error: requests that still run are not waited for.
        case overdue(NetworkError)
    }

    private struct State {
        /// The first reason, and the last one.
        var reasons: (first: Reason, last: Reason)?
        var lastID = 0
        /// The functions that end something; kept after an end too, because work that ignores it is not waited for after the
        /// deadline.
        var stops = Table<Int, @Sendable (Reason) -> Void>()
    }

    private let state = Lock(State())

    /// Whether nothing may begin any more.
    var isStopped: Bool { state.withLock { $0.reasons != nil } }

    /// The error of requests that may not begin any more, or `nil` if they may.
    var error: (any Error)? {
        switch state.withLock({ $0.reasons?.first }) {
        case nil: nil
        case .ended?: CancellationError()
        case .overdue(let error)?: error
        }
    }

    /// Ends everything, and returns at once.
    func stop(_ reason: Reason = .ended) {
        let stops = state.withLock { state in
            state.reasons = (state.reasons?.first ?? reason, reason)
            return state.stops.entries.sortedUnspecialized { $0.key < $1.key }
        }
        for (_, stop) in stops { stop(reason) }
    }

    /// Adds a function that ends something; if everything has been ended already, it is called at once.
    ///
    /// - Parameter stop: Must return at once; called once more if the deadline follows an end.
    /// - Returns: The number to pass to ``remove(_:)`` once there is nothing to end any more.
    func add(_ stop: @escaping @Sendable (Reason) -> Void) -> Int {
        let (id, reason) = state.withLock { state -> (Int, Reason?) in
            state.lastID += 1
            state.stops[state.lastID] = stop
            return (state.lastID, state.reasons?.last)
        }
        if let reason { stop(reason) }
        return id
    }

    func remove(_ id: Int) { state.withLock { $0.stops[id] = nil } }
}

extension Deadline {
    private static let queue = DispatchQueue(label: "errand.composition.overdue")

    /// Ends a batch or chain 40 milliseconds after its deadline, even if some of its requests still run.
    ///
    /// Requests that do not ignore their cancellation have ended by then, with a stale response if there is one.
    func watchOverdue(_ stop: CompositionStop) -> DeadlineWatch {
        let (signal, error) = (StopSignal(), error)
        signal.slot().fill {
            Self.queue.asyncAfter(deadline: .now() + .milliseconds(40)) { stop.stop(.overdue(error)) }
        }
        return watch(signal)
    }
}
