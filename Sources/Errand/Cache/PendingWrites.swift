internal import Foundation

/// The changes of a ``ResponseCache`` that are not on disk yet, so that lookups include them.
struct PendingWrites {
    /// The maximum size of pending entries in bytes; what exceeds it is not written.
    private static let maximumSize = 32 << 20

    /// The changes by key; an entry of `nil` is a removal.
    private var changes: [CacheKey: (entry: CacheEntry?, number: Int)] = [:]
    private var size = 0
    private var lastNumber = 0
    /// The URLs whose entries are about to be removed; what is stored later is a change of its own.
    private var groups: Set<UInt64> = []
    /// The number of pending removals of all entries.
    private var clearings = 0

    /// Returns what is known of a key before the disk is read, or `nil` if only the disk has it.
    func change(of key: CacheKey) -> CacheEntry?? {
        if let change = changes[key] { return .some(change.entry) }
        return clearings > 0 || groups.contains(key.group) ? .some(nil) : nil
    }

    /// Adds a change of a key; an entry of `nil` is a removal.
    ///
    /// - Returns: The number of the change.
    /// - Throws: `POSIXError` if too much is pending.
    mutating func add(_ entry: CacheEntry?, for key: CacheKey) throws -> Int {
        let growth = (entry?.body.count ?? 0) - (changes[key]?.entry?.body.count ?? 0)
        guard size + growth <= Self.maximumSize else { throw POSIXError(.ENOBUFS) }
        size += growth
        lastNumber += 1
        changes[key] = (entry, lastNumber)
        return lastNumber
    }

    /// Returns the entry of a change, or `nil` if a later change of the key replaced it.
    func entry(of number: Int, for key: CacheKey) -> CacheEntry?? {
        guard let change = changes[key], change.number == number else { return nil }
        return .some(change.entry)
    }

    /// Ends a change that is on disk or has failed.
    mutating func finish(_ number: Int, for key: CacheKey) {
        if changes[key]?.number == number { drop(key) }
    }

    /// Ends a change that has failed, and left an older entry on disk: it is hidden, as if it were being removed.
    mutating func hide(_ number: Int, for key: CacheKey) {
        guard changes[key]?.number == number else { return }
        drop(key)
        // On a disk that cannot be written, there may be many.
        if changes.count < 10_000 { changes[key] = (nil, number) }
    }

    /// Begins a removal of all entries of a URL.
    ///
    /// - Returns: Whether it has to be done: one that is pending already precedes all that is stored from now on.
    mutating func beginRemoving(_ group: CacheGroup) -> Bool {
        for key in changes.keys where group.contains(key) { drop(key) }
        return groups.insert(group.digest).inserted
    }

    mutating func endRemoving(_ group: CacheGroup) { groups.remove(group.digest) }

    /// Begins a removal of all entries.
    mutating func beginClearing() {
        (changes, size) = ([:], 0)
        clearings += 1
    }

    mutating func endClearing() { clearings -= 1 }

    private mutating func drop(_ key: CacheKey) { size -= changes.removeValue(forKey: key)?.entry?.body.count ?? 0 }
}
