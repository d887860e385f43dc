internal import Foundation

/// MD5 (RFC 1321), only for protocols that require it, such as Digest authentication; it is not collision-resistant.
enum MD5 {
    /// Returns the digest of some bytes as 32 lowercase hexadecimal digits.
    static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        var message = Array(bytes)
        let bitCount = UInt64(message.count) &* 8
        message.append(0x80)
        message.append(contentsOf: repeatElement(0, count: (120 - message.count % 64) % 64))
        withUnsafeBytes(of: bitCount.littleEndian) { message.append(contentsOf: $0) }
        var state: (UInt32, UInt32, UInt32, UInt32) = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476)
        message.withUnsafeBytes { message in
            for start in stride(from: 0, to: message.count, by: 64) {
                compress(&state, UnsafeRawBufferPointer(rebasing: message[start..<start + 64]))
            }
        }
        let digest: [UInt8] = [state.0, state.1, state.2, state.3].flatMap { word in
            withUnsafeBytes(of: word.littleEndian, Array.init)
        }
        return digest.hexadecimal
    }

    private static func compress(_ state: inout (UInt32, UInt32, UInt32, UInt32), _ block: UnsafeRawBufferPointer) {
        var (a, b, c, d) = state
        for index in 0..<64 {
            let (mixed, word): (UInt32, Int) =
                switch index / 16 {
                case 0: ((b & c) | (~b & d), index)
                case 1: ((d & b) | (~d & c), (5 * index + 1) % 16)
                case 2: (b ^ c ^ d, (3 * index + 5) % 16)
                default: (c ^ (b | ~d), 7 * index % 16)
                }
            let value = UInt32(littleEndian: block.loadUnaligned(fromByteOffset: word * 4, as: UInt32.self))
            let sum = a &+ mixed &+ constants[index] &+ value
            let shift = shifts[index / 16 * 4 + index % 4]
            (a, d, c, b) = (d, c, b, b &+ (sum << shift | sum >> (32 &- shift)))
        }
        state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d)
    }

    private static let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

    /// The integer parts of 2^32 times the absolute sines of 1 to 64 (RFC 1321, section 3.4).
    private static let constants = (1...64).map { UInt32(abs(sin(Double($0))) * 0x1p32) }
}
