import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct URLBuildingTests {
    private func url(
        _ path: String,
        base: BaseURL? = "https://api.example",
        parameters: Parameters = [:]
    ) async throws -> String {
        let rig = Rig(config: .test { $0.baseURL = base })
        return try await rig.agent.plan(for: GeneralRequest(path).parameters(parameters)).request.url.absoluteString
    }

    @Test(arguments: [
        ("https://api.example" as BaseURL, "/users", "https://api.example/users"),
        ("https://api.example", "users", "https://api.example/users"),
        ("https://api.example/", "/users", "https://api.example/users"),
        ("https://api.example/v1", "users", "https://api.example/v1/users"),
        ("https://api.example/v1/", "/users", "https://api.example/v1/users"),
        ("https://api.example/v1//", "//users", "https://api.example/v1/users"),
        ("https://api.example", "", "https://api.example/"), ("https://api.example/v1", "", "https://api.example/v1"),
        ("https://api.example/v1?key=1", "users?page=2", "https://api.example/v1/users?key=1&page=2"),
        ("https://api.example/v1?key=1", "users", "https://api.example/v1/users?key=1"),
        ("https://user:secret@api.example/v1", "users", "https://api.example/v1/users"),
        ("HTTPS://API.example/v1", "users", "https://API.example/v1/users"),
        ("http://api.example:8080", "users", "http://api.example:8080/users"),
        ("https://api.example/a b", "c", "https://api.example/a%20b/c"),
    ])
    func baseAndPathAreJoined(base: BaseURL, path: String, whole: String) async throws {
        #expect(try await url(path, base: base) == whole)
    }

    @Test(arguments: [
        ("/users:search", "/users:search"), ("users:search", "/users:search"), ("/a%20b%2Fc", "/a%20b%2Fc"),
        ("/a b", "/a%20b"),
        ("/100%", "/100%25"), ("/%zz", "/%25zz"), ("/é/日本", "/%C3%A9/%E6%97%A5%E6%9C%AC"),
        ("/[1]{2}", "/%5B1%5D%7B2%7D"),
        ("/a?b=c", "/a?b=c"), ("/a?b=c d&e=[1]", "/a?b=c%20d&e=%5B1%5D"), ("/a?x=1?y", "/a?x=1?y"),
        ("/a?q=+;,", "/a?q=+;,"),
        ("/a?ü=ö", "/a?%C3%BC=%C3%B6"), ("/a\r\nb", "/a%0D%0Ab"), ("/a\u{0}", "/a%00"),
        ("users/", "/users/"),
        ("a//b", "/a//b"), ("?a=1", "/?a=1"),
    ])
    func pathsAreEncodedText(path: String, encoded: String) async throws {
        #expect(try await url(path) == "https://api.example" + encoded)
    }

    @Test(arguments: [
        ("http://other.example/x?y=1", "http://other.example/x?y=1"),
        ("HTTP://other.example/x", "http://other.example/x"),
        ("https://other.example", "https://other.example/"),
        ("https://other.example?x=1", "https://other.example/?x=1"),
        ("https://user:pw@other.example/x", "https://other.example/x"),
        ("https://a:b@c@other.example/", "https://other.example/"),
        ("https://other.example:8443/a b", "https://other.example:8443/a%20b"),
    ])
    func anAbsolutePathSkipsTheBase(path: String, whole: String) async throws {
        #expect(try await url(path, base: "https://api.example/v1?key=1") == whole)
        #expect(try await url(path, base: nil) == whole)
    }

    @Test(arguments: [
        ("+", "%2B"), (";", "%3B"), ("&", "%26"), ("=", "%3D"), ("%", "%25"), ("%41", "%2541"), (" ", "%20"),
        ("ü", "%C3%BC"),
        ("日", "%E6%97%A5"), ("#", "%23"), ("?", "%3F"), ("/", "%2F"), ("[", "%5B"), ("\n", "%0A"),
        ("😀", "%F0%9F%98%80"),
    ])
    func namesAndValuesAreEncodedCompletely(text: String, encoded: String) async throws {
        let found = try await url("/s?a=b", parameters: Parameters(["x\(text)": "\(text)y"]))
        #expect(found == "https://api.example/s?a=b&x\(encoded)=\(encoded)y")
        let rig = Rig()
        let form = GeneralRequest("/s").method(.post).parameterEncoding(.form).parameters(Parameters([text: text]))
        #expect(try await rig.wire(form).bodyText() == "\(encoded)=\(encoded)")
    }

    @Test func aBaseOfAURLKnownAtRunTimeIsTheSame() async throws {
        let base = try #require(URL(string: "https://user:pw@api.example/v1/?k=1"))
        #expect(try await url("/users", base: BaseURL(base)) == "https://api.example/v1/users?k=1")
        let service = Service(id: "s", baseURL: base)
        let plan = try await Rig().agent.plan(for: GeneralRequest("x").service(service))
        #expect(plan.request.url.absoluteString == "https://api.example/v1/x?k=1")
        #expect(NetworkConfig(baseURL: base).baseURL == BaseURL(base))
    }

    @Test(
        arguments: ["", "api.example", "/v1", "https://", "ftp://api.example", "mailto:x@y", "https:api.example"]
            as [BaseURL]
    )
    func invalidBaseIsAnError(base: BaseURL) async throws {
        await expect(kind: .invalidRequest) { try await url("/x", base: base) }
        #expect(!base.description.isEmpty)
    }

    /// The URL of the last request of a type is used again for the same bytes: a Kelvin sign is no K, and the order of two
    /// combining marks counts.
    @Test(arguments: [("/K", "/\u{212A}"), ("/s\u{323}\u{307}", "/s\u{307}\u{323}"), ("/\u{E9}", "/e\u{301}")])
    func pathsThatUnicodeCallsEqualAreTwoURLs(one: String, other: String) async throws {
        #expect(one == other)
        let rig = Rig(response: .json("1"))
        for path in [one, other, one, one] { _ = try await rig.agent.send(GeneralRequest(path)) }
        let paths = rig.transport.requests.map { $0.url.path() }
        let escaped = [one, other].map { PercentEncoding.escapingComponent(String($0.dropFirst())) }
        #expect(paths == [0, 1, 0, 0].map { "/" + escaped[$0] })
        #expect(escaped[0] != escaped[1])
    }

    @Test func withoutABaseARelativePathIsAnError() async throws {
        let error = try #require(await failure { try await url("/x", base: nil) } as? NetworkError)
        guard case .invalidURL = error.reason else { throw Unexpected(error) }
    }

    /// Whatever a path holds, it never traps and never leaves the host of its base unless it names another one.
    @Test func hostilePathsNeverTrapNorChangeTheHost() async throws {
        var random = SeededGenerator()
        let pieces = [
            "/", "//", "?", "#", "%", "%2", "%41", ":", "@", "\\", "..", "\r\n", "\u{0}", "é", "\u{202E}", "[", "]",
            " ", "a", "&", "=", ";", "😀", "http", "e\u{301}",
        ]
        let agent = Rig(config: .test { $0.baseURL = "https://api.example/v1" }).agent
        for _ in 0..<2000 {
            let path = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }.joined()
            let url: URL
            do {
                url = try await agent.plan(for: GeneralRequest(path)).request.url
            } catch let error as NetworkError {
                // The path names a scheme, or isn't only the text of its author.
                #expect(error.kind == .invalidRequest, "\(path.debugDescription)")
                let isSuspicious = path.contains(":") || path.contains("#") || path.contains("..")
                #expect(isSuspicious, "\(path.debugDescription)")
                continue
            }
            if path.hasPrefix("http://") { continue }
            #expect(url.absoluteString.hasPrefix("https://api.example/v1"), "\(path.debugDescription)")
            #expect(url.host() == "api.example", "\(path.debugDescription)")
            #expect(url.absoluteString.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(path.debugDescription)")
        }
    }

    @Test func hostileBytesAsAURLNeverTrap() async throws {
        var random = SeededGenerator()
        let agent = Rig().agent
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let path = "http://" + String(decoding: bytes, as: UTF8.self)
            let error = await failure { try await agent.plan(for: GeneralRequest(path)) }
            #expect(error == nil || (error as? NetworkError)?.kind == .invalidRequest, "\(path.debugDescription)")
        }
    }

    @Test(arguments: [
        "/users/../admin", "../admin", "/users/..", "./x", "/a/./b", "..", ".", "/users/%2e%2E/admin", "/users/.%2e",
        "/%2e",
        "/users/\(component: "..")", "/users/\(component: ".")/orders", "/x#y", "/users/7#", "#", "/a b#c", "/a?b=c#d",
    ])
    func suspiciousOrTruncatedPathIsAnExplainedError(path: String) async throws {
        let error = try #require(await expect(kind: .invalidRequest) { try await url(path) })
        #expect(error.description.contains(#""\(component: value)""#), "\(error)")
    }

    @Test(arguments: [
        ("https://other.example/a/up/../x", "https://other.example/a/x"),
        ("https://other.example/../x?q=/../y#f", "https://other.example/x?q=/../y"),
        ("https://other.example/a/./b/..", "https://other.example/a/"),
    ])
    func dotSegmentsOfAnAbsoluteURLAreResolved(path: String, whole: String) async throws {
        #expect(try await url(path) == whole)
    }

    @Test func escapedDotsInAnAbsoluteURLAreAnError() async throws {
        await expect(kind: .invalidRequest) { try await url("https://other.example/users/\(component: "..")/x") }
    }

    @Test func dotSegmentsOfBaseFiltersAndAdaptersAreResolved() async throws {
        #expect(try await url("x", base: "https://api.example/v1/../v2") == "https://api.example/v2/x")
        struct Climbing: URLFilter {
            func filter(_ url: URL, for context: RequestContext) throws -> URL { url.appending(path: "../y") }
        }
        let filtering = Rig(config: .test { $0.urlFilters = [Climbing()] })
        #expect(try await filtering.wire(GeneralRequest("/a/b")).url.path() == "/a/y")
        let adapter = ClosureAdapter { request, _ in request.url.append(path: "%2e./z") }
        let adapting = Rig(config: .test { $0.adapters = [adapter] })
        #expect(try await !adapting.wire(GeneralRequest("/a/b")).url.path().contains(".."))
    }
}
