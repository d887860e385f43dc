import Foundation
import Testing

@testable import Errand

@Suite struct JSONNumberTests {
    @Test(arguments: [
        ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("1.0", 1), ("1e2", 100), ("100e-2", 1), ("1.5", nil), ("0.0", 0),
        ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", .max), ("9223372036854775808", nil),
        ("-9223372036854775808", .min), ("-9223372036854775809", nil), ("9.223372036854775807e18", .max),
        ("1e400", nil),
        ("0e99999999999999999999", 0), ("1e99999999999999999999", nil), ("1e-99999999999999999999", nil),
        ("1e-400", nil),
        ("1234567890123456789012345678901234567890", nil), ("1E+2", 100), ("12.50e1", 125),
    ])
    func integersAreExactOrNil(text: String, expected: Int?) throws {
        let number = try #require(JSONNumber(text))
        #expect(number.int == expected)
        #expect(number.int64 == expected.map(Int64.init))
    }

    @Test func widthsAndSignsAreRespected() throws {
        #expect(JSONNumber("18446744073709551615")?.uint64 == .max)
        #expect(JSONNumber("18446744073709551616")?.uint64 == nil)
        #expect(JSONNumber("-1")?.uint64 == nil)
        #expect(JSONNumber("-0")?.uint64 == 0)
        #expect(JSONNumber("255")?.integer(as: UInt8.self) == 255)
        #expect(JSONNumber("256")?.integer(as: UInt8.self) == nil)
        #expect(JSONNumber("1e38")?.integer(as: Int128.self) == Int128("100000000000000000000000000000000000000"))
    }

    @Test(arguments: [
        ("0.1", 0.1), ("1", 1), ("9007199254740993", 9_007_199_254_740_992), ("1e400", nil), ("-1e400", nil),
        ("1e-400", 0),
        ("1.7976931348623157e308", Double.greatestFiniteMagnitude), ("5e-324", Double.leastNonzeroMagnitude),
    ])
    func doubleIsTheNearest(text: String, expected: Double?) throws {
        #expect(try #require(JSONNumber(text)).double == expected)
    }

    @Test func minusZeroKeepsItsSignAsADouble() throws {
        let zero = try #require(JSONNumber("-0"))
        #expect(zero.double?.sign == .minus)
        #expect(zero.text == "-0")
    }

    @Test(arguments: [
        "0", "0.1", "-12.5", "99999999999999999999999999999999999999", "1e127", "1e130", "1e-128",
        "123456789.123456789",
        "1.10", "12e3", "-0",
    ])
    func decimalIsExact(text: String) throws {
        let decimal = try #require(JSONNumber(text)?.decimal)
        #expect(JSONNumber(decimal) == JSONNumber(text))
    }

    @Test(arguments: ["1e165", "1e-129", "999999999999999999999999999999999999991", "1e400", "1e99999999999999999999"])
    func decimalIsNilForWhatItCannotHold(text: String) throws {
        #expect(try #require(JSONNumber(text)).decimal == nil)
    }

    @Test(arguments: [
        ("1", "1.0", true), ("1", "10e-1", true), ("0", "-0", true), ("0.1", "1e-1", true), ("100", "1e2", true),
        ("9007199254740993", "9007199254740992", false), ("1", "-1", false), ("1e400", "10e399", true),
        ("1", "2", false),
        ("1e99999999999999999999", "1e99999999999999999999", true), ("1e99999999999999999999", "1", false),
    ])
    func equalityComparesTheExactValues(left: String, right: String, areEqual: Bool) throws {
        let left = try #require(JSONNumber(left))
        let right = try #require(JSONNumber(right))
        #expect((left == right) == areEqual)
        if areEqual { #expect(left.hashValue == right.hashValue) }
    }

    @Test(arguments: ["", " 1", "1 ", "01", "+1", ".5", "1.", "NaN", "true", "[1]", "\"1\"", "1,2", "0x1", "-"])
    func textThatIsNoNumberGivesNil(text: String) {
        #expect(JSONNumber(text) == nil)
    }

    @Test func swiftNumbersBecomeTheirShortestText() {
        #expect(JSONNumber(1.0)?.text == "1")
        #expect(JSONNumber(0.1)?.text == "0.1")
        #expect(JSONNumber(Float(0.1))?.text == "0.1")
        #expect(JSONNumber(1e300).flatMap { JSONNumber($0.text) } != nil)
        #expect(JSONNumber(-0.0)?.text == "-0")
        #expect(JSONNumber(Double.nan) == nil)
        #expect(JSONNumber(-Double.infinity) == nil)
        #expect(JSONNumber(Float.infinity) == nil)
        #expect(JSONNumber(Decimal.nan) == nil)
        #expect(
            JSONNumber(Decimal(string: "12345678901234567890.123456789") ?? 0)?.text == "12345678901234567890.123456789"
        )
        #expect(JSONNumber(UInt64.max).text == "18446744073709551615")
        #expect(JSONNumber(Int128.min).int == nil)
    }

    @Test func everyFiniteDoubleSurvives() throws {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            let number = try #require(JSONNumber(value))
            #expect(number.double == value)
            #expect(JSONNumber(number.text) == number)
        }
    }
}
