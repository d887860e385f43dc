import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The directives of a newer response about variants and storing replace the directives of older ones, also on a slow disk.
@Suite(.limit(seconds: 60)) struct CacheStaleVariantTests {
    private static let age = CachePolicy.cacheElseNetwork(maxAge: .seconds(600))
    private let request = GeneralRequest("/x").expecting(String.self)
    private let clock = CacheClock()
    private let server: MockServer

    init() throws { server = try MockServer() }

    private func agent(_ policy: CachePolicy) -> Agent {
        let clock = clock
        return server.agent(ResponseCache(disk: nil) { clock.now }, policy)
    }

    /// Responds to what is not in the queue once the result is signalled.
    private func hold(_ response: MockResponse) -> DispatchSemaphore {
        let release = DispatchSemaphore(value: 0)
        server.on(.get, "/x") { _ in
            // It runs on a thread of its connection, which may block.
            _ = release.wait(timeout: .now() + 60)
            return response
        }
        return release
    }

    @Test func aVariantReplacesTheResponseThatItsRequestSelectedBefore() async throws {
        server.enqueue(.text("old"), .text("new", headers: ["Vary": "X-Kind"]))
        let (agent, request) = (agent(Self.age), request.header("X-Kind", "1"))
        #expect(try await agent.send(request) == "old")
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == "new")
        #expect(try await agent.send(request) == "new")
    }

    @Test func aResponseWithoutVariantsReplacesThemAll() async throws {
        server.enqueue(.text("old", headers: ["Vary": "X-Kind"]), .text("new"))
        let (agent, request) = (agent(Self.age), request.header("X-Kind", "1"))
        #expect(try await agent.send(request) == "old")
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == "new")
        // As if the limits had evicted it.
        agent.config.cache?.remove(for: try agent.cacheKey(for: request))
        await #expect(throws: NetworkError.self) { try await agent.send(request.cachePolicy(.cacheOnly)) }
    }

    @Test(
        arguments: [
            ["Cache-Control": "max-age=60", "Vary": "*"], ["Cache-Control": "no-store, max-age=60"],
        ] as [HTTPHeaders]
    )
    func aValidationThatForbidsStoringRemovesTheStoredResponse(headers: HTTPHeaders) async throws {
        let validated: HTTPHeaders = headers.merging(["ETag": "\"1\""])
        server.enqueue(
            .text("a", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]),
            .status(304, headers: validated),
            .text("b")
        )
        let agent = agent(.http)
        #expect(try await agent.send(request) == "a")
        clock.advance(by: 1)
        #expect(try await agent.response(for: request).source.isFromCache)
        #expect(try await agent.send(request.header("X-Kind", "other")) == "b")
    }

    @Test func aValidationOfARequestThatAnInterceptorChangedForbidsStoring() async throws {
        struct Changing: Interceptor {
            func intercept(
                _ request: OutgoingRequest,
                for context: RequestContext,
                next: AttemptChain
            ) async throws -> RawResponse {
                var request = request
                request.headers["X-Kind"] = context.tag
                return try await next(request)
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        server.enqueue(
            .text("a", headers: ["Cache-Control": "max-age=0", "ETag": "\"1\""]),
            .status(304, headers: ["Cache-Control": "max-age=60", "Vary": "X-Kind"]),
            .text("b")
        )
        let agent = agent(.http)
        agent.config.interceptors = [Changing()]
        #expect(try await agent.send(request.tag("1")) == "a")
        clock.advance(by: 1)
        #expect(try await agent.send(request.tag("1")) == "a")
        // This one would be sent with another value than the one that it has before the interceptor.
        #expect(try await agent.send(request.header("X-Kind", "1").tag("2")) == "b")
    }

    @Test func aHeadThatNamesOtherVariantsRemovesTheStoredResponse() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
        server.enqueue(
            .text("one", headers: headers),
            MockResponse(status: 200, headers: headers.merging(["Vary": "X-Kind", "Content-Length": "3"])),
            .text("two")
        )
        let agent = agent(.http)
        #expect(try await agent.send(request.header("X-Kind", "one")) == "one")
        let head = GeneralRequest("/x").expecting(Void.self).method(.head)
        try await agent.send(head.header("X-Kind", "one"))
        #expect(try await agent.send(request.header("X-Kind", "two")) == "two")
    }

    // MARK: Hostile and unusual fields

    /// Thousands of names would cost much time with each send.
    @Test(arguments: [17, 5_000])
    func aResponseThatDependsOnTooManyFieldsIsNotStored(count: Int) async throws {
        let names = (0..<count).map { "x" + String($0, radix: 36) }
        var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
        for start in stride(from: 0, to: count, by: 10_000) {
            headers.add("Vary", names[start..<min(count, start + 10_000)].joined(separator: ","))
        }
        server.enqueue(.text("a", headers: headers))
        let agent = agent(.http)
        #expect(try await agent.send(request) == "a")
        #expect(await agent.config.cache?.count == 0)
    }

    @Test func aNameThatIsNoTokenIsNotStored() async throws {
        server.enqueue(.text("a", headers: ["Vary": ":variants", "Cache-Control": "max-age=60"]))
        let agent = agent(.http)
        #expect(try await agent.send(request) == "a")
        #expect(await agent.config.cache?.count == 0)
    }

    /// Only a field's own definition determines whether it is a list.
    @Test func valuesOfUnknownFieldsAreComparedAsTheyAreWritten() async throws {
        let headers: HTTPHeaders = ["Vary": "X-Columns", "Cache-Control": "max-age=60"]
        server.enqueue(.text("three", headers: headers), .text("two", headers: headers))
        let agent = agent(.http)
        #expect(try await agent.send(request.header("X-Columns", "a,,b")) == "three")
        #expect(try await agent.send(request.header("X-Columns", "a,b")) == "two")
    }

    // MARK: Responses at once

    /// The response that was requested later stays, whichever arrives first.
    @Test(arguments: [["X-Kind", nil], [nil, "X-Kind"], ["X-Kind", "X-Kind"]])
    func theResponseThatWasRequestedLaterStays(vary: [String?]) async throws {
        func headers(_ number: Int) -> HTTPHeaders {
            var headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
            headers["Vary"] = vary[number]
            return headers
        }
        let release = hold(.text("old", headers: headers(0)))
        let (agent, request) = (agent(.http), request.header("X-Kind", "1"))
        async let old = agent.send(request)
        await server.waitForRequests(1)
        server.enqueue(.text("new", headers: headers(1)), .text("asked"))
        clock.advance(by: 1)
        #expect(try await agent.send(request) == "new")
        release.signal()
        #expect(try await old == "old")
        #expect(try await agent.send(request) != "old")
    }

    /// The server has responded with a new one, which is a variant, or must not be stored.
    @Test(
        arguments: [["Cache-Control": "max-age=600", "Vary": "X-Kind"], ["Cache-Control": "no-store"]] as [HTTPHeaders]
    )
    func aValidationUnderWayBringsNothingBack(headers: HTTPHeaders) async throws {
        server.enqueue(.text("old", headers: ["Cache-Control": "max-age=1", "ETag": "\"1\""]))
        let release = hold(.status(304, headers: ["Cache-Control": "max-age=600", "ETag": "\"1\""]))
        let (agent, request) = (agent(.http), request.header("X-Kind", "1"))
        #expect(try await agent.send(request) == "old")
        clock.advance(by: 5)
        async let validation = agent.send(request)
        await server.waitForRequests(2)
        server.enqueue(.text("new", headers: headers), .text("asked"))
        clock.advance(by: 1)
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == "new")
        clock.advance(by: 1)
        release.signal()
        _ = try await validation
        #expect(try await agent.send(request) != "old")
    }

    /// Most servers send some `Vary` with everything.
    @Test(arguments: ["Accept-Encoding", "Origin"])
    func aVariantIsNotFoundAfterANewerResponseWithAnotherVary(vary: String) async throws {
        server.enqueue(
            .text("old", headers: ["Cache-Control": "max-age=600", "Vary": "X-Kind, \(vary)"]),
            .text("new", headers: ["Cache-Control": "max-age=1", "Vary": vary]),
            .text("newest", headers: ["Cache-Control": "no-store", "Vary": vary]),
            .text("asked")
        )
        let (agent, request) = (agent(.http), request.header("X-Kind", "1"))
        #expect(try await agent.send(request) == "old")
        clock.advance(by: 1)
        #expect(try await agent.response(for: request, cachePolicy: .reload).model == "new")
        await agent.config.cache?.flush()
        clock.advance(by: 5)
        #expect(try await agent.send(request) == "newest")
        #expect(try await agent.send(request) == "asked")
    }
}
