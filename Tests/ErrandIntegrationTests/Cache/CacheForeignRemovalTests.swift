import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// No response is from a time before a removal.
@Suite(.limit(seconds: 60)) struct CacheForeignRemovalTests: CacheForeignSuite {
    let clock = CacheClock()
    let server: MockServer

    init() throws { server = try MockServer() }

    /// The user is removed while the send waits to be retried.
    @Test(arguments: [true, false])
    func aSendThatWaitsBringsNothingBack(validates: Bool) async throws {
        let (isFailing, failed, goes) = (Lock(false), Lock(false), Lock(false))
        server.on(.get, "/x") { request in
            if isFailing.withLock({ $0 }) {
                isFailing.withLock { $0 = false }
                failed.withLock { $0 = true }
                return .status(503)
            }
            let headers: HTTPHeaders = ["Cache-Control": "max-age=0", "ETag": "\"1\""]
            if request.headers.contains("If-None-Match") { return .status(304, headers: headers) }
            return .text("private", headers: headers)
        }
        struct Waiting: RequestAdapter {
            let (failed, goes): (Lock<Bool>, Lock<Bool>)
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                while failed.withLock({ $0 }), !goes.withLock({ $0 }) { await Task.yield() }
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let agent = agent {
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
        server.on(.get, "/x") { request in
            let headers: HTTPHeaders = [
                "Cache-Control": "max-age=1, stale-while-revalidate=600", "ETag": "\"1\"",
            ]
            let isConditional = request.headers.contains("If-None-Match")
            return isConditional ? .status(304, headers: headers) : .text("private", headers: headers)
        }
        let arrived = Lock(false)
        let agent = agent { $0.adapters = [Waiting(goes: goes, arrived: arrived)] }
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
        server.on(method, "/x") { _ in
            arrived.withLock { $0 = true }
            while !goes.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
            return .text("before", headers: ["Cache-Control": "max-age=60", "Content-Location": "/x"])
        }
        let agents = (0..<2).map { _ in
            agent { $0.cache = ResponseCache(disk: DiskStore(directory: folder.url)) }
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
        server.on(.post, "*") {
            .text("POST", headers: ["Content-Location": $0.target, "Cache-Control": "max-age=60"])
        }
        let agent = agent {
            $0.cache = ResponseCache(memory: nil, disk: DiskStore(directory: folder.url), patience: 600_000)
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
        server.on(.post, "/x", .text("done").delayed(by: .milliseconds(100)))
        server.on(.get, "/x", .text("after", headers: ["Cache-Control": "max-age=600"]))
        let agent = agent(policy) { $0.throttle = Throttle(maximumInTotal: 1) }
        async let post = agent.send(request.method(.post))
        while server.requestCount < 1 { await Task.yield() }
        #expect(try await agent.send(request) == "after")
        _ = try await post
        #expect(try await agent.response(for: request).source.isFromCache)
    }
}
