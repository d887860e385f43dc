import Errand
import ErrandCurl
import ErrandInspector
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
    typealias Fetch = @Sendable () async throws -> User

    let name: String

    /// Makes what fetches a user, again and again, over one session.
    let makeFetch: @Sendable (_ server: URL) -> Fetch

    static let all = [
        errand, observed, recorded, curlRecorded, modified, general, raw, lean, curl, curlTransport, easy, easyModel,
        easyAsync,
    ]

    static let errand = Client(name: "errand") { server in
        let agent = Agent(config: NetworkConfig(baseURL: server))
        return { try await agent.send(GetUser()) }
    }

    /// Errand with an accessory that reads every event and makes a line of it.
    static let observed = Client(name: "observed") { server in
        var config = NetworkConfig(baseURL: server)
        config.accessories.append(LineAccessory())
        let agent = Agent(config: config)
        return { try await agent.send(GetUser()) }
    }

    /// Errand with a recorder of the last sends and their bodies.
    static let recorded = Client(name: "recorded") { server in
        var config = NetworkConfig(baseURL: server)
        config.accessories.append(FlightRecorder())
        let agent = Agent(config: config)
        return { try await agent.send(GetUser()) }
    }

    /// The same over libcurl.
    static let curlRecorded = Client(name: "curlRecorded") { server in
        var config = NetworkConfig(baseURL: server)
        config.accessories.append(FlightRecorder())
        let agent = Agent(config: config, transport: CurlTransport())
        return { try await agent.send(GetUser()) }
    }

    /// Errand with three modifiers.
    static let modified = Client(name: "modified") { server in
        let agent = Agent(config: NetworkConfig(baseURL: server))
        return { try await agent.send(GetUser().timeout(.seconds(30)).priority(.high).tag("feed")) }
    }

    /// Errand with a request that has no type of its own.
    static let general = Client(name: "general") { server in
        let agent = Agent(config: NetworkConfig(baseURL: server))
        return { try await agent.send(GeneralRequest("user").expecting(User.self)) }
    }

    /// The code in Foundation's documentation; never cancelled here, which would hang the process.
    static let raw = Client(name: "raw") { server in
        let session = URLSession(configuration: .default)
        let decoder = JSONDecoder()
        let url = server.appending(path: "user")
        return {
            let (data, response) = try await session.data(for: URLRequest(url: url))
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: data)
        }
    }

    /// The leanest that one can write by hand on this platform, with the same changes of queue as Errand's transport.
    static let lean = Client(name: "lean") { server in
        let session = LeanSession()
        let decoder = JSONDecoder()
        let url = server.appending(path: "user")
        return {
            let (data, response) = try await session.data(for: URLRequest(url: url))
            guard response.statusCode == 200 else { throw URLError(.badServerResponse) }
            return try decoder.decode(User.self, from: data)
        }
    }

    func run(_ count: Int, concurrency: Int, url: URL) async throws {
        try await Self.run(makeFetch(url), count, concurrency: concurrency)
    }

    /// Fetches `count` times, rounded down to a multiple of `concurrency`, with so many in flight.
    @concurrent
    static func run(_ fetch: @escaping Fetch, _ count: Int, concurrency: Int) async throws {
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
