/// The times at which entries of a ``DiskStore`` were last used by this process.
///
/// The time of a file is renewed every ten minutes at most, because that costs more than reading it. A table of fixed size
/// has the exact times of the last thousands of uses; one that it has no room for falls back to the time of the file.
struct RecentUses {
    private static let size = 8192
    private var slots: [(tag: UInt64, time: Int64)] = []

    mutating func note(_ key: CacheKey, at time: Int64) {
        if slots.isEmpty { slots = Array(repeating: (0, 0), count: Self.size) }
        // Digests are random, so any of their words is a hash.
        slots[Int(truncatingIfNeeded: key.words.1) & (Self.size - 1)] = (key.words.1, time)
    }

    /// Returns the time of the last use, or `nil` if it is not known.
    func time(of key: CacheKey) -> Int64? {
        guard !slots.isEmpty else { return nil }
        let slot = slots[Int(truncatingIfNeeded: key.words.1) & (Self.size - 1)]
        return slot.tag == key.words.1 && slot.time > 0 ? slot.time : nil
    }
}
