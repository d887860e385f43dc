/// Ends a part of a composition: what is under way in it, and what would begin.
///
/// Parts within parts have their own, which those around them end too.
final class PartStop: Sendable {
    private struct State {
        var isStopped = false
        var lastID = 0
        var stops: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Lock(State())

    /// Whether nothing may begin any more.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Ends everything; returns at once.
    func stop() {
        let stops = state.withLock { state in
            defer { (state.isStopped, state.stops) = (true, [:]) }
            return state.stops.sorted { $0.key < $1.key }
        }
        for (_, stop) in stops { stop() }
    }

    /// From now on this is ended too, at once when everything was ended before.
    ///
    /// - Parameter stop: Must return at once.
    /// - Returns: What ``remove(_:)`` takes once there is nothing to end any more.
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
