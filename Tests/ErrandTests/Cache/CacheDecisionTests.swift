import Foundation
import Testing

@testable import Errand

/// The decision about a stored response, by every policy; without a store.
@Suite struct CacheDecisionTests {
    private static let swr = CachePolicy.staleWhileRevalidate(maxAge: .seconds(10), maxStale: .seconds(5))
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static func date(_ seconds: Double) -> String {
        HTTPDate.text(for: start.addingTimeInterval(seconds)) ?? ""
    }

    private func entry(_ headers: HTTPHeaders) -> CacheEntry {
        let url = URL(string: "https://api.example/x") ?? URL(filePath: "/")
        return CacheEntry(RawResponse(statusCode: 200, headers: headers, url: url), requested: Self.start)
    }

    /// The decision as text, and the age of the response that is used.
    private func words(_ decision: CacheDecision) -> (text: String, age: Duration?) {
        switch decision {
        case .use(let age): ("use", age)
        case .useAndRevalidate(let age, _): ("refresh", age)
        case .miss(let miss, let fields) where fields.isEmpty: ("fetch \(miss.rawValue)", nil)
        case .miss(_, let fields): ("validate \(fields.map(\.name).joined(separator: " "))", nil)
        }
    }

    // MARK: By age

    /// The decision before the network is used; an age of `nil` is in the future.
    @Test(
        arguments: [
            (.cacheOnly, 1_000_000, "use"), (.cacheOnly, nil, "use"),
            (.cacheElseNetwork(maxAge: .seconds(10)), 0, "use"), (.cacheElseNetwork(maxAge: .seconds(10)), 10, "use"),
            (.cacheElseNetwork(maxAge: .seconds(10)), 11, "fetch expired"),
            (.cacheElseNetwork(maxAge: .seconds(10)), nil, "fetch clockSkew"),
            (swr, 10, "use"), (swr, 11, "refresh"), (swr, 15, "refresh"), (swr, 16, "fetch expired"),
            (swr, nil, "fetch clockSkew"), (.networkElseCache(maxStale: nil), 0, "fetch bypassed"),
            (.cacheThenNetwork(maxAge: .seconds(10)), 0, "fetch bypassed"), (.reload, 0, "fetch bypassed"),
        ] as [(CachePolicy, Int?, String)]
    )
    func beforeTheNetwork(policy: CachePolicy, age: Int?, decision: String) {
        let now = Self.start.addingTimeInterval(age.map(Double.init) ?? -1)
        // The directives of the response count for the policy of RFC 9111 alone.
        let found = words(policy.decision(on: entry(["Cache-Control": "no-cache", "ETag": "1"]), for: [:], at: now))
        #expect(found.text == decision)
        #expect(found.age == (decision.hasPrefix("fetch") ? nil : .seconds(age ?? 0)))
    }

    @Test(
        arguments: [
            (.networkElseCache(maxStale: nil), 1_000_000, "use"), (.networkElseCache(maxStale: nil), nil, "use"),
            (.networkElseCache(maxStale: .seconds(10)), 10, "use"),
            (.networkElseCache(maxStale: .seconds(10)), 11, "fetch expired"),
            (.networkElseCache(maxStale: .seconds(10)), nil, "fetch clockSkew"),
            (.cacheThenNetwork(maxAge: .seconds(10)), 10, "use"),
            (.cacheThenNetwork(maxAge: .seconds(10)), 11, "fetch expired"),
            (.cacheElseNetwork(maxAge: .seconds(10)), 0, "fetch bypassed"), (.reload, 0, "fetch bypassed"),
            (swr, 0, "fetch bypassed"),
        ] as [(CachePolicy, Int?, String)]
    )
    func afterTheNetworkHasFailed(policy: CachePolicy, age: Int?, decision: String) {
        let now = Self.start.addingTimeInterval(age.map(Double.init) ?? -1)
        let stored = entry(["Cache-Control": "must-revalidate"])
        let found = words(policy.decisionAfterFailure(on: stored, for: [:], at: now))
        #expect(found.text == decision)
        #expect(found.age == (decision == "use" ? .seconds(age ?? 0) : nil))
    }

    @Test(arguments: [
        (NetworkError.Reason.noConnection, true), (.hostNotFound, true), (.connectionRefused, true),
        (.connectionReset, true), (.closedInBody, true), (.idleTimeout(.seconds(1)), true),
        (.deadlineExceeded(.seconds(1)), true), (.status(500), true), (.status(503), true), (.status(429), true),
        (.circuitOpen(retryAfter: .seconds(1)), true), (.malformedStatusLine, true), (.status(404), false),
        (.status(401), false), (.status(403), false), (.certificateRefused("x"), false), (.refreshFailed, false),
        (.credentialChanged, false), (.invalidRedirect("x"), false), (.invalidRequest("x"), false),
        (.bodyTooLarge(limit: 1), false),
        (.model(type: "T", detail: ""), false),
    ])
    func staleResponseIsUsedOnlyAfterNetworkFailures(reason: NetworkError.Reason, standsIn: Bool) {
        #expect(NetworkError(reason).isFailureOfNetwork == standsIn)
    }

    /// The server has decided about the credential, whatever prevented its refresh.
    @Test func staleResponseIsNotUsedAfterAnUnauthorizedResponse() throws {
        let url = try #require(URL(string: "https://api.test/"))
        let error = NetworkError(.refreshFailed, underlying: NetworkError(.connectionRefused))
        #expect(error.isFailureOfNetwork)
        #expect(!error.with(response: RawResponse(statusCode: 401, url: url)).isFailureOfNetwork)
    }

    /// The second response of a sequence comes from the server.
    @Test(
        arguments: [
            (.http, .second, "validate If-None-Match"), (.http, .whole, "use"), (.http, .first, "use"),
            (.cacheElseNetwork(maxAge: .seconds(10)), .second, "use"),
            (.cacheThenNetwork(maxAge: .seconds(10)), .first, "use"),
            (.cacheThenNetwork(maxAge: .seconds(10)), .second, "fetch bypassed"),
            (swr, .second, "fetch bypassed"), (.reload, .policy(.cacheOnly), "use"),
        ] as [(CachePolicy, CacheStep, String)]
    )
    func eachStepFollowsItsPartOfThePolicy(policy: CachePolicy, step: CacheStep, decision: String) throws {
        let use = try #require(CacheUse(policy, step: step, cache: nil))
        let stored = entry(["Cache-Control": "max-age=60", "ETag": "1"])
        #expect(words(use.decision(on: stored, for: [:], at: Self.start)).text == decision)
    }

    // MARK: RFC 9111

    private func decision(_ headers: HTTPHeaders, at seconds: Double, request: HTTPHeaders = [:]) -> String {
        let now = Self.start.addingTimeInterval(seconds)
        return words(CachePolicy.http.decision(on: entry(headers), for: request, at: now)).text
    }

    struct Case: Sendable {
        let response: HTTPHeaders
        let age: Double
        let request: HTTPHeaders
        let decision: String

        init(_ response: HTTPHeaders, age: Double, request: HTTPHeaders = [:], _ decision: String) {
            (self.response, self.age, self.request, self.decision) = (response, age, request, decision)
        }

        /// A case of a response and a request with directives of `Cache-Control`.
        init(_ response: String, age: Double, request: String? = nil, _ decision: String) {
            let fields: HTTPHeaders = request.map { ["Cache-Control": $0] } ?? [:]
            self.init(["Cache-Control": response], age: age, request: fields, decision)
        }
    }

    @Test(arguments: [
        // Freshness.
        Case("max-age=60", age: 59, "use"),
        Case("max-age=60", age: 60, "fetch expired"),
        Case("MAX-AGE=\"60\"", age: 59, "use"),
        Case("max-age=60, max-age=10", age: 30, "fetch expired"),
        Case("max-age=6x", age: 1, "fetch expired"),
        Case("max-age=-1", age: 0, "fetch expired"),
        Case("max-age=99999999999999999999", age: 1e9, "use"),
        Case("s-maxage=60", age: 1, "fetch expired"),
        Case(["Expires": date(60), "Date": date(0)], age: 59, "use"),
        Case(["Expires": date(60), "Date": date(0)], age: 61, "fetch expired"),
        Case(["Expires": "0"], age: 0, "fetch expired"),
        Case(["Expires": date(60), "Cache-Control": "max-age=600"], age: 300, "use"),
        Case(["Last-Modified": date(-1000), "Date": date(0)], age: 99, "use"),
        Case(["Last-Modified": date(-1000), "Date": date(0)], age: 101, "validate If-Modified-Since"),
        Case([:], age: 0, "fetch expired"),
        // Age.
        Case(["Cache-Control": "max-age=60", "Age": "50"], age: 11, "fetch expired"),
        Case(["Cache-Control": "max-age=60", "Age": "50, 1"], age: 11, "fetch expired"),
        Case(["Cache-Control": "max-age=60", "Age": "many"], age: 11, "use"),
        Case(["Cache-Control": "max-age=60", "Date": date(-50)], age: 11, "fetch expired"),
        Case(["Cache-Control": "max-age=60", "Date": date(50)], age: 11, "use"),
        Case("max-age=60", age: -1, "fetch clockSkew"),
        // Directives of the response.
        Case(["Cache-Control": "max-age=60, no-cache", "ETag": "\"1\""], age: 1, "validate If-None-Match"),
        Case("max-age=60, no-cache=\"X\"", age: 1, "use"),
        Case("stale-while-revalidate=10, max-age=60", age: 65, "refresh"),
        Case("stale-while-revalidate=10, max-age=60", age: 71, "fetch expired"),
        Case("stale-while-revalidate=10, max-age=60, must-revalidate", age: 65, "fetch expired"),
        // Directives of the request.
        Case("max-age=60", age: 1, request: "no-cache", "fetch mustRevalidate"),
        Case(["Cache-Control": "max-age=60"], age: 1, request: ["Pragma": "no-cache"], "fetch mustRevalidate"),
        Case("max-age=60", age: 11, request: "max-age=10", "fetch expired"),
        Case("max-age=60", age: 9, request: "max-age=10", "use"),
        Case("max-age=60", age: 51, request: "min-fresh=10", "fetch expired"),
        Case("max-age=60", age: 49, request: "min-fresh=10", "use"),
        Case("max-age=60", age: 69, request: "max-stale=10", "use"),
        Case("max-age=60", age: 71, request: "max-stale=10", "fetch expired"),
        Case("max-age=60", age: 1e6, request: "max-stale", "use"),
        Case("max-age=60, must-revalidate", age: 61, request: "max-stale", "fetch expired"),
        Case("stale-while-revalidate=60, max-age=60", age: 65, request: "max-age=100", "fetch expired"),
        Case(
            ["Cache-Control": "stale-while-revalidate=60, max-age=60", "ETag": "\"1\""],
            age: 65,
            request: ["Cache-Control": "max-age=100"],
            "validate If-None-Match"
        ),
        Case("stale-while-revalidate=60, max-age=60", age: 65, request: "max-age=100, max-stale=10", "use"),
        Case("stale-while-revalidate=60, max-age=60", age: 75, request: "max-stale=10", "fetch expired"),
        Case("stale-while-revalidate=60, max-age=60", age: 65, request: "only-if-cached, stale-if-error=1", "refresh"),
        // Immutable: a reload sends no request, a forced one does.
        Case("max-age=60, immutable", age: 9, request: "max-age=0", "use"),
        Case("max-age=60, immutable", age: 9, request: "no-cache", "fetch mustRevalidate"),
        Case("max-age=60, immutable", age: 61, request: "max-age=0", "fetch expired"),
        // Both validators are sent.
        Case(
            ["ETag": "W/\"1\"", "Last-Modified": date(-10), "Cache-Control": "max-age=0"],
            age: 1,
            "validate If-None-Match If-Modified-Since"
        ),
        // A validator that cannot be sent, or is too long for many servers, is none.
        Case(
            ["ETag": "\"a\u{1}b\"", "Last-Modified": date(-10), "Cache-Control": "max-age=0"],
            age: 1,
            "validate If-Modified-Since"
        ),
        Case(
            ["ETag": "\"\(String(repeating: "a", count: 2_047))\"", "Cache-Control": "max-age=0"],
            age: 1,
            "fetch expired"
        ),
    ])
    func theDecisionFollowsTheFields(_ table: Case) {
        #expect(decision(table.response, at: table.age, request: table.request) == table.decision)
    }

    @Test(arguments: [
        ("max-age=60", 61.0, "", true), ("max-age=60", 1e6, "", true), ("max-age=60, must-revalidate", 61, "", false),
        ("max-age=60, no-cache", 1, "", false), ("max-age=60, stale-if-error=10", 69, "", true),
        ("max-age=60, stale-if-error=10", 71, "", false), ("max-age=60", 61, "no-cache", false),
        ("max-age=60", 65, "stale-if-error=10", true), ("max-age=60", 75, "stale-if-error=10", false),
        ("max-age=60", 61, "max-age=60", false), ("max-age=60", -1, "", false),
        ("max-age=60", 70, "max-stale=10", true),
        ("max-age=60", 71, "max-stale=10", false), ("max-age=60", 1e6, "max-stale", true),
        ("max-age=60, stale-if-error=10", 71, "max-stale=60", false),
    ])
    func staleResponseIsUsedIfAllowed(response: String, age: Double, request: String, stands: Bool) {
        let decision = CachePolicy.http.decisionAfterFailure(
            on: entry(["Cache-Control": response]),
            for: ["Cache-Control": request],
            at: Self.start.addingTimeInterval(age)
        )
        if case .use(let found) = decision { #expect(stands && found == .seconds(age)) } else { #expect(!stands) }
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
                _ = CachePolicy.http.decisionAfterFailure(on: entry(fields), for: fields, at: Self.start)
            }
            _ = decision(["Expires": number, "Date": number, "Last-Modified": number], at: 1)
        }
    }
}
