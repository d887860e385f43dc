import Errand
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The examples of the ancestors' guides, as one writes them here; `MigrationTests` runs each. They also compile in the other
// settings that a module of a user may have.

// MARK: Config and CDN

func makeAgent(_ baseURL: URL, cdn: URL) -> Agent {
    Agent(config: NetworkConfig(baseURL: BaseURL(baseURL), cdnURL: BaseURL(cdn), cache: ResponseCache(disk: nil)))
}

struct GetImage: Request {
    typealias Model = Data
    var id: String
    var path: String { "images/\(component: id)" }
    var usesCDN: Bool { true }
}

// MARK: Login

struct Login: Request, Encodable {
    typealias Model = Session
    var name, password: String
    var path: String { "login" }
    var method: HTTPMethod { .post }
    var parameterEncoding: ParameterEncoding { .form }
}

struct Session: Decodable, Sendable {
    var token: String
}

// MARK: Register, with validator; the user, with cache

struct Register: Request, Encodable {
    typealias Model = User
    var name, password: String
    var path: String { "register" }
    var method: HTTPMethod { .post }
    var acceptance: Acceptance { Acceptance(shape: ["id": .integer, "name": .string]) }
}

struct GetUser: Request, Encodable {
    typealias Model = User
    var id: Int
    var path: String { "user" }
    var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(180)) }
}

struct User: Decodable, Equatable, Sendable {
    var id: Int, name: String
}

// MARK: Call by block

@MainActor func register(_ agent: Agent, then show: @escaping @MainActor (String) -> Void) {
    agent.start(Register(name: "ann", password: "x")) { result in
        do { show(try result.get().name) } catch { show("\(error)") }
    }
}

// MARK: Call by delegate

@MainActor final class Screen {
    var text = ""
    func load(_ agent: Agent) {
        agent.start(GetUser(id: 7), delegate: self, didFinish: { $0.show($1) }, didFail: { $0.report($1) })
    }
    func show(_ user: User) { text = user.name }
    func report(_ error: any Error) { text = "\(error)" }
}

// MARK: URL argument filter

struct ArgumentFilter: URLFilter {
    var version: String
    func filter(_ url: URL, for context: RequestContext) -> URL {
        url.appending(queryItems: [URLQueryItem(name: "version", value: version)])
    }
}

// MARK: Batch of four

func loadAll(_ agent: Agent) async throws -> ([Data], User) {
    let images = ArrayBatchRequest(["a", "b", "c"].map(GetImage.init))
    return try await agent.send(BatchRequest(images, GetUser(id: 7)))
}

// MARK: Chain

func registerAndLoad(_ agent: Agent) async throws -> User {
    let user = try await agent.send(Register(name: "ann", password: "x"))
    return try await agent.send(GetUser(id: user.id))
}

// MARK: Cached first

func showCachedFirst(_ agent: Agent, show: (User, Bool) -> Void) async throws {
    let policy = CachePolicy.cacheThenNetwork(maxAge: .seconds(180))
    for try await response in agent.responses(for: GetUser(id: 7), cachePolicy: policy) {
        show(response.model, response.source.isFromCache)
    }
}

// MARK: Custom request

struct Upload: Request {
    typealias Model = String
    var url: URL, zipped: Data
    var path: String { "" }
    func customURLRequest() throws -> URLRequest? {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("gzip", forHTTPHeaderField: "Content-Encoding")
        request.httpBody = zipped
        return request
    }
}

// MARK: Upload with a form and progress

struct UploadAvatar: Request {
    typealias Model = User
    var file: URL
    var path: String { "avatar" }
    var method: HTTPMethod { .post }
    var body: RequestBody { get throws { try .multipart { form in try form.append(file: file, name: "photo") } } }
}

func upload(_ file: URL, _ agent: Agent, show: @escaping @Sendable (Double) -> Void) async throws -> User {
    try await agent.send(UploadAvatar(file: file)) { progress in
        if progress.direction == .upload { show(progress.fractionCompleted) }
    }
}
