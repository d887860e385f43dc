import ErrandTesting
import Foundation

@testable import Errand

/// A token with properties for tests.
struct Token: Sendable, Equatable {
    var access: String
    var user: String?
    var endsSoon = false
}

struct RefreshError: Error, Equatable { let number: Int }

/// Sends tokens to `api.test`; its refreshes are counted and performed by a closure.
struct TokenAuthenticator: Authenticator {
    let refreshes = Lock(0)
    /// Whether every token ends soon.
    let endsAll = Lock(false)
    var header = "Authorization"
    var unauthorizedResponse = UnauthorizedResponse()
    var renew: @Sendable (_ number: Int, Token, Agent) async throws -> Token = { number, token, _ in
        Token(access: "new\(number)", user: token.user)
    }

    var refreshCount: Int { refreshes.withLock { $0 } }

    func appliesTo(_ url: URL) -> Bool { url.host() == "api.test" }

    func apply(_ token: Token, to request: inout OutgoingRequest, for context: RequestContext) {
        request.headers[header] = "Bearer \(token.access)"
    }

    func refresh(_ token: Token, with agent: Agent) async throws -> Token {
        try await renew(refreshes.next(), token, agent)
    }

    func needsRefresh(_ token: Token) -> Bool { token.endsSoon || endsAll.withLock { $0 } }
    func scope(of token: Token) -> String? { token.user }

    /// An authenticator whose refresh waits at a gate.
    static func waiting(at gate: Gate) -> TokenAuthenticator {
        TokenAuthenticator { _, token, _ in
            try await gate.pass()
            return Token(access: "new", user: token.user)
        }
    }

    /// An authenticator whose refresh is a request for the new token.
    static func sending(_ request: GeneralRequest<DefaultFormatter<String>>) -> TokenAuthenticator {
        TokenAuthenticator { _, token, agent in Token(access: try await agent.send(request), user: token.user) }
    }

    /// An authenticator whose refresh fails.
    static var failing: TokenAuthenticator {
        TokenAuthenticator { number, _, _ in throw RefreshError(number: number) }
    }
}

extension StubTransport {
    typealias TokenHandler = @Sendable (OutgoingRequest) async throws -> TransportResponse?

    /// Creates a server that accepts some tokens and rejects all others.
    ///
    /// - Parameters:
    ///   - handler: Returns the response, or `nil` for one with 200 or 401.
    ///   - isTaken: Whether the value of the `Authorization` field is accepted.
    /// - Returns: The server.
    static func tokens(
        _ handler: @escaping TokenHandler = { _ in nil },
        takes isTaken: @escaping @Sendable (String) -> Bool = { $0.hasPrefix("Bearer new") }
    ) -> StubTransport {
        StubTransport { request in
            if let response = try await handler(request) { return response }
            return isTaken(request.headers["Authorization"] ?? "") ? .json("7") : .json("1", status: 401)
        }
    }

    /// The values of the `Authorization` field that it has received.
    var shown: [String?] { requests.map { $0.headers["Authorization"] } }
}

/// A door that is shut until a test opens it; waiting ends early with the task.
final class Gate: Sendable {
    private let clock = ManualClock()

    func open() { clock.advance(by: .seconds(1)) }
    func pass() async throws { try await clock.sleep(until: ManualClock.Instant(offset: .seconds(1))) }
    func waitForArrivals(_ count: Int) async { await clock.waitForSleepers(count) }
}

/// An agent with an authentication session and its transport.
struct AuthenticationRig: Sendable {
    let authenticator: TokenAuthenticator
    let session: AuthenticationSession<TokenAuthenticator>
    let transport: StubTransport
    let agent: Agent
    let clock = ManualClock()

    init(
        _ authenticator: TokenAuthenticator = TokenAuthenticator(),
        token: Token? = Token(access: "old"),
        transport: StubTransport = .tokens(),
        configure: (inout NetworkConfig) -> Void = { _ in }
    ) {
        self.authenticator = authenticator
        self.transport = transport
        session = AuthenticationSession(authenticator, credential: token, clock: clock)
        var config = NetworkConfig(baseURL: "https://api.test")
        config.authentication = .session(session)
        config.retryPolicy = .never
        configure(&config)
        agent = Agent(config: config, transport: transport, clock: clock)
    }

    func get(_ path: String = "/x") async throws -> Int { try await agent.send(Self.request(path)) }

    static func request(_ path: String = "/x") -> GeneralRequest<DefaultFormatter<Int>> {
        GeneralRequest(path).expecting(Int.self)
    }

    /// Sends so many requests at once.
    func results(_ count: Int) async -> [Result<Int, any Error>] {
        await withTaskGroup(of: Result<Int, any Error>.self) { group in
            for _ in 0..<count { group.addTask { await Task { try await get() }.result } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    func waitForWaiters(_ count: Int) async { await wait { session.waiterCount == count } }
}

extension Result {
    var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
    var value: Success? { if case .success(let value) = self { value } else { nil } }
}
