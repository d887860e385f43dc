import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Users who sign out, and what is still under way.
@Suite(.limit(seconds: 60))
struct CookieRemovalWireTests {
    private let server: MockServer
    private let jar = CookieJar()

    init() throws { server = try MockServer { _ in .json("1") } }

    private func agent(_ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent {
            $0.interceptors = [jar]
            change(&$0)
        }
    }

    /// The paths and the cookies of all requests.
    private var sent: [String] { server.requests.map { "\($0.path) \($0.headers["Cookie"] ?? "-")" } }

    @Test func removedCookiesAreNotSent() async throws {
        for name in ["a", "b", "c"] { jar.set("\(name)=1; Path=/", from: server.baseURL) }
        jar.removeAll { $0.name == "b" }
        _ = try await agent().get("/") as Int
        jar.removeAll()
        _ = try await agent().get("/") as Int
        #expect(sent == ["/ a=1; c=1", "/ -"])
    }

    /// An adapter that takes its time, as one that signs with a key of another process does.
    private struct Waiting: RequestAdapter {
        let began: Lock<Bool>
        let goes: Lock<Bool>
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            began.withLock { $0 = true }
            while !goes.withLock({ $0 }) { await Task.yield() }
        }
    }

    @Test(arguments: [true, false]) func aRequestThatWaitedIsNotSentForTheNextUser(isCached: Bool) async throws {
        let (began, goes) = (Lock(false), Lock(false))
        let agent = agent {
            $0.adapters = [Waiting(began: began, goes: goes)]
            if isCached {
                ($0.cache, $0.cachePolicy) = (ResponseCache(disk: nil), .cacheElseNetwork(maxAge: .seconds(60)))
            }
        }
        jar.set("sid=ada; Path=/", from: server.baseURL)
        let task = Task { try await agent.get("/") as Int }
        while !began.withLock({ $0 }) { await Task.yield() }
        jar.removeAll()
        jar.set("sid=bob; Path=/", from: server.baseURL)
        goes.withLock { $0 = true }
        let error = await #expect(throws: NetworkError.self) { try await task.value }
        #expect(error?.reason == .credentialChanged && server.requestCount == 0)
        #expect(try await agent.get("/") == 1)
        #expect(sent == ["/ sid=bob"])
    }

    @Test func aRequestWithoutCookiesOutlivesARemoval() async throws {
        let (began, goes) = (Lock(false), Lock(false))
        let agent = agent { $0.adapters = [Waiting(began: began, goes: goes)] }
        jar.set("sid=ada; Path=/account", from: server.baseURL)
        async let response: Int = agent.get("/public")
        while !began.withLock({ $0 }) { await Task.yield() }
        jar.removeAll()
        goes.withLock { $0 = true }
        #expect(try await response == 1)
        #expect(sent == ["/public -"])
    }

    /// The user has signed out meanwhile.
    @Test(arguments: [true, false]) func aResponseFromBeforeARemovalSetsNoCookie(removesAll: Bool) async throws {
        let (arrived, goes) = (Lock(false), Lock(false))
        server.on(.get, "/") { _ in
            arrived.withLock { $0 = true }
            while !goes.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
            return .text("late", headers: ["Set-Cookie": "sid=ada; Path=/"])
        }
        jar.set("sid=ada; Path=/", from: server.baseURL)
        let agent = agent()
        async let response = agent.send(GeneralRequest("/").expecting(String.self))
        while !arrived.withLock({ $0 }) { await Task.yield() }
        if removesAll { jar.removeAll() } else { jar.removeAll { $0.name == "sid" } }
        goes.withLock { $0 = true }
        #expect(try await response == "late")
        #expect(jar.cookies.isEmpty)
    }
}
