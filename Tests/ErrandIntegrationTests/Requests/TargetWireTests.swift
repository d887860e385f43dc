import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What a server names as a target is requested as it is meant, by every way in: nothing is encoded twice (RFC 3986, section
/// 2.4).
@Suite(.limit(seconds: 120)) struct TargetWireTests {
    enum Way: String, CaseIterable, Sendable {
        case redirect, redirectOfAStream, redirectOfADownload, redirectOfARetry, storedRedirect, page, storedPage,
            anchor
        case invalidation, invalidationByContentLocation, contentLocation, nextInJSON
    }

    /// A target as a server writes it, and as it is requested.
    static let targets = [
        ("/items?filter[name]=a%20b&page[number]=2", "/items?filter%5Bname%5D=a%20b&page%5Bnumber%5D=2"),
        ("/items?a=1%7C2|3", "/items?a=1%7C2%7C3"), ("/items?q=a%20b c", "/items?q=a%20b%20c"),
        ("/items?q=a%20é", "/items?q=a%20%C3%A9"), ("/items?q=a%20{b}", "/items?q=a%20%7Bb%7D"),
        ("/items?q=100%&x=%20y", "/items?q=100%25&x=%20y"), ("/items/a%20b[1]?page=2", "/items/a%20b%5B1%5D?page=2"),
        ("/it{e}ms/a%2Fb", "/it%7Be%7Dms/a%2Fb"), ("/café/a%20b", "/caf%C3%A9/a%20b"),
        ("/items?a=%E9&b=%e9", "/items?a=%E9&b=%e9"),
    ]

    private struct Step: Decodable, Sendable { let next: URL }

    private let server: MockServer
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = server.agent(ResponseCache(disk: nil))
    }

    @Test(arguments: Way.allCases, targets)
    func aTargetIsRequestedAsItIsMeant(by way: Way, _ target: (String, String)) async throws {
        let (written, requested) = target
        let fields: HTTPHeaders =
            switch way {
            case .page, .storedPage: ["Link": "<\(written)>; rel=\"next\"", "Cache-Control": "max-age=60"]
            case .anchor: ["Link": "</next>; rel=next; anchor=\"\(written)\""]
            case .contentLocation: ["Content-Location": written, "Cache-Control": "max-age=60"]
            default: [:]
            }
        let next: JSONValue = ["next": .string(server.baseURL.absoluteString + written)]
        let first: MockResponse =
            switch way {
            case .nextInJSON: .json(next.description)
            case .page, .storedPage: .json("1", headers: fields)
            default: .status(302, headers: ["Location": written])
            }
        let place = way == .invalidation ? "Location" : "Content-Location"
        server.on(.post, "*", .json("1", headers: fields))
        server.on(.post, "/change", .json("1", status: 201, headers: [place: written]))
        server.on(.get, "*", .json("3"))
        server.on(.get, "/start", first)
        server.on(.get, requested, .json("2", headers: way == .anchor ? fields : ["Cache-Control": "max-age=60"]))
        let (start, named) = (GeneralRequest("/start").expecting(Int.self), GeneralRequest(written).expecting(Int.self))
        switch way {
        case .redirect:
            #expect(try await agent.send(start) == 2)
        case .redirectOfAStream:
            for try await _ in try await agent.bytes(for: start) {}
        case .redirectOfADownload:
            let file = FileManager.default.temporaryDirectory.appending(path: "errand-target-\(UUID())")
            defer { try? FileManager.default.removeItem(at: file) }  // What is left over is only a temporary file.
            #expect(try await agent.download(start, to: file).byteCount == 1)
        case .redirectOfARetry:
            server.enqueue(.status(503, headers: ["Retry-After": "0"]))
            #expect(try await agent.send(start.retryPolicy(.standard)) == 2)
        case .storedRedirect:
            let stored = start.cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
            let urls = [try await agent.response(for: stored).url, try await agent.response(for: stored).url]
            #expect(urls[0] == urls[1] && urls[0].absoluteString.hasSuffix(requested) && server.requestCount == 2)
        case .page, .storedPage:
            if way == .storedPage { _ = try await agent.send(start) }
            var models: [Int] = []
            for try await page in agent.pages(of: start, upTo: .requests(2)) { models.append(page.model) }
            #expect(models == [1, 2])
        case .anchor:
            var models: [Int] = []
            for try await page in agent.pages(of: named) { models.append(page.model) }
            #expect(models == [2, 3])
            #expect(server.requests.map(\.target) == [requested, "/next"])
            return
        case .invalidation, .invalidationByContentLocation:
            _ = try await agent.send(named)
            _ = try await agent.send(GeneralRequest("/change").method(.post).expecting(Int.self))
            #expect(try await !agent.response(for: named).source.isFromCache)
        case .contentLocation:
            _ = try await agent.send(named.method(.post))
            #expect(try await agent.response(for: named).source.isFromCache)
        case .nextInJSON:
            let next = try await agent.send(GeneralRequest("/start").expecting(Step.self)).next
            #expect(try await agent.send(GeneralRequest(next.absoluteString).expecting(Int.self)) == 2)
        }
        #expect(server.requests.last?.target == requested)
    }

    /// RFC 9110, section 10.2.2.
    @Test func fragmentIsInheritedOverARedirectAndNotSent() async throws {
        server.on(.get, "*", .text("ok"))
        server.on(.get, "/a", .redirect(to: "/b#part%201[2]"))
        server.on(.get, "/b", .redirect(to: "/c?d=1"))
        server.on(.get, "/e", .redirect(to: "/a#own"))
        let request = GeneralRequest("/a").expecting(String.self)
        let response = try await agent.response(for: request)
        #expect(response.url.fragment() == "part%201%5B2%5D" && response.url.query() == "d=1")
        #expect(response.redirects.map { $0.to.fragment() } == ["part%201%5B2%5D", "part%201%5B2%5D"])
        #expect(try await agent.bytes(for: request).response.url == response.url)
        #expect(server.requests.map(\.target) == ["/a", "/b", "/c?d=1", "/a", "/b", "/c?d=1"])
        let replaced = try await agent.response(for: GeneralRequest("/e").expecting(String.self))
        #expect(replaced.redirects.first?.to.fragment() == "own" && replaced.url == response.url)
    }

    /// A list whose end cannot be told is an error, and what has one reading is read.
    @Test(arguments: [
        (#"</a>; title="x, </2>; rel="next""#, "error"), (#"</1; rel="prev", </2>; rel="next""#, "error"),
        ("/2; rel=next", "error"), (#"</1>; rel="prev" next"#, "error"), ("</2", "error"),
        ("</1>; rel=\"prev", "error"),
        (#"</2>; rel; rel="next""#, "page"), (#"</1>; rel="prev"; </2>; rel="next""#, "page"),
        (#"< /2 >; rel="next""#, "page"), ("</2>; rel='next'", "page"), ("</2>; rel=prev next", "page"),
        ("</2>; rel='prev next'; title='a b'", "page"), ("nonsense, </2>; rel=next", "page"),
        ("</1>; rel=prev </2>; rel=next", "page"), ("</2>; rel=next; anchor='/1'", "page"),
        ("</0>; rel=prev", "end"), ("", "end"), (",, </0>;", "end"), ("</0>; rel", "end"),
        ("</9>; rel=next; anchor='/9'", "end"),
    ])
    func theEndOfAListIsOnlyWhereItIsCertain(field: String, outcome: String) async throws {
        server.on(.get, "*", .json("1"))
        server.on(.get, "/1", .json("1", headers: ["Link": field]))
        var count = 0
        do {
            for try await _ in agent.pages(of: GeneralRequest("/1").expecting(Int.self)) { count += 1 }
            #expect(outcome != "error")
        } catch let error as NetworkError {
            #expect(outcome == "error" && error.kind == .invalidRequest, "\(error)")
            #expect(error.description.contains("the Link field of the response is malformed"), "\(error)")
        }
        #expect(server.requests.map(\.target) == (outcome == "page" ? ["/1", "/2"] : ["/1"]))
        #expect(count == server.requestCount)
    }
}
