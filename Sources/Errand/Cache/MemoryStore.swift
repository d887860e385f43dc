/// A store in memory that removes the least recently used entries first.
public final class MemoryStore: CacheStore {
    private let state: Lock<State>
    private let maximumSize: Int
    private let maximumCount: Int

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - maximumSize: The approximate maximum size of all entries in bytes. A larger entry is not stored.
    ///   - maximumCount: The maximum number of entries.
    public init(maximumSize: Int = 16 << 20, maximumCount: Int = 1_000) {
        (self.maximumSize, self.maximumCount) = (max(0, maximumSize), max(0, maximumCount))
        state = Lock(State())
    }

    /// Returns the entry of a key, which becomes the most recently used, or `nil` if there is none.
    public func entry(for key: CacheKey) -> CacheEntry? { state.withLock { $0.use(key) } }

    /// Stores an entry, and removes the least recently used ones if the store is full.
    public func store(_ entry: CacheEntry, for key: CacheKey) {
        let cost = entry.cost
        // Removed entries are freed outside the lock.
        let gone = state.withLock { state -> [CacheEntry] in
            var gone = [state.remove(key)].compactMap(\.self)
            guard cost <= maximumSize, maximumCount > 0 else { return gone }
            state.insert(entry, cost: cost, for: key)
            while state.size > maximumSize || state.count > maximumCount, let entry = state.removeOldest() {
                gone.append(entry)
            }
            return gone
        }
        withExtendedLifetime(gone) {}
    }

    /// Whether an entry is small enough to be stored.
    func canStore(_ entry: CacheEntry) -> Bool { entry.cost <= maximumSize && maximumCount > 0 }

    /// Removes the entry of a key, if there is one.
    public func remove(for key: CacheKey) { _ = state.withLock { $0.remove(key) } }

    /// Removes all entries for which the closure returns `true`; it is not called under a lock.
    public func removeAll(
        among keys: @Sendable (CacheKey) -> Bool = { _ in true },
        where isMeant: @Sendable (StoredEntry) -> Bool
    ) {
        let all = state.withLock { $0.all }
        for (key, entry) in all where keys(key) {
            if isMeant(StoredEntry(key: key, entry: entry, byteCount: entry.cost)) { remove(for: key) }
        }
    }

    /// Removes all entries of the URL of a key.
    public func removeAll(ofURLOf key: CacheKey) {
        let gone = state.withLock { state in
            state.keys.filter { $0.hasSameURL(as: key) }.compactMap { state.remove($0) }
        }
        withExtendedLifetime(gone) {}
    }

    /// Removes the least recently used entries until their size is at most `limit` bytes.
    public func trim(toBytes limit: Int) {
        state.withLock { state in
            while state.size > limit, state.removeOldest() != nil {}
        }
    }

    /// Returns the number of entries, and their approximate size in bytes.
    public func totals() -> (count: Int, size: Int) { state.withLock { ($0.count, $0.size) } }
}

extension MemoryStore {
    /// A table, and a linked list of its slots from the least to the most recently used.
    private struct State {
        private struct Slot {
            var key: CacheKey
            var entry: CacheEntry?
            var cost: Int
            var older: Int
            var newer: Int
        }

        private(set) var size = 0
        var count: Int { places.count }
        private var places: [CacheKey: Int] = [:]
        private var slots: [Slot] = []
        private var free: [Int] = []
        private var oldest = -1
        private var newest = -1

        var all: [(CacheKey, CacheEntry)] { slots.compactMap { slot in slot.entry.map { (slot.key, $0) } } }

        var keys: Dictionary<CacheKey, Int>.Keys { places.keys }

        mutating func use(_ key: CacheKey) -> CacheEntry? {
            guard let place = places[key] else { return nil }
            if place != newest {
                unlink(place)
                link(place)
            }
            return slots[place].entry
        }

        mutating func insert(_ entry: CacheEntry, cost: Int, for key: CacheKey) {
            let slot = Slot(key: key, entry: entry, cost: cost, older: -1, newer: -1)
            let place = free.popLast() ?? slots.count
            if place == slots.count { slots.append(slot) } else { slots[place] = slot }
            places[key] = place
            link(place)
            size += cost
        }

        mutating func remove(_ key: CacheKey) -> CacheEntry? {
            guard let place = places.removeValue(forKey: key) else { return nil }
            unlink(place)
            free.append(place)
            size -= slots[place].cost
            defer { slots[place].entry = nil }
            return slots[place].entry
        }

        mutating func removeOldest() -> CacheEntry? { oldest < 0 ? nil : remove(slots[oldest].key) }

        private mutating func link(_ place: Int) {
            slots[place].older = newest
            slots[place].newer = -1
            if newest >= 0 { slots[newest].newer = place } else { oldest = place }
            newest = place
        }

        private mutating func unlink(_ place: Int) {
            let (older, newer) = (slots[place].older, slots[place].newer)
            if older >= 0 { slots[older].newer = newer } else { oldest = newer }
            if newer >= 0 { slots[newer].older = older } else { newest = older }
        }
    }
}
