internal import Foundation

/// The changes of a ``ResponseCache`` that are not on disk yet, so that lookups include them.
struct PendingWrites {
    /// The size of pending entries in bytes from which on no more are added: an entry of any size is written, but the
    /// next ones are not until it is.
    private static let maximumSize = 64 << 20

    /// The changes by key; an entry of `nil` is a removal.
    private var changes: [CacheKey: Change] = [:]
    /// The size of the pending entries in memory.
    private(set) var size = 0

    private struct Change {
        let entry: CacheEntry?
        let number: Int
        /// Who wants to know what became of it.
        let write: CacheWrite?
        var cost: Int { entry?.cost ?? 0 }
    }
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
    mutating func add(_ entry: CacheEntry?, for key: CacheKey, reportingTo write: CacheWrite? = nil) throws -> Int {
        let rest = size - (changes[key]?.cost ?? 0)
        guard entry == nil || rest < Self.maximumSize else { throw POSIXError(.ENOBUFS) }
        drop(key)
        lastNumber += 1
        let change = Change(entry: entry, number: lastNumber, write: write)
        size += change.cost
        changes[key] = change
        return lastNumber
    }

    /// Returns the entry of a change, or `nil` if a later change of the key replaced it.
    func entry(of number: Int, for key: CacheKey) -> CacheEntry?? {
        guard let change = changes[key], change.number == number else { return nil }
        return .some(change.entry)
    }

    /// Ends a change that is on disk.
    mutating func finish(_ number: Int, for key: CacheKey) {
        if changes[key]?.number == number { drop(key, .stored) }
    }

    /// Ends a change that has failed; an older entry that it leaves on disk is hidden, as if it were being removed.
    mutating func fail(_ number: Int, for key: CacheKey, _ error: any Error, leavingOld isOldLeft: Bool) {
        guard changes[key]?.number == number else { return }
        drop(key, .failed(error))
        // On a disk that cannot be written, there may be many.
        if isOldLeft, changes.count < 10_000 { changes[key] = Change(entry: nil, number: number, write: nil) }
    }

    /// Begins a removal of all entries of a URL.
    ///
    /// - Returns: Whether it has to be done: one that is pending already precedes all that is stored from now on.
    mutating func beginRemoving(_ group: CacheGroup) -> Bool {
        for key in Array(changes.keys) where group.contains(key) { drop(key) }
        return groups.insert(group.digest).inserted
    }

    mutating func endRemoving(_ group: CacheGroup) { groups.remove(group.digest) }

    /// Begins a removal of all entries.
    mutating func beginClearing() {
        for key in Array(changes.keys) { drop(key) }
        clearings += 1
    }

    mutating func endClearing() { clearings -= 1 }

    private mutating func drop(_ key: CacheKey, _ outcome: CacheWrite.Outcome = .superseded) {
        guard let change = changes.removeValue(forKey: key) else { return }
        size -= change.cost
        change.write?.finish(outcome)
    }
}
