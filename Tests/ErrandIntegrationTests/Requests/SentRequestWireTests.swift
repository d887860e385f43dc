import Errand
import ErrandTesting
import Foundation
import Synchronization
import Testing

/// The request after adapters, interceptors and redirects determines whether it is sent again.
@Suite(.limit(seconds: 180))
struct SentRequestWireTests {
    private struct Changing: RequestAdapter {
        let change: @Sendable (inout OutgoingRequest) -> Void
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) { change(&request) }
    }

    /// Five bytes that can be read once; a second reader finds nothing left.
    private final class SingleUse: BodySource {
        private let isRead = Atomic(false)
        var byteCount: Int64? { nil }
        var isReplayable: Bool { false }

        func makeReader() -> any BodyReader {
            Reader(isRead.exchange(true, ordering: .relaxed) ? "" : "ab012")
        }

        private final class Reader: BodyReader {
            private var text: String
            init(_ text: String) { self.text = text }

            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                defer { text = "" }
                buffer.copyBytes(from: text.utf8)
                return text.utf8.count
            }
        }
    }

    /// Sends a request twice, as a handshake does.
    private struct Twice: Interceptor {
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse {
            _ = try await next(request)
            return try await next(request)
        }
    }

    private struct SendTwice: SendInterceptor {
        func intercept(_ context: RequestContext, next: SendChain) async throws {
            try await next()
            try await next()
        }
    }

    private let server: MockServer
    private let agent: Agent

    init() throws {
        server = try MockServer()
        agent = server.agent { $0.retryPolicy = RetryPolicy(maximumAttempts: 3, baseDelay: .zero) }
    }

    private func adapt(_ change: @escaping @Sendable (inout OutgoingRequest) -> Void) {
        agent.config.adapters = [Changing(change: change)]
    }

    private func send(_ method: HTTPMethod = .get, _ path: String = "/x") async throws -> String {
        try await agent.send(GeneralRequest(path).method(method).expecting(String.self))
    }

    @Test(arguments: [MockResponse.status(503), .text("x").faulted(.resetBeforeHead)])
    func getThatAnAdapterMakesAPostIsSentOnce(_ response: MockResponse) async throws {
        server.enqueue(response, response, response)
        adapt { request in
            request.method = .post
            request.body = .data(Data("x".utf8))
        }
        let error = await #expect(throws: NetworkError.self) { try await send() }
        #expect(error?.attempts == 1)
        #expect(server.requests.map(\.method) == [.post])
    }

    @Test func postToWhichAnAdapterAddsAKeyIsRetried() async throws {
        server.enqueue(.status(503), .text("x").faulted(.resetBeforeHead), .text("done"))
        adapt { $0.headers["Idempotency-Key"] = "abc" }
        #expect(try await send(.post) == "done")
        #expect(server.requests.map { $0.headers["Idempotency-Key"] } == ["abc", "abc", "abc"])
    }

    @Test func postThatWasRedirectedToAGetThatBreaksIsSentOnce() async throws {
        server.on(.post, "/x", .redirect(to: "/y", status: 303))
        server.on(.get, "/y", .text("long enough").faulted(.resetBeforeHead))
        adapt { $0.method = .post }
        let error = await #expect(throws: NetworkError.self) { try await send() }
        #expect(error?.attempts == 1)
        #expect(server.requests.filter { $0.method == .post }.count == 1)
    }

    enum Ending: CaseIterable { case refused, unavailable, redirected, reset }

    /// With the body of an adapter, and with one of the request itself, which comes from the same place.
    @Test(arguments: Ending.allCases)
    func bodyThatCanBeReadOnceIsNeverSentEmpty(_ ending: Ending) async throws {
        let session = AuthenticationSession(RenewedTokens(), credential: "old")
        agent.config.authentication = .session(session)
        let response: MockResponse =
            switch ending {
            case .refused: .status(401)
            case .unavailable: .status(503)
            case .redirected: .redirect(to: "/y", status: 307)
            case .reset: .text("x").faulted(.resetBeforeHead)
            }
        server.enqueue(response)
        server.on(.put, "/x", .text("done"))
        server.on(.put, "/y", .text("done"))
        let source = SingleUse()
        adapt { $0.body = .source(source) }
        let error = await #expect(throws: NetworkError.self) { try await send(.put) }
        switch ending {
        case .refused: #expect(error?.reason == .status(401))
        case .unavailable: #expect(error?.reason == .status(503))
        case .redirected: #expect(error?.kind == .redirectRefused)
        case .reset: #expect(error?.kind == .connectionLost)
        }
        #expect(server.requests.map(\.text) == ["ab012"])
        // The refresh was made, so that the caller can try again.
        #expect(session.credential == (ending == .refused ? "new" : "old"))
    }

    @Test func interceptorThatRepeatsABodyThatCanBeReadOnceGetsAnError() async throws {
        server.on(.put, "/x", .text("done"))
        let source = SingleUse()
        adapt { $0.body = .source(source) }
        agent.config.interceptors = [Twice()]
        let error = await #expect(throws: NetworkError.self) { try await send(.put) }
        #expect(error?.reason == .bodyAlreadySent)
        #expect(server.requests.map(\.text) == ["ab012"])
    }

    @Test func bodyOfAnAdapterIsNotSentEmptyByASendInterceptor() async throws {
        server.on(.put, "/x", .text("ok"))
        let body = SingleUse()
        adapt { $0.body = .source(body) }
        agent.config.sendInterceptors = [SendTwice()]
        let error = await #expect(throws: NetworkError.self) { try await send(.put) }
        #expect(error?.reason == .bodyAlreadySent)
        #expect(server.requests.map(\.text) == ["ab012"])
    }

    @Test func interceptorMayRepeatABodyThatCanBeReadAgain() async throws {
        server.on(.put, "/x", .text("done"))
        adapt { $0.body = .data(Data("ab012".utf8)) }
        agent.config.interceptors = [Twice()]
        agent.config.sendInterceptors = [SendTwice()]
        #expect(try await send(.put) == "done")
        #expect(server.requests.map(\.text) == ["ab012", "ab012", "ab012", "ab012"])
    }

    /// nginx's `limit_req`: so many requests in a while, and 503 for the rest.
    private final class Limit: Sendable {
        private let tokens = Lock((count: 10.0, time: ContinuousClock.now))

        func takes() -> Bool {
            tokens.withLock { tokens in
                let now = ContinuousClock.now
                let passed = (now - tokens.time) / .seconds(1)
                tokens = (min(10, tokens.count + passed * 50), now)
                guard tokens.count >= 1 else { return false }
                tokens.count -= 1
                return true
            }
        }
    }

    @Test(arguments: [true, false])
    func rateLimitOfAServerFailsNoSend(_ tellsTime: Bool) async throws {
        let limit = Limit()
        server.on(.get, "/x") { _ in
            limit.takes() ? .text("done") : .status(503, headers: tellsTime ? ["Retry-After": "0.2"] : [:])
        }
        agent.config.throttle = Throttle(maximumPerHost: 4)
        agent.config.retryPolicy = RetryPolicy(maximumAttempts: 10, baseDelay: .seconds(1))
        if !tellsTime { agent.config.retryBudget = .unlimited }
        let errors = await withTaskGroup(of: (any Error)?.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    do {
                        _ = try await send()
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: [any Error]()) { if let error = $1 { $0.append(error) } }
        }
        #expect(errors.isEmpty, "\(errors.first.map { "\($0)" } ?? "")")
        print("200 sends against a limit: \(server.requestCount) requests")
    }
}
