import Foundation
import Testing

@testable import Errand

@Suite struct CookieDateTests {
    @Test(arguments: [
        ("Wed, 09 Jun 2021 10:18:14 GMT", 1_623_233_894), ("Wednesday, 09-Jun-21 10:18:14 GMT", 1_623_233_894),
        ("Wed Jun  9 10:18:14 2021", 1_623_233_894), ("10:18:14 9 june 2021", 1_623_233_894),
        ("2021 9 JUNIPER 10:18:14+0200", 1_623_233_894), ("1 Jan 70 0:0:0", 0), ("1 Jan 69 0:0:0", 3_124_224_000),
        ("1x Jan 1970y 00:00:00z", 0), ("31 Dec 1600 00:00:00", nil), ("31 Feb 2021 00:00:00", nil),
        ("32 Jan 2021 00:00:00", nil), ("1 Jan 2021 24:00:00", nil), ("1 Jan 2021 00:60:00", nil),
        ("1 Jan 2021 00:00:60", nil), ("1 Jan 2021", nil), ("Jan 2021 00:00:00", nil), ("1 2021 00:00:00", nil),
        ("1 Jan 00:00:00", nil), ("", nil), (":::", nil), ("1 Jan 20210 00:00:00", nil), ("é 1 Jan 1970 0:0:0", 0),
    ])
    func datesAreParsed(text: String, seconds: Int?) {
        #expect(CookieDate.date(from: text)?.timeIntervalSince1970 == seconds.map(Double.init))
    }
}
