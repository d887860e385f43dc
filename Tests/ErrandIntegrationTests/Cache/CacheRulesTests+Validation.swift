import ErrandTesting
import Foundation

@testable import Errand

/// Validation, invalidation and ranges (RFC 9111, sections 4.3 and 4.4; RFC 9110, sections 13 to 15).
extension CacheRulesTests {
    static let validation: [Row] = [
        Row(
            "4.3.1 both validators are sent",
            asks("a", cc("max-age=60", ["ETag": "W/\"1\"", "Last-Modified": date(-9)])),
            asks(
                "",
                [:],
                status: 304,
                after: 61,
                expecting: "a revalidated",
                sending: ["If-None-Match": "W/\"1\"", "If-Modified-Since": date(-9), "If-Range": ""]
            ),
            uses("a cache", after: 59)
        ),
        Row(
            "4.3.1 a variant is validated by its own tag",
            asks("a", cc("no-cache", ["ETag": "\"1\"", "Vary": "F"]), by: ["F": "1"]),
            asks("b", cc("no-cache", ["ETag": "\"2\"", "Vary": "F"]), by: ["F": "2"], sending: ["If-None-Match": ""]),
            asks("", [:], status: 304, by: ["F": "1"], expecting: "a revalidated", sending: ["If-None-Match": "\"1\""])
        ),
        Row(
            "4.3.1 a missing part is requested under the validator",
            asksPart("01", "0-1", tag: "\"1\""),
            asks(
                "23",
                cc("max-age=60", ["Content-Range": "bytes 2-3/4", "ETag": "\"1\""]),
                status: 206,
                expecting: "0123 revalidated",
                sending: ["Range": "bytes=2-", "If-Range": "\"1\""]
            ),
            uses("0123 cache")
        ),
        Row(
            "4.3.2 conditions of the request bypass the cache",
            accepting: 200..<300,
            asks("a", tagged),
            asks(
                "",
                [:],
                status: 304,
                by: ["If-None-Match": "\"9\""],
                expecting: "unacceptableStatus",
                sending: ["If-None-Match": "\"9\""]
            )
        ),
        Row(
            "4.3.3 a new response replaces the stored one",
            asks("a", tagged),
            asks("b", minute, after: 61),
            uses("b cache")
        ),
        Row(
            "4.3.3 a server error lets a stale response be used",
            asks("a", tagged),
            asks("down", [:], status: 503, after: 61, expecting: "a stale")
        ),
        Row(
            "4.3.4 a 304 updates the fields",
            asks("a", tagged),
            asks("", cc("max-age=600", ["ETag": "\"1\""]), status: 304, after: 61, expecting: "a revalidated"),
            uses("a cache", after: 599)
        ),
        Row(
            "4.3.4 a 304 for a range updates the complete response",
            asks("0123", tagged),
            asks(
                "",
                cc("max-age=600"),
                status: 304,
                by: ["Range": "bytes=1-2"],
                after: 61,
                expecting: "206 12 revalidated"
            ),
            uses("0123 cache", after: 599)
        ),
        Row(
            "4.3.5 a HEAD freshens the GET",
            asks("a", tagged),
            asks("a", cc("max-age=600", ["ETag": "\"1\""]), method: .head, after: 61, expecting: ""),
            uses("a cache", after: 599)
        ),
        Row(
            "4.3.5 a HEAD with another tag removes it",
            asks("a", tagged),
            asks("b", ["ETag": "\"2\""], method: .head, expecting: ""),
            asks("b", minute)
        ),
        Row(
            "4.4 an unsafe request removes all variants",
            asks("a", cc("max-age=60", ["Vary": "F"]), by: ["F": "1"]),
            asks("done", [:], method: .put),
            asks("b", minute, by: ["F": "1"])
        ),
        Row(
            "4.4 an error removes nothing",
            accepting: 200..<500,
            asks("a", minute),
            asks("no", [:], status: 409, method: .put),
            uses("a cache")
        ),
        Row(
            "9110 13.1.5 If-Range of other content gets the complete content",
            asks("0123", tagged),
            uses("206 01 cache", by: ["Range": "bytes=0-1", "If-Range": "\"1\""]),
            uses("0123 cache", by: ["Range": "bytes=0-1", "If-Range": "\"2\""])
        ),
        Row(
            "9110 14.2 a range of a complete response",
            asks("0123", minute),
            uses("206 3 cache", by: ["Range": "bytes=-1"]),
            uses("206 12 cache", by: ["Range": "bytes=1-2"]),
            uses("206 23 cache", by: ["Range": "bytes=2-99"])
        ),
        Row(
            "9110 15.5.17 a range beyond the end",
            accepting: 200..<500,
            asks("0123", minute),
            uses("416  cache", by: ["Range": "bytes=4-"]),
            uses("0123 cache")
        ),
    ]
}
