import Errand
import ErrandTesting
import Foundation
import Testing

/// The effect of each shorter spelling on the wire.
@Suite(.limit(seconds: 60)) struct SpellingTests {
    private let texts = Lock(["text"])
    private let server: MockServer
    private let config: NetworkConfig
    private let agent: Agent

    init() throws {
        let texts = texts
        server = try MockServer { request in
            switch request.target.split(separator: "?").first {
            case "/text": .text(texts.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] })
            case "/numbers":
                switch request.target {
                case "/numbers?page=1": .json("[1,2]")
                case "/numbers?page=3": .json("[3]")
                default: .json("[]")
                }
            case "/rpc": .json(#"[{"jsonrpc":"2.0","id":3,"result":9},{"jsonrpc":"2.0","id":2,"result":4}]"#)
            case "/item": .text(request.method.rawValue)
            default:
                .text("\(request.headers["Content-Type"] ?? "-") \(String(decoding: request.body, as: UTF8.self))")
            }
        }
        config = try Spelling.config("\(server.baseURL)", mirrors: ["\(server.baseURL)"])
        agent = Agent(config: config)
    }

    private final class Events: Accessory {
        let names = Lock<[String]>([])
        func request(_ context: RequestContext, did event: AccessoryEvent) {
            names.withLock { $0.append(context.tag) }
        }
    }

    @Test func modifiersAreTheSameForRequestsBatchesAndChains() async throws {
        let events = Events()
        #expect(try await agent.send(Spelling.modified(Spelling.GetText(), events)) == "text")
        let general = GeneralRequest("text").expecting(String.self)
        #expect(try await agent.send(Spelling.modified(general, events)) == "text")
        let batch = BatchRequest(Spelling.GetText(), Spelling.GetNumbers())
        let (text, numbers) = try await agent.send(Spelling.modified(batch, events))
        #expect(text == "text" && numbers == [1, 2])
        #expect(server.requests.allSatisfy { $0.headers["X-Trace"] == "1" })
        #expect(events.names.withLock { $0.contains("feed") })
    }

    @Test func eventsAndProgressOfOneSendAreObserved() async throws {
        let seen = Lock<[String]>([])
        _ = try await Spelling.observed(agent) { event in seen.withLock { $0.append(event) } }
        #expect(seen.withLock { $0.count } >= 2)
        texts.withLock { $0 = [String(repeating: "x", count: 1 << 20)] }
        let progress = Lock<[Double]>([])
        _ = try await Spelling.withProgress(agent) { fraction in progress.withLock { $0.append(fraction) } }
        #expect(progress.withLock { $0.last } == 1)
    }

    @Test func storedResponsesPrecedeTheNetworks() async throws {
        #expect(try await Spelling.cachedFirst(agent) == [false])
        #expect(try await Spelling.cachedFirst(agent) == [true, false])
        let (text, numbers) = try await Spelling.sources(agent)
        #expect(text && !numbers)
    }

    @Test func aScopeIsOptional() async throws {
        #expect(try await Spelling.scoped(agent, nil) == "text")
        #expect(try await Spelling.scoped(agent, RequestScope()) == "text")
    }

    @Test func pollingReturnsTheLastResponse() async throws {
        texts.withLock { $0 = ["begun", "half", "done"] }
        #expect(try await Spelling.lastPoll(agent) == "done")
        #expect(server.requestCount == 3)
    }

    @Test func aClosureFindsTheNextPage() async throws {
        #expect(try await Spelling.allPages(agent) == [1, 2, 3])
        #expect(server.requests.map(\.target) == [1, 3, 2].map { "/numbers?page=\($0)" })
    }

    @Test func callsOfAnArrayAreOneRequest() async throws {
        #expect(try await Spelling.squares(agent, of: [2, 3]) == [4, 9])
        #expect(server.requestCount == 1)
    }

    @Test func theBodyOfAnErrorIsDecoded() async throws {
        server.enqueue(.json(#"{"title":"no stock"}"#, status: 422))
        let error = await #expect(throws: NetworkError.self) { try await agent.send(Spelling.GetText()) }
        #expect(try error.flatMap { try Spelling.problem(of: $0) } == "no stock")
    }

    @Test(
        arguments: zip(
            0..<3,
            ["text/plain; charset=utf-8 grün", "application/xml; charset=utf-8 <a/>", "text/csv xxx"]
        )
    )
    func bodiesHaveTheirTypes(number: Int, seen: String) async throws {
        #expect(try await agent.send(Spelling.Save(text: Spelling.bodies[number])) == seen)
    }

    @Test func namesMayOccurTwice() async throws {
        _ = try await Spelling.repeated(agent)
        #expect(server.requests.map(\.target) == ["/text?a=1&b=2&a=3"])
    }

    @Test func aServiceDeclaresItsFormsOnce() async throws {
        #expect(try await agent.send(Spelling.Note(text: "a b")) == "application/x-www-form-urlencoded text=a%20b")
    }

    @Test func theSecondMirrorIsUsedIfTheFirstFailsAndTheNamedCacheKeepsTheImage() async throws {
        let first = try MockServer { _ in .status(503) }
        let second = try MockServer { _ in .text("image") }
        let mirrors = ["\(first.baseURL)", "\(second.baseURL)"]
        let agent = Agent(config: try Spelling.config("\(server.baseURL)", mirrors: mirrors))
        for _ in 0..<2 { #expect(try await agent.send(Spelling.GetImage()) == "image") }
        #expect(first.requestCount == 1 && second.requestCount == 1 && server.requestCount == 0)
        #expect(await agent.config.namedCaches["images"]?.count == 1)
        #expect(await agent.config.cache?.count == 0)
    }

    @Test func aChallengeLeadsToACredential() async throws {
        let server = try MockServer { request in
            request.headers["Authorization"].map { .text($0) }
                ?? .status(401, headers: ["WWW-Authenticate": #"Basic realm="x", Bearer realm="shop, west""#])
        }
        let config = try Spelling.config("\(server.baseURL)", mirrors: ["\(server.baseURL)"])
        #expect(try await Spelling.withSession(config).send(Spelling.GetText()) == "Bearer shop, west")
    }

    @Test func digestAndCookiesAreSent() async throws {
        let server = try MockServer { request in
            guard let field = request.headers["Authorization"] else {
                let challenge = #"Digest realm="a", qop="auth", algorithm=SHA-256, nonce="n""#
                return .status(401, headers: ["WWW-Authenticate": challenge, "Set-Cookie": "sid=7; Path=/"])
            }
            return .text("\(field.prefix(6)) \(request.headers["Cookie"] ?? "-")")
        }
        let config = try Spelling.config("\(server.baseURL)", mirrors: ["\(server.baseURL)"])
        let jar = CookieJar()
        #expect(try await Spelling.withDigestAndCookies(config, jar).send(Spelling.GetText()) == "Digest sid=7")
        #expect(jar.cookies.map(\.name) == ["sid"])
    }

    @Test func anEnvelopeHasAlternatives() async throws {
        server.enqueue(.json(#"{"fault":{"code":9,"text":"closed"}}"#), .json(#"{"code":0,"data":["open"]}"#))
        let error = await #expect(throws: ServiceError.self) { try await agent.send(Spelling.GetState()) }
        #expect(error?.message == "closed")
        #expect(try await agent.send(Spelling.GetState()) == ["open"])
    }

    @Test func aSessionOfOnesOwnHasOneConnection() async throws {
        let transport = Spelling.transport()
        let agent = Agent(config: config, transport: transport)
        for _ in 0..<3 { _ = try await agent.send(Spelling.GetText()) }
        #expect(server.connectionCount == 1)
        transport.closeIdleConnections()
        _ = try await agent.send(Spelling.GetText())
        #expect(server.connectionCount == 2)
    }

    @Test func aRefiningProtocolReplacesABaseClass() async throws {
        #expect(try await agent.send(SaveItem()) == "PUT")
    }
}
