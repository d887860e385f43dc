/// The key of a stored response: digests of what identifies a request, and of nothing else.
///
/// It is the same in every process. Nothing of the request can be recovered from it, so it may be part of file names
/// and logs.
public struct CacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes are a digest of the URL alone, the others one of the complete identity: all entries of a URL
    /// have the same prefix, so that they can be found when an unsafe request invalidates them.
    let words: (UInt64, UInt64, UInt64, UInt64)

    init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    init(url: String, identity: (UInt64, UInt64, UInt64, UInt64)) {
        words = (Self.group(of: url), identity.0, identity.1, identity.2)
    }

    /// Creates a key from a text, for stores that are used without an ``Agent``.
    ///
    /// - Parameter text: A text that identifies the entry.
    public init(_ text: String) { self.init(url: text, identity: Self.words(of: text)) }

    /// Creates a key from its ``description``, or returns `nil` if the text is not one.
    public init?(description: some StringProtocol) { self.init(hexadecimal: description.utf8) }

    init?(hexadecimal text: some Collection<UInt8>) {
        guard text.count == 64 else { return nil }
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for (place, byte) in text.enumerated() {
            let digit: UInt64
            switch byte {
            case 0x30...0x39: digit = UInt64(byte - 0x30)
            case 0x61...0x66: digit = UInt64(byte - 0x61 + 10)
            default: return nil
            }
            switch place / 16 {
            case 0: words.0 = words.0 << 4 | digit
            case 1: words.1 = words.1 << 4 | digit
            case 2: words.2 = words.2 << 4 | digit
            default: words.3 = words.3 << 4 | digit
            }
        }
        self.init(words: words)
    }

    static func group(of url: String) -> UInt64 { words(of: url).0 }

    private static func words(of text: String) -> (UInt64, UInt64, UInt64, UInt64) {
        var hash = SHA256()
        hash.update(text.utf8)
        return hash.words()
    }

    /// The prefix that all entries of a URL have in common.
    var group: UInt64 { words.0 }

    /// The number of the folder that contains the entry.
    var shard: UInt8 { UInt8(words.0 >> 56) }

    /// The key as 64 lowercase hexadecimal digits.
    public var description: String {
        String(unsafeUninitializedCapacity: 64) { buffer in
            write(into: UnsafeMutableRawBufferPointer(buffer))
            return 64
        }
    }

    /// Writes ``description`` to the first 64 bytes of a buffer.
    func write(into buffer: UnsafeMutableRawBufferPointer) {
        Self.write(words.0, into: buffer, at: 0)
        Self.write(words.1, into: buffer, at: 16)
        Self.write(words.2, into: buffer, at: 32)
        Self.write(words.3, into: buffer, at: 48)
    }

    private static func write(_ word: UInt64, into buffer: UnsafeMutableRawBufferPointer, at place: Int) {
        for digit in 0..<16 {
            let value = UInt8(truncatingIfNeeded: word >> (60 - 4 * UInt64(digit))) & 15
            buffer[place + digit] = value < 10 ? 0x30 + value : 0x61 - 10 + value
        }
    }

    /// Returns whether two keys are equal.
    public static func == (one: CacheKey, other: CacheKey) -> Bool { one.words == other.words }

    /// Hashes half of the digest, which is as random as all of it.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

/// A time for each of the last thousands of keys, in a table of fixed size.
///
/// A key that the table has no room for has no time.
struct RecentTimes {
    private static let size = 8192
    private var slots: [(tag: UInt64, time: Int64)] = []

    mutating func note(_ key: CacheKey, at time: Int64) {
        if slots.isEmpty { slots = Array(repeating: (0, 0), count: Self.size) }
        let hash = Self.hash(of: key)
        slots[Self.place(of: hash)] = (hash, time)
    }

    /// Notes a time, unless a later one is known.
    mutating func raise(_ key: CacheKey, to time: Int64) { note(key, at: max(time, self.time(of: key) ?? 0)) }

    /// Returns the last time of a key, or `nil` if it is not known.
    func time(of key: CacheKey) -> Int64? {
        guard !slots.isEmpty, case let hash = Self.hash(of: key) else { return nil }
        let slot = slots[Self.place(of: hash)]
        return slot.tag == hash && slot.time > 0 ? slot.time : nil
    }

    /// Digests are random, so their words are hashes; the keys of a response and of its index differ in the last one only.
    private static func hash(of key: CacheKey) -> UInt64 { key.words.1 &+ key.words.3 }
    private static func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (size - 1) }
}

/// The number of changes of a URL's entries, counted together with those of some others, so that what was read before them is
/// not taken for current.
struct CacheChanges {
    private var counts = Array(repeating: 0, count: 512)

    subscript(key: CacheKey) -> Int { counts[place(of: key)] }
    mutating func note(_ key: CacheKey) { counts[place(of: key)] &+= 1 }
    mutating func noteAll() { for place in counts.indices { counts[place] &+= 1 } }

    private func place(of key: CacheKey) -> Int { Int(truncatingIfNeeded: key.group) & (counts.count - 1) }
}
