import Errand
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct User: Decodable, Sendable {
    let id: Int
    let name: String
    let email: String
    let active: Bool
}

struct GetUser: Request {
    typealias Model = User
    var path: String { "user" }
}

/// A way to fetch and decode one user, to be measured.
struct Client: Sendable {
    let name: String
    private let fetch: @Sendable (URL) -> @Sendable () async throws -> User

    static let all = [errand, observed, raw, lean]

    static func named(_ name: String) throws -> Client {
        guard let client = all.first(where: { $0.name == name }) else {
            throw Arguments.Wrong(description: "there is no client '\(name)'")
        }
        return client
    }

    static let errand = Client(name: "errand") { url in
        let agent = Agent(config: NetworkConfig(baseURL: url))
        return { try await agent.send(GetUser()) }
    }

    /// Errand with an accessory that writes a line of each event to nowhere.
    static let observed = Client(name: "observed") { url in
        var config = NetworkConfig(baseURL: url)
        config.accessories.append(LineAccessory())
        let agent = Agent(config: config)
        return { try await agent.send(GetUser()) }
    }

    /// What the documentation of Foundation shows.
    static let raw = Client(name: "raw") { url in
        let session = URLSession(configuration: .default)
        let decoder = JSONDecoder()
        let url = url.appending(path: "user")
        return {
            let (data, response) = try await session.data(for: URLRequest(url: url))
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: data)
        }
    }

    /// The leanest that one can write by hand on this platform, with the same change of queues.
    static let lean = Client(name: "lean") { url in
        let session = LeanSession()
        let decoder = JSONDecoder()
        let url = url.appending(path: "user")
        return {
            let (data, response) = try await session.data(for: URLRequest(url: url))
            guard response.statusCode == 200 else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: data)
        }
    }

    /// Something to fetch users with, again and again.
    func fetcher(url: URL) -> @Sendable () async throws -> User { fetch(url) }

    func run(_ count: Int, concurrency: Int, url: URL) async throws {
        try await Self.run(fetcher(url: url), count, concurrency: concurrency)
    }

    @concurrent
    static func run(_ fetch: @escaping @Sendable () async throws -> User, _ count: Int, concurrency: Int) async throws {
        guard concurrency > 1 else {
            for _ in 0..<count { _ = try await fetch() }
            return
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency {
                group.addTask { for _ in 0..<count / concurrency { _ = try await fetch() } }
            }
            try await group.waitForAll()
        }
    }
}

private struct LineAccessory: Accessory {
    func request(_ context: RequestContext, did event: AccessoryEvent) {
        let line = "\(context.id) \(context.typeName) \(context.method) \(context.url?.path() ?? "") \(event)"
        precondition(!line.isEmpty)
    }
}
