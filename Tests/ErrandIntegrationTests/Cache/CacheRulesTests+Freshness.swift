import ErrandTesting
import Foundation

@testable import Errand

/// Freshness, and the fields of requests and responses (RFC 9111, sections 4.2 and 5; RFC 5861; RFC 8246).
extension CacheRulesTests {
    static let freshness: [Row] = [
        Row(
            "4.2.1 max-age precedes Expires",
            asks("a", cc("max-age=60", ["Expires": date(-9), "Date": date(0)])),
            uses("a cache", after: 59),
            asks("b", minute, after: 2, sending: ["If-None-Match": ""])
        ),
        Row(
            "4.2.1 Expires counts from Date",
            asks("a", ["Expires": date(60), "Date": date(0)]),
            uses("a cache", after: 59),
            asks("b", minute, after: 2)
        ),
        Row("4.2.1 an invalid Expires is past", asks("a", ["Expires": "0"]), asks("b", minute)),
        Row("4.2.1 an invalid max-age is stale", asks("a", cc("max-age=x", ["Expires": date(60)])), asks("b", minute)),
        Row("4.2.1 s-maxage is for shared caches", asks("a", cc("s-maxage=0, max-age=60")), uses("a cache")),
        Row(
            "4.2.2 a tenth of the time since Last-Modified",
            asks("a", ["Last-Modified": date(-1000), "Date": date(0)]),
            uses("a cache", after: 99),
            asks("", [:], status: 304, after: 2, expecting: "a revalidated")
        ),
        Row(
            "4.2.2 but at most a day by default",
            asks("a", ["Last-Modified": date(-86_400 * 1000), "Date": date(0)]),
            uses("a cache", after: 86_399),
            asks("b", minute, after: 2)
        ),
        Row(
            "4.2.2 or another limit",
            heuristicLimit: .seconds(10),
            asks("a", ["Last-Modified": date(-86_400), "Date": date(0)]),
            uses("a cache", after: 9),
            asks("b", minute, after: 2)
        ),
        Row("4.2.2 no limit for what is stated", asks("a", cc("max-age=864000")), uses("a cache", after: 863_999)),
        Row("4.2.2 no lifetime without Last-Modified", asks("a", [:]), asks("b", minute)),
        Row(
            "4.2.2 no lifetime for a status that isn't heuristically cacheable",
            asks("a", ["Last-Modified": date(-1e6)], status: 201),
            asks("b", minute)
        ),
        Row(
            "4.2.3 the age on arrival counts",
            asks("a", cc("max-age=60", ["Age": "50"])),
            uses("a cache", after: 9),
            asks("b", minute, after: 2)
        ),
        Row(
            "4.2.3 the age by Date counts",
            asks("a", cc("max-age=60", ["Date": date(-50)])),
            uses("a cache", after: 9),
            asks("b", minute, after: 2)
        ),
        Row("4.2.4 a stale response is used offline", asks("a", minute), uses("a stale", after: 61)),
        Row(
            "4.2.4 but not with must-revalidate",
            asks("a", cc("max-age=60, must-revalidate", ["ETag": "\"1\""])),
            uses("unreachable", after: 61)
        ),
        Row(
            "4.2.4 nor with a failure of the server",
            asks("a", cc("max-age=60, must-revalidate", ["ETag": "\"1\""])),
            asks("down", [:], status: 503, after: 61, expecting: "unacceptableStatus")
        ),
        Row("4.2.4 nor with no-cache", asks("a", cc("no-cache", ["ETag": "\"1\""])), uses("unreachable", after: 61)),
    ]

    static let fields: [Row] = [
        Row(
            "5.1 several Age lines: the first",
            asks("a", cc("max-age=60", ["Age": "50, 1"])),
            asks("b", minute, after: 11)
        ),
        Row(
            "5.2.1.1 max-age of the request",
            asks("a", minute),
            asks("b", minute, by: cc("max-age=20"), after: 21),
            uses("b cache", by: cc("max-age=20"), after: 20)
        ),
        Row(
            "5.2.1.2 max-stale",
            asks("a", minute),
            uses("a cache", by: cc("max-stale=10"), after: 69),
            asks("b", minute, by: cc("max-stale=10"), after: 2)
        ),
        Row(
            "5.2.1.3 min-fresh",
            asks("a", minute),
            uses("a cache", by: cc("min-fresh=10"), after: 49),
            asks("b", minute, by: cc("min-fresh=10"), after: 2)
        ),
        Row("5.2.1.4 no-cache without a validator", asks("a", minute), asks("b", minute, by: cc("no-cache"))),
        Row(
            "5.2.1.4 no-cache of the request",
            asks("a", tagged),
            asks(
                "",
                [:],
                status: 304,
                by: cc("no-cache"),
                expecting: "a revalidated",
                sending: ["If-None-Match": "\"1\""]
            )
        ),
        Row(
            "5.2.1.7 only-if-cached",
            uses("cacheMiss", by: cc("only-if-cached")),
            asks("a", minute),
            uses("a cache", by: cc("only-if-cached")),
            uses("cacheMiss", by: cc("only-if-cached"), after: 61)
        ),
        Row(
            "5.2.2.2 must-revalidate",
            asks("a", cc("max-age=60, must-revalidate")),
            uses("a cache"),
            asks("b", minute, by: cc("max-stale"), after: 61)
        ),
        Row("5.2.2.3 must-understand", asks("a", cc("no-store, must-understand, max-age=60")), uses("a cache")),
        Row("5.2.2.4 no-cache", asks("a", cc("no-cache, max-age=60")), asks("b", minute)),
        Row(
            "5.2.2.4 no-cache is validated each time",
            asks("a", cc("no-cache", ["ETag": "\"1\""])),
            asks("", ["ETag": "\"1\""], status: 304, expecting: "a revalidated", sending: ["If-None-Match": "\"1\""])
        ),
        Row("5.2.2.4 no-cache of a field", asks("a", cc("no-cache=\"X\", max-age=60", ["X": "1"])), uses("a cache")),
        Row(
            "5.2.2.9 public makes a status heuristically cacheable",
            asks("a", cc("public", ["Last-Modified": date(-1000), "Date": date(0)]), status: 201),
            uses("201 a cache", after: 99)
        ),
        Row(
            "5861 3 stale-while-revalidate",
            asks("a", cc("max-age=60, stale-while-revalidate=10", ["ETag": "\"1\""])),
            Step(wait: 65, response: .status(304), expected: "a cache")
        ),
        Row(
            "5861 4 stale-if-error precedes an error that the request accepts",
            accepting: 200..<600,
            asks("a", cc("max-age=60, stale-if-error=30")),
            asks("down", [:], status: 503, after: 80, expecting: "a stale"),
            asks("down", [:], status: 503, after: 20)
        ),
        Row(
            "5861 4 and one that it does not",
            asks("a", cc("max-age=60, stale-if-error=30")),
            asks("down", [:], status: 500, after: 80, expecting: "a stale"),
            asks("down", [:], status: 500, after: 20, expecting: "unacceptableStatus")
        ),
        Row(
            "5861 4 also by the request's directive",
            accepting: 200..<600,
            asks("a", minute),
            asks("down", [:], status: 500, by: cc("stale-if-error=30"), after: 80, expecting: "a stale")
        ),
        Row(
            "5861 4 without it the accepted error is the response",
            accepting: 200..<600,
            asks("a", minute),
            asks("down", [:], status: 503, after: 61)
        ),
        Row(
            "5861 4 other errors are the response",
            accepting: 200..<600,
            asks("a", cc("max-age=60, stale-if-error=30")),
            asks("gone", [:], status: 404, after: 61)
        ),
        Row(
            "5861 4 must-revalidate precedes stale-if-error",
            accepting: 200..<600,
            asks("a", cc("max-age=60, stale-if-error=30, must-revalidate")),
            asks("down", [:], status: 503, after: 61)
        ),
        Row("5.4 Pragma without Cache-Control", asks("a", minute), asks("b", minute, by: ["Pragma": "no-cache"])),
        Row(
            "8246 immutable",
            asks("a", cc("max-age=60, immutable", ["ETag": "\"1\""])),
            uses("a cache", by: cc("max-age=0"), after: 9),
            asks("", [:], status: 304, by: cc("no-cache"), expecting: "a revalidated")
        ),
    ]
}
