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
            if state.size > maximumSize || state.count > maximumCount {
                // More than necessary, so that they are sorted rarely.
                let (size, count) = (maximumSize - maximumSize / 16, maximumCount - maximumCount / 16)
                gone += state.removeOldest(untilSize: max(size, cost), count: count)
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
        let gone = state.withLock { $0.removeOldest(untilSize: limit, count: .max) }
        withExtendedLifetime(gone) {}
    }

    /// Returns the number of entries, and their approximate size in bytes.
    public func totals() -> (count: Int, size: Int) { state.withLock { ($0.count, $0.size) } }
}

extension MemoryStore {
    /// The entries, with the order in which they were last used.
    private struct State {
        private struct Slot {
            let entry: CacheEntry
            let cost: Int
            var lastUse: Int
        }

        private(set) var size = 0
        private var slots: [CacheKey: Slot] = [:]
        private var useCount = 0

        var count: Int { slots.count }
        var keys: [CacheKey] { Array(slots.keys) }
        var all: [(CacheKey, CacheEntry)] { slots.map { ($0, $1.entry) } }

        mutating func use(_ key: CacheKey) -> CacheEntry? {
            guard let place = slots.index(forKey: key) else { return nil }
            useCount &+= 1
            slots.values[place].lastUse = useCount
            return slots.values[place].entry
        }

        mutating func insert(_ entry: CacheEntry, cost: Int, for key: CacheKey) {
            useCount &+= 1
            slots[key] = Slot(entry: entry, cost: cost, lastUse: useCount)
            size += cost
        }

        mutating func remove(_ key: CacheKey) -> CacheEntry? {
            guard let slot = slots.removeValue(forKey: key) else { return nil }
            size -= slot.cost
            return slot.entry
        }

        /// Removes the least recently used entries until at most so many bytes and entries remain, and returns them.
        mutating func removeOldest(untilSize limit: Int, count maximumCount: Int) -> [CacheEntry] {
            var gone: [CacheEntry] = []
            for (key, _) in slots.map({ ($0, $1.lastUse) }).sorted(by: { $0.1 < $1.1 }) {
                guard size > limit || count > maximumCount, let entry = remove(key) else { break }
                gone.append(entry)
            }
            return gone
        }
    }
}
