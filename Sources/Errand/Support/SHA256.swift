/// SHA-256 (FIPS 180-4), for names that are equal in every process and do not collide.
///
/// Implemented here because the library has no dependencies and `Hasher` has a different seed in each process.
package struct SHA256 {
    private var state: State = (
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
    )
    private typealias State = (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)
    private var pending = [UInt8](repeating: 0, count: 64)
    private var pendingCount = 0
    private var byteCount: UInt64 = 0

    @inline(never)
    package init() {}

    /// Returns the digest of some bytes as 64 lowercase hexadecimal digits.
    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        var hash = SHA256()
        hash.update(bytes)
        return hash.hexadecimal()
    }

    @inline(never)
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        if bytes.withContiguousStorageIfAvailable({ update(UnsafeRawBufferPointer($0)) }) != nil { return }
        let copy = Array(bytes)
        copy.withUnsafeBytes { update($0) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        byteCount &+= UInt64(bytes.count)
        var rest = bytes[...]
        if pendingCount > 0 {
            let count = min(64 - pendingCount, rest.count)
            for place in 0..<count { pending[pendingCount + place] = rest[rest.startIndex + place] }
            pendingCount += count
            rest = rest.dropFirst(count)
            guard pendingCount == 64 else { return }
            pending.withUnsafeBytes { Self.compress(&state, $0) }
            pendingCount = 0
        }
        while rest.count >= 64 {
            Self.compress(&state, UnsafeRawBufferPointer(rebasing: rest.prefix(64)))
            rest = rest.dropFirst(64)
        }
        for byte in rest {
            pending[pendingCount] = byte
            pendingCount += 1
        }
    }

    /// Ends the message and returns its digest; the value must not be updated afterwards.
    package mutating func digest() -> [UInt8] {
        let words = finish()
        return [words.0, words.1, words.2, words.3, words.4, words.5, words.6, words.7].flatMap { word in
            (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) }
        }
    }

    /// Ends the message and returns its digest as four numbers, the first bytes most significant.
    package mutating func words() -> (UInt64, UInt64, UInt64, UInt64) {
        let words = finish()
        func joined(_ high: UInt32, _ low: UInt32) -> UInt64 { UInt64(high) << 32 | UInt64(low) }
        return (
            joined(words.0, words.1), joined(words.2, words.3), joined(words.4, words.5), joined(words.6, words.7)
        )
    }

    /// Ends the message and returns its digest as 64 lowercase hexadecimal digits.
    @inline(never)
    package mutating func hexadecimal() -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The number of bytes so far.
    var count: UInt64 { byteCount }

    /// The state after the bytes so far, from which another process can continue.
    var snapshot: [UInt8] {
        let words = [state.0, state.1, state.2, state.3, state.4, state.5, state.6, state.7]
        return words.flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
            + withUnsafeBytes(of: byteCount.bigEndian, Array.init) + pending.prefix(pendingCount)
    }

    /// Continues from a snapshot, or returns `nil` if that is not one.
    init?(snapshot: [UInt8]) {
        guard snapshot.count >= 40 else { return nil }
        let words = (0..<8).map { index in
            snapshot[index * 4..<index * 4 + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        state = (words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7])
        byteCount = snapshot[32..<40].reduce(0) { $0 << 8 | UInt64($1) }
        let rest = snapshot[40...]
        guard rest.count == Int(byteCount % 64) else { return nil }
        pending.replaceSubrange(0..<rest.count, with: rest)
        pendingCount = rest.count
    }

    private mutating func finish() -> State {
        let bitCount = byteCount &* 8
        update(CollectionOfOne(UInt8(0x80)))
        let zeros = pendingCount <= 56 ? 56 - pendingCount : 120 - pendingCount
        update([UInt8](repeating: 0, count: zeros))
        withUnsafeBytes(of: bitCount.bigEndian) { update($0) }
        return state
    }

    private static func compress(_ state: inout State, _ block: UnsafeRawBufferPointer) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { words in
            for index in 0..<16 {
                words[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
            }
            for index in 16..<64 {
                let (near, far) = (words[index - 15], words[index - 2])
                let small = near.rotated(7) ^ near.rotated(18) ^ (near >> 3)
                let large = far.rotated(17) ^ far.rotated(19) ^ (far >> 10)
                words[index] = words[index - 16] &+ small &+ words[index - 7] &+ large
            }
            var (a, b, c, d, e, f, g, h) = state
            constants.withUnsafeBufferPointer { constants in
                for index in 0..<64 {
                    let choice = (e & f) ^ (~e & g)
                    let mixed = e.rotated(6) ^ e.rotated(11) ^ e.rotated(25)
                    let first = h &+ mixed &+ choice &+ constants[index] &+ words[index]
                    let second = (a.rotated(2) ^ a.rotated(13) ^ a.rotated(22)) &+ ((a & b) ^ (a & c) ^ (b & c))
                    (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
                }
            }
            state = (
                state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e, state.5 &+ f, state.6 &+ g,
                state.7 &+ h
            )
        }
    }

    /// The fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2).
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}

/// A SHA-256 of texts, each preceded by its length, so that different lists of texts never hash the same bytes.
struct FieldDigest {
    /// The encoding of a length.
    enum LengthFormat {
        /// Eight bytes, little-endian.
        case binary
        /// Decimal digits and a colon.
        case decimal
    }

    private var hash = SHA256()
    private let lengths: LengthFormat

    init(lengths: LengthFormat = .binary) { self.lengths = lengths }

    mutating func add(_ text: String) {
        let count = text.utf8.count
        switch lengths {
        case .binary: withUnsafeBytes(of: UInt64(count).littleEndian) { hash.update($0) }
        case .decimal: hash.update("\(count):".utf8)
        }
        hash.update(text.utf8)
    }

    /// Adds bytes without their length; nothing may follow them.
    mutating func addLast(_ bytes: some Sequence<UInt8>) { hash.update(bytes) }

    /// Returns the digest as four numbers, the first bytes most significant; may be called once.
    mutating func words() -> (UInt64, UInt64, UInt64, UInt64) { hash.words() }

    /// Returns the digest as 64 lowercase hexadecimal digits; may be called once.
    mutating func hexadecimal() -> String { hash.hexadecimal() }
}

extension UInt32 {
    fileprivate func rotated(_ count: UInt32) -> UInt32 { self >> count | self << (32 &- count) }
}
