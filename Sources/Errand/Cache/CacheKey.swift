/// The name of a stored response: digests of what makes two requests the same, and of nothing else.
///
/// The same in every process. Nothing of a request can be read back from it, so it may stand in file names and logs.
public struct CacheKey: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes are a digest of the URL alone, the others one of the whole identity: all entries of a URL
    /// begin alike, so that they can be found when an unsafe request makes them void.
    let words: (UInt64, UInt64, UInt64, UInt64)

    init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

    init(url: String, identity: (UInt64, UInt64, UInt64, UInt64)) {
        words = (Self.group(of: url), identity.0, identity.1, identity.2)
    }

    /// Makes a key of a text of your own, for stores that are used without an ``Agent``.
    ///
    /// - Parameter text: What tells one entry from all others.
    public init(_ text: String) { self.init(url: text, identity: Self.words(of: text)) }

    /// Reads ``description``; `nil` when the text is none.
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

    /// What all entries of a URL have in common.
    var group: UInt64 { words.0 }

    /// The number of the folder that an entry lies in.
    var shard: UInt8 { UInt8(words.0 >> 56) }

    /// 64 lower-case hexadecimal digits.
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

    /// Whether the digests are the same.
    public static func == (one: CacheKey, other: CacheKey) -> Bool { one.words == other.words }

    /// Hashes half of the digest, which is as random as the whole.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}
