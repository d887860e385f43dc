import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Which credentials of a config arrive where: two servers are two origins.
@Suite(.serialized, .limit(seconds: 60))
struct CredentialOriginWireTests {
    /// Where a request goes.
    enum Way: String, CaseIterable, Sendable {
        case relativePath, cdn, absoluteURLOfTheBase, listed, absoluteURL, customRequest, customRequestOfTheBase
        case redirectWithin, redirectAway, redirectAwayWithBody, filteredAway, adaptedAway, withoutBase
        case withoutBaseButList, optedOut, optedOutAndRedirected, anyOrigin

        var isOwn: Bool {
            switch self {
            case .relativePath, .cdn, .absoluteURLOfTheBase, .listed, .redirectWithin, .withoutBase, .optedOut,
                .anyOrigin:
                true
            default: false
            }
        }
    }

    /// Sends a URLRequest of its own where it has one.
    private struct Asked: Request, Sendable {
        typealias Model = Void
        var path: String
        var method: HTTPMethod = .get
        var usesCDN = false
        var custom: URL?
        var credentialPolicy: CredentialPolicy = .ownOrigins
        var headers: HTTPHeaders { ["X-Own": "own"] }
        var query: Parameters { ["own": "1"] }
        func customURLRequest() throws -> URLRequest? { custom.map { URLRequest(url: $0) } }
    }

    private struct Adding: RequestAdapter {
        var target: URL?
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["X-Access-Token"] = "adapter-secret"
            request.headers["X-Signature"] = "signed"
            if let target { request.url = target }
        }
    }

    private struct Filter: URLFilter {
        var target: URL?
        func filter(_ url: URL, for context: RequestContext) -> URL {
            (target ?? url).appending(queryItems: [URLQueryItem(name: "token", value: "filter-secret")])
        }
    }

    @Test(arguments: Way.allCases)
    func credentialsOfTheConfigArriveOnlyAtItsOrigins(_ way: Way) async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        let (far, near) = (other.baseURL.appending(path: "x"), home.baseURL.appending(path: "x"))
        for server in [home, other] {
            for method in [HTTPMethod.get, .post] { server.on(method, "/x", .status(204)) }
        }
        for (path, target) in [("/away", far), ("/within", near)] {
            home.on(.get, path, .redirect(to: target.absoluteString, status: 302))
            home.on(.post, path, .redirect(to: target.absoluteString, status: 307))
        }
        other.on(.get, "/away", .redirect(to: near.absoluteString))

        var config = NetworkConfig(baseURL: home.baseURL)
        config.retryPolicy = .never
        config.authorization = .bearer("config-secret")
        config.headers = ["X-Api-Key": "header-secret", "X-Plain": "plain"]
        config.parameters = ["tenant": "parameter-secret"]
        var (filter, adapter) = (Filter(), Adding())
        var request = Asked(path: "/x")
        switch way {
        case .relativePath: break
        case .absoluteURLOfTheBase: request.path = near.absoluteString
        case .cdn:
            config.cdnURL = BaseURL(other.baseURL)
            request.usesCDN = true
        case .listed:
            config.credentialOrigins = [BaseURL(far)]
            request.path = far.absoluteString
        case .absoluteURL: request.path = far.absoluteString
        case .customRequest: request.custom = far
        case .customRequestOfTheBase: request.custom = near
        case .redirectWithin: request.path = "/within"
        case .redirectAway: request.path = "/away"
        case .redirectAwayWithBody:
            request.path = "/away"
            request.method = .post
        case .filteredAway: filter.target = far
        case .adaptedAway: adapter.target = far
        case .withoutBase:
            config.baseURL = nil
            request.path = far.absoluteString
        case .withoutBaseButList:
            config.baseURL = nil
            config.credentialOrigins = [BaseURL(home.baseURL)]
            request.path = far.absoluteString
        case .optedOut:
            request.path = far.absoluteString
            request.credentialPolicy = .requestOrigin
        case .optedOutAndRedirected:
            request.path = other.baseURL.appending(path: "away").absoluteString
            request.credentialPolicy = .requestOrigin
        case .anyOrigin:
            request.path = "/away"
            request.credentialPolicy = .anyOrigin
        }
        config.urlFilters = [filter]
        config.adapters = [adapter]
        try await Agent(config: config).send(request)

        let isBack = way == .optedOutAndRedirected
        let server = isBack ? home : other.requests.isEmpty ? home : other
        let last = try #require(server.requests.last { $0.path == "/x" })
        let all = "\(last.target)\n\(last.headers.map { "\($0.name): \($0.value)" })\n\(last.text)"
        if way == .customRequestOfTheBase {
            // Building is replaced, so only the adapter added something.
            #expect(last.headers["X-Access-Token"] == "adapter-secret")
        } else if way.isOwn {
            #expect(last.headers["Authorization"] == "Bearer config-secret")
            #expect(last.headers["X-Api-Key"] == "header-secret")
            #expect(last.headers["X-Access-Token"] == "adapter-secret")
            if way != .redirectWithin, way != .anyOrigin {
                #expect(all.contains("parameter-secret") && all.contains("filter-secret"), "\(all)")
            }
        } else {
            #expect(!all.contains("secret"), "\(all)")
        }
        // What is not secret and what the request itself says arrives everywhere.
        if way != .customRequest, way != .customRequestOfTheBase {
            #expect(last.headers["X-Plain"] == "plain")
            #expect(last.headers["X-Own"] == "own")
        }
    }

    /// Moves a request to another port, as a fail-over does.
    private struct Moving: RequestAdapter, Interceptor {
        let port: Int?

        private func move(_ request: inout OutgoingRequest) throws {
            var parts = URLComponents(url: request.url, resolvingAgainstBaseURL: false)
            parts?.port = port
            request.url = try #require(parts?.url)
        }

        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws { try move(&request) }

        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            try move(&request)
            return try await next(request)
        }
    }

    @Test(arguments: [true, false], [HTTPMethod.get, .post])
    func baseParametersAreRemovedIfAHookMovesTheRequest(isAdapter: Bool, method: HTTPMethod) async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        other.on(method, "/x", .json("1"))
        for encoding in [ParameterEncoding.json, .form] {
            var config = NetworkConfig(baseURL: home.baseURL)
            config.parameters = ["tenant": "parameter-secret", "apiKey": "key-secret"]
            let moving = Moving(port: other.baseURL.port)
            if isAdapter { config.adapters = [moving] } else { config.interceptors = [moving] }
            var request = GeneralRequest("/x").method(method).parameters(["own": "1"])
            if method == .post { request = request.parameterEncoding(encoding) }
            _ = try await Agent(config: config).send(request.expecting(Int.self))
            let last = try #require(other.requests.last)
            #expect(!"\(last.target)\n\(last.text)".contains("secret"), "\(last.target) \(last.text)")
            #expect("\(last.target)\n\(last.text)".contains("own"))
        }
        #expect(home.requestCount == 0)
    }

    @Test func aPostWithBaseParametersIsRedirectedOverTwoOrigins() async throws {
        let (home, near, far) = (try MockServer(), try MockServer(), try MockServer())
        defer { for server in [home, near, far] { server.stop() } }
        for (server, next) in [(home, near), (near, far)] {
            server.on(.post, "/x", .redirect(to: next.baseURL.appending(path: "x").absoluteString, status: 307))
        }
        far.on(.post, "/x", .json("1"))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.parameters = ["tenant": "parameter-secret"]
        let request = GeneralRequest("/x").method(.post).parameters(["own": "1"]).expecting(Int.self)
        #expect(try await Agent(config: config).send(request) == 1)
        #expect(far.requests.map(\.text) == [#"{"own":"1"}"#])
    }

    /// As a signed download of a storage host: what the request itself says goes where it goes.
    @Test
    func credentialsOfTheRequestItselfAreSentToAnyURL() async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        other.on(.get, "/x", .status(204))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authorization = .bearer("config")
        let request = GeneralRequest(other.baseURL.appending(path: "x").absoluteString).header("X-Api-Key", "own")
            .authorization(.bearer("own")).query(["token": "own"]).expecting(Void.self)
        try await Agent(config: config).send(request)
        let sent = try #require(other.requests.last)
        #expect(sent.headers["Authorization"] == "Bearer own")
        #expect(sent.headers["X-Api-Key"] == "own")
        #expect(sent.query == "token=own")
    }

    @Test
    func aLinkToThePageOfAnotherOriginIsNotFollowedAfterARedirect() async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        home.on(.get, "/list", .redirect(to: other.baseURL.appending(path: "list").absoluteString))
        other.on(.get, "/list", .json("[1]", headers: ["Link": "</list?page=2>; rel=next"]))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authorization = .bearer("config")
        let agent = Agent(config: config)
        let error = await #expect(throws: NetworkError.self) {
            for try await _ in agent.pages(of: GeneralRequest("/list").expecting([Int].self)) {}
        }
        #expect(error?.kind == .invalidRequest)
        #expect(other.requestCount == 1)
    }

    @Test
    func bodyMadeOfBaseParametersIsNotRedirectedToAnotherOrigin() async throws {
        struct Sealing: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
                request.body = .data(Data("sealed".utf8) + (request.body.data ?? Data()))
            }
        }
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.parameters = ["key": "secret"]
        config.adapters = [Sealing()]
        let agent = Agent(config: config)
        let request = GeneralRequest("/x").method(.post)
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request) }
        #expect(error?.kind == .redirectRefused)
        #expect(other.requestCount == 0)
    }

    /// Makes another request of the one it gets.
    private struct Rebuilding: Interceptor {
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            try await next(
                OutgoingRequest(method: request.method, url: request.url, headers: request.headers, body: request.body)
            )
        }
    }

    /// A body whose bytes cannot be compared.
    private struct Secret: BodySource {
        let text: String
        var byteCount: Int64? { Int64(text.utf8.count) }
        func makeReader() -> any BodyReader { Reader(rest: Data(text.utf8)) }

        final class Reader: BodyReader {
            private var rest: Data
            init(rest: Data) { self.rest = rest }
            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                let count = min(buffer.count, rest.count)
                buffer.copyBytes(from: rest.prefix(count))
                rest = Data(rest.dropFirst(count))
                return count
            }
        }
    }

    /// A login at one port.
    private final class Tokens: Authenticator {
        enum Place: Sendable { case fields, body, source, query }

        let port: Int?
        let place: Place
        let refreshCount = Lock(0)

        init(at port: Int?, in place: Place = .fields) { (self.port, self.place) = (port, place) }

        func appliesTo(_ url: URL) -> Bool { url.port == port }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(token)"
            request.headers["X-Shop-2b"] = token
            switch place {
            case .fields: break
            case .body: request.body = .data(Data("token=\(token)".utf8))
            case .source: request.body = .source(Secret(text: "token=\(token)"))
            case .query: request.url.append(queryItems: [URLQueryItem(name: "who", value: token)])
            }
        }
        func refresh(_ token: String, with agent: Agent) async throws -> String {
            refreshCount.withLock { $0 += 1 }
            return token
        }
    }

    /// Whatever else may be sent to the other origin, the authenticator decides about its credential.
    @Test(arguments: [CredentialPolicy.ownOrigins, .anyOrigin], [true, false])
    func requestThatIsMovedLosesTheCredentialOfASession(policy: CredentialPolicy, isListed: Bool) async throws {
        for place in [Tokens.Place.fields, .query] {
            for isRebuilt in [false, true] {
                try await expectNoCredential(in: place, policy, isListed: isListed, isRebuilt: isRebuilt)
            }
        }
    }

    private func expectNoCredential(
        in place: Tokens.Place,
        _ policy: CredentialPolicy,
        isListed: Bool,
        isRebuilt: Bool
    ) async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        other.on(.get, "/x", .status(401))
        let tokens = Tokens(at: home.baseURL.port, in: place)
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authentication = .session(AuthenticationSession(tokens, credential: "secret"))
        if isListed { config.credentialOrigins = [BaseURL(other.baseURL)] }
        config.interceptors = isRebuilt ? [Rebuilding()] : []
        config.interceptors.append(Moving(port: other.baseURL.port))
        await #expect(throws: NetworkError.self) {
            try await Agent(config: config).send(GeneralRequest("/x?a=1").credentialPolicy(policy))
        }
        #expect(other.requests.count == 1 && tokens.refreshCount.withLock { $0 } == 0)
        let sent = try #require(other.requests.last)
        #expect(!sent.headers.contains { $0.value.contains("secret") }, "\(sent.headers.map(\.name))")
        #expect(sent.target == "/x?a=1")
    }

    @Test(arguments: [CredentialPolicy.ownOrigins, .anyOrigin], [true, false])
    func credentialInABodyIsNotRedirectedToAnotherOrigin(policy: CredentialPolicy, isRebuilt: Bool) async throws {
        try await expectNoRedirect(of: .body, policy, isRebuilt: isRebuilt)
        try await expectNoRedirect(of: .source, policy, isRebuilt: isRebuilt)
    }

    private func expectNoRedirect(of place: Tokens.Place, _ policy: CredentialPolicy, isRebuilt: Bool) async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        other.on(.post, "/x", .status(204))
        var config = NetworkConfig(baseURL: home.baseURL)
        let tokens = Tokens(at: home.baseURL.port, in: place)
        config.authentication = .session(AuthenticationSession(tokens, credential: "secret"))
        config.interceptors = isRebuilt ? [Rebuilding()] : []
        let error = await #expect(throws: NetworkError.self) {
            try await Agent(config: config).send(GeneralRequest("/x").method(.post).credentialPolicy(policy))
        }
        #expect(error?.kind == .redirectRefused && other.requestCount == 0)
        #expect(home.requests.last?.text == "token=secret")
    }

    /// A session that leaves the body alone does not keep it from another origin.
    @Test func sourceThatHoldsNoCredentialIsRedirected() async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        other.on(.post, "/x", .status(204))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authentication = .session(AuthenticationSession(Tokens(at: home.baseURL.port), credential: "secret"))
        for body in [RequestBody.source(Secret(text: "mine"), contentType: "text/plain"), .data(Data("mine".utf8))] {
            _ = try await Agent(config: config).send(GeneralRequest("/x").method(.post).body(body))
            #expect(other.requests.last?.text == "mine")
        }
    }

    /// Two copies of a form are not the same bytes in memory.
    @Test func formOfASessionIsRedirected() async throws {
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        other.on(.post, "/x", .status(204))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authentication = .session(AuthenticationSession(Tokens(at: home.baseURL.port), credential: "secret"))
        var form = MultipartForm()
        form.append("mine", name: "a")
        for _ in 0..<20 {
            _ = try await Agent(config: config).send(GeneralRequest("/x").method(.post).body(.multipart(form)))
        }
        #expect(other.requestCount == 20 && other.requests.allSatisfy { $0.text.contains("mine") })
        #expect(!other.requests.contains { $0.headers.contains("Authorization") })
    }

    /// An interceptor that moves a request may write its query anew.
    @Test func credentialInAQueryIsWithheldHoweverItIsEncoded() async throws {
        struct Encoding: Interceptor {
            let port: Int
            let change: @Sendable (String) -> String
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var request = request
                let text = change(request.url.query() ?? "")
                request.url = try #require(URL(string: "http://127.0.0.1:\(port)/list?\(text)"))
                return try await next(request)
            }
        }
        struct Keys: Authenticator {
            let port: Int?
            func appliesTo(_ url: URL) -> Bool { url.port == port }
            func apply(_ key: String, to request: inout OutgoingRequest, for context: RequestContext) throws {
                request.url = try #require(URL(string: "\(request.url.absoluteString)&sid=a%2Bb%2F%3D%20c"))
            }
            func refresh(_ key: String, with agent: Agent) async throws -> String { key }
        }
        let changes: [@Sendable (String) -> String] = [
            { $0 }, { $0.replacing("%2B", with: "+") }, { $0.replacing("%2B", with: "%2b") },
            { $0.replacing("%2F", with: "/").replacing("%20", with: "+") }, { $0.replacing("sid", with: "%73id") },
        ]
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        other.on(.get, "/list", .status(204))
        for change in changes {
            var config = NetworkConfig(baseURL: home.baseURL)
            config.authentication = .session(AuthenticationSession(Keys(port: home.baseURL.port), credential: "key"))
            config.credentialOrigins = [BaseURL(other.baseURL)]
            config.interceptors = [Encoding(port: try #require(other.baseURL.port), change: change)]
            try await Agent(config: config).send(GeneralRequest("/list?page=1").expecting(Void.self))
            #expect(other.requests.last?.target == "/list?page=1")
        }
    }

    /// Only what the authenticator has set is withheld.
    @Test(arguments: [CredentialPolicy.ownOrigins, .anyOrigin])
    func credentialOfAnInterceptorIsSentToAListedOrigin(policy: CredentialPolicy) async throws {
        struct Mirroring: Interceptor {
            let url: URL
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                try await next(OutgoingRequest(url: url, headers: ["Authorization": "Basic mirror"]))
            }
        }
        let (home, other) = (try MockServer(), try MockServer())
        defer { home.stop() }
        defer { other.stop() }
        other.on(.get, "/x", .status(204))
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authentication = .session(AuthenticationSession(Tokens(at: home.baseURL.port), credential: "secret"))
        config.credentialOrigins = [BaseURL(other.baseURL)]
        config.interceptors = [Mirroring(url: other.baseURL.appending(path: "x"))]
        try await Agent(config: config).send(GeneralRequest("/x").expecting(Void.self).credentialPolicy(policy))
        #expect(other.requests.map { $0.headers["Authorization"] } == ["Basic mirror"])
    }

    /// The credential was sent there too.
    @Test func redirectWithinTheOriginHidesNoRejectedCredential() async throws {
        struct Tokens: Authenticator {
            func appliesTo(_ url: URL) -> Bool { url.path() == "/api" }
            func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
                request.headers["Authorization"] = token
            }
            func refresh(_ token: String, with agent: Agent) async throws -> String { "new" }
        }
        let home = try MockServer()
        defer { home.stop() }
        home.on(.get, "/api", .redirect(to: home.baseURL.appending(path: "moved").absoluteString, status: 307))
        home.on(.get, "/moved") { $0.headers["Authorization"] == "new" ? .json("7") : .status(401) }
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authentication = .session(AuthenticationSession(Tokens(), credential: "old"))
        #expect(try await Agent(config: config).send(GeneralRequest("/api").expecting(Int.self)) == 7)
    }
}
