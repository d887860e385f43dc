import ErrandTesting
import Foundation

@testable import Errand

/// An agent with a cache over a store that can be slow, and a server whose responses vary with `X-Kind`.
struct SlowStoreRig {
    let store = DelayedStore()
    let cache: ResponseCache
    let agent: Agent
    let server: MockServer

    /// - Parameter patience: The time limit of a lookup in milliseconds.
    /// - Throws: The error of the server's socket.
    init(patience: Int = ResponseCache.standardPatience) throws {
        server = try MockServer { .text($0.headers["X-Kind"] ?? "plain", headers: Self.vary) }
        cache = ResponseCache(memory: nil, disk: store, patience: patience)
        agent = server.agent(cache)
    }

    static let vary: HTTPHeaders = ["Vary": "X-Kind", "Cache-Control": "max-age=600"]

    /// Returns an agent with another cache or policy.
    func agent(_ cache: ResponseCache, _ policy: CachePolicy = .http) -> Agent { server.agent(cache, policy) }

    /// Adds the next responses; the default is the request's `X-Kind`.
    func respond(_ next: MockResponse...) { server.enqueue(next) }

    func isStored(_ kind: String?) async throws -> Bool {
        var own = GeneralRequest("/x").expecting(String.self).cachePolicy(.cacheOnly)
        if let kind { own = own.header("X-Kind", kind) }
        // The only reason to fail is that it is not stored.
        return await (try? agent.send(own)) != nil
    }
}
