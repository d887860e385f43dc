import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Two users of one agent, told apart only by what an adapter or interceptor adds on the way: neither cache nor `.share`
/// gives one the response of the other.
@Suite(.serialized) struct CacheUserTests {
    /// The value that shows the user, who is the tag of the request.
    enum Change: String, CaseIterable, Sendable {
        case query, body, authorization, method

        func apply(_ user: String, to request: inout OutgoingRequest) {
            switch self {
            case .query: request.url.append(queryItems: [URLQueryItem(name: "token", value: user)])
            case .body: request.body = .data(Data(#"{"user":"\#(user)"}"#.utf8))
            case .authorization: request.headers["Authorization"] = "Bearer \(user)"
            case .method: request.method = HTTPMethod(rawValue: "X\(user.uppercased())")
            }
        }
    }

    /// The hook that changes the request.
    enum Hook: String, CaseIterable, Sendable {
        case adapter, interceptor, rewrappingInterceptor, handshake
    }

    struct Adding: RequestAdapter {
        let change: Change
        var scope: @Sendable (RequestContext) -> String? = { _ in nil }
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            change.apply(context.tag, to: &request)
        }
        func credentialScope(for context: RequestContext) -> String? { scope(context) }
    }

    struct Inserting: Interceptor {
        let change: Change
        let hook: Hook
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            var changed = request
            change.apply(context.tag, to: &changed)
            if hook == .handshake { _ = try await next(request) }
            let response = try await next(changed)
            guard hook == .rewrappingInterceptor else { return response }
            return RawResponse(
                statusCode: response.statusCode,
                headers: response.headers,
                body: response.body,
                url: response.url
            )
        }
    }

    private static func agent(
        _ server: MockServer,
        _ policy: CachePolicy,
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) -> Agent { server.agent(ResponseCache(disk: nil), policy, change) }

    private static func agent(_ server: MockServer, _ policy: CachePolicy, _ change: Change, _ hook: Hook) -> Agent {
        agent(server, policy) {
            switch hook {
            case .adapter: $0.adapters = [Adding(change: change)]
            default: $0.interceptors = [Inserting(change: change, hook: hook)]
            }
        }
    }

    /// Responds with the user that a request shows, with some delay, so that sends overlap.
    private static func server(
        status: Int = 200,
        delay: Duration = .milliseconds(30),
        hold: ResponseHold = ResponseHold()
    ) throws -> MockServer {
        try MockServer { request in
            hold.pass()
            let headers: HTTPHeaders = ["Cache-Control": "max-age=60, stale-while-revalidate=60", "ETag": "\"1\""]
            return .text(request.user ?? "nobody", status: status, headers: headers).delayed(by: delay)
        }
    }

    private static func request(
        _ change: Change,
        _ duplicates: DuplicatePolicy
    ) -> GeneralRequest<DefaultFormatter<String>> {
        let request = GeneralRequest("/me").expecting(String.self).duplicatePolicy(duplicates)
        return change == .body
            ? request.method(.post).parameters(["a": 1]).cacheIdentity(CacheIdentity(allowsAnyMethod: true)) : request
    }

    private static let policies: [CachePolicy] = [
        .networkOnly, .cacheElseNetwork(maxAge: .seconds(60)), .http,
        .staleWhileRevalidate(maxAge: .zero, maxStale: .seconds(60)), .networkElseCache(maxStale: nil),
    ]

    @Test(arguments: Change.allCases, Hook.allCases)
    func responsesDoNotCrossUsers(change: Change, hook: Hook) async throws {
        let server = try Self.server()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for policy in Self.policies {
                for duplicates in [DuplicatePolicy.allow, .share] {
                    group.addTask {
                        let agent = Self.agent(server, policy, change, hook)
                        let request = Self.request(change, duplicates)
                        for step in 0..<2 {
                            async let alice = agent.send(request.tag("alice"))
                            async let bob = agent.send(request.tag("bob"))
                            let seen = try await [alice, bob]
                            #expect(seen == ["alice", "bob"], "\(policy) \(duplicates) \(step)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Settings that concern users, but do not identify the user that an adapter shows.
    enum Excuse: CaseIterable, Sendable {
        case login, loginElsewhere, variant
    }

    private struct AppLogin: Authenticator {
        let applies: Bool
        func appliesTo(_ url: URL) -> Bool { applies }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["X-App"] = credential
        }
        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func scope(of credential: String) -> String? { "the app" }
    }

    @Test(arguments: Excuse.allCases, Hook.allCases)
    func sessionAndVariantDoNotCoverChangesOfAHook(excuse: Excuse, hook: Hook) async throws {
        let server = try Self.server()
        for change in [Change.query, .authorization] {
            let agent = Self.agent(server, .cacheElseNetwork(maxAge: .seconds(60)), change, hook)
            let plain = Self.request(change, .share)
            let request = excuse == .variant ? plain.cacheIdentity(CacheIdentity(variant: "en")) : plain
            if excuse != .variant {
                let login = AppLogin(applies: excuse == .login)
                agent.config.authentication = .session(AuthenticationSession(login, credential: "a"))
            }
            async let alice = agent.send(request.tag("alice"))
            async let bob = agent.send(request.tag("bob"))
            #expect(try await [alice, bob] == ["alice", "bob"], "\(change)")
            #expect(try await agent.send(request.tag("bob")) == "bob", "\(change)")
        }
    }

    private struct AddingField: RequestAdapter {
        let name: String
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers[name] = context.tag
        }
    }

    /// A field that the server varies by, and a cookie although the names of secret fields were replaced.
    @Test(arguments: ["X-User", "Cookie"])
    func responseWithAUserSpecificFieldIsNotShared(name: String) async throws {
        let server = try MockServer { request in
            var response = MockResponse.text(request.headers[name] ?? "").delayed(by: .milliseconds(30))
            if name == "X-User" { response.headers["Vary"] = name }
            return response
        }
        let agent = Self.agent(server, .cacheElseNetwork(maxAge: .seconds(60))) {
            $0.secrets.headers = ["X-Other"]
            $0.adapters = [AddingField(name: name)]
        }
        let request = Self.request(.query, .share)
        async let alice = agent.send(request.tag("alice"))
        async let bob = agent.send(request.tag("bob"))
        #expect(try await [alice, bob] == ["alice", "bob"])
        #expect(try await agent.send(request.tag("bob")) == "bob")
    }

    /// Staff and customers, who are numbered alike.
    @Test func usersOfTwoKindsDoNotShareTheirNumber() async throws {
        struct Customers: Authenticator {
            func appliesTo(_ url: URL) -> Bool { true }
            func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) {
                request.headers["X-Customer"] = credential
            }
            func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
            func scope(of credential: String) -> String? { "the app" }
        }
        let server = try MockServer { .text($0.headers["X-Customer"] ?? "staff") }
        var (staff, customers) = (Service(id: "staff"), Service(id: "customers"))
        staff.authentication = .session(AuthenticationSession(AppLogin(applies: true), credential: "s"))
        customers.authentication = .session(AuthenticationSession(Customers(), credential: "c"))
        let agent = Self.agent(server, .cacheElseNetwork(maxAge: .seconds(60)))
        let request = Self.request(.query, .allow)
        #expect(try await agent.send(request.service(staff)) == "staff")
        #expect(try await agent.send(request.service(customers)) == "c")
    }

    /// One unwraps envelopes and accepts any status, the other does neither.
    @Test func sharedResponseIsAcceptedAndUnwrappedByEachRequest() async throws {
        let server = try MockServer { request in
            request.path == "/none"
                ? MockResponse.status(404).delayed(by: .milliseconds(50))
                : MockResponse.json(#"{"code": 0, "data": "inner"}"#).delayed(by: .milliseconds(50))
        }
        let agent = Self.agent(server, .networkOnly)
        let plain = GeneralRequest("/me").expecting(JSONValue.self).duplicatePolicy(.share)
        async let opened = agent.send(plain.filter(EnvelopeFilter(code: "code", message: "msg", data: "data")))
        async let whole = agent.send(plain)
        #expect(try await opened == "inner")
        #expect(try await whole != "inner")

        let none = GeneralRequest("/none").expecting(Data.self).duplicatePolicy(.share)
        async let tolerant = agent.send(none.acceptance(Acceptance(statusCodes: 200..<500)))
        async let strict = agent.send(none)
        _ = try await tolerant
        let refused: Data? = try? await strict
        #expect(refused == nil)
    }

    @Test(arguments: Change.allCases, Hook.allCases)
    func failuresDoNotCrossUsers(change: Change, hook: Hook) async throws {
        let server = try Self.server(status: 403)
        let agent = Self.agent(server, .networkOnly, change, hook)
        let request = Self.request(change, .share)
        @Sendable func body(_ user: String) async -> String? {
            do {
                return try await agent.send(request.tag(user))
            } catch {
                return (error as? NetworkError)?.response.map { String(decoding: $0.body, as: UTF8.self) }
            }
        }
        for _ in 0..<2 {
            async let alice = body("alice")
            async let bob = body("bob")
            let seen = await [alice, bob]
            // The handshake goes out without a user, and is refused as well.
            #expect(seen == ["alice", "bob"] || hook == .handshake && seen == ["nobody", "nobody"])
        }
    }

    // An unknown method is unsafe, and removes what others have stored.
    @Test(arguments: Change.allCases.filter { $0 != .method })
    func adapterWithAScopeIsStoredAndSharedPerUser(change: Change) async throws {
        let hold = ResponseHold()
        let server = try Self.server(delay: .zero, hold: hold)
        let agent = Self.agent(server, .cacheElseNetwork(maxAge: .seconds(60))) {
            $0.adapters = [Adding(change: change) { $0.tag }]
        }
        hold.holdUntilWaiting(10, at: agent)
        let request = Self.request(change, .share)
        for _ in 0..<2 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<10 {
                    let user = index % 2 == 0 ? "alice" : "bob"
                    group.addTask {
                        let seen = try await agent.send(request.tag(user))
                        #expect(seen == user)
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(server.requestCount == 2)
    }

    @Test func planAndMetricsShowWhyNothingIsStored() async throws {
        let server = try Self.server()
        let policy = CachePolicy.cacheElseNetwork(maxAge: .seconds(60))
        let agent = Self.agent(server, policy, .query, .adapter)
        let request = Self.request(.query, .allow).tag("alice")
        #expect(try await agent.plan(for: request).cache == .miss(.unknownScope))
        #expect(try await agent.response(for: request).metrics.cacheMiss == .unknownScope)
        let other = Self.agent(server, policy, .query, .interceptor)
        #expect(try await other.response(for: request).metrics.cacheMiss == .unknownScope)
    }

    /// The user changes after a send was identified and before its adapters run.
    @Test func responseOfAnotherUserThanTheIdentifiedIsNotStored() async throws {
        let server = try Self.server()
        let user = Lock("alice")
        struct Current: RequestAdapter {
            let user: Lock<String>
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                user.withLock { $0 = "bob" }
                request.headers["Authorization"] = "Bearer bob"
            }
            func credentialScope(for context: RequestContext) -> String? { user.withLock { $0 } }
        }
        let agent = Self.agent(server, .cacheElseNetwork(maxAge: .seconds(60))) {
            $0.adapters = [Current(user: user)]
        }
        #expect(try await agent.send(Self.request(.query, .allow)) == "bob")
        user.withLock { $0 = "alice" }
        let key = try agent.cacheKey(for: Self.request(.query, .allow))
        await #expect(throws: CacheMiss.absent) { _ = try await agent.config.cache?.entry(for: key) }
    }
}
