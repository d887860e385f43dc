import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A validated response is used only for its own resource, and only while it is usable.
@Suite(.limit(seconds: 60)) struct CacheValidationTests {
    private let request = GeneralRequest("/a").expecting(String.self)
    private let hasMoved = Lock(false)

    private let server: MockServer

    init() throws { server = try MockServer() }

    private func agent(filter: (any ResponseFilter)? = nil) -> Agent {
        server.agent(ResponseCache(disk: nil)) { $0.filter = filter }
    }

    /// `/a` and `/b` have the same version, and `/a` redirects to `/b` once it has moved.
    private func serve(_ cacheControl: String) {
        let fields: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": cacheControl]
        server.on(.get, "*") { [hasMoved] request in
            if request.path == "/a", hasMoved.withLock({ $0 }) { return .redirect(to: "/b", status: 302) }
            if request.headers["If-None-Match"] == "\"1\"" { return .status(304, headers: fields) }
            return .text("body of \(request.path)", headers: fields)
        }
    }

    /// Seeds the response of `/a`, as an older version of a program would have stored it.
    private func seed(_ body: String, _ agent: Agent, for request: some Request) throws {
        let fields: HTTPHeaders = ["ETag": "\"1\"", "Content-Type": "application/json", "Cache-Control": "no-cache"]
        let url = server.baseURL.appending(path: "a")
        try agent.store(RawResponse(headers: fields, body: Data(body.utf8), url: url), for: request)
    }

    @Test func aRedirectedValidationDoesNotConfirmAnotherResource() async throws {
        serve("no-cache")
        let agent = agent()
        #expect(try await agent.send(request) == "body of /a")
        hasMoved.withLock { $0 = true }
        for _ in 0..<2 { #expect(try await agent.send(request) == "body of /b") }
        // The validator belongs to the response of `/a` (RFC 9110, section 15.4).
        let sent = server.requests.map { "\($0.path) \($0.headers["If-None-Match"] ?? "-")" }
        #expect(sent == ["/a -", "/a \"1\"", "/b -", "/a -", "/b -"])
    }

    @Test func aRedirectedRevalidationInTheBackgroundDoesNotKeepTheOldBody() async throws {
        serve("max-age=0, stale-while-revalidate=600")
        let agent = agent()
        #expect(try await agent.send(request) == "body of /a")
        hasMoved.withLock { $0 = true }
        _ = try await agent.send(request)
        await agent.waitForRevalidations()
        #expect(try await agent.send(request) == "body of /b")
    }

    @Test func aValidatedResponseThatCannotBeDecodedIsRequestedAgain() async throws {
        server.on(.get, "/a") { request in
            let fields: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
            return request.headers["If-None-Match"] == nil ? .json("7", headers: fields) : .status(304, headers: fields)
        }
        let (agent, request) = (agent(), GeneralRequest("/a").expecting(Int.self))
        try seed(#""of an older version""#, agent, for: request)
        #expect(try await agent.send(request) == 7)
        #expect(server.requestCount == 2)
        // The new one is stored, and validated from now on.
        #expect(try await agent.send(request) == 7)
        #expect(server.requestCount == 3)
    }

    private struct Strict: ResponseFilter {
        struct Refused: Error {}

        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
            if response.body == Data("old".utf8) { throw Refused() }
            return try PassthroughFilter().filter(response, for: context)
        }
    }

    @Test func aValidatedResponseThatItsFilterRejectsIsRequestedAgain() async throws {
        server.on(.get, "/a") { request in
            let fields: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "no-cache"]
            return request.headers["If-None-Match"] == nil
                ? .text("new", headers: fields) : .status(304, headers: fields)
        }
        let agent = agent(filter: Strict())
        try seed("old", agent, for: request)
        for _ in 0..<2 { #expect(try await agent.send(request) == "new") }
    }

    @Test func subscriberOfARevalidationGetsItsOwnResponse() async throws {
        let hold = ResponseHold()
        server.on(.get, "/a") { request in
            let fields: HTTPHeaders = ["ETag": "\"2\"", "Cache-Control": "no-cache"]
            guard request.headers["If-None-Match"] != nil else { return .text("new", headers: fields) }
            hold.pass()
            return .status(304, headers: fields)
        }
        let (agent, shared) = (agent(), request.duplicatePolicy(.share))
        try seed("old", agent, for: shared)
        hold.holdUntilWaiting(2, at: agent)
        async let first = agent.send(shared)
        while server.requestCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        // As an unsafe request to the URL does.
        try agent.removeStored(for: shared)
        #expect(try await agent.send(shared) == "new")
        #expect(try await first == "new")
    }

    /// Stays on its caller; its veto runs between the lookup and the model.
    private struct Vetoing: Request {
        typealias Model = String
        let path = "/a"
        let cachePolicy: CachePolicy
        var onVeto: () -> Void = {}

        func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool {
            onVeto()
            return true
        }
    }

    /// On a thread of its own, because the veto blocks.
    @Test(.ownThread) func hitIsNotStoredAgainAfterTheCacheIsCleared() async throws {
        server.on(.get, "/a", .text("of a user"))
        let folder = try CacheFolder()
        let cache = ResponseCache(directory: folder.url)
        let agent = server.agent(cache)
        let stale = CachePolicy.staleWhileRevalidate(maxAge: .zero, maxStale: .seconds(100))
        _ = try await agent.send(Vetoing(cachePolicy: stale))
        _ = try await agent.send(Vetoing(cachePolicy: stale))
        await agent.waitForRevalidations()
        let hit = Vetoing(cachePolicy: .cacheElseNetwork(maxAge: .seconds(1_000))) {
            let isCleared = DispatchSemaphore(value: 0)
            Task.detached {
                await cache.removeAll()
                isCleared.signal()
            }
            _ = isCleared.wait(timeout: .now() + 60)
        }
        #expect(try await agent.response(for: hit).source.isFromCache)
        await cache.flush()
        #expect(await cache.count == 0)
    }
}
