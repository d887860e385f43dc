/// The state of each host, or of another key, up to a limit beyond which idle ones are forgotten.
///
/// A sweep keeps the busy states, and the most recently used ones up to half of the limit. So it is rare, and an operation
/// takes constant time on average, however many hosts there are.
package struct HostTable<Key: Hashable & Sendable, State: Sendable>: Sendable {
    private struct Entry: Sendable {
        let key: Key
        var state: State
        var lastUse: Int
    }

    private let standardLimit: Int
    private var limit: Int
    private var entries: [Entry] = []
    private var places: [Key: Int] = [:]
    /// The place of the last change, because most requests are to the host of the one before.
    private var latest: Int?
    private var useCount = 0

    package init(limit: Int) { (standardLimit, self.limit) = (limit, limit) }

    package var count: Int { entries.count }

    /// The states, in no order.
    package var states: [State] { entries.map(\.state) }

    /// The state of a key, or `nil` if it has none.
    package subscript(key: Key) -> State? { place(of: key).map { entries[$0].state } }

    /// Changes the state of a key in place.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - state: Its state if it has none.
    ///   - isBusy: Whether a state must not be forgotten.
    ///   - body: Changes the state.
    /// - Returns: The closure's result.
    package mutating func change<Result>(
        _ key: Key,
        default state: @autoclosure () -> State,
        isBusy: (State) -> Bool = { _ in false },
        _ body: (inout State) -> Result
    ) -> Result {
        let place = place(of: key) ?? insert(key, state(), isBusy)
        useCount &+= 1
        (entries[place].lastUse, latest) = (useCount, place)
        return body(&entries[place].state)
    }

    private func place(of key: Key) -> Int? {
        if let latest, entries[latest].key == key { return latest }
        return places[key]
    }

    // Rare, so it need not be compiled again for each type.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private mutating func insert(_ key: Key, _ state: State, _ isBusy: (State) -> Bool) -> Int {
        if count >= limit { forget(isBusy) }
        places[key] = count
        entries.append(Entry(key: key, state: state, lastUse: useCount))
        return count - 1
    }

    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    private mutating func forget(_ isBusy: (State) -> Bool) {
        let first = entries.map(\.lastUse).sorted()[count - standardLimit / 2]
        entries.removeAll { $0.lastUse < first && !isBusy($0.state) }
        // So many busy ones that the next sweep would come soon.
        limit = 4 * count > 3 * standardLimit ? 2 * count : standardLimit
        (places, latest) = ([:], nil)
        for (place, entry) in entries.enumerated() { places[entry.key] = place }
    }
}
