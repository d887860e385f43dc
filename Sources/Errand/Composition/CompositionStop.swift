/// Ends a composition: what is running in it, and what would begin.
///
/// A nested composition has its own, which the outer one ends too.
final class CompositionStop: Sendable {
    private struct State {
        var isStopped = false
        var lastID = 0
        var stops = Table<Int, @Sendable () -> Void>()
    }

    private let state = Lock(State())

    /// Whether nothing may begin any more.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Ends everything, and returns at once.
    func stop() {
        let stops = state.withLock { state in
            defer { (state.isStopped, state.stops) = (true, Table()) }
            return state.stops.entries.sortedUnspecialized { $0.key < $1.key }
        }
        for (_, stop) in stops { stop() }
    }

    /// Adds a function that ends something; if everything has been ended already, it is called at once.
    ///
    /// - Parameter stop: Must return at once.
    /// - Returns: The number to pass to ``remove(_:)`` once there is nothing to end any more.
    func add(_ stop: @escaping @Sendable () -> Void) -> Int {
        let (id, isStopped) = state.withLock { state in
            state.lastID += 1
            if !state.isStopped { state.stops[state.lastID] = stop }
            return (state.lastID, state.isStopped)
        }
        if isStopped { stop() }
        return id
    }

    func remove(_ id: Int) { state.withLock { $0.stops[id] = nil } }
}
