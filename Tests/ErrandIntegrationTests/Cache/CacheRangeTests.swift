import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Parts of responses: stored, combined, served and continued over real sockets (RFC 9110, sections 13.1.5, 14 and 15.3.7;
/// RFC 9111, sections 3.3 and 3.4).
@Suite(.limit(seconds: 60)) struct CacheRangeTests {
    private let content = ServedContent()
    private let clock = CacheClock()
    private let server: MockServer
    private let agent: Agent

    init() throws {
        let (content, clock) = (content, clock)
        server = try MockServer { content.response(to: $0) }
        agent = server.agent(ResponseCache(disk: nil) { clock.now })
    }

    private let get = GeneralRequest("/x").expecting(String.self)

    /// Sends a request, with a range if there is one, and describes the response.
    private func send(
        _ range: String? = nil,
        _ fields: HTTPHeaders = [:],
        after wait: Double = 0
    ) async throws -> String {
        clock.advance(by: wait)
        var request = get
        if let range { request = request.header("Range", "bytes=\(range)") }
        for field in fields { request = request.header(field.name, field.value) }
        do {
            let response = try await agent.response(for: request)
            let range = response.headers["Content-Range"].map { " \($0)" } ?? ""
            let isWhole = response.headers.hasIdentityCoding
            #expect(!isWhole || response.headers["Content-Length"] == String(response.model.utf8.count))
            return "\(response.statusCode) \(response.model)\(range)\(response.source.suffix)"
        } catch let error as NetworkError {
            return "\(error.statusCode ?? 0) \(error.kind.rawValue)"
        }
    }

    private var lastRequest: HTTPHeaders { server.requests.last?.headers ?? [:] }

    // MARK: A complete stored response

    @Test(arguments: [
        ("0-1", "206 01 bytes 0-1/10 cache"), ("8-", "206 89 bytes 8-9/10 cache"), ("-3", "206 789 bytes 7-9/10 cache"),
        ("5-99", "206 56789 bytes 5-9/10 cache"), ("0-9", "206 0123456789 bytes 0-9/10 cache"),
    ])
    func aRangeIsServedFromACompleteResponse(range: String, response: String) async throws {
        #expect(try await send() == "200 0123456789")
        #expect(try await send(range) == response)
        #expect(try await send() == "200 0123456789 cache")
        #expect(server.requestCount == 1)
    }

    @Test func aRangeBeyondTheEndIs416AndRemovesNothing() async throws {
        #expect(try await send() == "200 0123456789")
        #expect(try await send("10-") == "416 unacceptableStatus")
        let request = get.header("Range", "bytes=10-").acceptance(Acceptance(statusCodes: 200..<500))
        let response = try await agent.response(for: request)
        #expect(response.statusCode == 416 && response.headers["Content-Range"] == "bytes */10")
        #expect(try await send() == "200 0123456789 cache")
        #expect(server.requestCount == 1)
    }

    @Test func ifRangeOfAnotherContentGetsAllOfIt() async throws {
        #expect(try await send() == "200 0123456789")
        #expect(try await send("0-1", ["If-Range": "\"1\""]) == "206 01 bytes 0-1/10 cache")
        #expect(try await send("0-1", ["If-Range": "\"2\""]) == "200 0123456789 cache")
        #expect(try await send("0-1", ["If-Range": "W/\"1\""]) == "200 0123456789 cache")
        #expect(server.requestCount == 1)
    }

    @Test func aStaleResponseIsValidatedBeforeARangeIsServed() async throws {
        #expect(try await send() == "200 0123456789")
        #expect(try await send("0-1", after: 61) == "206 01 bytes 0-1/10 revalidated")
        #expect(lastRequest["If-None-Match"] == "\"1\"" && lastRequest["Range"] == "bytes=0-1")
        content.change(to: "abcdefghij", tag: "\"2\"")
        #expect(try await send("0-1", after: 61) == "206 ab bytes 0-1/10")
        #expect(try await send("0-1") == "206 ab bytes 0-1/10 cache")
        #expect(try await send() == "200 abcdefghij revalidated")
    }

    @Test func offlineARangeIsServedFromAStaleResponse() async throws {
        #expect(try await send() == "200 0123456789")
        server.stop()
        #expect(try await send("2-3", after: 61) == "206 23 bytes 2-3/10 stale")
    }

    @Test func anEncodedContentIsNotCut() async throws {
        content.update { $0.isEncoded = true }
        #expect(try await send() == "200 0123456789")
        // The server ignores the range, as it may.
        #expect(try await send("0-1") == "200 0123456789")
        #expect(server.requestCount == 2)
    }

    @Test func otherPoliciesServeRangesByTheirAge() async throws {
        agent.config.cachePolicy = .cacheElseNetwork(maxAge: .seconds(10))
        #expect(try await send() == "200 0123456789")
        #expect(try await send("0-1", after: 9) == "206 01 bytes 0-1/10 cache")
        #expect(try await send("0-1", after: 9) == "206 01 bytes 0-1/10")
    }

    // MARK: Stored parts

    @Test func aPartIsServedAgainAndWithinItself() async throws {
        #expect(try await send("2-6") == "206 23456 bytes 2-6/10")
        #expect(try await send("2-6") == "206 23456 bytes 2-6/10 cache")
        #expect(try await send("3-4") == "206 34 bytes 3-4/10 cache")
        #expect(try await send("-4") == "206 6789 bytes 6-9/10")
        // Both parts have the same strong validator.
        #expect(try await send("2-") == "206 23456789 bytes 2-9/10 cache")
        #expect(server.requestCount == 2)
    }

    @Test func allPartsTogetherAreTheCompleteContent() async throws {
        for range in ["0-1", "8-9", "5-7", "2-4"] { _ = try await send(range) }
        #expect(try await send() == "200 0123456789 cache")
        #expect(try await send("4-5") == "206 45 bytes 4-5/10 cache")
        #expect(server.requestCount == 4)
    }

    @Test func whatIsMissingIsRequestedUnderTheValidator() async throws {
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        #expect(try await send() == "200 0123456789 revalidated")
        #expect(lastRequest["Range"] == "bytes=5-" && lastRequest["If-Range"] == "\"1\"")
        #expect(try await send() == "200 0123456789 cache")
        #expect(server.requestCount == 2)
    }

    @Test func aChangedContentIsReceivedCompletely() async throws {
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        content.change(to: "abcdefghijkl", tag: "\"2\"")
        #expect(try await send() == "200 abcdefghijkl")
        #expect(lastRequest["If-Range"] == "\"1\"")
        #expect(try await send() == "200 abcdefghijkl cache")
        #expect(server.requestCount == 2)
    }

    @Test func aServerThatIgnoresIfRangeIsRequestedAgain() async throws {
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        content.change(to: "abcdefghij", tag: "\"2\"")
        content.update { $0.ignoresIfRange = true }
        #expect(try await send() == "200 abcdefghij")
        #expect(server.requestCount == 3 && !lastRequest.contains("Range"))
    }

    @Test func aShorterContentIsReceivedCompletely() async throws {
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        content.change(to: "abc", tag: "\"2\"")
        content.update { $0.ignoresIfRange = true }
        #expect(try await send() == "200 abc")
    }

    @Test(arguments: ["W/\"1\"", nil] as [String?])
    func withoutAStrongValidatorPartsReplaceEachOther(tag: String?) async throws {
        content.update { $0.tag = tag }
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        #expect(try await send("5-9") == "206 56789 bytes 5-9/10")
        #expect(try await send("6-7") == "206 67 bytes 6-7/10 cache")
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        #expect(try await send() == "200 0123456789")
        #expect(!lastRequest.contains("Range") && !lastRequest.contains("If-Range"))
    }

    @Test func partsOfTwoContentsAreNotCombined() async throws {
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        content.change(to: "abcdefghij", tag: "\"2\"")
        #expect(try await send("5-9") == "206 fghij bytes 5-9/10")
        #expect(try await send() == "200 abcdefghij revalidated")
        #expect(lastRequest["Range"] == "bytes=0-4" && lastRequest["If-Range"] == "\"2\"")
    }

    @Test(arguments: ["bytes 0-5/10", "bytes 0-4/4", "bytes 0-4/*", "bytes 4-0/10", "items 0-4/10", ""])
    func aPartThatIsNotWhatItStatesIsNotStored(range: String) async throws {
        content.update { $0.contentRange = range }
        _ = try await send("0-4")
        content.update { $0.contentRange = nil }
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        #expect(server.requestCount == 2)
    }

    @Test func aPartIsNeverTheResponseToAPlainRequest() async throws {
        content.update { $0.tag = nil }
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        await #expect(throws: NetworkError.self) {
            _ = try await agent.response(for: get, cachePolicy: .cacheOnly)
        }
        #expect(try await agent.plan(for: get).cache == .miss(.incomplete))
        server.stop()
        #expect(try await send() == "0 unreachable")
    }

    @Test func aResponseLargerThanItsLimitIsNotCompleted() async throws {
        #expect(try await send("0-4") == "206 01234 bytes 0-4/10")
        agent.config.limits.maximumBodySize = 9
        #expect(try await send() == "0 tooLarge")
        #expect(!lastRequest.contains("Range"))
    }

    @Test func anErrorForARangeIsNotStoredForTheCompleteContent() async throws {
        content.update { $0.fields["Cache-Control"] = "max-age=60" }
        #expect(try await send("20-") == "416 unacceptableStatus")
        #expect(try await send() == "200 0123456789")
    }

    /// Contents that change at random, each of one letter: no response has two letters or another one than its tag.
    @Test func noResponseHasBytesOfTwoContents() async throws {
        let given = ProcessInfo.processInfo.environment["ERRAND_SEED"].flatMap(UInt64.init)
        var random = SplitMix(state: given ?? .random(in: .min ... .max))
        print("CacheRangeTests: ERRAND_SEED=\(random.state)")
        content.change(to: String(repeating: "a", count: 12), tag: "\"a\"")
        var versions = 0
        for _ in 0..<400 {
            if Int.random(in: 0..<3, using: &random) == 0 {
                versions += 1
                let letter = Character(UnicodeScalar(UInt8(97 + versions % 26)))
                let length = Int.random(in: 8...14, using: &random)
                let weak = Int.random(in: 0..<4, using: &random) == 0 ? "W/" : ""
                content.change(to: String(repeating: letter, count: length), tag: "\(weak)\"\(letter)\"")
                let (ignoresIfRange, isDated) = (Bool.random(using: &random), Bool.random(using: &random))
                content.update {
                    $0.ignoresIfRange = ignoresIfRange
                    $0.fields["Cache-Control"] = isDated ? "max-age=5" : "no-cache"
                }
            }
            clock.advance(by: Double.random(in: 0...3, using: &random))
            var request = get.acceptance(Acceptance(statusCodes: 200..<500))
            if Int.random(in: 0..<3, using: &random) > 0 {
                let first = Int.random(in: 0..<14, using: &random)
                let last = Int.random(in: first..<15, using: &random)
                request = request.header("Range", "bytes=\(first)-\(last)")
            }
            let response = try await agent.response(for: request)
            guard response.statusCode != 416 else { continue }
            let tag = try #require(response.headers["ETag"])
            let letters = Set(response.model)
            #expect(letters.count == 1 && letters.allSatisfy { tag.contains($0) })
            let range = response.headers["Content-Range"].flatMap { ContentRange($0) }
            #expect((response.statusCode == 206) == (range != nil))
            if let range { #expect(range.positions.count == response.model.utf8.count) }
        }
    }

    /// A proxy may have weakened the tag of one of them.
    @Test func aTagThatAValidationStrengthensCombinesNoParts() async throws {
        server.on(.get, "/x") { request in
            let isSecond = request.headers["If-None-Match"] != nil
            let (range, condition) = (request.headers["Range"], request.headers["If-Range"])
            if isSecond { return .status(304, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"]) }
            if range == "bytes=0-1" {
                let fields: HTTPHeaders = [
                    "ETag": "W/\"1\"", "Content-Range": "bytes 0-1/4", "Cache-Control": "max-age=1",
                ]
                return .data(Data("aa".utf8), status: 206, headers: fields)
            }
            if condition == "\"1\"" {
                let fields: HTTPHeaders = ["ETag": "\"1\"", "Content-Range": "bytes 2-3/4"]
                return .data(Data("BB".utf8), status: 206, headers: fields)
            }
            return .data(Data("BBBB".utf8), headers: ["ETag": "\"1\""])
        }
        let part = get.header("Range", "bytes=0-1")
        #expect(try await agent.send(part) == "aa")
        clock.advance(by: 2)
        #expect(try await agent.send(part) == "aa")
        #expect(try await agent.send(get) == "BBBB")
    }

    /// A content that changed in the second of its date has no strong validator, whatever a validation adds; but its dates
    /// remain the server's.
    @Test func aValidationKeepsTheDateThatAnExpirationIsComparedWith() async throws {
        server.on(.get, "/x") { [clock] request in
            // The server's clock is a day ahead.
            let now = clock.now.addingTimeInterval(86_400)
            func text(_ date: Date) -> String { HTTPDate.text(for: date) ?? "" }
            let fields: HTTPHeaders = [
                "Date": text(now), "Last-Modified": text(Date(timeIntervalSince1970: 1_800_086_400)),
                "Expires": text(now.addingTimeInterval(2)),
            ]
            return request.headers["If-Modified-Since"] == nil
                ? .text("a", headers: fields) : .status(304, headers: fields)
        }
        for count in 1...4 {
            let response = try await agent.response(for: get)
            #expect(response.model == "a" && response.headers["Date"] != nil)
            #expect(server.requestCount == count)
            clock.advance(by: 3)
        }
    }

    @Test func aTagThatNoCacheNamesIsReturnedOnce() async throws {
        let fields: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=0, no-cache=\"ETag\""]
        server.on(.get, "/x") { request in
            request.headers["If-None-Match"] == nil ? .text("a", headers: fields) : .status(304, headers: fields)
        }
        for _ in 0..<3 {
            #expect(try await agent.response(for: get).headers.values(for: "ETag") == ["\"1\""])
            clock.advance(by: 2)
        }
    }

    /// They are not used without a validation, and this response is of one.
    @Test func fieldsThatNoCacheNamesComeFromTheValidation() async throws {
        for number in 1...3 {
            let fields: HTTPHeaders = [
                "ETag": "\"1\"", "Cache-Control": "max-age=0, no-cache=\"X-Balance, Content-Type\"",
                "X-Balance": "\(number)",
            ]
            server.enqueue(number == 1 ? .text("a", headers: fields) : .status(304, headers: fields))
            let response = try await agent.response(for: get)
            #expect(response.headers.values(for: "X-Balance") == ["\(number)"])
            clock.advance(by: 1)
        }
    }
}

/// The content of a server for one URL, and its responses to requests for a part of it.
private final class ServedContent: Sendable {
    struct State {
        var text = "0123456789"
        var tag: String? = "\"1\""
        var fields: HTTPHeaders = ["Cache-Control": "max-age=60"]
        var ignoresIfRange = false
        /// Whether the content is sent with gzip, and without ranges.
        var isEncoded = false
        /// The `Content-Range` that it claims, or `nil` for the true one.
        var contentRange: String?
    }

    private let state = Lock(State())

    func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    func change(to text: String, tag: String?) { update { ($0.text, $0.tag) = (text, tag) } }

    func response(to request: MockRequest) -> MockResponse {
        let state = state.withLock { $0 }
        var fields = state.fields
        fields["ETag"] = state.tag
        if let tag = state.tag, request.headers["If-None-Match"] == tag { return .status(304, headers: fields) }
        if state.isEncoded { return MockResponse.text(state.text, headers: fields).gzipped() }
        let isOther = !state.ignoresIfRange && request.headers["If-Range"].map { $0 != state.tag } ?? false
        guard let range = request.headers["Range"].flatMap({ ByteRange($0) }), !isOther else {
            return .text(state.text, headers: fields)
        }
        guard let positions = range.positions(in: state.text.utf8.count) else {
            fields["Content-Range"] = "bytes */\(state.text.utf8.count)"
            return .status(416, headers: fields)
        }
        let text = String(decoding: Array(state.text.utf8)[positions], as: UTF8.self)
        let stated = state.contentRange ?? ContentRange(positions, of: state.text.utf8.count).description
        fields["Content-Range"] = stated.isEmpty ? nil : stated
        return .text(text, status: 206, headers: fields)
    }
}
