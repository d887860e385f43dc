import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct GzipTests {
    @Test func checksumMatchesTheStandard() {
        #expect(CRC32.checksum(Data("123456789".utf8)) == 0xCBF4_3926)
        #expect(CRC32.checksum(Data()) == 0)
    }

    @Test(arguments: [0, 1, 2, 7, 255, 256, 65_537])
    func checksumOfZerosMatchesTheBytesChecksum(count: Int) {
        #expect(CRC32.checksum(zeroByteCount: count) == CRC32.checksum(Data(count: count)))
    }

    @Test(arguments: [0, 1, 70_000])
    func storedBlocksHoldTheBytes(count: Int) {
        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let bytes = Array(Gzip.stored(data))
        #expect(Array(bytes.prefix(10)) == Gzip.header)
        let blockCount = max(1, (count + 65_534) / 65_535)
        #expect(bytes.count == 10 + blockCount * 5 + count + 8)
        #expect(bytes[10] == (blockCount == 1 ? 1 : 0))
        #expect(bytes.suffix(4).elementsEqual([UInt8](littleEndian: UInt32(count))))
    }

    @Test(arguments: [1, 2, 258, 259, 1_033, 4_000, 5_000, 100_000, 10_000_000])
    func gzipBombIsAThousandTimesSmallerThanItsOutput(count: Int) {
        let bomb = ZeroBomb(decodedByteCount: count)
        #expect(bomb.byteCount < 110 + count / 1_032)
        #expect(bomb.byteCount == bomb.front.count + bomb.runByteCount + bomb.back.count)
        #expect(
            bomb.back.suffix(8).elementsEqual(
                [UInt8](littleEndian: CRC32.checksum(Data(count: count))) + [UInt8](littleEndian: UInt32(count))
            )
        )
    }
}

extension [UInt8] {
    fileprivate init(littleEndian value: UInt32) {
        self = []
        append(littleEndian: value)
    }
}
