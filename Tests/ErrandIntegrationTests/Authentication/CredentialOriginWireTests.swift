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

    private let home: MockServer
    private let other: MockServer

    init() throws { (home, other) = (try MockServer(), try MockServer()) }

    @Test(arguments: Way.allCases)
    func credentialsOfTheConfigArriveOnlyAtItsOrigins(_ way: Way) async throws {
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
        // Values that are not secret, and the request's own values, arrive everywhere.
        if way != .customRequest, way != .customRequestOfTheBase {
            #expect(last.headers["X-Plain"] == "plain")
            #expect(last.headers["X-Own"] == "own")
        }
    }

    /// Moves a request to another port, as a fail-over does.
    struct Moving: RequestAdapter, Interceptor {
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
        let agent = home.agent { $0.parameters = ["tenant": "parameter-secret"] }
        let request = GeneralRequest("/x").method(.post).parameters(["own": "1"]).expecting(Int.self)
        #expect(try await agent.send(request) == 1)
        #expect(far.requests.map(\.text) == [#"{"own":"1"}"#])
    }

    /// As for a signed download of a storage host.
    @Test
    func credentialsOfTheRequestItselfAreSentToAnyURL() async throws {
        other.on(.get, "/x", .status(204))
        let agent = home.agent { $0.authorization = .bearer("config") }
        let request = GeneralRequest(other.baseURL.appending(path: "x").absoluteString).header("X-Api-Key", "own")
            .authorization(.bearer("own")).query(["token": "own"]).expecting(Void.self)
        try await agent.send(request)
        let sent = try #require(other.requests.last)
        #expect(sent.headers["Authorization"] == "Bearer own")
        #expect(sent.headers["X-Api-Key"] == "own")
        #expect(sent.query == "token=own")
    }

    @Test
    func aLinkToThePageOfAnotherOriginIsNotFollowedAfterARedirect() async throws {
        home.on(.get, "/list", .redirect(to: other.baseURL.appending(path: "list").absoluteString))
        other.on(.get, "/list", .json("[1]", headers: ["Link": "</list?page=2>; rel=next"]))
        let agent = home.agent { $0.authorization = .bearer("config") }
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
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        let agent = home.agent { ($0.parameters, $0.adapters) = (["key": "secret"], [Sealing()]) }
        let request = GeneralRequest("/x").method(.post)
        let error = await #expect(throws: NetworkError.self) { try await agent.send(request) }
        #expect(error?.kind == .redirectRefused)
        #expect(other.requestCount == 0)
    }
}
