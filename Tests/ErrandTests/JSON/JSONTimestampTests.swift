import Foundation
import Testing

@testable import Errand

@Suite struct JSONTimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0.0), ("2024-02-29T23:59:59Z", 1_709_251_199),
        ("2024-05-01T14:00:00+02:00", 1_714_564_800), ("2024-05-01T14:00:00+0200", 1_714_564_800),
        ("2024-05-01T12:00:00+0000", 1_714_564_800), ("2024-05-01 14:00:00+02", 1_714_564_800),
        ("2024-05-01T12:00:00.5-0000", 1_714_564_800.5),
        ("2024-05-01T07:30:00-04:30", 1_714_564_800), ("2024-05-01t12:00:00.5z", 1_714_564_800.5),
        ("2024-05-01 12:00:00.125Z", 1_714_564_800.125), ("1969-12-31T23:59:59Z", -1),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799), ("2016-12-31T23:59:60Z", 1_483_228_800),
        ("2000-02-29T00:00:00Z", 951_782_400),
    ])
    func dateTimesAreRead(text: String, seconds: Double) {
        #expect(JSONTimestamp.date(from: text) == Date(timeIntervalSince1970: seconds))
    }

    @Test(arguments: [
        "", "2024", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:61Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+24:00",
        "2024-01-01T00:00:00Zx", "2024-1-1T00:00:00Z", "-024-01-01T00:00:00Z", "2024-01-01T00:00:00+02:",
        "2024-01-01T00:00:00+02000", "2024-01-01T00:00:00+02::00", "2024-01-01T00:00:00+2400", "2024-01-01T00:00:00+",
        "２０２４-01-01T00:00:00Z",
    ])
    func invalidDateTimeIsNil(text: String) {
        #expect(JSONTimestamp.date(from: text) == nil)
    }

    @Test func textsMatchFoundations() throws {
        var random = SeededGenerator()
        for _ in 0..<2_000 {
            let date = Date(
                timeIntervalSince1970: Double(Int.random(in: -62_135_596_800...253_402_300_799, using: &random))
            )
            let text = try #require(JSONTimestamp.text(for: date, milliseconds: false))
            if date.timeIntervalSince1970 > -12_000_000_000 { #expect(text == date.ISO8601Format()) }
            #expect(JSONTimestamp.date(from: text) == date)
        }
    }

    @Test func fractionsAreCutOffOrKept() {
        let date = Date(timeIntervalSince1970: -0.25)
        #expect(JSONTimestamp.text(for: date, milliseconds: false) == "1969-12-31T23:59:59Z")
        #expect(JSONTimestamp.text(for: date, milliseconds: true) == "1969-12-31T23:59:59.750Z")
        #expect(
            JSONTimestamp.text(for: Date(timeIntervalSince1970: 0.9996), milliseconds: true)
                == "1970-01-01T00:00:01.000Z"
        )
    }

    @Test(arguments: [253_402_300_800.0, 253_402_300_799.9999, -62_167_219_201, .infinity, .nan, 1e308])
    func datesOutsideRFC3339HaveNoText(seconds: Double) {
        #expect(JSONTimestamp.text(for: Date(timeIntervalSince1970: seconds), milliseconds: true) == nil)
    }
}
