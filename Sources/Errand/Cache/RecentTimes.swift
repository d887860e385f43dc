/// A time for each of the last thousands of keys, in a table of fixed size.
///
/// A key that the table has no room for has no time.
struct RecentTimes {
    private static let size = 8192
    private var slots: [(tag: UInt64, time: Int64)] = []

    mutating func note(_ key: CacheKey, at time: Int64) {
        if slots.isEmpty { slots = Array(repeating: (0, 0), count: Self.size) }
        let tag = Self.tag(of: key)
        slots[Int(truncatingIfNeeded: tag) & (Self.size - 1)] = (tag, time)
    }

    /// Returns the last time of a key, or `nil` if it is not known.
    func time(of key: CacheKey) -> Int64? {
        guard !slots.isEmpty else { return nil }
        let tag = Self.tag(of: key)
        let slot = slots[Int(truncatingIfNeeded: tag) & (Self.size - 1)]
        return slot.tag == tag && slot.time > 0 ? slot.time : nil
    }

    /// Digests are random, so their words are hashes; the keys of a response and of its index differ in the last one only.
    private static func tag(of key: CacheKey) -> UInt64 { key.words.1 &+ key.words.3 }
}
