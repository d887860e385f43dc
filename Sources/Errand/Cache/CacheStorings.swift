/// The responses that a cache stores once it has read what they replace, without delaying their sends.
///
/// Lookups find them in the meantime, however long a disk takes.
final class CacheStorings: Sendable {
    /// A response that is being stored.
    struct Pending: Sendable {
        /// The cache key, without a variant.
        let key: CacheKey
        let entry: CacheEntry
        /// A ticket from before it was requested.
        let ticket: CacheRemovals.Ticket

        fileprivate func isSelected(by place: CachePlace) -> Bool {
            key == place.primary && CacheControl.matches(entry, request: place.request)
        }
    }

    private struct State {
        /// What is running, with the number of bytes that each keeps.
        var costs: [Int: Int] = [:]
        var tasks: [Int: Task<Void, Never>] = [:]
        /// Those that wait for the end of one.
        var waits: [Int: [CacheWait<Void>]] = [:]
        /// The responses that lookups find, by cache key.
        var pending: [CacheKey: [(id: Int, response: Pending)]] = [:]
        var cost = 0
        var lastID = 0

        /// Removes some of the responses of a key, and returns what stores them.
        mutating func drop(
            _ key: CacheKey,
            where isMeant: ((id: Int, response: Pending)) -> Bool
        ) -> [Task<Void, Never>] {
            guard let all = pending[key] else { return [] }
            let kept = all.filter { !isMeant($0) }
            pending[key] = kept.isEmpty ? nil : kept
            return all.filter(isMeant).compactMap { tasks[$0.id] }
        }
    }

    /// The maximum number, because a slow disk is read for each.
    private static let maximumCount = 4096
    /// The maximum number of one key; an index has half as many variants.
    private static let maximumCountOfKey = 2 * VariantIndex.maximumCount
    /// The maximum number of bytes, because a response is in memory for as long as a slow disk is read.
    private static let maximumCost = 64 << 20
    private let state = Lock(State())

    /// Starts to store a response.
    ///
    /// - Parameters:
    ///   - response: The response if lookups find it; `nil` if it is stored already, and only what it replaces is read.
    ///   - cost: The number of bytes that are kept until then.
    ///   - write: Is superseded if the response is refused, once lookups no longer find it.
    ///   - work: Stores it, and returns whether it is refused; its task is cancelled if another response has replaced it.
    /// - Returns: Whether it was started: not if too many are running.
    func start(
        _ response: Pending?,
        cost: Int,
        reportingTo write: CacheWrite? = nil,
        _ work: @escaping @Sendable () async -> Bool
    ) -> Bool {
        let (isStarted, dropped) = state.withLock { state -> (Bool, [Task<Void, Never>]) in
            guard state.costs.count < Self.maximumCount, state.cost < Self.maximumCost else { return (false, []) }
            state.lastID += 1
            let id = state.lastID
            state.costs[id] = cost
            state.cost += cost
            state.tasks[id] = Task { [self] in
                let isRefused = await work()
                end(id, response?.key)
                if isRefused { write?.finish(.superseded) }
            }
            guard let response else { return (true, []) }
            state.pending[response.key, default: []].append((id, response))
            guard let all = state.pending[response.key], all.count > Self.maximumCountOfKey else { return (true, []) }
            return (true, state.drop(response.key) { $0.id == all[0].id })
        }
        for task in dropped { task.cancel() }
        return isStarted
    }

    private func end(_ id: Int, _ key: CacheKey?) {
        let waits = state.withLock { state in
            if let key { _ = state.drop(key) { $0.id == id } }
            state.tasks[id] = nil
            state.cost -= state.costs.removeValue(forKey: id) ?? 0
            return state.waits.removeValue(forKey: id) ?? []
        }
        for wait in waits { wait.finish(with: .success(())) }
    }

    /// Waits for all that have been started, unless the task is cancelled.
    func wait() async {
        for id in state.withLock({ Array($0.costs.keys) }) {
            let wait = CacheWait<Void>()
            let isRunning = state.withLock { state in
                if state.costs[id] != nil { state.waits[id, default: []].append(wait) }
                return state.costs[id] != nil
            }
            guard isRunning else { continue }
            do {
                try await wait.value()
            } catch {
                // The only error is that of a cancelled task.
                return
            }
        }
    }

    /// Returns the response that a request selects of those that are being stored, the one that was requested last.
    func response(at place: CachePlace) -> Pending? {
        state.withLock { state in
            state.pending.isEmpty
                ? nil
                : state.pending[place.primary]?.lazy.map(\.response).filter { $0.isSelected(by: place) }
                    .max { $0.entry.requested < $1.entry.requested }
        }
    }

    /// Drops what a request selects, because its response replaces it.
    ///
    /// - Parameters:
    ///   - place: The place of the request's responses.
    ///   - requested: The time of the request; what was requested later stays.
    ///   - now: The current time; what seems to be requested after that is dropped, because a clock was set back.
    /// - Returns: Whether a response stays that was requested later.
    func supersede(at place: CachePlace, upTo requested: Int64, now: Int64) -> Bool {
        let (isLater, dropped) = state.withLock { state -> (Bool, [Task<Void, Never>]) in
            guard let all = state.pending[place.primary] else { return (false, []) }
            let selected = all.filter { $0.response.isSelected(by: place) }
            let obsolete = Set(
                selected.filter { pending in
                    let other = pending.response.entry.requested.microseconds
                    return other <= requested || other > now
                }.map(\.id)
            )
            return (obsolete.count < selected.count, state.drop(place.primary) { obsolete.contains($0.id) })
        }
        for task in dropped { task.cancel() }
        return isLater
    }
}
