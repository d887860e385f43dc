import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// No response contains what belongs to another user, to another resource, or to a time before a removal.
@Suite(.limit(seconds: 60)) struct CacheForeignResponseTests {
    private static let age = CachePolicy.cacheElseNetwork(maxAge: .seconds(600))
    private let request = GeneralRequest("/x").expecting(String.self)
    private let clock = CacheClock()

    private func agent(
        _ server: MockServer,
        _ policy: CachePolicy = .http,
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) -> Agent {
        let clock = clock
        var config = NetworkConfig(baseURL: server.baseURL)
        config.environment = [:]
        config.retryPolicy = .never
        config.cache = ResponseCache(disk: nil) { clock.now }
        config.cachePolicy = policy
        change(&config)
        return Agent(config: config)
    }

    // MARK: Users

    /// Adds the current user's credential, with a scope or without one.
    private struct Current: RequestAdapter {
        let user: Lock<String?>
        var hasScope = true
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            if let user = user.withLock({ $0 }) { request.headers["Authorization"] = user }
        }
        func credentialScope(for context: RequestContext) -> String? { hasScope ? user.withLock { $0 } : nil }
    }

    /// Alice's response is stored, the first attempt of the next send fails, and the second is Bob's.
    @Test(arguments: [true, false], [nil, "bytes=0-4"])
    func aResponseThatValidatesAnotherUsersIsNotMergedWithIt(hasScope: Bool, range: String?) async throws {
        let (user, isFailing) = (Lock<String?>(hasScope ? "alice" : nil), Lock(false))
        let server = try MockServer { request in
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
        defer { server.stop() }
        let agent = agent(server) {
            $0.adapters = [Current(user: user, hasScope: hasScope)]
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        }
        let first = range.map { request.header("Range", $0) } ?? request
        #expect(try await agent.send(first).hasPrefix("AAAAA"))
        isFailing.withLock { $0 = true }
        #expect(try await agent.send(request) == "bbbbbbbbbb")
    }

    /// Any field may refer to a user, whatever its name is.
    @Test(arguments: [
        "X-Session", "X-Email", "X-Org-ID", "X-Impersonate", "X-Auth", "X-Sid", "X-JWT", "X-Ticket", "X-Key", "DPoP",
        "X-Patient-ID", "X-Goog-Iap-Jwt-Assertion", "Referer", "Host-Name",
    ])
    func fieldOfAnAdapterWithoutAScopeIsNeitherStoredNorShared(name: String) async throws {
        struct Adding: RequestAdapter {
            let name: String
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.headers[name] = context.tag
            }
        }
        let server = try MockServer { .text($0.headers[name] ?? "").delayed(by: .milliseconds(20)) }
        defer { server.stop() }
        let agent = agent(server, Self.age) { $0.adapters = [Adding(name: name)] }
        for user in ["alice", "bob"] { #expect(try await agent.send(request.tag(user)) == user) }
        let shared = request.duplicatePolicy(.share).cachePolicy(.networkOnly)
        async let one = agent.send(shared.tag("alice"))
        async let other = agent.send(shared.tag("bob"))
        #expect(try await [one, other] == ["alice", "bob"])
    }

    /// These don't depend on the user, so that tracing and signatures don't disable the cache.
    @Test(arguments: ["User-Agent", "X-Request-ID", "traceparent", "Accept-Language", "Date", "Idempotency-Key"])
    func fieldThatRefersToNoUserIsStored(name: String) async throws {
        struct Adding: RequestAdapter {
            let name: String
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.headers[name] = UUID().uuidString
            }
        }
        let server = try MockServer { _ in .text("all") }
        defer { server.stop() }
        let agent = agent(server, Self.age) { $0.adapters = [Adding(name: name)] }
        for _ in 0..<2 { _ = try await agent.send(request) }
        #expect(server.requestCount == 1)
    }

    /// The server doesn't vary by them, but they are part of the key.
    @Test(arguments: ["X-Session", "X-Org-ID", "X-JWT", "DPoP", "X-User-Id", "From"])
    func fieldOfARequestWhoseNameRefersToAUserIsPartOfTheKey(name: String) async throws {
        let server = try MockServer { .text($0.headers[name] ?? "") }
        defer { server.stop() }
        let agent = agent(server, Self.age)
        for user in ["alice", "bob"] { #expect(try await agent.send(request.header(name, user)) == user) }
    }

    /// What the body of a POST says about the user is not part of a GET.
    @Test(arguments: ["secret", "body", "cookie", "parameters"])
    func aResponseToAPostThatMayNameItsUserIsNotStoredForGet(place: String) async throws {
        let server = try MockServer { request in
            guard request.method == .post else { return .text("nobody") }
            var headers: HTTPHeaders = ["Content-Location": "/x", "Cache-Control": "max-age=60"]
            if place == "cookie" { headers["Set-Cookie"] = "sid=alice" }
            return .text("alice", headers: headers)
        }
        defer { server.stop() }
        let agent = agent(server) {
            if place == "parameters" { $0.parameters = ["account": "alice"] }
        }
        var post = request.method(.post)
        if place == "secret" { post = post.parameters(["access_token": "alice"]) }
        if place == "body" { post = post.parameters(["name": "alice"]) }
        #expect(try await agent.send(post) == "alice")
        #expect(try await agent.send(request) == "nobody")
    }

    @Test(arguments: [CacheIdentity(), CacheIdentity(user: "alice")])
    func aResponseToAPostOfAKnownUserIsStoredForGet(identity: CacheIdentity) async throws {
        let server = try MockServer { _ in
            .text("stored", headers: ["Content-Location": "/x", "Cache-Control": "max-age=60"])
        }
        defer { server.stop() }
        let (agent, request) = (agent(server), request.cacheIdentity(identity))
        let post = request.method(.post)
        _ = try await agent.send(identity.user.isEmpty ? post : post.parameters(["name": "alice"]))
        #expect(try await agent.response(for: request).source.isFromCache)
    }

    // MARK: Resources

    private static func part(_ text: String, _ range: String) -> MockResponse? {
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
        switch range {
        case "bytes=0-4":
            return .text(
                String(text.prefix(5)),
                status: 206,
                headers: headers.merging(["Content-Range": "bytes 0-4/10"])
            )
        case "bytes=5-9", "bytes=5-":
            return .text(
                String(text.suffix(5)),
                status: 206,
                headers: headers.merging(["Content-Range": "bytes 5-9/10"])
            )
        default: return nil
        }
    }

    /// Two resources may have the same entity tag (RFC 9110, section 8.8.1).
    @Test func partsOfTwoTargetsOfARedirectAreNotCombined() async throws {
        let target = Lock("/v1")
        let server = try MockServer { request in
            if request.target == "/x" { return .redirect(to: target.withLock { $0 }) }
            let text = request.target == "/v1" ? "0123456789" : "abcdefghij"
            return Self.part(text, request.headers["Range"] ?? "") ?? .text(text, headers: ["ETag": "\"1\""])
        }
        defer { server.stop() }
        let agent = agent(server, Self.age)
        #expect(try await agent.send(request.header("Range", "bytes=0-4")) == "01234")
        target.withLock { $0 = "/v2" }
        #expect(try await agent.send(request.header("Range", "bytes=5-9")) == "fghij")
        #expect(try await agent.send(request) == "abcdefghij")
    }

    private struct Mirror: RequestAdapter {
        let path: Lock<String>
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            if let url = URL(string: path.withLock { $0 }, relativeTo: request.url) { request.url = url.absoluteURL }
        }
        func credentialScope(for context: RequestContext) -> String? { "mirror" }
    }

    @Test(arguments: [nil, "bytes=0-4"])
    func aStoredResponseIsNotContinuedOrValidatedByAnotherResource(range: String?) async throws {
        let path = Lock("/v1")
        let server = try MockServer { request in
            let text = request.target == "/v1" ? "0123456789" : "abcdefghij"
            if request.headers["If-None-Match"] == "\"1\"" { return .status(304, headers: ["ETag": "\"1\""]) }
            return Self.part(text, request.headers["Range"] ?? "")
                ?? .text(text, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=0"])
        }
        defer { server.stop() }
        let agent = agent(server) { $0.adapters = [Mirror(path: path)] }
        _ = try await agent.send(range.map { request.header("Range", $0) } ?? request)
        path.withLock { $0 = "/v2" }
        #expect(try await agent.send(request) == "abcdefghij")
    }

    @Test func aLargeContentIsContinuedOnce() async throws {
        let content = Data(repeating: 0x61, count: 34 << 20)
        let server = try MockServer { request in
            var headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
            guard let range = request.headers["Range"].flatMap({ ByteRange($0) })?.positions(in: content.count) else {
                return MockResponse(status: 200, headers: headers, body: content)
            }
            headers["Content-Range"] = ContentRange(range, of: content.count).description
            return MockResponse(status: 206, headers: headers, body: content[range])
        }
        defer { server.stop() }
        let (agent, request) = (agent(server), GeneralRequest("/x").expecting(Data.self))
        _ = try await agent.send(request.header("Range", "bytes=0-1023"))
        #expect(try await agent.send(request) == content)
        #expect(server.requests.map { $0.headers["Range"] } == ["bytes=0-1023", "bytes=1024-"])
    }

    // MARK: Removals

    /// The user is removed while the send waits to be retried.
    @Test(arguments: [true, false])
    func aSendThatWaitsBringsNothingBack(validates: Bool) async throws {
        let (isFailing, failed, goes) = (Lock(false), Lock(false), Lock(false))
        let server = try MockServer { request in
            if isFailing.withLock({ $0 }) {
                isFailing.withLock { $0 = false }
                failed.withLock { $0 = true }
                return .status(503)
            }
            let headers: HTTPHeaders = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
            if request.headers.contains("If-None-Match") { return .status(304, headers: headers) }
            return .text("private", headers: headers)
        }
        defer { server.stop() }
        struct Waiting: RequestAdapter {
            let (failed, goes): (Lock<Bool>, Lock<Bool>)
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                while failed.withLock({ $0 }), !goes.withLock({ $0 }) { await Task.yield() }
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let agent = agent(server) {
            $0.adapters = [Waiting(failed: failed, goes: goes)]
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .milliseconds(1))
        }
        let cache = try #require(agent.config.cache)
        let request = request.authorization(.bearer("alice")).cacheIdentity(CacheIdentity(user: "alice"))
        if validates { _ = try await agent.send(request) }
        clock.advance(by: 5)
        isFailing.withLock { $0 = true }
        async let response = agent.send(request)
        while !failed.withLock({ $0 }) { await Task.yield() }
        await cache.removeAll(ofUser: "alice")
        goes.withLock { $0 = true }
        #expect(try await response == "private")
        #expect(await cache.count == 0)
    }

    @Test func aRevalidationThatWaitsBringsNothingBack() async throws {
        let goes = Lock(false)
        struct Waiting: RequestAdapter {
            let (goes, arrived): (Lock<Bool>, Lock<Bool>)
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                guard request.headers.contains("If-None-Match") else { return }
                arrived.withLock { $0 = true }
                while !goes.withLock({ $0 }) { await Task.yield() }
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let server = try MockServer { request in
            let headers: HTTPHeaders = [
                "Cache-Control": "max-age=1, stale-while-revalidate=600", "ETag": "\"1\"",
            ]
            let isConditional = request.headers.contains("If-None-Match")
            return isConditional ? .status(304, headers: headers) : .text("private", headers: headers)
        }
        defer { server.stop() }
        let arrived = Lock(false)
        let agent = agent(server) { $0.adapters = [Waiting(goes: goes, arrived: arrived)] }
        let cache = try #require(agent.config.cache)
        let request = request.authorization(.bearer("alice")).cacheIdentity(CacheIdentity(user: "alice"))
        _ = try await agent.send(request)
        clock.advance(by: 5)
        #expect(try await agent.response(for: request).source.isFromCache)
        while !arrived.withLock({ $0 }) { await Task.yield() }
        await cache.removeAll(ofUser: "alice")
        goes.withLock { $0 = true }
        while server.requestCount < 2 { await Task.yield() }
        while cache.revalidations.count > 0 { await Task.yield() }
        #expect(await cache.count == 0)
    }

    /// Another process removes everything while the response is under way here.
    @Test(arguments: [HTTPMethod.get, .post])
    func aResponseOfAnotherProcessFromBeforeARemovalIsNotFound(method: HTTPMethod) async throws {
        let (folder, arrived, goes) = (try CacheFolder(), Lock(false), Lock(false))
        let server = try MockServer { _ in
            arrived.withLock { $0 = true }
            while !goes.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
            return .text("before", headers: ["Cache-Control": "max-age=60", "Content-Location": "/x"])
        }
        defer { server.stop() }
        let agents = (0..<2).map { _ in
            agent(server) { $0.cache = ResponseCache(disk: DiskStore(directory: folder.url)) }
        }
        async let response = agents[1].send(request.method(method))
        while !arrived.withLock({ $0 }) { await Task.yield() }
        await agents[0].config.cache?.removeAll()
        goes.withLock { $0 = true }
        _ = try await response
        await agents[1].config.cache?.flush()
        await #expect(throws: NetworkError.self) { try await agents[0].send(request.cachePolicy(.cacheOnly)) }
        // The process that sent it does find it.
        #expect(try await agents[1].send(request.cachePolicy(.cacheOnly)) == "before")
    }

    /// The date of a request has fractions of a second, and files have microseconds.
    @Test func aResponseToAPostIsFoundOnDisk() async throws {
        let folder = try CacheFolder()
        let server = try MockServer { request in
            .text("\(request.method)", headers: ["Content-Location": request.target, "Cache-Control": "max-age=60"])
        }
        defer { server.stop() }
        let agent = agent(server) {
            $0.cache = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 30_000)
        }
        for number in 0..<20 {
            let request = GeneralRequest("/\(number)").expecting(String.self)
            _ = try await agent.send(request.method(.post))
            await agent.config.cache?.flush()
            #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == "POST")
        }
    }

    /// Its response is newer than what the POST has changed.
    @Test(arguments: [Self.age, .http]) func aRequestThatWaitedForAPostIsStored(policy: CachePolicy) async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        let server = try MockServer { request in
            request.method == .post
                ? .text("done").delayed(by: .milliseconds(100)) : .text("after", headers: headers)
        }
        defer { server.stop() }
        let agent = agent(server, policy) { $0.throttle = Throttle(maximumInTotal: 1) }
        async let post = agent.send(request.method(.post))
        while server.requestCount < 1 { await Task.yield() }
        #expect(try await agent.send(request) == "after")
        _ = try await post
        #expect(try await agent.response(for: request).source.isFromCache)
    }

    private struct Signing: RequestAdapter {
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.url.append(queryItems: [URLQueryItem(name: "signature", value: UUID().uuidString)])
        }
        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    /// A signature in the query names no other resource.
    @Test func partsOfASignedURLAreCombinedAndReplaceNoWholeContent() async throws {
        let server = try MockServer { request in
            Self.part("0123456789", request.headers["Range"] ?? "") ?? .text("0123456789", headers: ["ETag": "\"1\""])
        }
        defer { server.stop() }
        let agent = agent(server, Self.age) { $0.adapters = [Signing()] }
        #expect(try await agent.send(request.header("Range", "bytes=0-4")) == "01234")
        #expect(try await agent.send(request) == "0123456789")
        #expect(server.requests.map { $0.headers["Range"] } == ["bytes=0-4", "bytes=5-"])
        let part = request.header("Range", "bytes=0-4")
        #expect(try await agent.response(for: part, cachePolicy: .reload).model == "01234")
        #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == "0123456789")
    }

    /// A response that depends on more than can be compared is like one that depends on everything.
    @Test func aResponseThatDependsOnTooManyFieldsIsNotShared() async throws {
        struct Language: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.headers["X-Lang"] = context.tag
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let names = ["X-Lang"] + (0..<20).map { "X-\($0)" }
        let vary: HTTPHeaders = ["Vary": names.joined(separator: ",")]
        let server = try MockServer { .text($0.headers["X-Lang"] ?? "", headers: vary).delayed(by: .milliseconds(50)) }
        defer { server.stop() }
        let agent = agent(server, Self.age) { $0.adapters = [Language()] }
        let shared = request.duplicatePolicy(.share)
        async let one = agent.send(shared.tag("en"))
        async let other = agent.send(shared.tag("de"))
        #expect(try await [one, other] == ["en", "de"])
        let response = RawResponse(headers: vary, body: Data(), url: server.baseURL)
        #expect(throws: CacheMiss.varyMismatch) { try agent.store(response, for: request) }
    }

    @Test func aStoredPartOfAnotherResponseIsValidatedOnce() async throws {
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
        let server = try MockServer { request in
            request.headers.contains("If-None-Match") ? .status(304, headers: headers) : .text("item", headers: headers)
        }
        defer { server.stop() }
        let agent = agent(server)
        let list = server.baseURL.appending(path: "items")
        try agent.store(RawResponse(headers: headers, body: Data("item".utf8), url: list), for: request)
        #expect(try await agent.send(request) == "item")
        #expect(server.requestCount == 1)
    }
}
