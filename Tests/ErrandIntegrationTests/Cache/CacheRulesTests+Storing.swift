import ErrandTesting
import Foundation

@testable import Errand

/// What is stored, and under which key (RFC 9111, sections 3 and 4.1; RFC 9110, section 9.3.3).
extension CacheRulesTests {
    static let storing: [Row] = [
        Row(
            "3 explicit freshness makes any final status storable",
            asks("a", minute, status: 299),
            uses("299 a cache")
        ),
        Row(
            "3 a status that is not understood needs explicit freshness",
            asks("a", [:], status: 299),
            asks("b", [:], status: 299)
        ),
        Row("3 no-store of the response", asks("a", cc("no-store, max-age=60")), asks("b", minute)),
        Row("3 no-store of the request", asks("a", minute, by: cc("no-store")), asks("b", minute), uses("b cache")),
        Row("3 private is stored", asks("a", cc("private, max-age=60")), uses("a cache")),
        Row(
            "3 a redirect that is not followed is stored",
            asks("a", cc("max-age=60", ["Location": "/y"]), status: 301),
            uses("301 a cache")
        ),
        Row(
            "3 a temporary redirect needs explicit freshness",
            asks("a", ["Location": "/y", "Last-Modified": date(-9e4)], status: 302),
            asks("b", minute)
        ),
        Row("3.1 cookies are not stored", asks("a", cc("max-age=60", ["Set-Cookie": "a=1"])), uses("a cache")),
        Row(
            "3.3 a part is used for its range only",
            asks("01", cc("max-age=60", ["Content-Range": "bytes 0-1/4"]), status: 206, by: ["Range": "bytes=0-1"]),
            uses("206 1 cache", by: ["Range": "bytes=1-1"]),
            asks("abcd", minute),
            uses("abcd cache")
        ),
        Row(
            "3.4 parts are combined under a strong validator",
            asksPart("01", "0-1", tag: "\"1\""),
            asksPart("23", "2-3", tag: "\"1\""),
            uses("0123 cache"),
            uses("206 12 cache", by: ["Range": "bytes=1-2"])
        ),
        Row(
            "3.4 parts are not combined under a weak validator",
            asksPart("01", "0-1", tag: "W/\"1\""),
            asksPart("23", "2-3", tag: "W/\"1\""),
            asks("abcd", minute, sending: ["Range": "", "If-Range": ""])
        ),
        Row(
            "9110 9.3.3 a response to POST that represents its URL serves a later GET",
            asks("a", cc("max-age=60", ["Content-Location": "/x"]), method: .post),
            uses("a cache"),
            asks("b", cc("max-age=60", ["Content-Location": "/x"]), method: .post),
            uses("b cache")
        ),
        Row(
            "9110 9.3.3 a response to POST for another URL doesn't",
            asks("a", cc("max-age=60", ["Content-Location": "/y"]), method: .post),
            asks("b", minute)
        ),
        Row(
            "9110 9.3.3 a response to POST without explicit freshness doesn't",
            asks("a", ["Content-Location": "/x", "Last-Modified": date(-9e4)], method: .post),
            asks("b", minute)
        ),
    ]

    static let keys: [Row] = [
        Row(
            "4.1 another value is another variant",
            asks("a", cc("max-age=60", ["Vary": "F"]), by: ["F": "1"]),
            asks("b", cc("max-age=60", ["Vary": "F"]), by: ["F": "2"]),
            uses("a cache", by: ["F": "1"]),
            uses("b cache", by: ["F": "2"])
        ),
        Row(
            "4.1 an absent field is another value",
            asks("a", cc("max-age=60", ["Vary": "F"]), by: ["F": "1"]),
            asks("b", cc("max-age=60", ["Vary": "F"]))
        ),
        Row(
            "4.1 all nominated fields count",
            asks("a", cc("max-age=60", ["Vary": "F, G"]), by: ["F": "1", "G": "1"]),
            asks("b", cc("max-age=60", ["Vary": "F, G"]), by: ["F": "1", "G": "2"]),
            uses("a cache", by: ["G": "1", "F": "1"])
        ),
        Row(
            "4.1 other fields don't count",
            asks("a", cc("max-age=60", ["Vary": "F"]), by: ["F": "1", "G": "1"]),
            uses("a cache", by: ["F": "1", "G": "2"])
        ),
        Row("4.1 an asterisk alone matches nothing", asks("a", cc("max-age=60", ["Vary": "*"])), asks("b", minute)),
        Row("4.1 an asterisk matches nothing", asks("a", cc("max-age=60", ["Vary": "F, *"])), asks("b", minute)),
        Row(
            "4.1 white space around commas",
            asks("a", cc("max-age=60", ["Vary": "F"]), by: ["F": "1,2"]),
            uses("a cache", by: ["F": "1 , 2"])
        ),
        Row(
            "4.1 order, case and weights of languages",
            asks("a", cc("max-age=60", ["Vary": "Accept-Language"]), by: ["Accept-Language": "en, de;q=0.5"]),
            uses("a cache", by: ["Accept-Language": "DE; q=0.50,EN;q=1"]),
            asks("b", cc("max-age=60", ["Vary": "Accept-Language"]), by: ["Accept-Language": "de"])
        ),
        Row(
            "4.1 order and case of codings",
            asks("a", cc("max-age=60", ["Vary": "X-Own, Accept-Charset"]), by: ["Accept-Charset": "utf-8, *;q=0"]),
            uses("a cache", by: ["Accept-Charset": "*;q=0.0, UTF-8"])
        ),
    ]
}
