/// Ends a composition: what is running in it, and what would begin.
///
/// A nested composition has its own, which the outer one ends too.
final class CompositionStop: Sendable {
    /// What ends a composition.
    enum Reason: Sendable {
        /// Something outside of it, such as its caller or `cancelAll`.
        case cancelled
        /// The failure of one of its requests, or of those of an outer composition; it may still be cancelled.
        case failed
    }

    private struct State {
        var reason: Reason?
        var lastID = 0
        /// What there is to end; after a failure too, because what ignores that ends with a cancellation.
        var stops = Table<Int, @Sendable (Reason) -> Void>()
    }

    private let state = Lock(State())

    /// Whether nothing may begin any more.
    var isStopped: Bool { state.withLock { $0.reason != nil } }

    /// Ends everything, and returns at once.
    func stop(_ reason: Reason = .cancelled) {
        let stops = state.withLock { state in
            let stops = state.stops
            if reason == .cancelled { state.stops = Table() }
            if state.reason != .cancelled { state.reason = reason }
            return stops.entries.sortedUnspecialized { $0.key < $1.key }
        }
        for (_, stop) in stops { stop(reason) }
    }

    /// Adds a function that ends something; if everything has been ended already, it is called at once.
    ///
    /// - Parameter stop: Must return at once; called once more if a cancellation follows a failure.
    /// - Returns: The number to pass to ``remove(_:)`` once there is nothing to end any more.
    func add(_ stop: @escaping @Sendable (Reason) -> Void) -> Int {
        let (id, reason) = state.withLock { state in
            state.lastID += 1
            if state.reason != .cancelled { state.stops[state.lastID] = stop }
            return (state.lastID, state.reason)
        }
        if let reason { stop(reason) }
        return id
    }

    func remove(_ id: Int) { state.withLock { $0.stops[id] = nil } }
}
