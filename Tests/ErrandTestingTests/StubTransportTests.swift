import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct StubTransportTests {
    private let url: URL

    init() throws { url = try #require(URL(string: "https://api.example/users/7?verbose=1")) }

    private func send(_ transport: StubTransport, _ method: HTTPMethod = .get) async throws -> TransportResponse {
        try await transport.send(OutgoingRequest(method: method, url: url), options: TransportOptions())
    }

    @Test func closureProvidesTheResponse() async throws {
        let transport = StubTransport { request in
            .json("\"\(request.url.path())\"", status: 201, headers: ["X-A": "b"])
        }
        let response = try await send(transport)
        #expect(response.statusCode == 201)
        #expect(response.body.whole == Data(#""/users/7""#.utf8))
        #expect(response.headers.map { "\($0.name): \($0.value)" } == ["Content-Type: application/json", "X-A: b"])
        #expect(transport.requestCount == 1)
        #expect(transport.requests.map(\.url) == [url])
    }

    @Test func errorOfTheClosureIsThrown() async {
        let transport = StubTransport { _ in throw NetworkError(.connectionRefused) }
        await #expect(throws: NetworkError.self) { try await send(transport) }
        #expect(transport.requestCount == 1)
    }

    @Test(arguments: [
        [StubTransport.Route.get("/users/7")], [.get("/users/7?verbose=1")],
        [.get("https://api.example/users/7?verbose=1")],
        [.get("/users/*")], [.get("https://api.example/*")], [.get("/users/*"), .get("/users/7")],
        [.get("/u*"), .get("/users/*")], [.post("/users/7"), .get("/users/8"), .get("*")],
        [.get("https://api.example/users/*"), .get("/users/7")], [.get("users/7")], [.get("*"), .get("users/*")],
        [.get("https://api.example/users/7")], [.get("/users/:id?verbose=2"), .get("/users/:id?verbose=1")],
        [.get("/users/:id"), .get("/users/:id?verbose=*")],
        [.get("/users/7?verbose=https://a.example/"), .get("/users/*")],
    ])
    func mostExactRouteIsUsed(routes: [StubTransport.Route]) async throws {
        // The last of each row is the one that must be used.
        let table = Dictionary(
            uniqueKeysWithValues: routes.map { ($0, TransportResponse.status($0 == routes.last ? 299 : 500)) }
        )
        #expect(try await send(StubTransport(routes: table)).statusCode == 299)
        #expect(try await send(StubTransport(routes: table)).statusCode == 299)
    }

    @Test func anUnknownRouteNamesMethodAndPath() async throws {
        let transport = StubTransport(routes: [.get("/users/8"): .status(200), .post("/users/7"): .status(201)])
        let error = await #expect(throws: StubTransport.UnhandledRequest.self) { try await send(transport, .put) }
        #expect(
            error?.description
                == "no route is for PUT /users/7; there are GET /users/8, POST /users/7"
        )
        #expect(error?.method == .put)
        #expect(error?.path == "/users/7")
    }

    @Test func aStubWithoutRoutesSaysSo() async throws {
        let error = await #expect(throws: StubTransport.UnhandledRequest.self) { try await send(StubTransport()) }
        #expect(error?.description == "no route is for GET /users/7: no routes were added")
    }

    @Test func aClosureAndATableHaveFaults() async throws {
        let (resets, cuts) = ([MockFault.resetBeforeHead], [MockFault.closeInBody(after: 5)])
        for stub in [
            StubTransport { _ in .text("0123456789") }, StubTransport(routes: [.get("*"): .text("0123456789")]),
        ] {
            stub.faults(seed: 1, rate: 1, of: resets)
            let reset = await #expect(throws: NetworkError.self) { try await send(stub) }
            #expect(reset?.reason == .connectionReset)
            stub.faults(seed: 1, rate: 1, of: cuts)
            let chunks = try await send(stub).body.chunks
            #expect(try await chunks.next() == Data("01234".utf8))
            let cut = await #expect(throws: NetworkError.self) { try await chunks.next() }
            #expect(cut?.reason == .closedInBody)
            stub.faults(rate: 0)
            #expect(try await send(stub).body.whole == Data("0123456789".utf8))
        }
    }

    @Test func theLogIsBoundedAndTheCountIsNot() async throws {
        let transport = StubTransport(maximumLogCount: 3) { _ in .status(200) }
        for method: HTTPMethod in ["A", "B", "C", "D", "E", "F", "G", "H"] { _ = try await send(transport, method) }
        #expect(transport.requests.map(\.method) == ["F", "G", "H"])
        #expect(transport.requestCount == 8)
    }

    @Test func aCancelledTaskSendsNothing() async {
        let transport = StubTransport { _ in .status(200) }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await send(transport)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transport.requestCount == 0)
    }

    @Test func cancellationDoesNotWaitForTheClosure() async {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (wasCancelled, tell) = AsyncStream.makeStream(of: Bool.self)
        let transport = StubTransport { _ in
            // A closure that takes no notice of the cancellation.
            await Task { for await _ in gate {} }.value
            tell.yield(Task.isCancelled)
            return .status(200)
        }
        let task = Task { try await send(transport) }
        await transport.waitForRequests()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        open.finish()
        #expect(await wasCancelled.first { _ in true } == true)
    }

    @Test func waitingForMoreRequestsThanThereAreEndsAtItsLimit() async throws {
        let transport = StubTransport { _ in .status(200) }
        _ = try await send(transport)
        #expect(await transport.waitForRequests())
        #expect(await !transport.waitForRequests(2, within: .milliseconds(1)))
    }

    @Test func bodiesAreReadCompletely() throws {
        #expect(try OutgoingRequest(url: url).bodyData().isEmpty)
        #expect(try OutgoingRequest(url: url, body: .data(Data("a".utf8))).bodyText() == "a")
    }

    @Test func worksWithAnAgent() async throws {
        let agent = Agent(
            config: NetworkConfig(baseURL: "https://api.example"),
            transport: StubTransport(routes: [.get("/users/7"): .json(#"{"id":7}"#), .get("/terms"): .text("Be kind.")])
        )
        #expect(try await agent.get("/users/7", as: Int.self, at: "id") == 7)
        #expect(try await agent.get("/terms", as: String.self) == "Be kind.")
        await #expect(throws: StubTransport.UnhandledRequest.self) { try await agent.get("/missing") }
    }
}
