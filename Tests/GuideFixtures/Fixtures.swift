import Errand
import ErrandTesting
import Foundation

// What the blocks of the guides use and do not declare. `.ci/guides` compiles this with them, in four settings.

nonisolated struct User: Codable, Sendable {
    var id = 7
    var name = "Ada"
    var isGuest = false

    enum CodingKeys: CodingKey {
        case id
        case name
    }
}

nonisolated struct Order: Codable, Sendable { var id = 1 }
nonisolated struct Post: Codable, Sendable { var id = 1 }
nonisolated struct Report: Codable, Sendable {}
nonisolated struct Page: Codable, Sendable {}
nonisolated struct Problem: Codable, Sendable { var detail = "" }
nonisolated struct Note: Codable, Sendable { var id = 1 }
nonisolated struct Session: Codable, Sendable { var userID = 7 }

nonisolated struct GetUser: Request {
    typealias Model = User
    var id = 7
    var path: String { "/users/\(id)" }
}

nonisolated struct SearchUsers: Request, Encodable {
    typealias Model = [User]
    var query: String
    var page: Int?
    var path: String { "/users/search" }
}

nonisolated struct UploadAvatar: Request {
    typealias Model = User
    let file: URL
    var path: String { "/avatar" }
    var method: HTTPMethod { .post }
    var body: RequestBody { .file(file) }
}

nonisolated struct GetEpisode: Request, Codable {
    typealias Model = Data
    var id = 7
    var path: String { "/episodes/\(id)" }
}

nonisolated struct GetBanner: Request {
    typealias Model = String
    var path: String { "/banner" }
}

nonisolated struct Login: Request, Encodable {
    typealias Model = Session
    var name: String
    var password: String
    var path: String { "/login" }
}

nonisolated struct GetOrders: Request {
    typealias Model = [Order]
    var userID: Int
    init(of userID: Int) { self.userID = userID }
    var path: String { "/users/\(userID)/orders" }
}

nonisolated struct ListOrders: Request {
    typealias Model = [Order]
    var path: String { "/orders" }
}

nonisolated struct PlaceOrder: Request, Encodable {
    typealias Model = Order
    var item: String
    var quantity = 1
    var path: String { "/orders" }
}

nonisolated struct Job: Codable, Sendable {
    var isDone = true
    var successor: Int?
}

nonisolated struct GetJob: Request {
    typealias Model = Job
    var id: Int
    var path: String { "/jobs/\(id)" }
}

nonisolated struct ListIssues: Request {
    typealias Model = [Post]
    var path: String { "/issues" }
}

nonisolated struct ListItems: Request {
    typealias Model = [Post]
    var path: String { "/items" }
}

nonisolated struct Token: Sendable, Codable {
    var access = ""
    var refresh = ""
    var userID = ""
}

nonisolated struct RefreshToken: Request, Encodable {
    typealias Model = Token
    var refresh: String
    var path: String { "/token" }
}

nonisolated struct Tokens: Authenticator {
    func appliesTo(_ url: URL) -> Bool { true }
    func apply(_ token: Token, to request: inout OutgoingRequest, for context: RequestContext) {}
    func refresh(_ token: Token, with agent: Agent) async throws -> Token { token }
}

nonisolated struct Key: Sendable {
    var userID: String { "u7" }
    func signature(of url: URL) -> String { "s" }
    func authenticationCode() -> AuthenticationCode { AuthenticationCode() }
}

nonisolated struct AuthenticationCode {
    mutating func update(with bytes: ArraySlice<UInt8>) {}
    var finalized: String { "s" }
}

nonisolated struct Keychain: Sendable {
    func store(_ token: Token) throws {}
    func token() throws -> Token { Token() }
}

nonisolated struct NotLoggedIn: Error {}
nonisolated struct Decryption: ResponseFilter {
    func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload { Payload(response.body) }
}

nonisolated protocol GuideRequest: Request where Model == JSONValue {}
extension GuideRequest {
    nonisolated var path: String { "/x" }
}

nonisolated protocol GuideAuthenticator: Authenticator where Credential == Token {}
extension GuideAuthenticator {
    nonisolated func appliesTo(_ url: URL) -> Bool { true }
    nonisolated func apply(_ token: Token, to request: inout OutgoingRequest, for context: RequestContext) {}
    nonisolated func refresh(_ token: Token, with agent: Agent) async throws -> Token { token }
}

nonisolated protocol StoreRequest: Request {}
nonisolated let store = Service(id: "store")
nonisolated let target = URL(filePath: "/tmp/target")
nonisolated let digest = String(repeating: "0", count: 64)

extension Service {
    nonisolated static var shopEnvelope: EnvelopeFilter { EnvelopeFilter(code: "code", data: "data") }
}

nonisolated var agent: Agent { Agent(config: config) }
nonisolated var config: NetworkConfig {
    get { NetworkConfig(baseURL: baseURL) }
    set {}
}
nonisolated var baseURL: BaseURL { "https://api.example" }
nonisolated var url: URL { URL(filePath: "/") }
nonisolated var bundle: Bundle { .main }
nonisolated var userID: String { "u7" }
nonisolated var ids: [Int] { [1, 2, 3] }
nonisolated var requests: [GetUser] { ids.map { GetUser(id: $0) } }
nonisolated var batch: ArrayBatchRequest<GetUser> { ArrayBatchRequest(requests) }
nonisolated var chain: ChainRequest<User> { ChainRequest(GetUser()) }
nonisolated var token: Token { Token() }
nonisolated var stored: Token { Token() }
nonisolated var keychain: Keychain { Keychain() }
nonisolated var session: AuthenticationSession<Tokens> { AuthenticationSession(Tokens()) }
nonisolated let stub = StubTransport()
nonisolated let server: MockServer = {
    do { return try MockServer() } catch { fatalError("\(error)") }
}()
nonisolated var error: NetworkError { NetworkError(.idleTimeout(.seconds(1))) }

nonisolated func show(_ text: Any?, isOld: Bool = false, trace: String? = nil) {}
nonisolated func report(_ error: any Error) {}
nonisolated func offerToTryAgain() {}
nonisolated func askForLogin() {}
nonisolated func work() async throws {}
nonisolated func retryTwice(clock: ManualClock) async throws -> Int { 1 }
