import Foundation
import Testing

@testable import Errand

@Suite struct SpillFileTests {
    @Test func dataIsReadInTheOrderWritten() throws {
        let file = try SpillFile()
        #expect(try file.read() == nil)
        try file.append(Data("ab".utf8))
        try file.append(Data())
        try file.append(Data("c".utf8))
        #expect(try file.read() == Data("abc".utf8))
        #expect(try file.read() == nil)
        try file.append(Data("d".utf8))
        #expect(try file.read() == Data("d".utf8))
    }

    @Test(arguments: [65_535, 65_536, 65_537, 300_000])
    func allDataArrivesPieceByPiece(count: Int) throws {
        let file = try SpillFile()
        let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try file.append(bytes)
        var read = Data()
        while let piece = try file.read() {
            #expect(piece.count <= 64 << 10)
            read.append(piece)
        }
        #expect(read == bytes)
    }

    @Test func slicesAreWrittenCompletely() throws {
        let file = try SpillFile()
        try file.append(Data("xabcx".utf8).dropFirst().dropLast())
        #expect(try file.read() == Data("abc".utf8))
    }

    @Test func twoFilesDoNotMix() throws {
        let (one, other) = (try SpillFile(), try SpillFile())
        try one.append(Data("1".utf8))
        try other.append(Data("2".utf8))
        #expect(try one.read() == Data("1".utf8))
        #expect(try other.read() == Data("2".utf8))
    }
}
