import Foundation
import TestSupport
import Testing

@testable import Errand

@Suite(.ownThread) struct CacheControlTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static func date(_ seconds: Double) -> String {
        HTTPDate.text(for: start.addingTimeInterval(seconds)) ?? ""
    }

    private func entry(_ headers: HTTPHeaders, status: Int = 200, delay: Double = 0) -> CacheEntry {
        let url = URL(string: "https://api.example/x") ?? URL(filePath: "/")
        return CacheEntry(
            RawResponse(statusCode: status, headers: headers, url: url),
            requested: Self.start.addingTimeInterval(-delay),
            received: Self.start
        )
    }

    private func decision(_ headers: HTTPHeaders, at seconds: Double, request: HTTPHeaders = [:]) -> String {
        let decision = CacheControl.decision(
            now: Self.start.addingTimeInterval(seconds),
            request: request,
            entry: entry(headers)
        )
        switch decision {
        case .use: return "use"
        case .useAndRefresh: return "refresh"
        case .validate(let fields, _): return "validate \(fields.map(\.name).joined(separator: " "))"
        case .fetch(let miss): return "fetch \(miss.rawValue)"
        }
    }

    struct Case: Sendable {
        var answer: HTTPHeaders
        var age: Double
        var request: HTTPHeaders = [:]
        var decision: String
    }

    private static let tag: HTTPHeaders = ["ETag": "\"1\""]

    @Test(arguments: [
        // Freshness.
        Case(answer: ["Cache-Control": "max-age=60"], age: 59, decision: "use"),
        Case(answer: ["Cache-Control": "max-age=60"], age: 60, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "MAX-AGE=\"60\""], age: 59, decision: "use"),
        Case(answer: ["Cache-Control": "max-age=60, max-age=10"], age: 30, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "max-age=6x"], age: 1, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "max-age=-1"], age: 0, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "max-age=99999999999999999999"], age: 1e9, decision: "use"),
        Case(answer: ["Cache-Control": "s-maxage=60"], age: 1, decision: "fetch expired"),
        Case(answer: ["Expires": date(60), "Date": date(0)], age: 59, decision: "use"),
        Case(answer: ["Expires": date(60), "Date": date(0)], age: 61, decision: "fetch expired"),
        Case(answer: ["Expires": "0"], age: 0, decision: "fetch expired"),
        Case(answer: ["Expires": date(60), "Cache-Control": "max-age=600"], age: 300, decision: "use"),
        Case(answer: ["Last-Modified": date(-1000), "Date": date(0)], age: 99, decision: "use"),
        Case(
            answer: ["Last-Modified": date(-1000), "Date": date(0)],
            age: 101,
            decision: "validate If-Modified-Since"
        ),
        Case(answer: [:], age: 0, decision: "fetch expired"),
        // Age.
        Case(answer: ["Cache-Control": "max-age=60", "Age": "50"], age: 11, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "max-age=60", "Age": "50, 1"], age: 11, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "max-age=60", "Age": "many"], age: 11, decision: "use"),
        Case(answer: ["Cache-Control": "max-age=60", "Date": date(-50)], age: 11, decision: "fetch expired"),
        Case(answer: ["Cache-Control": "max-age=60", "Date": date(50)], age: 11, decision: "use"),
        Case(answer: ["Cache-Control": "max-age=60"], age: -1, decision: "fetch clockWentBack"),
        // What the answer asks for.
        Case(
            answer: ["Cache-Control": "max-age=60, no-cache", "ETag": "\"1\""],
            age: 1,
            decision: "validate If-None-Match"
        ),
        Case(answer: ["Cache-Control": "max-age=60, no-cache=\"X\""], age: 1, decision: "use"),
        Case(answer: ["Cache-Control": "stale-while-revalidate=10, max-age=60"], age: 65, decision: "refresh"),
        Case(answer: ["Cache-Control": "stale-while-revalidate=10, max-age=60"], age: 71, decision: "fetch expired"),
        Case(
            answer: ["Cache-Control": "stale-while-revalidate=10, max-age=60, must-revalidate"],
            age: 65,
            decision: "fetch expired"
        ),
        // What the request asks for.
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 1,
            request: ["Cache-Control": "no-cache"],
            decision: "fetch mustRevalidate"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 1,
            request: ["Pragma": "no-cache"],
            decision: "fetch mustRevalidate"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 11,
            request: ["Cache-Control": "max-age=10"],
            decision: "fetch expired"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 9,
            request: ["Cache-Control": "max-age=10"],
            decision: "use"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 51,
            request: ["Cache-Control": "min-fresh=10"],
            decision: "fetch expired"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 49,
            request: ["Cache-Control": "min-fresh=10"],
            decision: "use"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 69,
            request: ["Cache-Control": "max-stale=10"],
            decision: "use"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 71,
            request: ["Cache-Control": "max-stale=10"],
            decision: "fetch expired"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60"],
            age: 1e6,
            request: ["Cache-Control": "max-stale"],
            decision: "use"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60, must-revalidate"],
            age: 61,
            request: ["Cache-Control": "max-stale"],
            decision: "fetch expired"
        ),
        // Immutable: a reload asks nothing, a forced one does.
        Case(
            answer: ["Cache-Control": "max-age=60, immutable"],
            age: 9,
            request: ["Cache-Control": "max-age=0"],
            decision: "use"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60, immutable"],
            age: 9,
            request: ["Cache-Control": "no-cache"],
            decision: "fetch mustRevalidate"
        ),
        Case(
            answer: ["Cache-Control": "max-age=60, immutable"],
            age: 61,
            request: ["Cache-Control": "max-age=0"],
            decision: "fetch expired"
        ),
        // Both validators are sent.
        Case(
            answer: ["ETag": "W/\"1\"", "Last-Modified": date(-10), "Cache-Control": "max-age=0"],
            age: 1,
            decision: "validate If-None-Match If-Modified-Since"
        ),
    ])
    func theDecisionFollowsTheFields(_ table: Case) {
        #expect(decision(table.answer, at: table.age, request: table.request) == table.decision)
    }

    @Test func theTimeOnTheWayCountsAsAge() {
        let slow = entry(["Cache-Control": "max-age=60", "Age": "10"], delay: 30)
        #expect(CacheControl.age(of: slow, now: Self.start.addingTimeInterval(5)) == .seconds(45))
    }

    @Test(arguments: [
        ("max-age=60", 61.0, "", true), ("max-age=60", 1e6, "", true), ("max-age=60, must-revalidate", 61, "", false),
        ("max-age=60, no-cache", 1, "", false), ("max-age=60, stale-if-error=10", 69, "", true),
        ("max-age=60, stale-if-error=10", 71, "", false), ("max-age=60", 61, "no-cache", false),
        ("max-age=60", 65, "stale-if-error=10", true), ("max-age=60", 75, "stale-if-error=10", false),
        ("max-age=60", 61, "max-age=60", false), ("max-age=60", -1, "", false),
    ])
    func aStaleAnswerStandsInWhereItMay(answer: String, age: Double, request: String, stands: Bool) {
        let result = CacheControl.mayStandIn(
            now: Self.start.addingTimeInterval(age),
            request: ["Cache-Control": request],
            entry: entry(["Cache-Control": answer])
        )
        #expect(result == stands)
    }

    @Test(
        arguments: [
            (200, [:], [:], true), (200, ["Cache-Control": "no-store"], [:], false),
            (200, [:], ["Cache-Control": "no-store"], false),
            (200, ["Cache-Control": "private"], [:], true), (206, ["Cache-Control": "max-age=60"], [:], false),
            (304, [:], [:], false), (302, [:], [:], false), (302, ["Cache-Control": "max-age=60"], [:], true),
            (404, [:], [:], true), (500, [:], [:], false), (500, ["Expires": "x"], [:], true),
            (200, ["Vary": "Accept, *"], [:], false), (200, ["Vary": "Accept"], [:], true),
            (200, ["Cache-Control": "no-store, must-understand"], [:], true),
            (299, ["Cache-Control": "must-understand, max-age=60"], [:], false), (201, [:], [:], false),
        ] as [(Int, HTTPHeaders, HTTPHeaders, Bool)]
    )
    func onlyWhatMayBeStoredIs(status: Int, answer: HTTPHeaders, request: HTTPHeaders, isStored: Bool) {
        let response = RawResponse(
            statusCode: status,
            headers: answer,
            url: entry([:]).response(for: URL(filePath: "/"))?.url ?? URL(filePath: "/")
        )
        #expect(CacheControl.mayStore(response, request: request) == isStored)
    }

    @Test func fieldsOfOneConnectionAndCookiesAreNotStored() {
        let headers: HTTPHeaders = [
            "A": "1", "Connection": "x-hop, close", "X-Hop": "2", "Transfer-Encoding": "chunked", "Keep-Alive": "1",
            "Set-Cookie": "id=1", "Upgrade": "h2c", "Cache-Control": "no-cache=\"X-Once, X-Twice\"", "X-Once": "3",
            "x-twice": "4", "Trailer": "T", "TE": "trailers", "Proxy-Authenticate": "Basic",
        ]
        #expect(CacheControl.storedHeaders(headers).map(\.name) == ["A", "Cache-Control"])
    }

    @Test func aConfirmationUpdatesFieldsAndKeepsThoseOfTheBody() throws {
        let stored = entry([
            "ETag": "W/\"1\"", "Content-Length": "5", "Content-Type": "a/b", "Age": "9", "X": "old", "Y": "kept",
        ])
        let confirmation = RawResponse(
            statusCode: 304,
            headers: [
                "ETag": "\"1\"", "Content-Length": "0", "Content-Type": "c/d", "X": "new", "Set-Cookie": "1",
                "Date": "d",
            ],
            url: URL(filePath: "/")
        )
        let later = Self.start.addingTimeInterval(100)
        let merged = try #require(CacheControl.merging(stored, with: confirmation, requested: later, received: later))
        #expect(merged.headers["ETag"] == "\"1\"")
        #expect(merged.headers["Content-Length"] == "5" && merged.headers["Content-Type"] == "a/b")
        #expect(merged.headers["X"] == "new" && merged.headers["Y"] == "kept" && merged.headers["Date"] == "d")
        #expect(merged.headers["Age"] == nil && merged.headers["Set-Cookie"] == nil)
        #expect(merged.received == later)
    }

    @Test func aConfirmationOfAnotherEntityConfirmsNothing() {
        let confirmation = RawResponse(statusCode: 304, headers: ["ETag": "\"2\""], url: URL(filePath: "/"))
        #expect(
            CacheControl.merging(entry(Self.tag), with: confirmation, requested: Self.start, received: Self.start)
                == nil
        )
    }

    @Test(
        arguments: [
            (["ETag": "\"1\""], true), (["ETag": "\"2\""], false), (["Content-Length": "5"], true),
            (["Content-Length": "6"], false), ([:], true),
        ] as [(HTTPHeaders, Bool)]
    )
    func aHeadTellsWhetherTheGetStillHolds(head: HTTPHeaders, holds: Bool) {
        let stored = entry(["ETag": "\"1\"", "Content-Length": "5"])
        let head = RawResponse(statusCode: 200, headers: head, url: URL(filePath: "/"))
        let merged = CacheControl.merging(stored, withHead: head, requested: Self.start, received: Self.start)
        #expect((merged != nil) == holds)
    }

    /// Each number of 40 that a hostile server might send, in each field that has one.
    @Test func hostileNumbersNeverTrap() {
        let digits = [0, 1, 9, 10, 15, 18, 19, 20, 21, 39, 40, 100, 1000]
        var numbers =
            digits.map { String(repeating: "9", count: $0) } + digits.map { "1" + String(repeating: "0", count: $0) }
        numbers += [
            "-1", "-9223372036854775808", "1e9", "0x10", "+1", " 1", "1 ", "1.5", "٣", "\u{0}", "NaN", "1,2", "\"",
            "\\",
        ]
        #expect(numbers.count == 40)
        for number in numbers {
            for name in ["max-age", "stale-if-error", "stale-while-revalidate", "min-fresh", "max-stale"] {
                let fields: HTTPHeaders = ["Cache-Control": "\(name)=\(number)"]
                _ = decision(fields.merging(["Age": number]), at: 1e9, request: fields)
                _ = CacheControl.mayStandIn(now: Self.start, request: fields, entry: entry(fields))
            }
            _ = decision(["Expires": number, "Date": number, "Last-Modified": number], at: 1)
        }
    }

    @Test(arguments: [",", "a=\"", "max-age=1,", "\\\"", "no-cache=\"x,\"", " ", "=", "x"])
    func aFieldOfAMebibyteIsReadInTime(piece: String) {
        let value = String(repeating: piece, count: (1 << 20) / piece.utf8.count)
        let time = threadTime { _ = CacheDirectives(["Cache-Control": value]) }
        // 50 ms where it is optimised.
        #expect(time < .seconds(3))
    }

    /// The time of `n` against `4n`: 4 for a linear function, 16 for a quadratic one.
    @Test(arguments: [("Connection", ""), ("Cache-Control", "no-cache=")])
    func fieldsThatAServerNamesAreLeftOutInLinearTime(name: String, directive: String) {
        func value(_ names: String) -> String { directive.isEmpty ? names : "\(directive)\"\(names)\"" }
        func headers(_ count: Int) -> HTTPHeaders {
            let names = (0..<count).map { "n\($0)" }.joined(separator: ",")
            var fields = (0..<count).map { HTTPHeaders.Field(name: "f\($0)", value: "") }
            fields.append(HTTPHeaders.Field(name: name, value: value(names)))
            return HTTPHeaders(fields)
        }
        func time(_ count: Int) -> Duration {
            let headers = headers(count)
            return threadTime { #expect(CacheControl.storedHeaders(headers).count >= count) }
        }
        #expect(time(8000) < time(2000) * 9)
        let some: HTTPHeaders = ["A": "1", "b": "2", "C": "3", name: value("B, c")]
        #expect(!CacheControl.storedHeaders(some).contains("C") && !CacheControl.storedHeaders(some).contains("b"))
    }
}
