import Foundation
import TestSupport
import Testing

@testable import Errand

@Suite(.ownThread) struct RetryAfterTests {
    /// Sunday, 2026-03-01 12:00:00.
    private static let now = Date(timeIntervalSince1970: 1_772_366_400)

    private static let fields = [
        "Retry-After", "RateLimit-Reset", "X-RateLimit-Retry-After", "X-RateLimit-Reset", "X-Rate-Limit-Reset",
    ]

    private func pause(_ headers: HTTPHeaders, status: Int = 429, now: Date = Self.now) -> Duration? {
        RetryAfter.pause(statusCode: status, headers: headers, now: now)
    }

    @Test
    func costGrowsWithTheFieldsAndTheirLengthOnly() {
        expectLinear(20_000) { count in
            _ = pause(["Retry-After": String(repeating: "9", count: count)])
            _ = pause(["Retry-After": String(repeating: " ", count: count) + "x"])
            var headers = HTTPHeaders()
            for number in 0..<count / 20 { headers.add("X-\(number)", "1") }
            _ = pause(headers)
        }
    }

    @Test(arguments: fields)
    func secondsAreADelay(_ field: String) {
        #expect(pause([field: "7"]) == .seconds(7))
        #expect(pause([field.lowercased(): " 0 "]) == .zero)
        #expect(pause([field: "2.25"]) == .milliseconds(2250))
    }

    @Test(arguments: [429, 503, 500, 404])
    func millisecondsPrecedeSeconds(status: Int) {
        #expect(pause(["retry-after-ms": "1500", "Retry-After": "2"], status: status) == .milliseconds(1500))
        #expect(pause(["Retry-After-Ms": " 0 "], status: status) == .zero)
        #expect(pause(["Retry-After-Ms": "0.5"], status: status) == .microseconds(500))
    }

    @Test(arguments: ["", "-1", "1e3", "soon", "Sun, 01 Mar 2026 12:00:40 GMT"])
    func malformedMillisecondsAreIgnored(_ text: String) {
        #expect(pause(["Retry-After-Ms": text]) == nil)
        #expect(pause(["Retry-After-Ms": text, "Retry-After": "2"]) == .seconds(2))
    }

    @Test func hugeMillisecondsDoNotOverflow() {
        let delay = pause(["Retry-After-Ms": String(repeating: "9", count: 500)])
        #expect(delay.map { $0 > .seconds(86_400 * 365) } == true)
    }

    @Test(arguments: fields)
    func allThreeFormsOfDatesAreADelayFromNow(_ field: String) {
        #expect(pause([field: "Sun, 01 Mar 2026 12:00:40 GMT"]) == .seconds(40))
        #expect(pause([field: "Sunday, 01-Mar-26 12:00:40 GMT"]) == .seconds(40))
        #expect(pause([field: "Sun Mar  1 12:00:40 2026"]) == .seconds(40))
    }

    @Test
    func dateIsComparedWithTheDateField() {
        let headers: HTTPHeaders = [
            "Date": "Sat, 28 Feb 2026 00:00:00 GMT", "Retry-After": "Sat, 28 Feb 2026 00:00:05 GMT",
        ]
        #expect(pause(headers) == .seconds(5))
        #expect(pause(headers.merging(["Date": "yesterday"])) == .zero)
    }

    @Test
    func pastDateIsNoDelay() {
        #expect(pause(["Retry-After": "Sun, 01 Mar 2026 11:59:00 GMT"]) == .zero)
    }

    @Test(arguments: fields.dropFirst())
    func aNumberFrom2024OnIsAPointInTimeInAResetField(_ field: String) {
        #expect(pause([field: "1772366412"]) == .seconds(12))
        #expect(pause([field: "1772366400.5"]) == .milliseconds(500))
        #expect(pause([field: "1704067200"]) == .zero)
        #expect(pause([field: "1704067199"]) == .seconds(1_704_067_199))
        #expect(pause([field: "1772366412", "Date": "Sun, 01 Mar 2026 12:00:02 GMT"]) == .seconds(10))
    }

    @Test(arguments: fields.dropFirst())
    func aNumberFrom5138OnIsInMillisecondsInAResetField(_ field: String) {
        #expect(pause([field: "1772366412250"]) == .milliseconds(12_250))
        #expect(pause([field: "1772366395000"]) == .zero)
        #expect(pause([field: "1772366412000", "Date": "Sun, 01 Mar 2026 12:00:02 GMT"]) == .seconds(10))
        #expect(pause([field: "99999999999"]) == .seconds(99_999_999_999 - 1_772_366_400))
        #expect(pause([field: "100000000000"]) == .zero)
        #expect(pause(["Retry-After": "1772366412250"]) == .seconds(1 << 40))
    }

    @Test(arguments: ["RateLimit", "X-RateLimit", "X-Rate-Limit"], [413, 429, 503])
    func aResetIsNoDelayWhileRequestsAreLeft(_ field: String, _ status: Int) {
        let reset: HTTPHeaders = ["\(field)-Reset": "1772369400"]
        #expect(pause(reset.merging(["\(field)-Remaining": "4999"]), status: status) == nil)
        #expect(pause(reset.merging(["\(field)-Remaining": "0"]), status: status) == .seconds(3000))
        #expect(pause(reset.merging(["\(field)-Remaining": "many"]), status: status) == .seconds(3000))
        let other: HTTPHeaders = ["RateLimit-Remaining": "0", "RateLimit-Reset": "30", "X-RateLimit-Remaining": "4200"]
        #expect(pause(other, status: status) == .seconds(30))
        let both = reset.merging(["\(field)-Remaining": "4999", "Retry-After": "7"])
        #expect(pause(both, status: status) == .seconds(7))
    }

    @Test
    func aNumberInRetryAfterIsNeverAPointInTime() {
        #expect(pause(["Retry-After": "1772366412"]) == .seconds(1_772_366_412))
    }

    @Test
    func theFirstWellFormedFieldCounts() {
        var headers = HTTPHeaders()
        for (index, field) in Self.fields.enumerated().reversed() {
            headers[field] = String(index + 1)
            #expect(pause(headers) == .seconds(index + 1))
        }
        headers["Retry-After"] = "soon"
        #expect(pause(headers) == .seconds(2))
    }

    @Test
    func repeatedFieldCountsIfItsLinesAreEqual() {
        var headers: HTTPHeaders = ["Retry-After": "1"]
        headers.add("retry-after", "2")
        #expect(pause(headers) == nil)
        headers["Retry-After"] = "7"
        headers.add("retry-after", "7")
        #expect(pause(headers) == .seconds(7))
        let date = "Sun, 01 Mar 2026 12:00:40 GMT"
        let joined: [(String, Int?)] = [
            ("7, 7", 7), ("7,7", 7), ("\(date), \(date)", 40), ("1, 2", nil), ("7 7", nil), (",", nil),
        ]
        for (text, seconds) in joined {
            #expect(pause(["Retry-After": text]) == seconds.map { Duration.seconds($0) }, "\(text)")
        }
    }

    /// As GitHub reports an exceeded limit.
    @Test(
        arguments: [
            (["Retry-After": "7"], 7), (["Retry-After-Ms": "7000"], 7),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1772366407"], 7),
            (["RateLimit-Remaining": "0", "RateLimit-Reset": "7"], 7),
            (["X-Rate-Limit-Remaining": "0", "X-Rate-Limit-Reset": "7"], 7),
            (["X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "7"], nil), (["X-RateLimit-Reset": "7"], nil),
            (["RateLimit-Remaining": "0", "X-RateLimit-Reset": "7"], nil), (["X-RateLimit-Remaining": "0"], nil),
            (["X-RateLimit-Retry-After": "7"], nil), (["X-RateLimit-Remaining": "0", "Retry-After": "7"], 7),
            ([:], nil),
        ] as [(HTTPHeaders, Int?)]
    )
    func a403IsALimitOnlyIfItStatesWhenItEnds(_ headers: HTTPHeaders, _ seconds: Int?) {
        #expect(pause(headers, status: 403) == seconds.map { Duration.seconds($0) })
        let response = RawResponse(statusCode: 403, headers: headers, url: URL(filePath: "/x"))
        #expect(RetryAfter.isLimit(response) == (seconds != nil))
        #expect(NetworkError(.status(403), response: response).facts.isTransient == (seconds != nil))
    }

    @Test func aSpreadIsATenthOfTheWaitAndAtMostFiveSeconds() {
        #expect(RetryAfter.spread(of: .seconds(2)) == .milliseconds(200))
        #expect(RetryAfter.spread(of: .seconds(3600)) == .seconds(5))
        #expect(RetryAfter.spread(of: .zero) == .zero)
    }

    @Test(arguments: [(413, true), (429, true), (503, true), (408, false), (500, false), (502, false), (504, false)])
    func resetFieldsCountOnlyForRateLimitStatuses(_ status: Int, _ counts: Bool) {
        #expect(pause(["X-RateLimit-Reset": "5"], status: status) == (counts ? .seconds(5) : nil))
        #expect(pause(["Retry-After": "5"], status: status) == .seconds(5))
    }

    /// A value, and the number that it is; `nil` is malformed.
    private static let hostile: [(String, Int64?)] = [
        ("0", 0), ("00000000000000000000", 0), ("0000000000000000000007", 7), ("60", 60), ("61", 61),
        ("2147483647", 2_147_483_647), ("2147483648", 2_147_483_648), ("4294967296", 4_294_967_296),
        ("99999999999", 99_999_999_999), ("100000000000", 100_000_000_000), ("1772366460999", 1_772_366_460_999),
        ("1099511627776999", 1_099_511_627_776_999), ("9007199254740993", 9_007_199_254_740_993),
        ("9223372036854775807", .max), ("9223372036854775808", .max), ("18446744073709551615", .max),
        ("18446744073709551616", .max), ("100000000000000000000", .max),
        ("170141183460469231731687303715884105728", .max), (String(repeating: "9", count: 400), .max),
        ("1.", nil), (".5", nil), ("1.5.5", nil), ("1.5 5", nil), ("1. 5", nil), ("-0", nil), ("-1", nil),
        ("-9223372036854775808", nil), ("-9223372036854775809", nil), ("+1", nil), ("1e3", nil), ("1e400", nil),
        ("0x10", nil), ("0b1", nil), ("1_000", nil), ("1,000", nil), ("1;2", nil), ("NaN", nil), ("inf", nil),
        ("infinity", nil), ("", nil), ("   ", nil), ("\u{0661}\u{0662}", nil), ("\u{FF11}", nil), ("1\u{0}", nil),
        ("12s", nil), ("null", nil), ("0.99999999999999999999999999", 0), ("1 2", nil), ("½", nil),
    ]

    /// Returns the seconds of a number.
    ///
    /// In a reset field, one from 2024 on is a point in time, and one that is plainly in milliseconds since 1970 is read as such.
    /// Everything else saturates.
    private static func seconds(of number: Int64, in field: String) -> Int64 {
        let most: Int64 = 1 << 40
        guard field != "Retry-After", number >= 1_704_067_200 else { return min(number, most) }
        return max(0, min(number < 100_000_000_000 ? number : number / 1000, most) - 1_772_366_400)
    }

    @Test(arguments: fields)
    func hostileNumbersSaturateOrAreMalformedAndNeverTrap(_ field: String) {
        #expect(Self.hostile.count >= 40)
        for (text, number) in Self.hostile {
            let seconds = number.map { Self.seconds(of: $0, in: field) }
            #expect(pause([field: text])?.components.seconds == seconds, "\(text)")
        }
    }

    @Test(arguments: [-.infinity, .infinity, .nan, 1e300, -1e300])
    func anyCurrentDateWorks(_ now: Double) {
        for text in ["9999999999999", "Sun, 01 Mar 2026 12:00:40 GMT", "Sunday, 01-Mar-26 12:00:40 GMT"] {
            let pause = pause(["RateLimit-Reset": text], now: Date(timeIntervalSince1970: now))
            #expect(pause ?? .zero >= .zero)
        }
    }

    @Test(arguments: ["9", " ", "1.", "0.9", "x", "Sun, ", "\u{0661}", "a,"])
    func aLongFieldIsReadInLinearTime(_ pattern: String) {
        let text = String(repeating: pattern, count: (1 << 18) / pattern.utf8.count)
        // A tenth of that even without optimization and on a busy machine; one more order would take minutes.
        let limit = Duration.milliseconds(1_250)
        let time = threadTime {
            for field in Self.fields { _ = pause([field: text]) }
            _ = pause(["Retry-After": "Sun, 01 Mar 2026 12:00:40 GMT", "Date": text])
        }
        #expect(time < limit)
    }
}
