import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Where the credential of a session arrives: two servers are two origins.
@Suite(.serialized, .limit(seconds: 60))
struct SessionOriginWireTests {
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
        enum Place: Sendable { case fields, body, source, query, path }

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
            case .path:
                var parts = URLComponents(url: request.url, resolvingAgainstBaseURL: false)
                parts?.path = "/bot\(token)\(request.url.path())"
                request.url = parts?.url ?? request.url
            }
        }
        func refresh(_ token: String, with agent: Agent) async throws -> String {
            refreshCount.withLock { $0 += 1 }
            return token
        }
    }

    private let home: MockServer
    private let other: MockServer

    init() throws { (home, other) = (try MockServer(), try MockServer()) }

    /// An agent with a login at the first server.
    private func agent(in place: Tokens.Place = .fields, _ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        let tokens = Tokens(at: home.baseURL.port, in: place)
        return home.agent {
            $0.authentication = .session(AuthenticationSession(tokens, credential: "secret"))
            change(&$0)
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
        other.reset()
        other.on(.get, "/x", .status(401))
        let tokens = Tokens(at: home.baseURL.port, in: place)
        var config = NetworkConfig(baseURL: home.baseURL)
        config.authentication = .session(AuthenticationSession(tokens, credential: "secret"))
        if isListed { config.credentialOrigins = [BaseURL(other.baseURL)] }
        config.interceptors = isRebuilt ? [Rebuilding()] : []
        config.interceptors.append(CredentialOriginWireTests.Moving(port: other.baseURL.port))
        await #expect(throws: NetworkError.self) {
            try await Agent(config: config).send(GeneralRequest("/x?a=1").credentialPolicy(policy))
        }
        #expect(other.requests.count == 1 && tokens.refreshCount.withLock { $0 } == 0)
        let sent = try #require(other.requests.last)
        #expect(!sent.headers.contains { $0.value.contains("secret") }, "\(sent.headers.map(\.name))")
        #expect(sent.target == "/x?a=1")
    }

    @Test(arguments: [CredentialPolicy.ownOrigins, .anyOrigin], [true, false])
    func requestWithACredentialInItsPathIsNotMoved(policy: CredentialPolicy, isRebuilt: Bool) async throws {
        home.on(.get, "/botsecret/x") { .text($0.target) }
        let request = GeneralRequest("/x?a=1").expecting(String.self).credentialPolicy(policy)
        #expect(try await agent(in: .path).send(request) == "/botsecret/x?a=1")
        let mover = agent(in: .path) {
            $0.credentialOrigins = [BaseURL(other.baseURL)]
            $0.interceptors = isRebuilt ? [Rebuilding()] : []
            $0.interceptors.append(CredentialOriginWireTests.Moving(port: other.baseURL.port))
        }
        let error = await #expect(throws: NetworkError.self) { try await mover.send(request) }
        #expect(error?.kind == .invalidRequest && error?.description.contains("secret") == false)
        #expect(other.requestCount == 0)
    }

    /// `URLComponents`, and with it `append(queryItems:)`, writes all pairs anew.
    @Test func pairsThatAnAuthenticatorEncodesAnewAreStillOfTheRequest() async throws {
        other.on(.delete, "/items") { .text($0.target) }
        let agent = agent(in: .query) {
            $0.interceptors = [CredentialOriginWireTests.Moving(port: other.baseURL.port)]
        }
        let query: Parameters = ["ids": "1,2", "path": "a/b", "since": "2026-01-01T00:00:00Z", "n": 5]
        let request = GeneralRequest("/items").method(.delete).query(query).expecting(String.self)
        let target = try await agent.send(request)
        let items = URLComponents(string: target)?.queryItems ?? []
        #expect(
            items.map { "\($0.name)=\($0.value ?? "")" }.sorted()
                == ["ids=1,2", "n=5", "path=a/b", "since=2026-01-01T00:00:00Z"]
        )
    }

    @Test(arguments: [CredentialPolicy.ownOrigins, .anyOrigin], [true, false])
    func credentialInABodyIsNotRedirectedToAnotherOrigin(policy: CredentialPolicy, isRebuilt: Bool) async throws {
        try await expectNoRedirect(of: .body, policy, isRebuilt: isRebuilt)
        try await expectNoRedirect(of: .source, policy, isRebuilt: isRebuilt)
    }

    private func expectNoRedirect(of place: Tokens.Place, _ policy: CredentialPolicy, isRebuilt: Bool) async throws {
        home.reset()
        other.reset()
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        other.on(.post, "/x", .status(204))
        let agent = agent(in: place) { $0.interceptors = isRebuilt ? [Rebuilding()] : [] }
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest("/x").method(.post).credentialPolicy(policy))
        }
        #expect(error?.kind == .redirectRefused && other.requestCount == 0)
        #expect(home.requests.last?.text == "token=secret")
    }

    /// A session that leaves the body alone does not keep it from another origin.
    @Test func sourceThatHoldsNoCredentialIsRedirected() async throws {
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        other.on(.post, "/x", .status(204))
        for body in [RequestBody.source(Secret(text: "mine"), contentType: "text/plain"), .data(Data("mine".utf8))] {
            _ = try await agent().send(GeneralRequest("/x").method(.post).body(body))
            #expect(other.requests.last?.text == "mine")
        }
    }

    /// Two copies of a form are not the same bytes in memory.
    @Test func formOfASessionIsRedirected() async throws {
        home.on(.post, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString, status: 307))
        other.on(.post, "/x", .status(204))
        var form = MultipartForm()
        form.append("mine", name: "a")
        for _ in 0..<20 { _ = try await agent().send(GeneralRequest("/x").method(.post).body(.multipart(form))) }
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
        other.on(.get, "/x", .status(204))
        let agent = agent {
            $0.credentialOrigins = [BaseURL(other.baseURL)]
            $0.interceptors = [Mirroring(url: other.baseURL.appending(path: "x"))]
        }
        try await agent.send(GeneralRequest("/x").expecting(Void.self).credentialPolicy(policy))
        #expect(other.requests.map { $0.headers["Authorization"] } == ["Basic mirror"])
    }

    /// A value that an interceptor makes from a credential contains it.
    @Test func credentialThatAnInterceptorExtendsIsNotRedirectedToAnotherOrigin() async throws {
        struct Extending: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var request = request
                request.headers["Authorization"] = "\(request.headers["Authorization"] ?? ""), signed"
                return try await next(request)
            }
        }
        home.on(.get, "/x", .redirect(to: other.baseURL.appending(path: "x").absoluteString))
        other.on(.get, "/x", .status(204))
        let agent = agent { $0.interceptors = [Extending()] }
        try await agent.send(GeneralRequest("/x").expecting(Void.self).credentialPolicy(.anyOrigin))
        #expect(home.requests.last?.headers["Authorization"] == "Bearer secret, signed")
        #expect(other.requests.map { $0.headers.contains("Authorization") } == [false])
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
        home.on(.get, "/api", .redirect(to: home.baseURL.appending(path: "moved").absoluteString, status: 307))
        home.on(.get, "/moved") { $0.headers["Authorization"] == "new" ? .json("7") : .status(401) }
        let agent = home.agent { $0.authentication = .session(AuthenticationSession(Tokens(), credential: "old")) }
        #expect(try await agent.send(GeneralRequest("/api").expecting(Int.self)) == 7)
    }
}
