/// A gzip stream of zero bytes, created while it is sent: a few bytes in front, a run of equal bytes, a few at the end.
///
/// One deflate block (RFC 1951, section 3.2.7) with codes by which a copy of 258 bytes takes two bits, both zero. Each
/// zero byte of the stream decodes to 1,032 zero bytes, the maximum of deflate.
struct ZeroBomb: Sendable {
    /// The number of decoded bytes for one byte of the run.
    static let decodedByteCountPerByte = 1_032

    private(set) var front: [UInt8]
    /// The number of zero bytes between ``front`` and ``back``.
    let runByteCount: Int
    private(set) var back: [UInt8]

    /// The length of the stream.
    var byteCount: Int { front.count + runByteCount + back.count }

    /// Creates the stream.
    ///
    /// - Parameter decodedByteCount: The number of decoded zero bytes, at least 1.
    init(decodedByteCount: Int) {
        let count = max(1, decodedByteCount)
        var bits = BitWriter(bytes: Gzip.header)
        ZeroBomb.writeBlockHeader(to: &bits)
        bits.writeCode(0b10, 2)
        let rest = count - 1
        let zeroBitCount = rest / 258 * 2
        // The free bits of the last byte are zero already: they begin the copies.
        let laterBitCount = zeroBitCount - bits.freeBitCount
        var tail = bits
        if laterBitCount > 0 {
            front = bits.bytes
            runByteCount = laterBitCount / 8
            tail = BitWriter(bytes: [])
            tail.write(0, laterBitCount % 8)
        } else {
            front = []
            runByteCount = 0
            tail.write(0, zeroBitCount)
        }
        for _ in 0..<rest % 258 { tail.writeCode(0b10, 2) }
        tail.writeCode(0b11, 2)
        back = tail.bytes
        back.append(littleEndian: CRC32.checksum(zeroByteCount: count))
        back.append(littleEndian: UInt32(truncatingIfNeeded: count))
    }

    /// Writes the header of a last block with these codes: 0 for the length 258, 10 for a zero byte, 11 for the end of
    /// the block, and 0 for the distance 1.
    private static func writeBlockHeader(to bits: inout BitWriter) {
        bits.write(1, 1)
        bits.write(2, 2)
        // 286 literal and length codes, one distance code, 18 code lengths.
        bits.write(286 - 257, 5)
        bits.write(0, 5)
        bits.write(18 - 4, 4)
        // The order is 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1: 18 gets one bit, 1 and 2 get two.
        for place in 0..<18 { bits.write(place == 2 ? 1 : place == 15 || place == 17 ? 2 : 0, 3) }
        let (one, two, zeros) = (0b10, 0b11, 0b0)
        bits.writeCode(two, 2)
        for run in [138, 117] {
            bits.writeCode(zeros, 1)
            bits.write(run - 11, 7)
        }
        bits.writeCode(two, 2)
        bits.writeCode(zeros, 1)
        bits.write(28 - 11, 7)
        bits.writeCode(one, 2)
        bits.writeCode(one, 2)
    }
}

/// Packs bits in the order of deflate: the lowest bit of a byte first.
private struct BitWriter {
    private(set) var bytes: [UInt8]
    private var usedBitCount = 8

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bits of the last byte that are not written yet.
    var freeBitCount: Int { 8 - usedBitCount }

    /// Writes a number, its lowest bit first.
    mutating func write(_ value: Int, _ bitCount: Int) {
        for bit in 0..<bitCount { writeBit(value >> bit & 1) }
    }

    /// Writes a Huffman code, its highest bit first.
    mutating func writeCode(_ code: Int, _ bitCount: Int) {
        for bit in (0..<bitCount).reversed() { writeBit(code >> bit & 1) }
    }

    private mutating func writeBit(_ bit: Int) {
        if usedBitCount == 8 {
            bytes.append(0)
            usedBitCount = 0
        }
        bytes[bytes.count - 1] |= UInt8(bit) << UInt8(usedBitCount)
        usedBitCount += 1
    }
}
