/// Where a ``ResponseCache`` keeps entries; ``DiskStore`` and ``MemoryStore`` are two, yours may be another.
///
/// Called on queues of the cache, never on a caller's thread, one writer at a time and up to four readers beside it; it
/// may block. ``CacheEntry/data(for:)`` makes bytes of an entry. What it throws costs the cache and never the request.
public protocol CacheStore: Sendable {
    /// The entry of a key, or `nil` when there is none.
    ///
    /// - Throws: ``CacheMiss`` or another error when there is one that cannot be used; best it is removed then.
    func entry(for key: CacheKey) throws -> CacheEntry?

    /// Keeps an entry in place of any that the key has.
    func store(_ entry: CacheEntry, for key: CacheKey) throws

    /// Removes the entry of a key; not an error when there is none.
    func remove(for key: CacheKey) throws

    /// Visits all entries, and removes those for which the closure says so.
    ///
    /// - Parameters:
    ///   - keys: Which keys are of interest; asked first, because it costs less.
    ///   - isMeant: Whether an entry goes.
    /// - Throws: What keeps it from visiting all.
    func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) throws

    /// Removes all entries of a URL.
    func removeAll(ofGroup group: CacheGroup) throws

    /// Removes the least recently used entries until at most so many bytes are left.
    func trim(toBytes limit: Int) throws

    /// How many entries there are, and how many bytes they take.
    func totals() throws -> CacheTotals

    /// Called once when the cache is idle after its first entry was stored, for what takes time; default nothing.
    func prepare()
}

extension CacheStore {
    /// The default: nothing to prepare.
    public func prepare() {}

    /// The default: visits all entries.
    public func removeAll(ofGroup group: CacheGroup) throws {
        try removeAll(among: group.contains) { _ in true }
    }
}

/// All entries of one URL, whatever their method, variant and user.
public struct CacheGroup: Sendable, Hashable {
    let digest: UInt64

    init(url: String) { digest = CacheKey.group(of: url) }

    /// Whether an entry is one of them.
    public func contains(_ key: CacheKey) -> Bool { key.group == digest }
}

/// How much a store holds.
public struct CacheTotals: Sendable, Hashable {
    /// How many entries.
    public var count: Int
    /// How many bytes they take.
    public var size: Int

    /// Takes both figures.
    public init(count: Int = 0, size: Int = 0) {
        self.count = count
        self.size = size
    }

    // The sizes of files in a folder may be anything, and an `Int` has 32 bits on watches.

    static func + (one: CacheTotals, other: CacheTotals) -> CacheTotals {
        func sum(_ one: Int, _ other: Int) -> Int {
            let (sum, isOver) = one.addingReportingOverflow(other)
            return isOver ? other < 0 ? .min : .max : sum
        }
        return CacheTotals(count: sum(one.count, other.count), size: sum(one.size, other.size))
    }

    static func - (one: CacheTotals, other: CacheTotals) -> CacheTotals {
        func difference(_ one: Int, _ other: Int) -> Int {
            let (difference, isOver) = one.subtractingReportingOverflow(other)
            return isOver ? other < 0 ? .max : .min : difference
        }
        return CacheTotals(count: difference(one.count, other.count), size: difference(one.size, other.size))
    }

    /// Whether either figure is beyond a limit.
    func exceeds(_ limit: CacheTotals) -> Bool { count > limit.count || size > limit.size }
}
