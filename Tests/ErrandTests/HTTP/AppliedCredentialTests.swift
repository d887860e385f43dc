import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A credential that a session has added to a request is sent, and neither shown nor written.
@Suite(.limit(seconds: 60)) struct AppliedCredentialTests {
    private struct Tokens: Authenticator {
        func appliesTo(_ url: URL) -> Bool { url.host() == "api.example" }

        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) throws {
            var parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
            parts.path = "/bot\(credential)" + parts.path
            parts.queryItems = (parts.queryItems ?? []) + [URLQueryItem(name: "key", value: credential)]
            request.url = try #require(parts.url)
            request.headers["X-Foo"] = credential
        }

        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func scope(of credential: String) -> String? { "ada" }
    }

    private static func config(_ change: (inout NetworkConfig) -> Void = { _ in }) -> NetworkConfig {
        NetworkConfig.test { config in
            config.authentication = .session(AuthenticationSession(Tokens(), credential: "CANARY"))
            change(&config)
        }
    }

    @Test(arguments: ["/a", "/redirect", "/loop", "/b%20c?q=1"])
    func noTextContainsIt(path: String) async throws {
        let log = Record<String>()
        let config = Self.config { $0.accessories = [LoggingAccessory(level: .events) { log.add($0) }] }
        let rig = Rig(config: config) { request in
            switch request.url.lastPathComponent {
            case "redirect": .status(302, headers: ["Location": "x;y?\(request.url.query() ?? "")"])
            case "loop": .status(302, headers: ["Location": "loop"])
            default: .json("1", status: 404)
            }
        }
        let request = GeneralRequest(path)
        let error = try #require(await failure { try await rig.agent.send(request) } as? NetworkError)
        let plan = try await rig.agent.plan(for: request)
        for text in ["\(error)", error.path ?? "", "\(plan)", "\(plan.request)", plan.curl] { log.add(text) }
        if let response = error.response {
            log.add("\(response)")
            for redirect in response.redirects { log.add("\(redirect)") }
        }
        let accepted = request.acceptance(Acceptance(statusCodes: 200..<500))
        if path != "/loop" { log.add("\(try await rig.agent.response(for: accepted))") }
        #expect(rig.transport.requests.allSatisfy { $0.url.path().hasPrefix("/botCANARY/") })
        #expect(!log.all.contains { $0.contains("CANARY") }, "\(log.all)")
        let declared = String(path.prefix { $0 != "?" })
        #expect(error.path == (["/redirect", "/loop"].contains(path) ? nil : declared))
        #expect(plan.curl.contains("https://api.example\(declared)"), "\(plan.curl)")
        #expect(plan.curl.contains("key=•••") && plan.curl.contains("X-Foo: •••"), "\(plan.curl)")
    }

    @Test func storedResponseDoesNotContainIt() async throws {
        let cache = ResponseCache(disk: nil)
        let config = Self.config { config in
            config.cache = cache
            config.cachePolicy = .http
        }
        let rig = Rig(config: config) { request in
            if request.headers.contains("If-None-Match") { return .status(304) }
            return .json("1", headers: ["ETag": "\"a\"", "Cache-Control": "max-age=0"])
        }
        let request = GeneralRequest("/a?q=1").expecting(Int.self)
        #expect(try await rig.agent.send(request) == 1)
        await cache.flush()
        #expect(await cache.entries.map(\.head.location) == ["https://api.example/a?q=1"])
        let second = try await rig.agent.response(for: request)
        #expect(second.model == 1 && second.source.isFromCache)
        #expect(rig.transport.requestCount == 2)
    }

    // MARK: Places in URLs

    /// Puts the credential where a test needs it, at one host.
    private struct Placing: Authenticator {
        let place: @Sendable (String, inout OutgoingRequest) throws -> Void

        func appliesTo(_ url: URL) -> Bool { url.host() == "api.example" }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) throws {
            try place(credential, &request)
        }
        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func scope(of credential: String) -> String? { "ada" }

        /// A prefix of the path whose first component is in many others.
        static let prefix = Placing { credential, request in
            var parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
            parts.path = "/u/\(credential)" + parts.path
            request.url = try #require(parts.url)
        }
        /// A pair, or with an empty name a query without names.
        static func query(_ name: String) -> Placing {
            Placing { credential, request in
                let query = [request.url.query(), name.isEmpty ? credential : "\(name)=\(credential)"].compactMap { $0 }
                let place = "https://api.example\(request.url.path())"
                request.url = try #require(URL(string: "\(place)?\(query.joined(separator: "&"))"))
            }
        }
        /// A parameter of the last component.
        static let parameter = Placing { credential, request in
            var parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
            parts.path += ";t=\(credential)"
            request.url = try #require(parts.url)
        }
        static let all = [prefix, query("key"), query(""), parameter]
    }

    /// A server may repeat the URL of the request in the one that it leads to.
    @Test(arguments: 0..<3) func ofARedirectOnlyTheOriginIsShownAndStored(index: Int) async throws {
        let log = Record<String>()
        let session = AuthenticationSession(Placing.all[index], credential: "CANARY-1")
        let config = NetworkConfig.test { config in
            config.authentication = .session(session)
            config.accessories = [LoggingAccessory(level: .events) { log.add($0) }]
        }
        let rig = Rig(config: config) { request in
            guard request.url.path().hasSuffix("/music") else { return .json("1", status: 404) }
            let place = request.url.path() + "?" + (request.url.query() ?? "")
            return .status(302, headers: ["Location": "/login?next=\(PercentEncoding.escapingComponent(place))&q=1"])
        }
        let error = try #require(await failure { try await rig.agent.send(GeneralRequest("/music")) } as? NetworkError)
        let plan = try await rig.agent.plan(for: GeneralRequest("/music"))
        for text in ["\(error)", "\(plan)", plan.curl] { log.add(text) }
        #expect(rig.transport.requests.allSatisfy { $0.url.absoluteString.contains("CANARY-1") })
        #expect(!log.all.contains { $0.contains("CANARY") }, "\(log.all)")
        #expect(log.all.contains { $0.hasSuffix("goes on to https://api.example") }, "\(log.all)")
        let response = try #require(error.response)
        #expect(response.storedURL.absoluteString == "https://api.example/")
    }

    @Test func componentsOfTheRequestItselfAreShownAndStored() async throws {
        let session = AuthenticationSession(Placing.prefix, credential: "CANARY-1")
        let rig = Rig(config: .test { $0.authentication = .session(session) }, response: .json("1", status: 404))
        let request = GeneralRequest("/u/music")
        let error = try #require(await failure { try await rig.agent.send(request) } as? NetworkError)
        #expect(error.path == "/u/music")
        #expect(error.response?.storedURL.path() == "/u/music")
    }

    /// Base64, and a token that looks as if it were encoded once more.
    @Test(arguments: ["CANARY+1/x==", "CANARY%2D", "CANARY 1 é"])
    func everySpellingIsRemoved(credential: String) throws {
        let escaped = PercentEncoding.escapingComponent(credential)
        let before = try #require(URL(string: "https://api.example/u/list?q=1"))
        let spellings = [escaped, credential.contains("=") ? credential : escaped]
        for spelling in spellings {
            for place in ["u/list?q=1&key=\(spelling)", "u/list?\(spelling)&q=1", "t/\(escaped)/u/list?q=1"] {
                let url = try #require(URL(string: "https://api.example/\(place)"))
                let applied = AppliedCredential([:], url, addedTo: ([:], before))
                #expect(applied.removed(from: url) == before)
                #expect(applied.isInPath(of: url) == place.hasPrefix("t/"))
            }
        }
    }

    @Test(arguments: Placing.all.indices) func linkToTheNextPageHasTheCredentialOnce(index: Int) async throws {
        let session = AuthenticationSession(Placing.all[index], credential: "CANARY-1")
        let log = Record<String>()
        let config = NetworkConfig.test { config in
            config.authentication = .session(session)
            config.accessories = [LoggingAccessory(level: .events) { log.add($0) }]
        }
        for isRelative in [true, false] {
            let rig = Rig(config: config) { request in
                let query = request.url.query() ?? ""
                let number = query.contains("page=2") ? 3 : 2
                if query.contains("page=3") { return .json("1") }
                let rest = query.split(separator: "&").filter { !$0.hasPrefix("page=") }
                let place = isRelative ? "" : request.url.path()
                let pairs = (isRelative ? [] : rest) + ["page=\(number)"]
                let link = "<\(place)?\(pairs.joined(separator: "&"))>; rel=next"
                return .json("1", headers: ["Link": link])
            }
            session.login("CANARY-1")
            var count = 1
            for try await _ in rig.agent.pages(of: GeneralRequest("/u/list").expecting(Int.self)) {
                count += 1
                session.login("CANARY-\(count)")
            }
            let sent = rig.transport.requests.map(\.url.absoluteString)
            #expect(sent.count == 3)
            for (index, url) in sent.enumerated() {
                #expect(url.components(separatedBy: "CANARY").count == 2, "\(url)")
                #expect(url.contains("CANARY-\(index + 1)"), "\(url)")
                #expect(index == 0 || url.contains("page=\(index + 1)"), "\(url)")
            }
        }
        #expect(!log.all.contains { $0.contains("CANARY") }, "\(log.all)")
    }

    /// The page is the same, although the link has another token.
    @Test func linkToTheSamePageIsAnErrorWithAnotherToken() async throws {
        let session = AuthenticationSession(Placing.query("key"), credential: "CANARY-1")
        let rig = Rig(config: .test { $0.authentication = .session(session) }) { request in
            .json("1", headers: ["Link": "</list?\(request.url.query() ?? "")>; rel=next"])
        }
        await expect(throwing: .invalidLink("it leads to the same page")) {
            for try await _ in rig.agent.pages(of: GeneralRequest("/list").expecting(Int.self)) {
                session.login("CANARY-2")
            }
        }
        #expect(rig.transport.requestCount == 1)
    }

    @Test func bodyThatAnAuthenticatorChangesBeforeAnErrorIsNotSentToAnotherOrigin() async throws {
        struct Failure: Error {}
        let session = AuthenticationSession(
            Placing { credential, request in
                func sign(_ body: inout OutgoingBody) throws {
                    body = .data(Data(credential.utf8))
                    throw Failure()
                }
                #expect(throws: Failure.self) { try sign(&request.body) }
            },
            credential: "CANARY"
        )
        let rig = Rig(config: .test { $0.authentication = .session(session) }) { request in
            guard request.url.host() == "api.example" else { return .json("1") }
            return .status(307, headers: ["Location": "https://other.example/"])
        }
        let request = GeneralRequest("/a").method(.put).body(.data(Data("x".utf8)))
        await expect(kind: .redirectRefused) { try await rig.agent.send(request) }
        #expect(rig.transport.requests.map(\.url.host) == ["api.example"])
    }

    // MARK: Components that the request has too

    private static func applied(_ new: String, to old: String) throws -> AppliedCredential {
        let urls = try [new, old].map { try #require(URL(string: "https://api.example\($0)")) }
        return AppliedCredential(HTTPHeaders(), urls[0], addedTo: (HTTPHeaders(), urls[1]))
    }

    /// The tenant of the credential may have the number of a user.
    @Test(arguments: [
        ("/7/users/7/posts?page=2", "/users/7/posts?page=2"), ("/users/7/posts?page=2", "/users/7/posts?page=2"),
    ])
    func aComponentThatTheRequestHasTooIsRemovedInItsPlace(link: String, expected: String) throws {
        let applied = try Self.applied("/7/users/7/posts", to: "/users/7/posts")
        #expect(!applied.isEmpty)
        let url = try #require(URL(string: "https://api.example\(link)"))
        #expect(applied.removed(from: url).absoluteString == "https://api.example\(expected)")
    }

    // MARK: Stored responses

    /// The entry has names and numbers, and the link has values that nobody knows any more.
    @Test(arguments: [
        ("/t/acme/list?q=1&key=a", "/list?q=1", "/t/other/list?key=b&page=2", "/list?page=2"),
        ("/t/acme/list?q=1&key=a", "/list?q=1", "/list?page=2", "/list?page=2"),
        ("/t/acme/list?q=1&key=a", "/list?q=1", "/t/x", "/"), ("/t/acme/", "/", "/t/x/a?page=2", "/a?page=2"),
        ("/list?tag=1&tag=2", "/list?tag=1", "/list?tag=1&page=2&tag=3", "/list?tag=1&page=2"),
        ("/list?QWxh==", "/list", "/list?page=2&SGV5==", "/list?page=2"),
        ("/list?QWxh", "/list", "/list?SGV5", "/list"),
        ("/v1/acme/list", "/v1/list", "/v1/other/list/2", "/v1/list/2"),
        ("/list;t=1", "/list", "/list;t=2?page=2", "/list?page=2"), ("/a", "/a", "/b?c#d", "/b?c"),
    ])
    func ofAStoredResponseItIsRemovedByNameAndPlace(sent: String, own: String, link: String, expected: String) throws {
        let applied = try Self.applied(sent, to: own)
        let url = try #require(URL(string: "https://api.example\(own)"))
        let stored = AppliedCredential(applied.outline, addedTo: url)
        func removed(_ text: String) throws -> String {
            stored.removed(from: try #require(URL(string: "https://api.example\(text)"))).absoluteString
        }
        #expect(try removed(link) == "https://api.example\(expected)")
        #expect(try removed(own) == "https://api.example\(own)")
        let values = ["acme", "QWxh", "1", "2", "a"]
        #expect(applied.outline.names.isDisjoint(with: values))
    }
}
