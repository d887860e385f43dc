/// A time for each of the last thousands of keys, in a table of fixed size.
///
/// A key that the table has no room for has no time.
struct RecentTimes {
    private static let size = 8192
    private var slots: [(tag: UInt32, mark: UInt32, time: Int64)] = []
    private var lastMark: UInt32 = 0

    /// Notes a time of a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - time: The time.
    ///   - isForAll: Whether it is that of a response that doesn't depend on the header fields of its request.
    mutating func note(_ key: CacheKey, at time: Int64, isForAll: Bool = false) {
        if slots.isEmpty { slots = Array(repeating: (0, 0, 0), count: Self.size) }
        lastMark &+= 2
        if lastMark == 0 { lastMark = 2 }
        slots[Self.place(of: key)] = (Self.tag(of: key), lastMark | (isForAll ? 1 : 0), time)
    }

    /// Returns the last time of a key, or `nil` if it is not known.
    func time(of key: CacheKey) -> Int64? { slot(of: key).flatMap { $0.time > 0 ? $0.time : nil } }

    /// Returns the last time of a key if it is that of a response for all requests.
    func timeForAll(of key: CacheKey) -> Int64? { mark(of: key) & 1 == 1 ? time(of: key) : nil }

    /// Returns a number that changes whenever a time of a key is noted, even if it is the same; zero if none is known.
    func mark(of key: CacheKey) -> UInt32 { slot(of: key)?.mark ?? 0 }

    private func slot(of key: CacheKey) -> (tag: UInt32, mark: UInt32, time: Int64)? {
        guard !slots.isEmpty else { return nil }
        let slot = slots[Self.place(of: key)]
        return slot.tag == Self.tag(of: key) && slot.mark != 0 ? slot : nil
    }

    /// Digests are random, so their words are hashes; the keys of a response and of its index differ in the last one only.
    private static func hash(of key: CacheKey) -> UInt64 { key.words.1 &+ key.words.3 }
    private static func place(of key: CacheKey) -> Int { Int(truncatingIfNeeded: hash(of: key)) & (size - 1) }
    private static func tag(of key: CacheKey) -> UInt32 { UInt32(truncatingIfNeeded: hash(of: key) >> 32) }
}
