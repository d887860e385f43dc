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

    struct Change {
        fileprivate let entry: CacheEntry?
        /// Whether an entry on disk that was requested later is kept.
        fileprivate var keepsLater = false
        fileprivate let number: Int
        /// Who wants to know what became of it.
        fileprivate let write: CacheWrite?
        fileprivate var cost: Int { entry?.cost ?? 0 }

        /// Makes the change in a store; returns `false` if the store keeps a later entry.
        func apply(to store: any CacheStore, _ key: CacheKey, at now: Date) throws -> Bool {
            guard let entry else {
                try store.remove(for: key)
                return true
            }
            if keepsLater { return try store.storeIfLatest(entry, for: key, at: now) }
            try store.store(entry, for: key)
            return true
        }
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
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: The key.
    ///   - keepsLater: Whether an entry on disk that was requested later is kept.
    ///   - write: Is finished with what became of the entry.
    /// - Returns: The number of the change.
    /// - Throws: `POSIXError` if too much is pending.
    mutating func add(
        _ entry: CacheEntry?,
        for key: CacheKey,
        keepingLater keepsLater: Bool = false,
        reportingTo write: CacheWrite? = nil
    ) throws -> Int {
        let rest = size - (changes[key]?.cost ?? 0)
        guard entry == nil || rest < Self.maximumSize else { throw POSIXError(.ENOBUFS) }
        drop(key)
        lastNumber += 1
        let change = Change(entry: entry, keepsLater: keepsLater, number: lastNumber, write: write)
        size += change.cost
        changes[key] = change
        return lastNumber
    }

    /// Returns a change, or `nil` if a later change of the key replaced it.
    func change(_ number: Int, of key: CacheKey) -> Change? {
        changes[key].flatMap { $0.number == number ? $0 : nil }
    }

    /// Ends a change that is on disk, or that a later entry on disk supersedes, unless a later change replaced it.
    mutating func finish(_ number: Int, for key: CacheKey, _ outcome: CacheWrite.Outcome) {
        if changes[key]?.number == number { drop(key, outcome) }
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
