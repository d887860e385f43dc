public import Foundation

/// A type that keeps the entries of a ``ResponseCache``, such as ``DiskStore``, ``MemoryStore`` or one of your own.
///
/// Except for ``didUse(_:)``, it is called on queues of the cache, never on a caller's thread, by one writer at a time and
/// by up to four readers at the same time, and may block. Use ``CacheEntry/data(for:)`` to encode an entry. An error never fails a request.
public protocol CacheStore: Sendable {
    /// Returns the entry of a key, or `nil` if there is none.
    ///
    /// - Throws: ``CacheMiss`` or another error if there is an entry that cannot be used; the store should remove it.
    func entry(for key: CacheKey) throws -> CacheEntry?

    /// Stores an entry, replacing any that the key has.
    func store(_ entry: CacheEntry, for key: CacheKey) throws

    /// Stores an entry, unless the key has one that was requested later, such as by another process.
    ///
    /// The default stores it in any case. The cache itself compares the entries of its process.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: The key of the entry.
    ///   - now: The current time. An entry that was requested after it doesn't count, because a clock was set back.
    /// - Returns: Whether the entry was stored.
    /// - Throws: An error if it should have been stored and could not be.
    func storeIfLatest(_ entry: CacheEntry, for key: CacheKey, at now: Date) throws -> Bool

    /// Removes the entry of a key, if there is one.
    func remove(for key: CacheKey) throws

    /// Visits all entries, and removes those for which a closure returns `true`.
    ///
    /// - Parameters:
    ///   - keys: Returns whether an entry is visited at all. It is called first, because it costs less.
    ///   - isMeant: Returns whether an entry is removed.
    /// - Throws: An error if not all entries could be visited.
    func removeAll(among keys: @Sendable (CacheKey) -> Bool, where isMeant: @Sendable (StoredEntry) -> Bool) throws

    /// Removes all entries of a URL.
    func removeAll(ofGroup group: CacheGroup) throws

    /// Removes the least recently used entries until their size is at most `limit` bytes.
    func trim(toBytes limit: Int) throws

    /// Returns the number of entries, and their size in bytes.
    func totals() throws -> CacheTotals

    /// Makes an entry the most recently used, without reading it, because it was found in memory.
    ///
    /// It is called on the caller's thread, and must not block. The default does nothing.
    func didUse(_ key: CacheKey)

    /// Does work that takes time; called once, when the cache is idle after its first entry was stored.
    ///
    /// The default does nothing.
    func prepare()
}

extension CacheStore {
    /// Stores the entry in any case, which is the default.
    public func storeIfLatest(_ entry: CacheEntry, for key: CacheKey, at now: Date) throws -> Bool {
        try store(entry, for: key)
        return true
    }

    /// Does nothing, which is the default.
    public func prepare() {}

    /// Does nothing, which is the default.
    public func didUse(_ key: CacheKey) {}

    /// Visits all entries, which is the default.
    public func removeAll(ofGroup group: CacheGroup) throws {
        try removeAll(among: group.contains) { _ in true }
    }
}

/// All entries of one URL, whatever their method, variant and user.
public struct CacheGroup: Sendable, Hashable {
    let digest: UInt64

    init(url: String) { digest = CacheKey.group(of: url) }

    /// Returns whether an entry belongs to the group.
    public func contains(_ key: CacheKey) -> Bool { key.group == digest }
}

/// The number of entries in a store, and their size.
public struct CacheTotals: Sendable, Hashable {
    /// The number of entries.
    public var count: Int
    /// The size of the entries in bytes.
    public var size: Int

    /// Creates the totals.
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

    /// Returns whether either number exceeds a limit.
    func exceeds(_ limit: CacheTotals) -> Bool { count > limit.count || size > limit.size }
}
