import Errand
import ErrandTesting
import Foundation

extension Steps {
    static let caching = [
        Step("A stored response first, and a fresh one after it", needsServer: true) { tour in
            try await withCache(tour, .cacheThenNetwork(maxAge: .seconds(60))) { agent, _ in
                let count = tour.count("/feed", headers: [:])
                _ = try await agent.send(GeneralRequest("/feed"))
                var seen: [String] = []
                for try await response in agent.responses(for: GeneralRequest("/feed")) {
                    seen.append("\(response.model) from the \(response.source.isFromCache ? "cache" : "network")")
                }
                try hold(seen == ["1 from the cache", "2 from the network"] && count() == 2, "\(seen)")
                return seen.joined(separator: ", then ")
            }
        },
        Step("A response stored on disk is available in the next process without a connection", needsServer: true) {
            tour in
            try await withCache(tour, .cacheElseNetwork(maxAge: .seconds(60))) { agent, folder in
                let count = tour.count("/offline", headers: [:])
                _ = try await agent.send(GeneralRequest("/offline"))
                await agent.config.cache?.flush()
                // Another agent with the same cache directory, as after a restart.
                var config = agent.config
                config.cache = ResponseCache(directory: folder)
                let response = try await tour.agent(config).response(for: GeneralRequest("/offline"))
                try hold(response.source.isFromCache && count() == 1, "\(response.source)")
                return "\(response.model), \(response.source)"
            }
        },
        Step("HTTP caching: a response is revalidated with its ETag, and reused after a 304", needsServer: true) {
            tour in
            try await withCache(tour, .http) { agent, _ in
                let headers: HTTPHeaders = ["Cache-Control": "no-cache", "ETag": "\"v1\""]
                let count = tour.count("/tagged", headers: headers)
                let first = try await agent.response(for: GeneralRequest("/tagged"))
                let second = try await agent.response(for: GeneralRequest("/tagged"))
                let asked = tour.server.requests.last?.headers["If-None-Match"]
                try hold(first.model == second.model && asked == "\"v1\"" && count() == 1, "asked with \(asked ?? "-")")
                return "\(second.source), asked with \(asked ?? "")"
            }
        },
        Step("Responses are stored for each user; an unsafe method invalidates stored responses") { tour in
            try await withCache(tour, .cacheElseNetwork(maxAge: .seconds(60))) { agent, _ in
                tour.server.on(.get, "/me") { .text($0.headers["Authorization"] ?? "nobody") }
                tour.server.on(.post, "/me", .text("changed"))
                func me(_ user: String) -> GeneralRequest<DefaultFormatter<String>> {
                    GeneralRequest("/me").authorization(.bearer(user)).cacheIdentity(CacheIdentity(user: user))
                        .expecting(String.self)
                }
                let seen = try await [agent.send(me("ada")), agent.send(me("bob")), agent.send(me("ada"))]
                try hold(seen == ["Bearer ada", "Bearer bob", "Bearer ada"], "\(seen)")
                let before = try await agent.plan(for: me("ada")).cache
                _ = try await agent.send(me("ada").method(.post))
                let after = try await agent.plan(for: me("ada")).cache
                try hold(after == .miss(.absent), "\(after)")
                return "\(before), and after the POST \(after)"
            }
        },
    ]

    /// Calls a closure with an agent whose cache has a directory of its own.
    private static func withCache(
        _ tour: Tour,
        _ policy: CachePolicy,
        _ body: (Agent, URL) async throws -> String
    ) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-tour-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }  // If this fails, only a temporary directory remains.
        let cache = ResponseCache(directory: folder)
        let config = NetworkConfig(baseURL: BaseURL(tour.server.baseURL), cachePolicy: policy, cache: cache)
        let shown = try await body(tour.agent(config), folder)
        // Writes that are still to come would create the directory again.
        await cache.flush()
        return shown
    }
}

extension Tour {
    /// Registers numbered responses for a path, or 304 if the request has the current `ETag`.
    ///
    /// - Returns: A closure that returns the number of responses so far, not counting those with status 304.
    fileprivate func count(_ path: String, headers: HTTPHeaders) -> @Sendable () -> Int {
        let counter = Diary()
        server.on(.get, path) { request in
            if let tag = headers["ETag"], request.headers["If-None-Match"] == tag {
                return .status(304, headers: headers)
            }
            counter.request(RequestContext(), did: .willStart)
            return .json("\(counter.lines.count)", headers: headers)
        }
        return { counter.lines.count }
    }
}
