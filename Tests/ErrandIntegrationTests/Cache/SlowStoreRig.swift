import ErrandTesting
import Foundation

@testable import Errand

/// An agent with a cache over a store that can be slow, and a server whose responses vary with `X-Kind`.
struct SlowStoreRig {
    let store = DelayedStore()
    let cache: ResponseCache
    let agent: Agent
    let server: MockServer
    private let responses = Lock<[MockResponse]>([])

    /// - Parameter patience: The time limit of a lookup in milliseconds.
    /// - Throws: The error of the server's socket.
    init(patience: Int = ResponseCache.standardPatience) throws {
        server = try MockServer { [responses] request in
            responses.withLock {
                $0.isEmpty ? .text(request.headers["X-Kind"] ?? "plain", headers: Self.vary) : $0.removeFirst()
            }
        }
        cache = ResponseCache(memory: nil, disk: store, patience: patience)
        agent = Self.agent(server, cache)
    }

    static let vary: HTTPHeaders = ["Vary": "X-Kind", "Cache-Control": "max-age=600"]

    static func agent(_ server: MockServer, _ cache: ResponseCache, _ policy: CachePolicy = .http) -> Agent {
        var config = NetworkConfig(baseURL: server.baseURL)
        config.environment = [:]
        config.retryPolicy = .never
        config.cache = cache
        config.cachePolicy = policy
        return Agent(config: config)
    }

    /// Returns an agent with another cache or policy.
    func agent(_ cache: ResponseCache, _ policy: CachePolicy = .http) -> Agent { Self.agent(server, cache, policy) }

    /// Sets the next responses; the default is the request's `X-Kind`.
    func respond(_ next: MockResponse...) { responses.withLock { $0 = next } }

    func isStored(_ kind: String?) async throws -> Bool {
        var own = GeneralRequest("/x").expecting(String.self).cachePolicy(.cacheOnly)
        if let kind { own = own.header("X-Kind", kind) }
        // The only reason to fail is that it is not stored.
        return await (try? agent.send(own)) != nil
    }
}
