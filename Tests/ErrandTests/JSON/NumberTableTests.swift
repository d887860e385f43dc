import Errand
import Foundation
import Testing

/// Every cell of the table of numbers in ReadingJSON.md.
@Suite struct NumberTableTests {
    /// The result of decoding a number, by type; `nil` is an error.
    struct Cells: Sendable {
        var int: Int?
        var uint64: UInt64?
        var double: Double?
        var decimal: Decimal?

        init(int: Int? = nil, uint64: UInt64? = nil, double: Double? = nil, decimal: String? = nil) {
            self.int = int
            self.uint64 = uint64
            self.double = double
            self.decimal = decimal.flatMap { Decimal(string: $0) }
        }
    }

    /// A number as it is written, and what both decoders make of it.
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let ours: Cells
        let foundation: Cells

        init(_ text: String, _ ours: Cells, foundation: Cells? = nil) {
            self.text = text
            self.ours = ours
            self.foundation = foundation ?? ours
        }

        var testDescription: String { text }
    }

    private static let manyDigits = "1234567890123456789012345678901234567890"

    static let rows = [
        Row(
            "9007199254740993",
            Cells(
                int: 9_007_199_254_740_993,
                uint64: 9_007_199_254_740_993,
                double: 9_007_199_254_740_992,
                decimal: "9007199254740993"
            )
        ),
        Row(
            "9223372036854775807",
            Cells(int: .max, uint64: 0x7FFF_FFFF_FFFF_FFFF, double: 0x1p63, decimal: "9223372036854775807")
        ),
        Row(
            "9223372036854775808",
            Cells(uint64: 0x8000_0000_0000_0000, double: 0x1p63, decimal: "9223372036854775808")
        ),
        Row("18446744073709551616", Cells(double: 0x1p64, decimal: "18446744073709551616")),
        Row(
            manyDigits,
            Cells(double: Double(manyDigits)),
            foundation: Cells(double: Double(manyDigits), decimal: manyDigits)
        ),
        Row("1e400", Cells()),
        Row("1e-400", Cells(double: 0), foundation: Cells(int: 0, uint64: 0)),
        Row("-0", Cells(int: 0, uint64: 0, double: -0.0, decimal: "0")),
        Row("1.0", Cells(int: 1, uint64: 1, double: 1, decimal: "1")),
        Row("1e2", Cells(int: 100, uint64: 100, double: 100, decimal: "100")),
        Row("1.5", Cells(double: 1.5, decimal: "1.5")),
        Row(
            "4503599627370497.5",
            Cells(double: 4_503_599_627_370_498, decimal: "4503599627370497.5"),
            foundation: Cells(
                int: 4_503_599_627_370_498,
                uint64: 4_503_599_627_370_498,
                double: 4_503_599_627_370_498,
                decimal: "4503599627370497.5"
            )
        ),
        Row(
            "1.00000000000000000001",
            Cells(double: 1, decimal: "1.00000000000000000001"),
            foundation: Cells(int: 1, uint64: 1, double: 1, decimal: "1.00000000000000000001")
        ),
    ]

    private func decode<T: Decodable>(_ type: T.Type, _ row: Row, by decoder: any DataDecoder) -> T? {
        // An empty cell means that it fails.
        try? decoder.decode(type, from: Data(row.text.utf8))
    }

    @Test(arguments: rows)
    func numbersAreReadAsInTheTable(row: Row) {
        let readings: [(any DataDecoder, Cells)] = [(JSONDecoder(), row.foundation), (LosslessJSONDecoder(), row.ours)]
        for (decoder, expected) in readings {
            let name: Comment = "\(type(of: decoder))"
            #expect(decode(Int.self, row, by: decoder) == expected.int, name)
            #expect(decode(UInt64.self, row, by: decoder) == expected.uint64, name)
            #expect(decode(Double.self, row, by: decoder) == expected.double, name)
            #expect(decode(Double.self, row, by: decoder)?.sign == expected.double?.sign, name)
            #expect(decode(Decimal.self, row, by: decoder) == expected.decimal, name)
        }
    }

    @Test(arguments: rows)
    func aJSONNumberKeepsWhatIsWritten(row: Row) throws {
        let value = try JSONValue(parsing: row.text)
        #expect(value.number?.text == row.text)
        #expect(value.int == row.ours.int)
        #expect(value.double == row.ours.double)
        #expect(value.decimal == row.ours.decimal)
        #expect(String(decoding: value.data, as: UTF8.self) == row.text)
    }

    @Test func otherTypesAreNoNumbers() {
        for decoder in [JSONDecoder() as any DataDecoder, LosslessJSONDecoder()] {
            for text in ["true", #""1""#, "null"] {
                #expect(throws: (any Error).self) { try decoder.decode(Int.self, from: Data(text.utf8)) }
            }
            #expect(throws: (any Error).self) { try decoder.decode(Bool.self, from: Data("1".utf8)) }
        }
    }

    /// The table of the guide has a row for each of these numbers, and no other.
    @Test func theGuideListsTheSameNumbers() throws {
        let guide = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/Errand/Errand.docc/ReadingJSON.md")
        let lines = try String(contentsOf: guide, encoding: .utf8).split(separator: "\n")
        let listed = lines.drop { !$0.hasPrefix("| written |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
            .map { $0.split(separator: "|")[0].filter { $0 != "`" && $0 != " " } }
        #expect(listed == Self.rows.map(\.text))
    }
}
