import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct PagesTests {
    struct List: Request, Encodable, Sendable {
        typealias Model = [Int]
        var query: String = "a"
        var page: Int?
        var path: String { "/list" }
        var formatter: JSONFormatter<[Int]> { JSONFormatter(at: "items") }
    }

    private func pages(_ pages: PageSequence<List>) async throws -> [[Int]] {
        var seen: [[Int]] = []
        for try await page in pages { seen.append(page.model) }
        return seen
    }

    /// Returns page after page, with fields and members that lead from one to the next.
    private func rig(_ count: Int, next: @escaping @Sendable (Int) -> (HTTPHeaders, String)) -> Rig {
        let asked = Lock(0)
        return Rig { _ in
            let number = asked.next()
            let (headers, members) = next(number)
            let items = number <= count ? "[\(number),\(number)]" : "[]"
            return .json(#"{"items":\#(items)\#(members)}"#, headers: headers)
        }
    }

    @Test func linksOfTheResponsesAreFollowed() async throws {
        let rig = rig(3) { $0 < 3 ? (["Link": #"</list?at=\#($0 + 1)>; rel="next", </>; rel=first"#], "") : ([:], "") }
        #expect(try await pages(rig.agent.pages(of: List())) == [[1, 1], [2, 2], [3, 3]])
        #expect(rig.transport.requests.map { $0.url.query() } == ["query=a", "at=2", "at=3"])
    }

    @Test func itFollowsACursor() async throws {
        let ends = ["", #","next":null"#, #","next":"""#]
        for end in ends {
            let rig = rig(9) { ([:], $0 < 3 ? #","next":"c\#($0)""# : end) }
            #expect(try await pages(rig.agent.pages(of: List(), by: .cursor("cursor", at: "next"))).count == 3)
            #expect(
                rig.transport.requests.map { $0.url.query() } == ["query=a", "cursor=c1&query=a", "cursor=c2&query=a"]
            )
        }
        let wrong = ["[1]", "1.5", "18446744073709551615.5", "true"]
        for end in wrong {
            let rig = rig(9) { _ in ([:], #","next":\#(end)"#) }
            let error = await expect(kind: .undecodable) {
                try await pages(rig.agent.pages(of: List(), by: .cursor("cursor", at: "next")))
            }
            #expect(error != nil, "\(end)")
        }
    }

    @Test(arguments: ["items[-1]", "items[0]", "~items[-1]"])
    func aCursorInTheItemsEndsAtAnEmptyPage(path: String) async throws {
        let rig = rig(2) { _ in ([:], "") }
        let all = try await pages(rig.agent.pages(of: List(), by: .cursor("after", at: try JSONPath(path))))
        #expect(all == [[1, 1], [2, 2], []])
        #expect(rig.transport.requests.map { $0.url.query() } == ["query=a", "after=1&query=a", "after=2&query=a"])
    }

    @Test func aCursorAtAnIndexThatSomeItemsLackIsAnError() async throws {
        let rig = rig(2) { _ in ([:], "") }
        await #expect(throws: NetworkError.self) {
            _ = try await pages(rig.agent.pages(of: List(), by: .cursor("after", at: "items[2]")))
        }
    }

    @Test(arguments: ["7", "-7", "18446744073709551615", "123456789012345678901234567890123456789012345"])
    func aCursorOfAnySizeIsSentAsItWasReceived(cursor: String) async throws {
        let rig = rig(9) { ([:], $0 < 2 ? #","next":\#(cursor)"# : "") }
        #expect(try await pages(rig.agent.pages(of: List(), by: .cursor("cursor", at: "next"))).count == 2)
        #expect(rig.transport.requests.map { $0.url.query() } == ["query=a", "cursor=\(cursor)&query=a"])
    }

    @Test func itCountsPagesUpToTheFirstThatIsEmpty() async throws {
        let rig = rig(2) { _ in ([:], "") }
        #expect(try await pages(rig.agent.pages(of: List(page: 1), by: .number())) == [[1, 1], [2, 2], []])
        #expect(rig.transport.requests.map { $0.url.query() } == (1...3).map { "query=a&page=\($0)" })
        let offset = self.rig(2) { _ in ([:], "") }
        _ = try await pages(offset.agent.pages(of: List(), by: .number("offset", from: 0, by: 20)))
        #expect(
            offset.transport.requests.map { $0.url.query() } == ["query=a", "offset=20&query=a", "offset=40&query=a"]
        )
    }

    @Test func itStopsAtItsLimits() async throws {
        let endless = { self.rig(.max) { _ in ([:], "") }.agent }
        #expect(try await pages(endless().pages(of: List(), by: .number(), upTo: .requests(4))).count == 4)
        #expect(try await pages(endless().pages(of: List(), by: .number(), upTo: .requests(0))).count == 1)
        #expect(try await pages(endless().pages(of: List(), by: .number(), upTo: .items(5))).count == 3)
        #expect(try await pages(endless().pages(of: List(), by: .number(), upTo: .items(99), .requests(2))).count == 2)
    }

    /// Such as the list of a server that does not read the parameter.
    @Test func aListWithoutAnEndIsAnError() async throws {
        let rig = rig(.max) { _ in ([:], "") }
        var count = 0
        let error = await #expect(throws: NetworkError.self) {
            for try await _ in rig.agent.pages(of: List(), by: .number("p")) { count += 1 }
        }
        #expect(count == PageSequence<List>.maximumRequestCount)
        #expect(error?.description.contains("there are more than \(count) pages") == true)
        #expect(error?.description.hasPrefix("GET api.example/list: ") == true)
    }

    @Test func aPageNumberThatHasNoNextIsTheEnd() async throws {
        let rig = rig(.max) { _ in ([:], "") }
        #expect(try await pages(rig.agent.pages(of: List(), by: .number("page", from: .max))).count == 1)
    }

    @Test func aRepeatedCursorIsTheEnd() async throws {
        let rig = rig(.max) { _ in ([:], #","next":"same""#) }
        #expect(try await pages(rig.agent.pages(of: List(), by: .cursor("cursor", at: "next"))).count == 2)
    }

    @Test(arguments: ["https://other.example/list", "http://api.example/list", "//other.example/x", "/list?query=a"])
    func aLinkThatMustNotBeFollowedIsAnError(link: String) async throws {
        let rig = rig(.max) { _ in (["Link": "<\(link)>; rel=next"], "") }
        let error = await expect(kind: .invalidRequest) { try await pages(rig.agent.pages(of: List())) }
        let text = "GET api.example/list: the link to the next page cannot be followed: it leads to "
        #expect(error?.description.hasPrefix(text) == true)
        #expect(rig.transport.requestCount == 1)
    }

    @Test func linkToAnotherOriginNamesIt() async throws {
        let link = "https://ada:secret@other.example:8443/list?token=secret"
        let rig = rig(.max) { _ in (["Link": "<\(link)>; rel=next"], "") }
        let error = await #expect(throws: NetworkError.self) { _ = try await pages(rig.agent.pages(of: List())) }
        guard case .invalidLink(let text) = error?.reason else { throw Unexpected(error) }
        #expect(text.hasPrefix("it leads to another origin, https://other.example:8443; if that "))
        #expect(error?.description.contains("secret") == false)
    }

    /// A list with credentials of its own.
    private static let credited = GeneralRequest("/list").header("X-Api-Key", "own").authorization(.bearer("own"))
        .expecting([Int].self)

    /// Reads pages to their end; returns their number, and whether a link was rejected.
    private func read<R: Request>(_ pages: PageSequence<R>) async -> (count: Int, isRejected: Bool) {
        var count = 0
        let error = await failure(of: { for try await _ in pages { count += 1 } })
        if case .invalidLink? = (error as? NetworkError)?.reason { return (count, true) }
        #expect(error == nil)
        return (count, false)
    }

    @Test func linkOfAStoredResponseIsComparedWithTheOriginOfTheRequest() async {
        let rig = Rig(config: .test { $0.cache = ResponseCache(disk: nil) }) { request in
            guard request.url.host() == "other.example" else {
                return .status(302, headers: ["Location": "https://other.example/p1"])
            }
            return .json("[1]", headers: request.url.path() == "/p1" ? ["Link": "</p2>; rel=next"] : [:])
        }
        let request = Self.credited.cacheIdentity(CacheIdentity(user: "ada"))
            .cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
        for _ in 1...2 {
            let (count, isRejected) = await read(rig.agent.pages(of: request))
            #expect(count == 1 && isRejected)
        }
        let urls = rig.transport.requests.map(\.url.absoluteString)
        #expect(urls == ["https://api.example/list", "https://other.example/p1"])
    }

    /// Moves requests to another origin, as an adapter and as a URL filter.
    private struct Mirror: RequestAdapter, URLFilter {
        func filter(_ url: URL, for context: RequestContext) throws -> URL {
            try #require(URL(string: "https://mirror.example\(url.path())"))
        }
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.url = try filter(request.url, for: context)
        }
    }

    @Test func linkOfARequestThatAnAdapterMovedIsComparedWithItsOwnOrigin() async {
        let rig = Rig(config: .test { $0.adapters = [Mirror()] }) { request in
            .json("[1]", headers: request.url.path() == "/list" ? ["Link": "</p2>; rel=next"] : [:])
        }
        let (count, isRejected) = await read(rig.agent.pages(of: Self.credited))
        #expect(count == 1 && isRejected)
        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == [nil])
    }

    @Test func linkAtTheOriginOfAURLFilterIsFollowed() async {
        let rig = Rig(config: .test { $0.urlFilters = [Mirror()] }) { request in
            .json("[1]", headers: request.url.path() == "/list" ? ["Link": "</p2>; rel=next"] : [:])
        }
        let (count, isRejected) = await read(rig.agent.pages(of: Self.credited))
        #expect(count == 2 && !isRejected)
        let urls = rig.transport.requests.map(\.url.absoluteString)
        #expect(urls == ["https://mirror.example/list", "https://mirror.example/p2"])
    }

    @Test func linkAtAFallbackOfTheCDNIsFollowed() async {
        let config = NetworkConfig.test { config in
            config.cdnURL = "https://cdn.example"
            config.cdnFallbacks = ["https://cdn2.example"]
            config.retryPolicy = RetryPolicy(maximumAttempts: 2)
        }
        let rig = Rig(config: config) { request in
            if request.url.host() == "cdn.example" { return .status(503) }
            return .json("[1]", headers: request.url.path() == "/list" ? ["Link": "</p2>; rel=next"] : [:])
        }
        let (count, isRejected) = await read(rig.agent.pages(of: Self.credited.usingCDN()))
        #expect(count == 2 && !isRejected)
        #expect(rig.transport.requests.last?.url.absoluteString == "https://cdn2.example/p2")
    }

    @Test func errorOfACursorNamesTheRequest() async throws {
        for (next, path) in [(#","next":[1]"#, "next"), (#","next":1"#, "next.id")] as [(String, JSONPath)] {
            let rig = rig(.max) { _ in ([:], next) }
            let error = await expect(kind: .undecodable) {
                try await pages(rig.agent.pages(of: List(), by: .cursor("cursor", at: path)))
            }
            #expect(error?.description.hasPrefix("GET api.example/list: ") == true)
        }
    }

    @Test(arguments: [2, 3]) func aLinkToAnEarlierPageIsAnError(length: Int) async throws {
        let rig = rig(.max) { (["Link": "</list?\($0 % length == 0 ? "query=a" : "at=\($0)")>; rel=next"], "") }
        let error = await expect(kind: .invalidRequest) { try await pages(rig.agent.pages(of: List())) }
        #expect("\(error.debugDescription)".contains("leads to an earlier page"))
        #expect(rig.transport.requestCount == length)
    }

    @Test func pageIsRequestedOnlyWhenItIsAwaited() async throws {
        let rig = rig(.max) { _ in ([:], "") }
        for try await _ in rig.agent.pages(of: List(), by: .number()) { break }
        #expect(rig.transport.requestCount == 1)
    }

    private static func target(_ relation: String, _ values: [String]) -> String? {
        guard let url = URL(string: "https://api.example/list?a=1") else { return nil }
        do { return try LinkField.target(rel: relation, in: values, from: url) } catch { return "malformed" }
    }

    @Test(
        arguments: [
            ("HTTPS://API.example:443/list?a=1", "a"), ("?a=1", "a"), ("", "a"), ("list?a=1", "a"), ("/list", "x"),
            ("/list?a=2", "x"), ("#a", "x"), ("http://api.example/list?a=1", "x"), ("//[", "x"),
        ]
    )
    func aLinkOfAnotherContextIsSkipped(anchor: String, target: String) {
        #expect(Self.target("next", [#"<a>; rel=next; anchor="\#(anchor)", <x>; rel=next"#]) == target)
    }

    @Test(
        arguments: [
            ([#"<a>; rel="next""#], "a"), ([#"<a>; rel=next"#], "a"), ([#"<a>;rel="prev next""#], "a"),
            ([#"<a>; title="x, y; \"rel=next\""; rel="prev", <b,c>; REL="NEXT""#], "b,c"),
            ([#"<a>; rel=first"#, #"<b>; rel=next"#], "b"), (["<a>"], nil), ([], nil), ([""], nil),
            (["nonsense; rel=next"], "malformed"), (["<a; rel=next"], "malformed"), (["<a>; rel=next b"], "a"),
            ([#"<a>; rel=prev; rel=next"#], nil), (["<a>; x; rel=next"], "a"), (["nonsense", "<a>; rel=next"], "a"),
            ([#"<a>; rel="next"#], "a"), (["<a>; rel"], nil), ([",,, <a>; rel=next,"], "a"),
            ([#"<a>; rel="\"#], "malformed"), (["<a>; rel=prev", "b"], "malformed"),
        ] as [([String], String?)]
    )
    func linkFieldsAreReadAsTheyAreWritten(values: [String], target: String?) {
        #expect(Self.target("next", values) == target)
    }

    @Test func anyTextIsReadWithoutATrap() {
        var random = SeededGenerator()
        let signs = Array("<>;,=\" \\\trelnext/é")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0..<24, using: &random)).map { _ in signs.randomElement(using: &random) ?? "<" }
            )
            _ = Self.target("next", [text])
        }
    }

    @Test func markInATitleHidesNoLink() {
        let field = "</2>; title=\"\u{301}a, b\"; rel=\"next\", </9>; rel=last"
        #expect(Self.target("next", [field]) == "/2")
        #expect(Self.target("last", [field]) == "/9")
        #expect(Self.target("next", [#"</1>; title="\"; rel=x", </2>; rel="prev next""#]) == "/2")
    }

    /// A link has the parameters of the query; the parameters of a body are sent with every page.
    @Test func laterPagesHaveTheParametersOfTheFirst() async throws {
        let config = NetworkConfig.test { $0.parameters = ["tenant": "t"] }
        for isInQuery in [false, true] {
            let count = Lock(0)
            let rig = Rig(config: config) { _ in
                .json("[1]", headers: count.next() == 1 ? ["Link": "</list?page=2&q=a>; rel=next"] : [:])
            }
            var first = GeneralRequest("/list").method(.post).parameters(["q": "a"])
            if isInQuery { first = first.parameterEncoding(.query) }
            for try await _ in rig.agent.pages(of: first.expecting([Int].self)) {}
            let last = try #require(rig.transport.requests.last)
            #expect(last.url.query() == "page=2&q=a")
            #expect(try last.bodyText() == (isInQuery ? "" : #"{"tenant":"t","q":"a"}"#))
        }
    }

    /// The links of a POST to `/list`, whose parameters `change` places in the query.
    private func lastPage(
        of request: GeneralRequest<JSONValueFormatter>,
        _ change: (inout NetworkConfig) -> Void
    ) async throws -> OutgoingRequest {
        let count = Lock(0)
        let rig = Rig(config: .test(change)) { _ in
            .json("[1]", headers: count.next() == 1 ? ["Link": "</list?page=2&q=a&tenant=t>; rel=next"] : [:])
        }
        for try await _ in rig.agent.pages(of: request.expecting([Int].self)) {}
        #expect(rig.transport.requestCount == 2)
        return try #require(rig.transport.requests.last)
    }

    @Test(arguments: [SettingSource.config, .service, .request])
    func linkHasTheParametersThatAnInheritedEncodingPutsIntoTheQuery(source: SettingSource) async throws {
        var service = Service(id: "lists")
        if source == .service { service.parameterEncoding = .query }
        var request = GeneralRequest("/list").method(.post).parameters(["q": "a"]).service(service)
        if source == .request { request = request.parameterEncoding(.query) }
        let last = try await lastPage(of: request) { config in
            config.parameters = ["tenant": "t"]
            if source == .config { config.parameterEncoding = .query }
        }
        #expect(last.url.query() == "page=2&q=a&tenant=t")
        #expect(last.body.isEmpty)
    }

    @Test func linkHasTheParametersOfARequestWithABodyOfItsOwn() async throws {
        let request = GeneralRequest("/list").method(.post).parameters(["q": "a"]).body(.data(Data("x".utf8)))
        let last = try await lastPage(of: request) { $0.parameters = ["tenant": "t"] }
        #expect(last.url.query() == "page=2&q=a&tenant=t")
        #expect(try last.bodyText() == "x")
    }

    @Test func bodyOfADeleteIsSentWithEveryPage() async throws {
        let request = GeneralRequest("/list").method(.delete).parameters(["q": "a"]).parameterEncoding(.json)
        let last = try await lastPage(of: request) { _ in }
        #expect(last.url.query() == "page=2&q=a&tenant=t")
        #expect(try last.bodyText() == #"{"q":"a"}"#)
    }
}
