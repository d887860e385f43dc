import Errand
import ErrandTesting
import Foundation
import Testing

/// Plain, unannotated requests and models over real sockets, formatted on the main actor.
@Suite struct MainActorTests {
    let server: MockServer
    let agent: Agent

    init() throws {
        MainQueue.mark()
        server = try MockServer()
        let user = #"{"id":7,"name":"Ada"}"#
        server.on(.get, "/users/7", .json(user))
        server.on(.get, "/users/search", .json("[\(user),\(user)]"))
        server.on(.get, "/users/list", .json(#"{"list":[\#(user)]}"#))
        server.on(.post, "/orders", .json(#"{"code":0,"msg":"","data":{"id":9}}"#))
        server.on(.put, "/orders", .json(#"{"code":40001,"msg":"no tea"}"#))
        server.on(.get, "/ping", .status(204))
        server.on(.get, "/terms", .text("Be kind."))
        agent = Agent(config: NetworkConfig(baseURL: server.baseURL))
    }

    @Test func modelsAreSent() async throws {
        let user = try await agent.send(GetUser(id: 7))
        MainActor.assertIsolated()
        #expect(user.name == "Ada")
        #expect(try await agent.send(SearchUsers(query: "a b", _id: 3)).count == 2)
        #expect(server.requests.last?.query == "query=a%20b&id=3")
        #expect(try await agent.send(FirstHit()).id == 7)
        #expect(try await agent.send(Terms()) == "Be kind.")
        try await agent.send(Ping())
    }

    @Test func typedMocksReplyOnTheMainActor() async throws {
        let (stub, server) = (StubTransport(), try MockServer())
        let all: [(any MockService, Agent)] = [
            (stub, Agent(config: NetworkConfig(baseURL: "https://api.example"), transport: stub)),
            (server, Agent(config: NetworkConfig(baseURL: server.baseURL), transport: server.transport())),
        ]
        for (service, agent) in all {
            service.on(PlaceOrder.self) { request in
                MainActor.assertIsolated()
                return Order(id: request.quantity)
            }
            service.on(Ping.self)
            #expect(try await agent.send(PlaceOrder(item: "tea", quantity: 2)).id == 2)
            try await agent.send(Ping())
            try service.verify()
        }
    }

    @Test func streamsAreReadOnTheMainActor() async throws {
        server.on(.get, "/users/stream", .text(#"{"id":7,"name":"Ada"}"# + "\n"))
        server.on(.get, "/users/events", .data(Data("data: 7\n\n".utf8), contentType: "text/event-stream"))
        let stream = try await agent.bytes(for: GeneralRequest("/users/stream"))
        for try await user in stream.jsonLines(of: User.self) {
            MainActor.assertIsolated()
            #expect(user.name == "Ada")
        }
        var lines: [String] = []
        for try await line in try await agent.bytes(for: GetUser(id: 7)).lines { lines.append(line) }
        MainActor.assertIsolated()
        #expect(lines.count == 1)
        let events = agent.events(for: GeneralRequest("/users/events"), reconnection: .never)
        for try await event in events {
            MainActor.assertIsolated()
            #expect(event.data == "7")
        }
    }

    @Test func servicesOpenTheirEnvelopes() async throws {
        #expect(try await agent.send(PlaceOrder(item: "tea", quantity: 2)).id == 9)
        let sent = try #require(server.requests.last)
        #expect(sent.headers["Accept-Language"] == "en")
        #expect(sent.text == #"{"app":"ios","item":"tea","quantity":2}"#)
    }

    @Test func proceduresAreCalled() async throws {
        server.on(.post, "/rpc", .json(#"{"jsonrpc":"2.0","result":{"sum":6},"id":1}"#))
        #expect(try await agent.send(Sum(numbers: [1, 2, 3])).sum == 6)
        MainActor.assertIsolated()
        #expect(server.requests.last?.text == #"{"jsonrpc":"2.0","method":"sum","params":[1,2,3],"id":1}"#)
        let total = try await agent.send(GeneralRequest("/rpc").calling(JSONRPCCall<Total>("sum", [6])))
        #expect(total.sum == 6)
        server.on(.post, "/rpc", .json(#"{"jsonrpc":"2.0","result":{"id":7,"name":"Ada"},"id":1}"#))
        let call = GeneralRequest("/rpc").calling(JSONRPCCall<User>("user"))
        #expect(try await agent.send(call).name == "Ada")
        #expect(try await agent.response(for: call).metrics.formatting == .callerByNeed)
        try await agent.send(GeneralRequest("/rpc").calling(JSONRPCCall<Void>("user")))
    }

    @Test func requestsWithoutATypeCreateModelsOnTheMainActor() async throws {
        let request = GeneralRequest("/users/7")
        #expect(try await agent.send(request.expecting(User.self)).name == "Ada")
        #expect(try await agent.send(request.formatted(by: DefaultFormatter<User>())).id == 7)
        #expect(try await agent.send(GeneralRequest("/users/7", formatter: DefaultFormatter<User>())).id == 7)
        let (one, other) = try await agent.send(BatchRequest(request.expecting(User.self), GetUser(id: 7)))
        #expect(one.id == other.id)
        let synthesized = try await agent.response(for: request.expecting(Order.self))
        #expect(synthesized.model.id == 7 && synthesized.metrics.formatting == .callerByNeed)
        let text = try await agent.response(for: GeneralRequest("/terms").expecting(String.self))
        #expect(text.model == "Be kind." && text.metrics.formatting == .background)
        let bytes = try await agent.send(GeneralRequest("/terms").expecting(Data.self))
        #expect(bytes == Data("Be kind.".utf8))
        try await agent.send(GeneralRequest("/ping").expecting(Void.self))
    }

    @Test func responsesHaveModelStatusAndMetrics() async throws {
        let full = try await agent.response(for: GetUser(id: 7))
        MainActor.assertIsolated()
        #expect(full.model.id == 7)
        #expect(full.statusCode == 200)
        #expect(try full.decode(String.self, at: "name") == "Ada")
        #expect(full.metrics.formatting == .callerByNeed)
    }

    @Test func verbsCreateModels() async throws {
        let user: User = try await agent.get("/users/7", parameters: ["verbose": true])
        #expect(user.name == "Ada")
        #expect(try await agent.get("/users/list", as: [User].self, at: "list").count == 1)
        let order: Order = try await agent.post("/orders", parameters: ["item": "tea"], at: "data")
        #expect(order.id == 9)
        try await agent.get("/ping")
    }

    @Test func callbacksComeOnTheMainActor() async {
        let result = await withCheckedContinuation { continuation in
            agent.start(GetUser(id: 7)) { result in
                MainActor.assertIsolated()
                continuation.resume(returning: result.map(\.name))
            }
        }
        #expect((try? result.get()) == "Ada")
    }

    @Test func ownersAndScopesWork() async {
        let screen = Screen()
        let scope = RequestScope()
        await withCheckedContinuation { continuation in
            agent.start(GetUser(id: 7), owner: screen) { screen, result in
                if case .success(let user) = result { screen.name = user.name }
                continuation.resume()
            }
        }
        #expect(screen.name == "Ada")
        let isSuccess = await withCheckedContinuation { continuation in
            agent.start(GetUser(id: 7), in: scope) { result in
                if case .success = result {
                    continuation.resume(returning: true)
                } else {
                    continuation.resume(returning: false)
                }
            }
        }
        #expect(isSuccess)
    }

    @Test func cancelEndsASendWithOneCancellationError() async {
        server.on(.get, "/users/8", .json("{}").delayed(by: .seconds(60)))
        let (agent, server) = (agent, server)
        let isCancelled = await withCheckedContinuation { continuation in
            let handle = agent.start(GetUser(id: 8)) { result in
                if case .failure(is CancellationError) = result {
                    continuation.resume(returning: true)
                } else {
                    continuation.resume(returning: false)
                }
            }
            Task {
                await server.waitForRequests()
                handle.cancel()
            }
        }
        #expect(isCancelled)
        server.stop()
    }

    @Test func errorsArriveTyped() async throws {
        struct Refused: Request {
            typealias Model = Order
            var service: Service { .shop }
            var method: HTTPMethod { .put }
            var path: String { "orders" }
        }
        let agent = agent
        let service = await #expect(throws: ServiceError.self) { try await agent.send(Refused()) }
        #expect(service?.code == 40001)
        #expect(service?.message == "no tea")
        let missing = await #expect(throws: NetworkError.self) { try await agent.send(GetUser(id: 404)) }
        #expect(missing?.reason == .status(404))
    }

    @Test func aSendableRequestIsFormattedOffTheMainActorByDefault() async throws {
        #expect(MainQueue.isCurrent)
        #expect(try await !agent.send(GetPlace()).wasOnMain)
        #expect(try await !agent.response(for: GetPlace()).model.wasOnMain)
        #expect(try await !agent.get("/users/7", as: Place.self).wasOnMain)
        #expect(try await agent.plan(for: GetPlace()).formatting == .background)
    }

    @Test func sendableRequestCanBeFormattedOnItsCaller() async throws {
        #expect(try await agent.send(GetPlace(formattingContext: .caller)).wasOnMain)
        let full = try await agent.response(for: GetPlace(formattingContext: .caller))
        #expect(full.model.wasOnMain)
        #expect(full.metrics.formatting == .callerByChoice)
    }
}
