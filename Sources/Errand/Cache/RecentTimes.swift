/// A time for each of the last thousands of keys, in a table of fixed size.
///
/// A key that the table has no room for has no time.
struct RecentTimes {
    private static let size = 8192
    private var slots: [(tag: UInt64, time: Int64)] = []

    mutating func note(_ key: CacheKey, at time: Int64) {
        if slots.isEmpty { slots = Array(repeating: (0, 0), count: Self.size) }
        // Digests are random, so any of their words is a hash.
        slots[Int(truncatingIfNeeded: key.words.1) & (Self.size - 1)] = (key.words.1, time)
    }

    /// Returns the last time of a key, or `nil` if it is not known.
    func time(of key: CacheKey) -> Int64? {
        guard !slots.isEmpty else { return nil }
        let slot = slots[Int(truncatingIfNeeded: key.words.1) & (Self.size - 1)]
        return slot.tag == key.words.1 && slot.time > 0 ? slot.time : nil
    }
}
