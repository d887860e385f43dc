import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// No response contains what belongs to another user.
@Suite(.limit(seconds: 60)) struct CacheForeignUserTests: CacheForeignSuite {
    let clock = CacheClock()
    let server: MockServer

    init() throws { server = try MockServer() }

    /// Adds the current user's credential.
    private struct Current: RequestAdapter {
        let user: Lock<String>
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.headers["Authorization"] = user.withLock { $0 }
        }
        func credentialScope(for context: RequestContext) -> String? { user.withLock { $0 } }
    }

    /// Alice's response is stored, the first attempt of the next send fails, and the second is Bob's.
    @Test(arguments: [nil, "bytes=0-4"])
    func aResponseThatValidatesAnotherUsersIsNotMergedWithIt(range: String?) async throws {
        let (user, isFailing) = (Lock("alice"), Lock(false))
        server.on(.get, "/x") { request in
            if isFailing.withLock({ $0 }) {
                isFailing.withLock { $0 = false }
                user.withLock { $0 = "bob" }
                return .status(503)
            }
            let text = request.headers["Authorization"] == "bob" ? "bbbbbbbbbb" : "AAAAAAAAAA"
            var headers: HTTPHeaders = [
                "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT", "Date": "Mon, 01 Jan 2025 00:00:00 GMT",
                "Cache-Control": "max-age=0",
            ]
            if request.headers.contains("If-Modified-Since") { return .status(304, headers: headers) }
            switch request.headers["Range"] {
            case "bytes=0-4":
                headers["Content-Range"] = "bytes 0-4/10"
                return .text(String(text.prefix(5)), status: 206, headers: headers)
            case "bytes=5-":
                headers["Content-Range"] = "bytes 5-9/10"
                return .text(String(text.suffix(5)), status: 206, headers: headers)
            default: return .text(text, headers: headers)
            }
        }
        let agent = agent {
            $0.adapters = [Current(user: user)]
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        }
        let first = range.map { request.header("Range", $0) } ?? request
        #expect(try await agent.send(first).hasPrefix("AAAAA"))
        isFailing.withLock { $0 = true }
        #expect(try await agent.send(request) == "bbbbbbbbbb")
    }

    /// The server doesn't vary by them, but they are part of the key.
    @Test(arguments: ["X-Session", "X-Org-ID", "X-JWT", "DPoP", "X-User-Id", "From"])
    func fieldOfARequestWhoseNameRefersToAUserIsPartOfTheKey(name: String) async throws {
        server.on(.get, "/x") { .text($0.headers[name] ?? "") }
        let agent = agent(Self.age)
        for user in ["alice", "bob"] { #expect(try await agent.send(request.header(name, user)) == user) }
    }

    /// Whatever identifies the user of a POST is not part of the GET.
    @Test(arguments: ["secret", "body", "cookie", "parameters"])
    func aResponseToAPostThatMayNameItsUserIsNotStoredForGet(place: String) async throws {
        var headers: HTTPHeaders = ["Content-Location": "/x", "Cache-Control": "max-age=60"]
        if place == "cookie" { headers["Set-Cookie"] = "sid=alice" }
        server.on(.post, "/x", .text("alice", headers: headers))
        server.on(.get, "/x", .text("nobody"))
        let agent = agent { if place == "parameters" { $0.parameters = ["account": "alice"] } }
        var post = request.method(.post)
        if place == "secret" { post = post.parameters(["access_token": "alice"]) }
        if place == "body" { post = post.parameters(["name": "alice"]) }
        #expect(try await agent.send(post) == "alice")
        #expect(try await agent.send(request) == "nobody")
    }

    @Test(arguments: [CacheIdentity(), CacheIdentity(user: "alice")])
    func aResponseToAPostOfAKnownUserIsStoredForGet(identity: CacheIdentity) async throws {
        server.on(.post, "/x", .text("stored", headers: ["Content-Location": "/x", "Cache-Control": "max-age=60"]))
        let (agent, request) = (agent(), request.cacheIdentity(identity))
        let post = request.method(.post)
        _ = try await agent.send(identity.user.isEmpty ? post : post.parameters(["name": "alice"]))
        #expect(try await agent.response(for: request).source.isFromCache)
    }
}
