import Foundation

/// Writes gzip data (RFC 1952) without a compressor: stored blocks, and runs of zero bytes.
enum Gzip {
    /// Magic number, deflate, no flags, no time, no extra flags, unknown system.
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    /// Returns the bytes in stored blocks, which takes about 25 bytes more.
    static func stored(_ data: Data) -> Data {
        var bytes = header
        var rest = data[...]
        repeat {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            bytes.append(rest.isEmpty ? 1 : 0)
            let length = UInt16(block.count)
            bytes.append(littleEndian: length)
            bytes.append(littleEndian: ~length)
            bytes.append(contentsOf: block)
        } while !rest.isEmpty
        bytes.append(littleEndian: CRC32.checksum(data))
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: data.count))
        return Data(bytes)
    }
}

/// The checksum of gzip (RFC 1952, section 8).
enum CRC32 {
    private static let polynomial: UInt32 = 0xEDB8_8320

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { sum, _ in (sum >> 1) ^ (sum & 1 == 0 ? 0 : polynomial) }
    }

    static func checksum(_ data: Data) -> UInt32 {
        ~data.reduce(~0) { sum, byte in (sum >> 8) ^ table[Int((sum ^ UInt32(byte)) & 0xFF)] }
    }

    /// Returns the checksum of `count` zero bytes, without iterating over them.
    ///
    /// A zero bit multiplies the register by x modulo the polynomial, so the result is the initial register times x to
    /// the power of 8 times `count`, and that power is calculated by squaring.
    static func checksum(zeroByteCount count: Int) -> UInt32 {
        var register = ~UInt32(0)
        var power = (0..<8).reduce(UInt32(1) << 31) { power, _ in product(power, 1 << 30) }
        var rest = count
        while rest > 0 {
            if rest & 1 == 1 { register = product(register, power) }
            power = product(power, power)
            rest >>= 1
        }
        return ~register
    }

    /// Returns the product of two polynomials modulo the checksum's polynomial; bit 31 is 1, bit 30 is x.
    private static func product(_ one: UInt32, _ other: UInt32) -> UInt32 {
        var result: UInt32 = 0
        var factor = other
        for bit in stride(from: 31, through: 0, by: -1) {
            if one >> UInt32(bit) & 1 == 1 { result ^= factor }
            factor = (factor >> 1) ^ (factor & 1 == 0 ? 0 : polynomial)
        }
        return result
    }
}

extension [UInt8] {
    mutating func append(littleEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}
