import Errand
import ErrandTesting
import Foundation
import Testing

/// A service of mocks with an agent that sends to it.
enum MockKind: String, CaseIterable, Sendable {
    case stub
    case server

    func make(_ change: (inout NetworkConfig) -> Void = { _ in }) throws -> (service: any MockService, agent: Agent) {
        var config = NetworkConfig(baseURL: "https://api.example", retryPolicy: .never, environment: [:])
        change(&config)
        switch self {
        case .stub:
            let stub = StubTransport()
            return (stub, Agent(config: config, transport: stub))
        case .server:
            let server = try MockServer()
            config.baseURL = BaseURL(server.baseURL)
            return (server, Agent(config: config, transport: server.transport()))
        }
    }
}

struct User: Codable, Equatable, Sendable {
    var id: Int
    var name: String
    var joinedAt: Date?
}

struct GetUser: Request {
    typealias Model = User
    var id: Int
    var path: String { "users/\(id)" }
}

struct DeleteUser: Request {
    typealias Model = Void
    var id: Int
    var method: HTTPMethod { .delete }
    var path: String { "users/\(id)" }
}

@Suite(.ownThread) struct MockServiceTests {
    private static let envelope = EnvelopeFilter(code: "status.code", message: "status.text", data: "result.list[0]")

    @Test(arguments: MockKind.allCases)
    func aTypedMockRepliesWithAModel(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let route = service.on(GetUser.self) { request in User(id: request.id, name: "Ada") }
        #expect(try await agent.send(GetUser(id: 7)) == User(id: 7, name: "Ada"))
        #expect(try await agent.send(GetUser(id: 8).timeout(.seconds(5)).header("X-A", "b")).id == 8)
        #expect(try await agent.send(GetUser(id: 9).raw) == Data(#"{"id":9,"name":"Ada"}"#.utf8))
        #expect(route.count == 3 && service.sent(GetUser.self).map(\.id) == [7, 8, 9])
        #expect(service.sent(DeleteUser.self).isEmpty)
        try service.verify()
    }

    @Test(arguments: MockKind.allCases)
    func aReplyIsWrappedAsTheFilterUnwrapsItAndEncodedAsTheDecoderDecodesIt(_ kind: MockKind) async throws {
        let user = User(id: 7, name: "Ada", joinedAt: Date(timeIntervalSince1970: 1.5))
        let snake = JSONDecoder()
        (snake.keyDecodingStrategy, snake.dateDecodingStrategy) = (.convertFromSnakeCase, .millisecondsSince1970)
        var lossless = LosslessJSONDecoder()
        (lossless.keys, lossless.dates) = (.snakeCase, .secondsSince1970)
        for decoder in [snake, lossless, JSONDecoder(), LosslessJSONDecoder()] as [any DataDecoder] {
            for filter in [Self.envelope, FilterChain(Shift(), Self.envelope), PassthroughFilter()]
                as [any ResponseFilter]
            {
                let (service, agent) = try kind.make { ($0.filter, $0.decoder) = (filter, decoder) }
                service.on(GetUser.self) { _ in user }
                #expect(try await agent.send(GetUser(id: 7)) == user)
            }
        }
    }

    @Test func aReplyIsPutWhereTheFormatterReadsIt() async throws {
        let (stub, agent) = try MockKind.stub.make { $0.filter = Self.envelope }
        for path in ["list[2]", "list[-1]", "a.b.c", "text|json.user", "~.outside.user", "#"] as [JSONPath] {
            let request = Found(place: path)
            stub.on(Found.self) { _ in User(id: 1, name: "Ada") }
            #expect(try await agent.send(request).id == 1, "\(path)")
        }
        let found = Found(place: "user")
        let whole = #"{"status":{"code":0},"result":{"list":[{"user":{"id":1,"name":"Ada"}}]}}"#
        #expect(try await String(decoding: agent.send(found.raw), as: UTF8.self) == whole)
        #expect(try await agent.send(found, formattedBy: JSONFormatter<String>(at: "user.name")) == "Ada")
        stub.on(Numbers.self) { _ in [1, 2] }
        #expect(try await agent.send(Numbers()) == [1, 2])
    }

    @Test(arguments: MockKind.allCases)
    func aServiceErrorIsReportedAsTheServiceDoes(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make { $0.filter = Self.envelope }
        service.on(GetUser.self) { request -> User in
            throw ServiceError(code: request.id == 1 ? 40001 : "gone", message: "no such user", payload: ["hint": "a"])
        }
        let error = await #expect(throws: ServiceError.self) { try await agent.send(GetUser(id: 1)) }
        #expect(error?.code == 40001 && error?.message == "no such user")
        #expect(try error?.decode(String.self, at: "hint") == "a")
        let other = await #expect(throws: ServiceError.self) { try await agent.send(GetUser(id: 2)) }
        #expect(other?.code == "gone")

        let (plain, plainAgent) = try kind.make {
            $0.filter = EnvelopeFilter(code: nil, message: "error", data: "#", success: .status)
        }
        plain.on(GetUser.self) { _ -> User in throw ServiceError(code: 404, message: "gone", status: 404) }
        let byStatus = await #expect(throws: ServiceError.self) { try await plainAgent.send(GetUser(id: 1)) }
        #expect(byStatus?.code == 404 && byStatus?.message == "gone")
    }

    @Test(arguments: MockKind.allCases)
    func aStatusAndANetworkErrorCanBeThrown(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        service.on(GetUser.self) { request -> User in
            if request.id == 1 { throw MockResponse.status(503) }
            throw NetworkError(.connectionReset)
        }
        let status = await #expect(throws: NetworkError.self) { try await agent.send(GetUser(id: 1)) }
        #expect(status?.statusCode == 503)
        let reset = await #expect(throws: NetworkError.self) { try await agent.send(GetUser(id: 2)) }
        #expect(reset?.kind == .connectionLost)
    }

    @Test(arguments: MockKind.allCases)
    func textBytesAndResponsesAreSentAsTheyAre(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make { $0.filter = Self.envelope }
        service.on(GetUser.self) { _ in #"{"status":{"code":0},"result":{"list":[{"id":1,"name":"B"}]}}"# }
        #expect(try await agent.send(GetUser(id: 7)).name == "B")
        service.on(GetUser.self) { _ in Data(#"{"status":{"code":0},"result":{"list":[{"id":1,"name":"C"}]}}"#.utf8) }
        #expect(try await agent.send(GetUser(id: 7)).name == "C")
        service.on(GetUser.self) { _ in ["id": 1, "name": "D"] as JSONValue }
        #expect(try await agent.send(GetUser(id: 7)).name == "D")
        service.on(GetUser.self) { _ in MockResponse.status(418) }
        await #expect(throws: NetworkError.self) { try await agent.send(GetUser(id: 7)) }
        service.on(DeleteUser.self)
        try await agent.send(DeleteUser(id: 7))
        service.on(Title.self) { _ in #"{"a":1}"# }
        #expect(try await agent.send(Title()) == #"{"a":1}"#)
    }

    @Test func aCallIsAnsweredWithItsNumber() async throws {
        let (stub, agent) = try MockKind.stub.make()
        stub.on(Subtract.self) { call in
            guard call.a >= call.b else { throw ServiceError(code: -32000, message: "negative") }
            return call.a - call.b
        }
        #expect(try await agent.send(Subtract(a: 5, b: 3)) == 2)
        let error = await #expect(throws: ServiceError.self) { try await agent.send(Subtract(a: 1, b: 3)) }
        #expect(error?.code == -32000)
    }

    @Test func whatCannotBeUndoneIsAnErrorThatSaysWhatToDo() async throws {
        let (stub, agent) = try MockKind.stub.make {
            $0.filter = ClosureFilter { response, _ in Payload(response.body) }
        }
        stub.on(GetUser.self) { _ in User(id: 7, name: "Ada") }
        let error = await #expect(throws: MockEncodingError.self) { try await agent.send(GetUser(id: 7)) }
        #expect(
            error?.description
                == "the mock cannot undo ClosureFilter of GetUser: return a MockResponse, text or Data, or conform the filter to "
                + "ReversibleFilter"
        )
    }

    @Test(arguments: MockKind.allCases)
    func routesHaveNamesConditionsSequencesAndCounts(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let users = service.on(.get, "/users/:id/posts/:post") { request in
            .json("[\"\(request.parameters["id"] ?? "")\", \"\(request.parameters["post"] ?? "")\"]")
        }
        service.on(.get, "/orders", .json("1"), .json("2"), .json("3"))
        let german = service.on(.get, "/orders", where: { $0.headers["Accept-Language"] == "de" }, .json("0"))
        let isPair: @Sendable (MockRequest) -> Bool = { (try? $0.json([String: Int].self)["count"]) == 2 }
        service.on(.post, "/orders", where: isPair) { request async throws in
            try await Task.sleep(for: .milliseconds(1))
            return try .json(encoding: ["text": request.text])
        }
        #expect(try await agent.get("/users/a%2Fb/posts/2", as: [String].self) == ["a/b", "2"])
        for expected in [1, 2, 3, 3] { #expect(try await agent.get("/orders", as: Int.self) == expected) }
        #expect(
            try await agent.send(
                GeneralRequest<JSONFormatter<Int>>("/orders", formatter: .init()).header("Accept-Language", "de")
            ) == 0
        )
        let posted = GeneralRequest("/orders", formatter: JSONFormatter<[String: String]>()).method(.post)
        #expect(try await agent.send(posted.body(.json(["count": 2]))) == ["text": #"{"count":2}"#])
        #expect(users.count == 1 && german.count == 1)
        try service.verify()
    }

    @Test(arguments: MockKind.allCases)
    func verificationNamesWhatWasNotSentAndWhatNobodyExpected(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        service.on(.get, "/users/:id", .json("{}")).times(2)
        service.on(.post, "/users", .status(201))
        service.on(.get, "/optional", .status(200)).times(0...)
        service.on(DeleteUser.self).times(1...3)
        try await agent.send(DeleteUser(id: 1))
        _ = try await agent.get("/users/1", as: JSONValue.self)
        _ = try? await agent.get("/user?page=1")
        _ = try? await agent.send(Title())
        let error = #expect(throws: MockVerificationError.self) { try service.verify() }
        #expect(
            error?.description == """
                the requests were not as expected:
                  - GET /users/:id: expected 2 times, sent once
                  - POST /users: expected at least once, sent 0 times
                  + GET /user?page=1\(kind == .stub ? " (GeneralRequest)" : ""): no route is for it
                  + GET /title\(kind == .stub ? " (Title)" : ""): no route is for it
                """
        )
    }

    @Test(arguments: MockKind.allCases)
    func aLaterMockReplacesAnEarlierOneForTheSame(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        service.on(GetUser.self) { _ in User(id: 1, name: "Ada") }
        service.on(GetUser.self) { _ in User(id: 2, name: "Ada") }
        service.on(.get, "/orders", where: { $0.query == "all" }, .json("0"))
        service.on(.get, "/orders", .json("1"))
        service.on(.get, "orders", .json("2"))
        #expect(try await agent.send(GetUser(id: 7)).id == 2)
        #expect(try await agent.get("/orders", as: Int.self) == 2)
        let error = #expect(throws: MockVerificationError.self) { try service.verify() }
        #expect(
            error?.description == """
                the requests were not as expected:
                  - GET /orders: expected at least once, sent 0 times
                """
        )
    }

    @Test(
        arguments: [
            (0...Int.max, nil), (3...3, "3 times"), (2...Int.max, "at least 2 times"), (2...4, "2 to 4 times"),
        ] as [(ClosedRange<Int>, String?)]
    )
    func everyRangeOfTimesCanBeExpected(_ range: ClosedRange<Int>, _ expected: String?) async {
        let stub = StubTransport()
        stub.on(.get, "/x", .json("{}")).times(range)
        let error = await failure { try stub.verify() } as? MockVerificationError
        let line = expected.map { "the requests were not as expected:\n  - GET /x: expected \($0), sent 0 times" }
        #expect(error?.description == line)
    }

    @Test(arguments: MockKind.allCases)
    func aQueryWithANameInThePathIsCompared(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        service.on(.get, "/users/:id?active=true") { .text($0.parameters["id"] ?? "none") }
        service.on(.get, "/cb?next=https://a.example/", .text("back"))
        #expect(try await agent.get("/users/7?active=true", as: String.self) == "7")
        #expect(try await agent.get("/cb?next=https://a.example/", as: String.self) == "back")
        for path in ["/users/7?active=false", "/users/7", "/cb?next=https://b.example/"] {
            await #expect(throws: (any Error).self, "\(path)") { try await agent.get(path) }
        }
    }

    @Test(arguments: MockKind.allCases)
    func aPageAfterTheFirstIsReadFromWhatIsReceived(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        service.on(ListNumbers.self) { _, received in received.query == "page=3" ? [] : [1] }
        var count = 0
        for try await _ in agent.pages(of: ListNumbers(), by: .number(), upTo: .requests(9)) { count += 1 }
        #expect(count == 3 && service.sent(ListNumbers.self).count == 3)

        service.on(ListNumbers.self) { _, received in
            MockResponse.json(received.queryItems.isEmpty ? "[1]" : "[]")
        }
        #expect(try await agent.pages(of: ListNumbers(), by: .number()).reduce(0) { count, _ in count + 1 } == 2)

        service.on(ListNumbers.self) { _ in [1] }
        let error = await failure {
            for try await _ in agent.pages(of: ListNumbers(), by: .number(), upTo: .requests(9)) {}
        }
        let text =
            (error as? NetworkError)?.response.map { String(decoding: $0.body, as: UTF8.self) } ?? "\(error as Any)"
        #expect(text.contains("{ request, received in … }"))
    }

    @MainActor
    @Test(arguments: MockKind.allCases)
    func aClosureOnTheMainActorReadsWhatIsReceived(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let log = GetLogged.Log()
        service.on(GetLogged.self) { request, received in
            request.log.paths.append(received.path)
            return User(id: 7, name: "Ada")
        }
        #expect(try await agent.send(GetLogged(log: log)).id == 7)
        service.on(GetLogged.self) { request, received in
            request.log.paths.append(received.path)
            return MockResponse.json(#"{"id": 8, "name": "Ada"}"#)
        }
        #expect(try await agent.send(GetLogged(log: log)).id == 8)
        #expect(log.paths == ["/logged", "/logged"])
    }

    @Test func mocksOfTwoServersAreKeptApart() async throws {
        let (one, two) = (try MockServer(), try MockServer())
        let transport = one.transport(over: two.transport())
        for (server, name) in [(one, "one"), (two, "two")] {
            server.on(GetUser.self) { request in User(id: request.id, name: name) }
        }
        // The second server has noted a request that the first one has not.
        let single = Agent(config: NetworkConfig(baseURL: two.baseURL), transport: two.transport())
        #expect(try await single.send(GetUser(id: 9)).id == 9)
        for id in 1...3 {
            for (server, name) in [(two, "two"), (one, "one")] {
                let agent = Agent(config: NetworkConfig(baseURL: server.baseURL), transport: transport)
                #expect(try await agent.send(GetUser(id: id)) == User(id: id, name: name))
            }
        }
        // A request that only the other server knows.
        let other = Agent(config: NetworkConfig(baseURL: two.baseURL), transport: one.transport())
        await #expect(throws: NetworkError.self) { try await other.send(GetUser(id: 7)) }
    }

    @Test(arguments: MockKind.allCases)
    func faultsOfASeedAreAlwaysTheSame(_ kind: MockKind) async throws {
        func outcomes(_ seed: UInt64) async throws -> [String] {
            let (service, agent) = try kind.make()
            service.on(.get, "/", .json(#"{"text": "0123456789"}"#))
            service.faults(seed: seed, rate: 0.5)
            var outcomes: [String] = []
            for _ in 0..<20 {
                let error = await failure { _ = try await agent.get("/", as: JSONValue.self) } as? NetworkError
                outcomes.append(error.map { "\($0.reason)" } ?? "")
            }
            return outcomes
        }
        let first = try await outcomes(7)
        #expect(try await outcomes(7) == first)
        #expect(Set(first).count > 3 && first.contains(""))
        #expect(try await outcomes(8) != first)
    }

    @Test(arguments: MockKind.allCases)
    func whatWasSentIsReadAsValues(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        service.on(.post, "/*", .status(204))
        let base = GeneralRequest("/in", formatter: VoidFormatter()).method(.post)
        let sent = base.authorization(.basic(user: "ada", password: "p:q")).header("Cookie", "a=1; b=x=y")
        try await agent.send(sent.body(.json(["id": 7])))
        try await agent.send(base.body(.form(["a b": "ü", "c": "1"])).authorization(.bearer("t")))
        try await agent.send(
            base.body(
                .multipart { $0.append(Data("x".utf8), name: "file", fileName: "a.txt", contentType: "text/plain") }
            )
        )
        let requests =
            switch service {
            case let server as MockServer: server.requests
            case let stub as StubTransport: try stub.requests.map { try $0.received() }
            default: [MockRequest]()
            }
        #expect(try requests[0].json([String: Int].self) == ["id": 7])
        #expect(requests[0].cookies == ["a": "1", "b": "x=y"])
        #expect(requests[0].authorization?.basic.map { [$0.user, $0.password] } == ["ada", "p:q"])
        #expect(requests[1].authorization?.token == "t" && requests[1].formItems.map(\.value) == ["ü", "1"])
        #expect(
            requests[2].formItems.map(\.fileName) == ["a.txt"]
                && requests[2].formItems.map(\.contentType) == ["text/plain"]
        )
    }
}

/// The error that a closure throws.
func failure(of work: () async throws -> Void) async -> (any Error)? {
    do { try await work() } catch { return error }
    return nil
}

private struct Found: Request {
    typealias Model = User
    var place: JSONPath
    var path: String { "found" }
    var formatter: JSONFormatter<User> { JSONFormatter(at: place) }
}

/// A request that is not `Sendable`.
private struct GetLogged: Request {
    final class Log { var paths: [String] = [] }
    typealias Model = User
    let log: Log
    var path: String { "logged" }
}

private struct ListNumbers: Request {
    typealias Model = [Int]
    var path: String { "list" }
}

private struct Numbers: Request {
    typealias Model = [Int]
    var path: String { "numbers" }
    var formatter: JSONFormatter<[Int]> { JSONFormatter(at: "list.*.id") }
}

private struct Title: Request {
    typealias Model = String
    var path: String { "title" }
}

private struct Subtract: JSONRPCRequest {
    typealias Model = Int
    var a: Int
    var b: Int
    var path: String { "rpc" }
    var call: JSONRPCCall<Int> { JSONRPCCall("subtract", [.number(JSONNumber(a)), .number(JSONNumber(b))], id: 42) }
}

/// A filter of the user's own, which the tests can undo.
private struct Shift: ReversibleFilter {
    func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
        if let failure = response.failure { throw failure }
        return Payload(Data(response.body.map { $0 &- 1 }))
    }
    func body(around payload: Data, for request: MockRequest) throws -> Data { Data(payload.map { $0 &+ 1 }) }
    func body(for error: ServiceError, to request: MockRequest) throws -> Data { Data() }
}
