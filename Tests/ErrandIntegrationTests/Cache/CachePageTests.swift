import Errand
import ErrandTesting
import Foundation
import Testing

/// Pages whose first response comes from the cache have what a session adds once, with its current values.
@Suite(.limit(seconds: 60)) struct CachePageTests {
    /// Adds a tenant to the path, a token to the query, or both.
    struct Tenants: Authenticator {
        let adds: Set<String>
        let port: Int?

        func appliesTo(_ url: URL) -> Bool { url.port == port }
        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) throws {
            var parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
            if adds.contains("tenant") { parts.path = "/t/\(credential)" + parts.path }
            if adds.contains("token") {
                parts.queryItems = (parts.queryItems ?? []) + [URLQueryItem(name: "token", value: credential)]
            }
            request.url = try #require(parts.url)
        }
        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func scope(of credential: String) -> String? { "ada" }
    }

    enum Start: CaseIterable, Sendable { case memory, disk, revalidated, stale }

    @Test(
        arguments: Start.allCases,
        [["tenant"], ["token"], ["tenant", "token"]] as [Set<String>]
    )
    func aLinkOfAStoredResponseIsFollowed(start: Start, adds: Set<String>) async throws {
        for (isRelative, changes) in [(false, false), (false, true), (true, false), (true, true)] {
            let folder = try CacheFolder()
            let (current, isDown) = (Lock("one"), Lock(false))
            let server = try MockServer { request in
                let token = current.withLock { $0 }
                let path = (adds.contains("tenant") ? "/t/\(token)" : "") + "/items"
                let tokens = request.queryItems.filter { $0.name == "token" }.map(\.value)
                guard request.path == path, tokens == (adds.contains("token") ? [token] : []),
                    request.queryItems.filter({ $0.name == "q" }).map(\.value) == ["1"]
                else { return .status(401) }
                let page = request.queryItems.first { $0.name == "page" }.flatMap { Int($0.value) } ?? 1
                let query = request.query?.split(separator: "&").filter { !$0.hasPrefix("page=") } ?? []
                let place = isRelative ? "?q=1" : "\(path)?\(query.joined(separator: "&"))"
                var fields: HTTPHeaders = [
                    "ETag": "\"\(page)\"",
                    "Cache-Control": start == .revalidated || start == .stale ? "no-cache" : "max-age=60",
                ]
                if page < 3 { fields["Link"] = "<\(place)&page=\(page + 1)>; rel=next" }
                if page == 1, start == .stale, isDown.withLock({ $0 }) { return .status(503) }
                if request.headers["If-None-Match"] != nil { return .status(304, headers: fields) }
                return .json("\(page)", headers: fields)
            }
            defer { server.stop() }
            let session = AuthenticationSession(Tenants(adds: adds, port: server.baseURL.port), credential: "one")
            func agent() -> Agent {
                let cache = start == .disk ? ResponseCache(directory: folder.url) : ResponseCache(disk: nil)
                return server.agent(cache) { $0.authentication = .session(session) }
            }
            let items = GeneralRequest("/items?q=1").expecting(Int.self)
            var own = agent()
            #expect(try await own.send(items) == 1)
            isDown.withLock { $0 = true }
            if start == .disk {
                await own.config.cache?.flush()
                own = agent()
            }
            if changes {
                current.withLock { $0 = "two" }
                session.login("two")
            }
            var (models, isFromCache): ([Int], [Bool]) = ([], [])
            let policy = start == .stale ? CachePolicy.networkElseCache(maxStale: nil) : .http
            for try await page in own.pages(of: items.cachePolicy(policy)) {
                models.append(page.model)
                isFromCache.append(page.source.isFromCache)
            }
            #expect(models == [1, 2, 3] && isFromCache == [true, false, false], "\(isRelative) \(changes)")
            let targets = server.requests.map(\.target)
            #expect(targets.count == (start == .memory || start == .disk ? 3 : 4), "\(targets)")
        }
    }
}
