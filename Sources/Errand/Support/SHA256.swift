internal import Foundation

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
            withUnsafeBytes(of: word.bigEndian, Array.init)
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
    package mutating func hexadecimal() -> String { digest().hexadecimal }

    /// The number of bytes so far.
    var count: UInt64 { byteCount }

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
    private static let constants = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }
        .map { UInt32(truncatingIfNeeded: UInt64(cbrt(Double($0)) * 0x1p32)) }
}

extension [UInt8] {
    /// The bytes as lowercase hexadecimal digits.
    @inline(never)
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// A SHA-256 of texts, each preceded by its length, so that different lists of texts never hash the same bytes.
struct FieldDigest {
    private var hash = SHA256()

    mutating func add(_ text: String) {
        add(text.utf8.count)
        hash.update(text.utf8)
    }

    /// Adds a number, such as the count of the texts that follow.
    mutating func add(_ number: Int) { withUnsafeBytes(of: Int64(number).littleEndian) { hash.update($0) } }

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
