import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Two users and an anonymous one, in every way in which a credential can enter a request: no response reaches another
/// user than its own, whatever the policy, shared or not, online or offline.
///
/// `ERRAND_USER_POLICIES` sets the number of policies.
@Suite(.limit(seconds: 300)) struct CacheUserMatrixTests {
    /// A way in which a credential enters a request.
    enum Way: String, CaseIterable, Sendable {
        case configToken, configKey, configParameter, serviceKey, requestToken, requestTokenAndUser, requestCookie
        case query, body, path, urlFilter
        case adapterToken, adapterQuery, adapterBody, adapterCookie, adapterUserField, scopedAdapter, scopedAdapterBody
        case interceptorToken, interceptorQuery, interceptorCookie, rewrappingInterceptor, scopedInterceptor
        case login, refreshedLogin, loginAndAdapter, userAndAdapter
        case cookieJar, jarBesideAppSession, configTokenBesideAppSession, challengedLogin, switchingAdapter,
            rewrappingScopedInterceptor

        /// Whether the response to a user is stored, under policies that store.
        var isStored: Bool {
            switch self {
            // The credential is part of the key.
            case .configToken, .requestToken: true
            case .configKey, .configParameter, .serviceKey, .requestCookie, .query, .body, .path, .urlFilter: true
            // Only what has a scope is known.
            case .adapterToken, .adapterQuery, .adapterBody, .adapterCookie, .adapterUserField: false
            case .interceptorToken, .interceptorQuery, .interceptorCookie, .rewrappingInterceptor: false
            case .scopedAdapter, .scopedAdapterBody, .scopedInterceptor, .login, .refreshedLogin: true
            case .requestTokenAndUser, .cookieJar: true
            case .jarBesideAppSession, .configTokenBesideAppSession: true
            // The first send begins without a user.
            case .challengedLogin: false
            // The scope is another one after each adaptation.
            case .switchingAdapter: false
            // A response that a hook has made.
            case .rewrappingScopedInterceptor: false
            // A scope or a user accounts for nothing that another one adds.
            case .loginAndAdapter, .userAndAdapter: false
            }
        }

        fileprivate var change: Change {
            switch self {
            case .adapterQuery, .interceptorQuery, .loginAndAdapter: .query
            case .adapterBody, .scopedAdapterBody, .body: .body
            case .adapterCookie, .interceptorCookie: .cookie
            case .adapterUserField: .userField
            default: .token
            }
        }
    }

    fileprivate enum Change: Sendable {
        case token, query, body, cookie, userField

        func apply(_ user: String, to request: inout OutgoingRequest) {
            switch self {
            case _ where user.isEmpty: break
            case .token: request.headers["Authorization"] = "Bearer \(user)"
            case .query: request.url.append(queryItems: [URLQueryItem(name: "t", value: user)])
            case .body: request.body = .data(Data(#"{"user":"\#(user)"}"#.utf8))
            case .cookie: request.headers["Cookie"] = "session=\(user)"
            case .userField: request.headers["X-User-ID"] = user
            }
        }
    }

    private struct Adapter: RequestAdapter {
        let change: Change
        var isScoped = false
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            change.apply(context.tag, to: &request)
        }
        func credentialScope(for context: RequestContext) -> String? { isScoped ? context.tag : nil }
    }

    private struct Wrapping: Interceptor {
        let change: Change
        var isScoped = false
        var rewraps = false
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var request = request
            change.apply(context.tag, to: &request)
            let response = try await next(request)
            guard rewraps else { return response }
            return RawResponse(
                statusCode: response.statusCode,
                headers: response.headers,
                body: response.body,
                url: response.url
            )
        }
        func credentialScope(for context: RequestContext) -> String? { isScoped ? context.tag : nil }
    }

    /// Another user signs in whenever it adapts.
    private struct Switching: RequestAdapter {
        let count = Lock(0)
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            count.withLock { $0 += 1 }
            Change.token.apply(context.tag, to: &request)
        }
        func credentialScope(for context: RequestContext) -> String? { "\(count.withLock { $0 })" }
    }

    private struct Filter: URLFilter {
        func filter(_ url: URL, for context: RequestContext) -> URL {
            context.tag.isEmpty ? url : url.appending(queryItems: [URLQueryItem(name: "t", value: context.tag)])
        }
    }

    /// Refreshes a credential that ends with "old".
    private struct Tokens: Authenticator {
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["X-Session"] = credential
        }
        func refresh(_ credential: String, with agent: Agent) async throws -> String {
            credential.replacingOccurrences(of: "old", with: "new")
        }
        func scope(of credential: String) -> String? { String(credential.prefix { $0 != "-" }) }
    }

    /// Obtains a credential from the first response that requires one.
    private struct Challenged: ChallengeAuthenticator {
        let user: String
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(credential)"
        }
        func refresh(
            _ credential: String?,
            after response: RawResponse?,
            with agent: Agent
        ) async throws -> String { user }
        func scope(of credential: String) -> String? { credential }
    }

    /// All the sends of one cell, with one cache.
    private struct Bench: Sendable {
        let way: Way
        let cache: ResponseCache
        let agents: [String: Agent]
        let requests: [String: GeneralRequest<DefaultFormatter<String>>]

        init(
            _ way: Way,
            _ policy: CachePolicy,
            _ duplicates: DuplicatePolicy,
            _ server: MockServer,
            _ clock: CacheClock
        ) {
            self.way = way
            cache = ResponseCache(disk: nil) { clock.now }
            var (agents, requests) = ([String: Agent](), [String: GeneralRequest<DefaultFormatter<String>>]())
            var config = server.agent(cache, policy).config
            switch way {
            case .urlFilter: config.urlFilters = [Filter()]
            case .jarBesideAppSession, .configTokenBesideAppSession:
                config.authentication = .session(AuthenticationSession(Tokens(), credential: "app"))
            case .adapterToken, .adapterQuery, .adapterBody, .adapterCookie, .adapterUserField, .loginAndAdapter,
                .userAndAdapter:
                config.adapters = [Adapter(change: way.change)]
            case .scopedAdapter, .scopedAdapterBody: config.adapters = [Adapter(change: way.change, isScoped: true)]
            case .interceptorToken, .interceptorQuery, .interceptorCookie:
                config.interceptors = [Wrapping(change: way.change)]
            case .rewrappingInterceptor: config.interceptors = [Wrapping(change: way.change, rewraps: true)]
            case .scopedInterceptor: config.interceptors = [Wrapping(change: way.change, isScoped: true)]
            case .rewrappingScopedInterceptor:
                config.interceptors = [Wrapping(change: way.change, isScoped: true, rewraps: true)]
            case .switchingAdapter: config.adapters = [Switching()]
            default: break
            }
            let shared = Agent(config: config)
            for user in ["alice", "bob", ""] {
                var request = GeneralRequest("/me").expecting(String.self).tag(user).duplicatePolicy(duplicates)
                var (own, agent, service) = (config, shared, Service(id: "s"))
                if way.change == .body {
                    request = request.method(.post).cacheIdentity(CacheIdentity(allowsAnyMethod: true))
                }
                if !user.isEmpty {
                    switch way {
                    case .configToken: own.headers["Authorization"] = "Bearer \(user)"
                    case .configKey: own.headers["X-Api-Key"] = user
                    case .configParameter: own.parameters = ["key": user]
                    case .serviceKey: service.headers["X-Api-Key"] = user
                    case .requestToken: request = request.authorization(.bearer(user))
                    case .requestTokenAndUser:
                        request = request.authorization(.bearer(user)).cacheIdentity(CacheIdentity(user: user))
                    case .requestCookie: request = request.headers(["Cookie": user])
                    case .query: request = request.query(["t": user])
                    case .body: request = request.parameters(["user": user])
                    case .path: request = request.path("/me/\(user)")
                    case .login, .refreshedLogin:
                        let token = way == .login ? user : "\(user)-old"
                        service.authentication = .session(AuthenticationSession(Tokens(), credential: token))
                    case .loginAndAdapter:
                        service.authentication = .session(AuthenticationSession(Tokens(), credential: "app"))
                    case .userAndAdapter: request = request.cacheIdentity(CacheIdentity(user: "u"))
                    case .configTokenBesideAppSession: own.headers["Authorization"] = "Bearer \(user)"
                    case .cookieJar, .jarBesideAppSession:
                        let jar = CookieJar()
                        jar.set("session=\(user); Path=/", from: server.baseURL)
                        own.interceptors = [jar]
                        agent = Agent(config: own)
                    case .challengedLogin:
                        service.authentication = .session(AuthenticationSession(Challenged(user: user)))
                        request = request.header("X-Ask", "1")
                    default: break
                    }
                    if way.rawValue.hasPrefix("config") { agent = Agent(config: own) }
                }
                agents[user] = agent
                requests[user] = request.service(service)
            }
            (self.agents, self.requests) = (agents, requests)
        }

        /// The responses to a user; fewer if the network fails.
        func send(_ user: String) async -> [String] {
            guard let agent = agents[user], let request = requests[user] else { return [] }
            var seen: [String] = []
            do {
                for try await response in agent.responses(for: request) { seen.append(response.model) }
            } catch {
                if let response = (error as? NetworkError)?.response, response.statusCode != 503 {
                    Issue.record("\(way): \(error)")
                }
            }
            return seen
        }
    }

    private static let policies: [CachePolicy] = [
        .networkOnly, .cacheOnly, .cacheElseNetwork(maxAge: .seconds(60)), .networkElseCache(maxStale: nil),
        .cacheThenNetwork(maxAge: .seconds(600)), .reload, .http,
        .staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(600)),
    ]

    @Test(arguments: Way.allCases) func noResponseCrossesUsers(way: Way) async throws {
        let isOffline = Lock(false)
        let server = try MockServer { request in
            if isOffline.withLock({ $0 }) { return .status(503) }
            let (user, isOld) = (request.user ?? "", request.headers["X-Session"]?.hasSuffix("-old") == true)
            if isOld || request.headers["X-Ask"] != nil && user.isEmpty { return .status(401) }
            let headers: HTTPHeaders = [
                "Cache-Control": "max-age=60, stale-while-revalidate=600", "ETag": "\"\(user)\"",
                "Content-Type": "text/plain",
            ]
            if request.headers["If-None-Match"] == "\"\(user)\"" { return .status(304, headers: headers) }
            return .text(user.isEmpty ? "nobody" : user, headers: headers).delayed(by: .milliseconds(2))
        }
        defer { server.stop() }
        server.keepsLog = false
        for policy in Self.policies.suffix(OtherProcess.number("ERRAND_USER_POLICIES", default: Self.policies.count)) {
            for duplicates in [DuplicatePolicy.allow, .share] {
                isOffline.withLock { $0 = false }
                let clock = CacheClock()
                let bench = Bench(way, policy, duplicates, server, clock)
                let place: Comment = "\(policy) \(duplicates)"
                let isStoring = policy != .networkOnly && policy != .cacheOnly
                _ = await bench.send("alice")
                #expect(await bench.cache.count == (isStoring && way.isStored ? 1 : 0), place)
                // Missing or fresh, then stale, then offline.
                for step in 0..<4 {
                    if step == 2 { clock.advance(by: 90) }
                    if step == 3 { isOffline.withLock { $0 = true } }
                    for user in ["alice", "bob", ""] {
                        async let one = bench.send(user)
                        async let other = bench.send(user == "bob" ? "alice" : "bob")
                        async let nobody = bench.send("")
                        let seen = await (one, other, nobody)
                        let name = user.isEmpty ? "nobody" : user
                        #expect(seen.0.allSatisfy { $0 == name }, "\(place) \(step)")
                        #expect(seen.1.allSatisfy { $0 == (user == "bob" ? "alice" : "bob") }, "\(place) \(step)")
                        #expect(seen.2.allSatisfy { $0 == "nobody" }, "\(place) \(step)")
                        #expect(step == 3 || policy == .cacheOnly || !seen.0.isEmpty, "\(place) \(step)")
                    }
                    for agent in bench.agents.values { await agent.waitForRevalidations() }
                }
            }
        }
    }
}
