import Foundation
import TestSupport
import Testing

@testable import Errand

@Suite(.ownThread) struct CacheControlTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private func entry(_ headers: HTTPHeaders, status: Int = 200, delay: Double = 0) -> CacheEntry {
        let url = URL(string: "https://api.example/x") ?? URL(filePath: "/")
        return CacheEntry(
            RawResponse(statusCode: status, headers: headers, url: url),
            requested: Self.start.addingTimeInterval(-delay),
            received: Self.start
        )
    }

    @Test func responseDelayCountsAsAge() {
        let slow = entry(["Cache-Control": "max-age=60", "Age": "10"], delay: 30)
        #expect(CacheControl.age(of: slow, now: Self.start.addingTimeInterval(5)) == .seconds(45))
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
    func onlyCacheableResponsesAreStored(status: Int, response: HTTPHeaders, request: HTTPHeaders, isStored: Bool) {
        let response = RawResponse(
            statusCode: status,
            headers: response,
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

    @Test func a304UpdatesFieldsAndKeepsThoseOfTheContent() throws {
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
        // The tag of the stored bytes, whose validator was weak.
        #expect(merged.headers["ETag"] == "W/\"1\"")
        #expect(merged.headers["Content-Length"] == "5" && merged.headers["Content-Type"] == "a/b")
        #expect(merged.headers["X"] == "new" && merged.headers["Y"] == "kept" && merged.headers["Date"] == "d")
        #expect(merged.headers["Age"] == nil && merged.headers["Set-Cookie"] == nil)
        #expect(merged.received == later)
    }

    @Test func a304WithoutDateIsAsOldAsItsReceipt() throws {
        let date = try #require(HTTPDate.text(for: Self.start))
        let stored = entry(["ETag": "\"1\"", "Date": date, "Cache-Control": "max-age=60"])
        let confirmation = RawResponse(statusCode: 304, headers: ["ETag": "\"1\""], url: URL(filePath: "/"))
        let later = Self.start.addingTimeInterval(100)
        let merged = try #require(CacheControl.merging(stored, with: confirmation, requested: later, received: later))
        #expect(CacheControl.age(of: merged, now: later) == .zero)
        let decision = CachePolicy.http.decision(on: merged, for: [:], at: later.addingTimeInterval(59))
        #expect(decision == .use(age: .seconds(59)))
    }

    @Test func a304OfAnotherRepresentationValidatesNothing() {
        let confirmation = RawResponse(statusCode: 304, headers: ["ETag": "\"2\""], url: URL(filePath: "/"))
        #expect(
            CacheControl.merging(
                entry(["ETag": "\"1\""]),
                with: confirmation,
                requested: Self.start,
                received: Self.start
            )
                == nil
        )
    }

    @Test(
        arguments: [
            (["ETag": "\"1\""], true), (["ETag": "\"2\""], false), (["Content-Length": "5"], true),
            (["Content-Length": "6"], false), ([:], true),
        ] as [(HTTPHeaders, Bool)]
    )
    func aHeadShowsWhetherTheGetIsStillCurrent(head: HTTPHeaders, holds: Bool) {
        let stored = entry(["ETag": "\"1\"", "Content-Length": "5"])
        let head = RawResponse(statusCode: 200, headers: head, url: URL(filePath: "/"))
        let merged = CacheControl.merging(stored, withHead: head, requested: Self.start, received: Self.start)
        #expect((merged != nil) == holds)
    }

    @Test(arguments: [
        (503, "max-age=60, stale-if-error=10", "", 65.0, true), (500, "max-age=60", "stale-if-error=10", 65, true),
        (503, "max-age=60, stale-if-error=10", "", 75, false), (503, "max-age=60", "", 65, false),
        (501, "max-age=60, stale-if-error=10", "", 65, false), (404, "max-age=60, stale-if-error=10", "", 65, false),
        (503, "max-age=60, stale-if-error=10, must-revalidate", "", 65, false),
        (503, "max-age=60, stale-if-error=10", "no-cache", 65, false),
    ])
    func anAcceptedErrorOfTheServerLetsAStaleResponseBeUsed(
        status: Int,
        response: String,
        request: String,
        age: Double,
        isUsed: Bool
    ) throws {
        let error = RawResponse(statusCode: status, url: URL(filePath: "/"))
        for (policy, isExpected) in [(CachePolicy.http, isUsed), (.cacheElseNetwork(maxAge: .seconds(1)), false)] {
            let use = try #require(CacheUse(policy, step: .whole, cache: nil))
            let decision = use.decisionAfterError(
                error,
                on: entry(["Cache-Control": response]),
                for: ["Cache-Control": request],
                at: Self.start.addingTimeInterval(age)
            )
            if case .use = decision { #expect(isExpected) } else { #expect(!isExpected) }
        }
    }

    @Test(
        arguments: [
            (-1e9, 86_399, 86_400, true), (-1e9, 86_401, 86_400, false), (-1e9, 9, 10, true), (-1e9, 11, 10, false),
            (-100, 9, 86_400, true), (-100, 11, 86_400, false), (-1e9, 0, 0, false),
        ] as [(Double, Double, Int, Bool)]
    )
    func heuristicFreshnessIsLimited(modified: Double, age: Double, limit: Int, isFresh: Bool) throws {
        let date = try #require(HTTPDate.text(for: Self.start.addingTimeInterval(modified)))
        let now = try #require(HTTPDate.text(for: Self.start))
        let decision = CachePolicy.http.decision(
            on: entry(["Last-Modified": date, "Date": now]),
            for: [:],
            at: Self.start.addingTimeInterval(age),
            heuristicLimit: .seconds(limit)
        )
        if case .use = decision { #expect(isFresh) } else { #expect(!isFresh) }
    }

    @Test(
        arguments: [
            (200, ["Content-Location": "/x", "Cache-Control": "max-age=1"], true),
            (200, ["Content-Location": "https://api.example/x", "Expires": "0"], true),
            (200, ["Content-Location": "/y", "Cache-Control": "max-age=1"], false),
            (200, ["Content-Location": "/x"], false), (200, ["Cache-Control": "max-age=1"], false),
            (201, ["Content-Location": "/x", "Cache-Control": "max-age=1"], false),
        ] as [(Int, HTTPHeaders, Bool)]
    )
    func aResponseToPostMayServeALaterGet(status: Int, headers: HTTPHeaders, mayServe: Bool) throws {
        let url = try #require(URL(string: "https://api.example/x"))
        let response = RawResponse(statusCode: status, headers: headers, url: url)
        #expect(CacheControl.mayStoreForGet(response, url: url) == mayServe)
    }

    @Test(arguments: [",", "a=\"", "max-age=1,", "\\\"", "no-cache=\"x,\"", " ", "=", "x"])
    func aLongFieldIsParsedInTime(piece: String) {
        let value = String(repeating: piece, count: (1 << 18) / piece.utf8.count)
        let time = threadTime { _ = CacheDirectives(["Cache-Control": value]) }
        // 12 ms where it is optimised.
        #expect(time < .milliseconds(750))
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

    private func merged(_ stored: HTTPHeaders, _ validation: HTTPHeaders) -> CacheEntry? {
        let url = URL(filePath: "/")
        let response = RawResponse(statusCode: 304, headers: validation, url: url)
        let later = Self.start.addingTimeInterval(60)
        return CacheControl.merging(entry(stored), with: response, requested: later, received: later)
    }

    /// A server chooses how many fields a response has, and how many `no-cache` names.
    @Test func timeOfAValidationDoesNotGrowWithFieldsTimesNames() throws {
        let ticket = ResponseCache(disk: nil).ticket
        let request = GeneralRequest("https://api.example/x")
        let prepared = try Agent(config: .test).makeSend(request).prepare(request)
        let url = prepared.outgoing.url
        func fields(_ name: String, _ count: Int) -> [HTTPHeaders.Field] {
            (0..<count).map { HTTPHeaders.Field(name: "\(name)-\($0)", value: "1") }
        }
        expectLinear(1_000) { count in
            let names = (0..<count).map { "Y-\($0)" } + ["X-0"]
            var response = RawResponse(
                statusCode: 304,
                headers: ["Cache-Control": "no-cache=\"\(names.joined(separator: ", "))\"", "Y-1": "2"],
                url: url
            )
            response.cacheNote = CacheNote(send: 0, sent: [:], ticket: ticket)
            let stored = entry(HTTPHeaders(fields("X", count)))
            let validation = CacheValidation(entry: stored, conditions: [:], ticket: ticket) { Self.start }
            let merged = try? validation.merged(response, for: prepared)
            #expect(merged?.headers["Y-1"] == "2" && merged?.headers["X-1"] == "1")
            #expect(merged?.headers.contains("X-0") == false)
        }
    }

    /// Otherwise parts of two contents could be combined under it.
    @Test func aValidationMakesNoValidatorStronger() throws {
        for (own, other) in [("W/\"1\"", "\"1\""), ("\"1\"", "W/\"1\""), ("\"1\"", "\"1\"")] {
            #expect(try #require(merged(["ETag": own], ["ETag": other])).headers["ETag"] == own)
        }
        #expect(merged(["ETag": "\"caf\u{E9}\""], ["ETag": "\"cafe\u{301}\""]) == nil)
        let date = "Fri, 15 Jan 2027 08:00:00 GMT"
        let same: HTTPHeaders = ["Last-Modified": date, "Date": date]
        let later = try #require(merged(same, ["Date": "Fri, 15 Jan 2027 08:01:00 GMT"]))
        #expect(later.validator == nil && later.headers["Last-Modified"] == date && later.headers["Date"] != date)
        let stored = later.metadata.withUnsafeBytes { CacheEntry(metadata: $0, body: later.body) }
        #expect(try #require(stored).validator == nil)
        let strong: HTTPHeaders = ["Last-Modified": date, "Date": "Fri, 15 Jan 2027 08:00:01 GMT"]
        let kept = try #require(merged(strong, ["Date": "Fri, 15 Jan 2027 08:01:00 GMT"]))
        #expect(kept.validator == .date(date))
    }

    @Test func aValidationOfAnotherDateIsOfAnotherContent() {
        let stored: HTTPHeaders = ["Last-Modified": "Fri, 15 Jan 2027 08:00:00 GMT"]
        #expect(merged(stored, ["Last-Modified": "Fri, 15 Jan 2027 07:00:00 GMT"]) == nil)
        #expect(merged(stored, ["Last-Modified": "Friday, 15-Jan-27 08:00:00 GMT"]) != nil)
        #expect(merged(stored, [:]) != nil)
        let tagged = stored.merging(["ETag": "\"1\""])
        #expect(merged(tagged, ["ETag": "\"1\"", "Last-Modified": "Fri, 15 Jan 2027 07:00:00 GMT"]) != nil)
    }

    @Test func aHeadFreshensNoResponseOfAnotherStatus() {
        let head = RawResponse(statusCode: 200, headers: ["Cache-Control": "max-age=9"], url: URL(filePath: "/"))
        func isFreshened(_ status: Int) -> Bool {
            let stored = entry([:], status: status)
            return CacheControl.merging(stored, withHead: head, requested: Self.start, received: Self.start) != nil
        }
        #expect([200, 206, 404, 410, 301].map(isFreshened) == [true, true, false, false, false])
    }

    @Test func onlyAnUnderstoodStatusReplacesNoStore() {
        let rules: HTTPHeaders = ["Cache-Control": "no-store, must-understand"]
        #expect([200, 404, 299].map { CacheControl.forbidsStoring(entry(rules, status: $0)) } == [false, false, true])
        #expect(CacheControl.forbidsStoring(entry(["Cache-Control": "no-store"])))
    }

    @Test(arguments: [("no-cache=\"\"", true), ("no-cache=", true), ("no-cache=\",\"", true), ("no-cache=a", false)])
    func aListWithoutNamesIsOfAllFields(text: String, isUnqualified: Bool) {
        #expect(CacheDirectives(["Cache-Control": text]).noCache == isUnqualified)
    }
}
