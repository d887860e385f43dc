import ErrandInspector
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The exchanges that an accessory received.
final class ExchangeLog: Accessory {
    let exchangeBodyLimit: Int?
    private let exchanges = Lock<[Exchange]>([])

    init(upTo limit: Int? = 16) { exchangeBodyLimit = limit }

    var all: [Exchange] { exchanges.withLock { $0 } }
    func request(_ context: RequestContext, did event: AccessoryEvent) {}
    func request(_ context: RequestContext, exchanged exchange: Exchange) { exchanges.withLock { $0.append(exchange) } }
}

@Suite struct ExchangeTests {
    private func rig(
        _ log: ExchangeLog,
        _ change: (inout NetworkConfig) -> Void = { _ in },
        _ handler: @escaping StubTransport.Handler
    ) -> Rig {
        var config = NetworkConfig.test
        config.accessories = [log]
        change(&config)
        return Rig(config: config, responding: handler)
    }

    @Test func anExchangeHasWhatWasSentAndWhatCameBack() async throws {
        let log = ExchangeLog()
        let rig = rig(log) { _ in .json(#"{"text":"0123456789"}"#, status: 201) }
        let before = Date()
        let body = Data("0123456789abcdefghij".utf8)
        let request = GeneralRequest("/items?token=abc").method(.post).body(.data(body, contentType: "text/plain"))
        _ = try await rig.agent.send(request.header("X-Key", "k"))
        let exchange = try #require(log.all.first)
        #expect(log.all.count == 1 && exchange.attempt == 1 && exchange.purpose == .attempt)
        #expect(exchange.method == .post && exchange.url.path() == "/items" && exchange.requestHeaders["X-Key"] == "k")
        #expect(exchange.requestBody == Exchange.Body(body, of: 20, upTo: 16) && !exchange.requestBody.isComplete)
        #expect(exchange.statusCode == 201 && exchange.failure == nil && !exchange.isExact)
        #expect(exchange.responseBody.bytes.count == 16 && exchange.responseBody.byteCount == 21)
        #expect(exchange.start >= before && exchange.start <= Date())
        #expect(exchange.shownURL(by: .usual).hasSuffix("/items?token=\(Secrets.mask)"))
        #expect("\(exchange)".hasPrefix("POST api.example/items: attempt 1: 201") && !"\(exchange)".contains("abc"))
        #expect(Mirror(reflecting: exchange).children.count == 1)
        let curl = exchange.curl(hiding: nil)
        #expect(curl.contains("token=abc'") && curl.contains("--data-raw '0123456789abcdefghij'"))
    }

    @Test func attemptsAndRedirectsAreExchangesOfTheirOwn() async throws {
        let (log, count) = (ExchangeLog(), Lock(0))
        let rig = rig(log) {
            $0.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .zero)
        } _: { request in
            switch count.next() {
            case 1: throw NetworkError(.connectionReset)
            case 2: return .status(302, headers: ["Location": "/other"])
            default: return .json("{}")
            }
        }
        _ = try await rig.agent.send(GeneralRequest("/x"))
        #expect(log.all.map(\.attempt) == [1, 2, 2])
        #expect(log.all.map(\.purpose) == [.attempt, .attempt, .redirect])
        #expect(log.all.map(\.statusCode) == [nil, 302, 200])
        #expect(log.all[0].failure is NetworkError && log.all[2].url.path() == "/other")
    }

    @Test func aRevalidationSaysSo() async throws {
        let log = ExchangeLog()
        let rig = rig(log) { config in
            config.cache = ResponseCache(disk: nil)
            config.cachePolicy = .http
        } _: { request in
            request.headers["If-None-Match"] == nil
                ? .json("{}", headers: ["ETag": #""1""#, "Cache-Control": "no-cache"]) : .status(304)
        }
        for _ in 0..<2 { _ = try await rig.agent.send(GeneralRequest("/x")) }
        #expect(log.all.map(\.purpose) == [.attempt, .revalidation])
        #expect(log.all.map(\.statusCode) == [200, 304])
    }

    @Test func aRevalidationBehindASendSaysSo() async throws {
        let log = ExchangeLog()
        let rig = rig(log) { config in
            config.cache = ResponseCache(disk: nil)
            config.cachePolicy = .http
        } _: { _ in
            .json("{}", headers: ["Cache-Control": "max-age=0, stale-while-revalidate=60"])
        }
        for _ in 0..<2 { _ = try await rig.agent.send(GeneralRequest("/x")) }
        while log.all.count < 2 { await Task.yield() }
        #expect(log.all.map(\.purpose) == [.attempt, .background])
    }

    @Test func theRequestOfARefreshSaysSo() async throws {
        let log = ExchangeLog()
        let authenticator = TokenAuthenticator { number, _, agent in
            _ = try await agent.send(GeneralRequest("/token"))
            return Token(access: "new\(number)")
        }
        let transport = StubTransport.tokens { $0.url.path() == "/token" ? .json("2") : nil }
        let rig = AuthenticationRig(authenticator, transport: transport) { $0.accessories = [log] }
        #expect(try await rig.get() == 7)
        #expect(log.all.map(\.purpose) == [.attempt, .refresh, .attempt])
        #expect(log.all.map { $0.url.path() } == ["/x", "/token", "/x"])
    }

    /// Reads a task-local value of the caller.
    private struct Reading: RequestAdapter {
        @TaskLocal static var place = ""
        func credentialScope(for context: RequestContext) -> String? { "" }
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) {
            request.headers["X-Place"] = Self.place
        }
    }

    @Test func taskLocalValuesOfTheCallerAreThoseOfItsAdapters() async throws {
        let door = Gate()
        let rig = rig(ExchangeLog()) {
            $0.adapters = [Reading()]
        } _: { _ in
            try await door.pass()
            return .json("{}")
        }
        let ended = AsyncStream<Void>.makeStream()
        Reading.$place.withValue("callback") {
            rig.agent.start(GeneralRequest("/a")) { _ in ended.continuation.finish() }
        }
        await rig.transport.waitForRequests()
        // Of sends that share a response, those of the first one.
        let request = GeneralRequest("/b").duplicatePolicy(.share)
        async let first = Reading.$place.withValue("first") { try await rig.agent.send(request) }
        await rig.transport.waitForRequests(2)
        async let second = Reading.$place.withValue("second") { try await rig.agent.send(request) }
        for _ in 0..<1_000 { await Task.yield() }
        door.open()
        _ = try await (first, second)
        for await _ in ended.stream {}
        #expect(rig.transport.requests.map { $0.headers["X-Place"] } == ["callback", "first"])
    }

    @Test func withoutALimitThereAreNoExchanges() async throws {
        let log = ExchangeLog(upTo: nil)
        let rig = rig(log) { _ in .json("{}") }
        _ = try await rig.agent.send(GeneralRequest("/x"))
        #expect(log.all.isEmpty)
    }

    @Test func metricsHaveTheTimesOfTheClock() async throws {
        let rig = rig(ExchangeLog()) { _ in .json("{}") }
        let before = Date()
        let metrics = try await rig.agent.response(for: GeneralRequest("/x")).metrics
        let (start, attempt) = try (#require(metrics.start), #require(metrics.attempts.first?.start))
        #expect(
            before.addingTimeInterval(-0.01) < start && start <= attempt.addingTimeInterval(0.01) && attempt <= Date()
        )
    }

    @Test func aSendContinuesTheTraceOfItsCaller() async throws {
        let rig = rig(ExchangeLog()) {
            $0.adapters = [TraceContextAdapter()]
        } _: { _ in
            .json("{}")
        }
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let received = try #require(TraceContext(traceparent: text, tracestate: "a=b"))
        #expect(received.traceparent == text)
        try await TraceContext.$current.withValue(received) {
            _ = try await rig.agent.send(GeneralRequest("/x"))
        }
        let sent = try #require(rig.transport.requests.first)
        let span = try #require(TraceContext(traceparent: sent.headers["traceparent"] ?? ""))
        #expect(
            span.traceID == received.traceID && span.spanID != received.spanID && sent.headers["tracestate"] == "a=b"
        )
        _ = try await rig.agent.send(GeneralRequest("/x"))
        let own = try #require(TraceContext(traceparent: rig.transport.requests.last?.headers["traceparent"] ?? ""))
        #expect(own.traceID != received.traceID && own.isSampled)
        _ = try await rig.agent.send(GeneralRequest("/x"))
        let next = try #require(TraceContext(traceparent: rig.transport.requests.last?.headers["traceparent"] ?? ""))
        // Samplers of servers read the bits of either half.
        for digits in [
            (own.traceID.prefix(16), next.traceID.prefix(16)), (own.traceID.suffix(16), next.traceID.suffix(16)),
        ] {
            let (one, other) = try (#require(UInt64(digits.0, radix: 16)), #require(UInt64(digits.1, radix: 16)))
            #expect(8...56 ~= (one ^ other).nonzeroBitCount)
        }
    }

    @Test func aTracestateThatNoRequestMayHaveIsDropped() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        #expect(TraceContext(traceparent: text, tracestate: "a\u{1}b")?.state == "")
    }

    @Test(arguments: [
        "", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
    ])
    func anInvalidTraceparentIsIgnored(text: String) { #expect(TraceContext(traceparent: text) == nil) }
}
