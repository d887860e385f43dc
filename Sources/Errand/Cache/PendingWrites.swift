internal import Foundation

/// The changes of a ``ResponseCache`` that are not on disk yet, so that lookups include them.
struct PendingWrites {
    /// The size of pending entries in bytes from which on no more are added: an entry of any size is written, but the
    /// next ones are not until it is.
    private static let maximumSize = 64 << 20

    struct Change {
        /// The entry, or `nil` for a removal.
        let entry: CacheEntry?
        fileprivate let number: Int
        /// Receives what became of it.
        fileprivate let write: CacheWrite?
        fileprivate var cost: Int { entry?.cost ?? 0 }
    }

    private var changes: [CacheKey: Change] = [:]
    /// The size of the pending entries in memory.
    private var size = 0
    private var lastNumber = 0
    /// The URLs whose entries are about to be removed, by their digests, or `nil` for all entries; what is stored later is a
    /// change of its own.
    private var removals: Set<UInt64?> = []

    /// Returns what is known of a key before the disk is read, or `nil` if only the disk has it.
    func change(of key: CacheKey) -> CacheEntry?? {
        if let change = changes[key] { return .some(change.entry) }
        return !removals.isEmpty && (removals.contains(nil) || removals.contains(key.group)) ? .some(nil) : nil
    }

    /// Adds a change of a key; an entry of `nil` is a removal.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - key: The key.
    ///   - write: Is finished with what became of the entry.
    /// - Returns: The number of the change.
    /// - Throws: `POSIXError` if too much is pending.
    mutating func add(_ entry: CacheEntry?, for key: CacheKey, reportingTo write: CacheWrite?) throws -> Int {
        let rest = size - (changes[key]?.cost ?? 0)
        guard entry == nil || rest < Self.maximumSize else { throw POSIXError(.ENOBUFS) }
        drop(key)
        lastNumber += 1
        let change = Change(entry: entry, number: lastNumber, write: write)
        size += change.cost
        changes[key] = change
        return lastNumber
    }

    /// Returns a change, or `nil` if a later change of the key replaced it.
    func change(_ number: Int, of key: CacheKey) -> Change? {
        changes[key].flatMap { $0.number == number ? $0 : nil }
    }

    /// Ends a change, unless a later change replaced it.
    mutating func finish(_ number: Int, for key: CacheKey, _ outcome: CacheWrite.Outcome) {
        if changes[key]?.number == number { drop(key, outcome) }
    }

    /// Begins a removal of all entries of a URL, or of all if that is `nil`.
    ///
    /// - Returns: Whether it has to be done: one that is pending already precedes all that is stored from now on.
    mutating func beginRemoving(_ url: UInt64?) -> Bool {
        for key in Array(changes.keys) where url == nil || key.group == url { drop(key) }
        return removals.insert(url).inserted
    }

    mutating func endRemoving(_ url: UInt64?) { removals.remove(url) }

    private mutating func drop(_ key: CacheKey, _ outcome: CacheWrite.Outcome = .superseded) {
        guard let change = changes.removeValue(forKey: key) else { return }
        size -= change.cost
        change.write?.finish(outcome)
    }
}

/// The responses of a ``ResponseCache`` that are stored once it was read what they replace; lookups find them until then.
struct PendingVariants {
    typealias Variant = (number: Int, entry: CacheEntry, ticket: CacheRemovals.Ticket)

    private static let maximumCount = 1024
    /// The size from which on no more are added.
    private static let maximumSize = 64 << 20
    /// The variants by cache key.
    private var all = Table<CacheKey, [Variant]>()
    private var (count, size, lastNumber) = (0, 0, 0)

    /// The variant that a request selects, the one that was requested last.
    func variant(at place: CachePlace) -> Variant? {
        guard count > 0, let own = all[place.primary] else { return nil }
        return own.filter { place.matches($0.entry) }.max { $0.entry.requested < $1.entry.requested }
    }

    /// Adds a variant, and returns its number, or `nil` if there are too many.
    mutating func add(_ entry: CacheEntry, at place: CachePlace, since ticket: CacheRemovals.Ticket) -> Int? {
        guard count < Self.maximumCount, size < Self.maximumSize else { return nil }
        lastNumber += 1
        count += 1
        size += entry.cost
        all[place.primary] = (all[place.primary] ?? []) + [(lastNumber, entry, ticket)]
        return lastNumber
    }

    /// Removes a variant, and returns whether it was there.
    mutating func remove(_ number: Int, at key: CacheKey) -> Bool { !remove(at: key) { $0.number == number }.isEmpty }

    /// Removes and returns the variants that a request selects, and that were requested until a time, or after now, because a
    /// clock was set back.
    mutating func remove(at place: CachePlace, requestedUntil requested: Date, now: Date) -> [CacheEntry] {
        remove(at: place.primary) { variant in
            place.matches(variant.entry) && (variant.entry.requested <= requested || variant.entry.requested > now)
        }
    }

    private mutating func remove(at key: CacheKey, where isMeant: (Variant) -> Bool) -> [CacheEntry] {
        guard count > 0, let own = all[key] else { return [] }
        let removed = own.filter(isMeant).map(\.entry)
        let kept = own.filter { !isMeant($0) }
        all[key] = kept.isEmpty ? nil : kept
        count -= removed.count
        size -= removed.reduce(0) { $0 + $1.cost }
        return removed
    }
}
