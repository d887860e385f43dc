/// The XXH64 checksum, which detects damaged data; for names and secrets use ``SHA256``.
///
/// Its four lanes run at memory speed, so checking a file costs less than reading it.
/// Source: the XXH64 specification, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
package enum Checksum {
    /// Returns the checksum of some bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes, possibly none.
    ///   - seed: The checksum of the preceding bytes, so that several pieces have one checksum.
    /// - Returns: 64 bits.
    package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var place = 0
        var hash: UInt64
        if bytes.count >= 32 {
            var (a, b) = (seed &+ prime1 &+ prime2, seed &+ prime2)
            var (c, d) = (seed, seed &- prime1)
            while place &+ 32 <= bytes.count {
                a = round(a, word(bytes, place))
                b = round(b, word(bytes, place &+ 8))
                c = round(c, word(bytes, place &+ 16))
                d = round(d, word(bytes, place &+ 24))
                place &+= 32
            }
            hash = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            hash = (hash ^ round(0, a)) &* prime1 &+ prime4
            hash = (hash ^ round(0, b)) &* prime1 &+ prime4
            hash = (hash ^ round(0, c)) &* prime1 &+ prime4
            hash = (hash ^ round(0, d)) &* prime1 &+ prime4
        } else {
            hash = seed &+ prime5
        }
        hash = hash &+ UInt64(bytes.count)
        while place &+ 8 <= bytes.count {
            hash = rotated(hash ^ round(0, word(bytes, place)), 27) &* prime1 &+ prime4
            place &+= 8
        }
        if place &+ 4 <= bytes.count {
            let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
            hash = rotated(hash ^ (UInt64(half) &* prime1), 23) &* prime2 &+ prime3
            place &+= 4
        }
        while place < bytes.count {
            hash = rotated(hash ^ (UInt64(bytes[place]) &* prime5), 11) &* prime1
            place &+= 1
        }
        hash = (hash ^ hash >> 33) &* prime2
        hash = (hash ^ hash >> 29) &* prime3
        return hash ^ hash >> 32
    }

    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotated(lane &+ word &* prime2, 31) &* prime1
    }

    @inline(__always)
    private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 &- count) }
}
