import Errand
import Foundation

// One use of each spelling that shortens a call, in functions of a user's module; `SpellingTests` shows what each changes on
// the wire. They also compile in the other settings that a module of a user may have.

nonisolated enum Spelling {
    struct GetText: Request, Sendable {
        typealias Model = String
        var path: String { "text" }
    }

    struct GetNumbers: Request, Sendable {
        typealias Model = [Int]
        var page = 1
        var path: String { "numbers" }
        var query: Parameters { ["page": page] }
    }

    struct Save: Request, Sendable {
        typealias Model = String
        var text: RequestBody
        var path: String { "echo" }
        var method: HTTPMethod { .post }
        var body: RequestBody { text }
    }

    // MARK: Modifiers

    static func modified<R: Request>(_ request: R, _ accessory: some Accessory) -> some Request<R.Model> {
        request.header("X-Trace", "1").timeout(.seconds(5)).deadline(.seconds(20)).priority(.high)
            .cachePolicy(.networkOnly).retryPolicy(.never).tag("feed").accessory(accessory)
    }

    static func observed(_ agent: Agent, _ see: @escaping @Sendable (String) -> Void) async throws -> String {
        try await agent.send(GetText().accessory { event in see("\(event)") })
    }

    // MARK: Sends

    static func withProgress(_ agent: Agent, _ see: @escaping @Sendable (Double) -> Void) async throws -> String {
        try await agent.send(GetText(), progress: { see($0.fractionCompleted) })
    }

    static func cachedFirst(_ agent: Agent) async throws -> [Bool] {
        var sources: [Bool] = []
        for try await response in agent.responses(for: GetText(), cachePolicy: .cacheThenNetwork(maxAge: .seconds(60)))
        {
            sources.append(response.source.isFromCache)
        }
        return sources
    }

    static func sources(_ agent: Agent) async throws -> (Bool, Bool) {
        let stored = GetText().cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))
        let (text, numbers) = try await agent.response(for: BatchRequest(stored, GetNumbers()))
        return (text.source.isFromCache, numbers.source.isFromCache)
    }

    static func scoped(_ agent: Agent, _ scope: RequestScope?) async throws -> String {
        try await agent.send(GetText(), in: scope)
    }

    static func lastPoll(_ agent: Agent) async throws -> String {
        try await agent.poll(GetText(), every: .milliseconds(1), until: { $0.model == "done" }).last().model
    }

    static func allPages(_ agent: Agent) async throws -> [Int] {
        var numbers: [Int] = []
        let pages = agent.pages(of: GetNumbers()) { $0.model.isEmpty ? nil : GetNumbers(page: $0.model.count + 1) }
        for try await page in pages { numbers += page.model }
        return numbers
    }

    static func problem(of error: NetworkError) throws -> String? {
        try error.decode(String.self, at: "title")
    }

    static func squares(_ agent: Agent, of numbers: [Int]) async throws -> [Int] {
        let calls = numbers.map { JSONRPCCall<Int>("square", [.number(JSONNumber($0))], id: .integer($0)) }
        let responses = try await agent.send(GeneralRequest("rpc").calling(batch: calls))
        return try calls.map { try responses.value(of: $0) }
    }

    // MARK: Bodies and parameters

    static let bodies = [RequestBody.text("grün"), .xml("<a/>"), .source(Letters(), contentType: "text/csv")]

    struct Letters: BodySource {
        var byteCount: Int64? { 3 }
        func makeReader() -> any BodyReader { Reader() }

        final class Reader: BodyReader {
            private var left = 3
            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                defer { left = 0 }
                for place in 0..<left { buffer[place] = UInt8(ascii: "x") }
                return left
            }
        }
    }

    static func repeated(_ agent: Agent) async throws -> String {
        try await agent.send(
            GeneralRequest("text").query(Parameters(pairs: [("a", 1), ("b", 2), ("a", 3)])).expecting(String.self)
        )
    }

    // MARK: Config and service

    static let forms = Service(
        id: "forms",
        parameterEncoding: .form,
        acceptance: Acceptance(statusCodes: 200..<300),
        cacheStorage: .memoryOnly
    )

    struct Note: Request, Encodable, Sendable {
        typealias Model = String
        var text: String
        var path: String { "echo" }
        var method: HTTPMethod { .post }
        var service: Service { Spelling.forms }
    }

    static func config(_ text: String, mirrors: [String]) throws -> NetworkConfig {
        NetworkConfig(
            baseURL: try BaseURL(text),
            cdnURL: try BaseURL(mirrors[0]),
            cdnFallbacks: try mirrors.dropFirst().map { try BaseURL($0) },
            acceptance: Acceptance(statusCodes: 200..<400),
            retryPolicy: .never,
            cache: ResponseCache(disk: nil),
            namedCaches: ["images": ResponseCache(disk: nil)],
            environment: [:]
        )
    }

    struct GetImage: Request, Sendable {
        typealias Model = String
        var path: String { "image" }
        var usesCDN: Bool { true }
        var cacheStorage: CacheStorage { .named("images") }
        var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }
    }

    // MARK: Logins and cookies

    struct Tokens: ChallengeAuthenticator {
        func appliesTo(_ url: URL) -> Bool { true }
        func apply(_ token: String, to request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["Authorization"] = "Bearer \(token)"
        }
        func refresh(_ token: String?, after response: RawResponse?, with agent: Agent) async throws -> String {
            response?.challenges.first { $0.isScheme("Bearer") }?.realm ?? "none"
        }
    }

    static func withSession(_ config: NetworkConfig) -> Agent {
        var config = config
        config.authentication = .session(AuthenticationSession(Tokens()))
        return Agent(config: config)
    }

    static func withDigestAndCookies(_ config: NetworkConfig, _ jar: CookieJar) -> Agent {
        var config = config
        config.interceptors = [jar, DigestAuthentication(user: "ada", password: "lovelace")]
        return Agent(config: config)
    }

    struct GetState: Request, Sendable {
        typealias Model = [String]
        var path: String { "state" }
        var filter: EnvelopeFilter {
            EnvelopeFilter(
                code: "code",
                data: "data",
                alternatives: [EnvelopeFilter(code: "fault.code", message: "fault.text", data: "~")]
            )
        }
    }

    // MARK: Sessions of one's own

    static func transport() -> URLSessionTransport {
        URLSessionTransport(configuration: URLSessionTransport.configuration(maximumConnectionsPerHost: 1))
    }
}

/// A protocol in place of a base class, whose members would be ignored in subclasses.
nonisolated protocol ShopRequest: Request {}

extension ShopRequest {
    nonisolated var method: HTTPMethod { .put }
}

nonisolated struct SaveItem: ShopRequest, Sendable {
    typealias Model = String
    var path: String { "item" }
}
