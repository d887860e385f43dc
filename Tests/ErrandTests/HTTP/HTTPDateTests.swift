import Foundation
import Testing

@testable import Errand

@Suite(.ownThread) struct HTTPDateTests {
    /// 2026-03-01 12:00:00.
    private static let now = Date(timeIntervalSince1970: 1_772_366_400)

    private func seconds(_ text: String, now: Date = Self.now) -> Int? {
        HTTPDate.date(from: text, now: now).map { Int($0.timeIntervalSince1970) }
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun Nov 06 08:49:37 1994", "  Sun, 06 Nov 1994 08:49:37 GMT\t", "sun, 06 nov 1994 08:49:37 gmt",
        "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun,  6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 utc", "Sunday, 6-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 UTC", "Sun Nov 6 08:49:37 1994",
    ])
    func allThreeFormsAreRead(_ text: String) {
        #expect(seconds(text) == 784_111_777)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ])
    func farDatesAreExact(_ text: String, _ expected: Int) {
        #expect(seconds(text) == expected)
    }

    @Test(arguments: [
        "", " ", "now", "Sun", "Sun,", "Sun, 6 Nov 1994 08:49:37", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UT", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 23:60:00 GMT", "Sun, 06 Nov 1994 23:00:61 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Mon, 29 Feb 1900 08:49:37 GMT",
        "Sun, 06 Nom 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994 UTC", "Sun Nov  6 08:49:37 1994 GMT",
        "Sun, 0 Nov 1994 08:49:37 GMT", "Sun, 006 Nov 1994 08:49:37 GMT", "Sun,   6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 19940 08:49:37 GMT", "1994-11-06T08:49:37Z", "Sun, \u{0660}6 Nov 1994 08:49:37 GMT",
        "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT,", "Sun, 06 Nov 1994 8:49:37 GMT",
    ])
    func invalidDateIsNil(_ text: String) {
        #expect(seconds(text) == nil)
    }

    @Test(arguments: [("26", 2026), ("76", 1976), ("75", 2075), ("77", 1977), ("99", 1999), ("00", 2000)])
    func aYearOfTwoDigitsIsTheLatestNotMoreThan50YearsAhead(_ digits: String, _ year: Int) {
        let date = HTTPDate.date(from: "Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: Self.now)
        #expect(date.flatMap(HTTPDate.text)?.contains(" \(year) ") == true)
    }

    @Test
    func aYearOfTwoDigitsMayLieInTheNextCentury() {
        let now = HTTPDate.date(from: "Fri, 01 May 2099 00:00:00 GMT", now: Self.now) ?? Self.now
        let date = HTTPDate.date(from: "Saturday, 01-Jan-01 00:00:00 GMT", now: now)
        #expect(date.flatMap(HTTPDate.text) == "Sat, 01 Jan 2101 00:00:00 GMT")
    }

    @Test(arguments: [-.infinity, .infinity, .nan, 1e300, -1e300])
    func anyCurrentDateWorksForAYearOfTwoDigits(_ now: Double) {
        _ = HTTPDate.date(from: "Sunday, 06-Nov-94 08:49:37 GMT", now: Date(timeIntervalSince1970: now))
        #expect(HTTPDate.text(for: Date(timeIntervalSince1970: now)) == nil)
    }

    @Test
    func everyDateIsReadAsItWasWritten() throws {
        var generator = SeededGenerator()
        for _ in 0..<5000 {
            let second = Double(Int64.random(in: -62_167_219_200..<253_402_300_800, using: &generator))
            let date = Date(timeIntervalSince1970: second)
            let text = try #require(HTTPDate.text(for: date))
            #expect(text.utf8.count == 29)
            #expect(HTTPDate.date(from: text, now: Self.now) == date, "\(text)")
        }
    }

    @Test
    func damagedDatesDoNotTrap() {
        var generator = SeededGenerator()
        let forms = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
        for round in 0..<20_000 {
            var bytes = Array(forms[round % 3].utf8)
            for _ in 0...Int.random(in: 0..<3, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = HTTPDate.date(from: String(decoding: bytes, as: UTF8.self), now: Self.now)
        }
    }

    /// RFC 6265, section 5.1.1.
    @Test(arguments: [
        ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("Wednesday, 09-Jun-21 10:18:14 GMT", 1_623_233_894),
        ("Wed Jun  9 10:18:14 2021", 1_623_233_894), ("10:18:14 9 june 2021", 1_623_233_894),
        ("2021 9 JUNIPER 10:18:14+0200", 1_623_233_894), ("1 Jan 70 0:0:0", 0), ("1 Jan 69 0:0:0", 3_124_224_000),
        ("1x Jan 1970y 00:00:00z", 0), ("31 Dec 1600 00:00:00", nil), ("31 Feb 2021 00:00:00", nil),
        ("32 Jan 2021 00:00:00", nil), ("1 Jan 2021 24:00:00", nil), ("1 Jan 2021 00:60:00", nil),
        ("1 Jan 2021 00:00:60", nil), ("1 Jan 2021", nil), ("Jan 2021 00:00:00", nil), ("1 2021 00:00:00", nil),
        ("1 Jan 00:00:00", nil), ("", nil), (":::", nil), ("1 Jan 20210 00:00:00", nil), ("é 1 Jan 1970 0:0:0", 0),
    ])
    func datesOfCookiesAreReadInAnyForm(text: String, seconds: Int?) {
        #expect(HTTPDate.cookieDate(from: text)?.timeIntervalSince1970 == seconds.map(Double.init))
    }
}
