import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct JSONRPCBatchTests {
    private struct User: Decodable, Sendable, Equatable { let id: Int }

    private let sum = JSONRPCCall<Int>("sum", [1, 2], id: 1)
    private let user = JSONRPCCall<User>("user", id: "1")
    private let names = JSONRPCCall<[String]>("names", id: 2)
    private let note = JSONRPCCall<Void>("note", id: .absent)

    private func send(_ response: TransportResponse) async throws -> JSONRPCResponses {
        let rig = Rig(response: response)
        return try await rig.agent.send(GeneralRequest("/rpc").calling(batch: sum, user, names, note))
    }

    private static let parts = [
        #"{"jsonrpc":"2.0","result":3,"id":1}"#, #"{"id":"1","jsonrpc":"2.0","result":{"id":9}}"#,
        #" {"jsonrpc":"2.0","error":{"code":-32601,"message":"no such method","data":[5]},"id":2} "#,
    ]

    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func responsesAreFoundByIDInAnyOrderAndType(order: [Int]) async throws {
        let responses = try await send(.json("[" + order.map { Self.parts[$0] }.joined(separator: ",") + "]"))
        #expect(responses.count == 3)
        #expect(try responses.value(of: sum) == 3)
        #expect(try responses.value(of: user) == User(id: 9))
        let error = try #require(throws: ServiceError.self) { try responses.value(of: names) }
        #expect(error.code == -32601 && "\(error)".hasPrefix("POST api.example/rpc: "))
        #expect(try error.decode([Int].self) == [5])
        #expect(try responses.payload(for: 1).decode(Int.self) == 3)
        try responses.value(of: note)
        guard case .success(3) = responses.result(of: sum), case .failure = responses.result(of: names) else {
            throw Unexpected("results differ from values")
        }
    }

    @Test func textIsRead() async throws {
        let responses = try await send(.json(#"[{"jsonrpc":"2.0","result":"hi","id":1}]"#))
        #expect(try responses.value(of: JSONRPCCall<String>("sum", id: 1)) == "hi")
    }

    @Test func callWithoutAResponseIsAnError() async throws {
        let responses = try await send(.json("[\(Self.parts[0])]"))
        #expect(try responses.value(of: sum) == 3)
        let error = try #require(throws: NetworkError.self) { try responses.value(of: user) }
        #expect(error.kind == .undecodable)
        #expect(error.underlying == nil)
        #expect("\(error)".hasPrefix("POST api.example/rpc: "))
        #expect("\(error)".hasSuffix(#": no response has the id "1" of the call 'user'"#))
    }

    @Test func errorsAfterARedirectNameTheMethodThatWasSent() async throws {
        let body = "[\(Self.parts[0]),\(Self.parts[2])]"
        let rig = Rig { request in
            request.method == .post ? .status(303, headers: ["Location": "/result"]) : .json(body)
        }
        let responses = try await rig.agent.send(GeneralRequest("/rpc").calling(batch: sum, user, names))
        #expect(try responses.value(of: sum) == 3)
        for error in [
            try #require(throws: NetworkError.self) { try responses.value(of: user) } as any Error,
            try #require(throws: ServiceError.self) { try responses.value(of: names) },
        ] { #expect("\(error)".hasPrefix("GET api.example: ")) }
    }

    @Test func errorWithoutAnIDIsTheUnderlyingError() async throws {
        let stray = #"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}"#
        let responses = try await send(.json("[\(stray),\(Self.parts[0])]"))
        #expect(try responses.value(of: sum) == 3)
        let error = try #require(throws: NetworkError.self) { try responses.value(of: user) }
        #expect((error.underlying as? ServiceError)?.code == -32600)
    }

    @Test(arguments: [200, 400, 500])
    func errorForTheCompleteBatchIsAServiceError(status: Int) async throws {
        let body = #"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#
        #expect((await failure { try await send(.json(body, status: status)) } as? ServiceError)?.code == -32700)
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","result":3,"id":1}"#, "3", "[3]", "[[]]", "null",
        #"[{"jsonrpc":"2.0","result":3,"id":1},{"jsonrpc":"2.0","result":4,"id":1.0}]"#,
    ])
    func bodyThatIsNoArrayOfResponsesIsAnError(body: String) async {
        await expect(kind: .undecodable) { try await send(.json(body)) }
    }

    @Test(arguments: ["", "[", "[{}", #"[{"jsonrpc":"2.0","result":1,"result":2,"id":1}]"#])
    func invalidJSONIsAnError(body: String) async {
        await expect(kind: .unacceptableContent) { try await send(.json(body)) }
    }

    @Test func invalidResponseIsAnErrorOfItsCallOnly() async throws {
        let responses = try await send(.json(#"[{"result":3,"id":1},\#(Self.parts[1])]"#))
        #expect(throws: NetworkError.self) { try responses.value(of: sum) }
        #expect(try responses.value(of: user) == User(id: 9))
    }

    @Test func rejectedStatusRemainsAStatusError() async {
        await expect(throwing: .status(500)) { try await send(.json("[\(Self.parts[0])]", status: 500)) }
    }

    @Test(arguments: [200, 204])
    func notificationsAloneNeedNoResponse(status: Int) async throws {
        let rig = Rig(response: .status(status))
        let responses = try await rig.agent.send(GeneralRequest("/rpc").calling(batch: note, note))
        #expect(responses.count == 0)
    }

    @Test func callsAreSentInTheirOrder() async throws {
        let rig = Rig(response: .json("[]"))
        let outgoing = try await rig.wire(GeneralRequest("/rpc").calling(batch: sum, note, user))
        #expect(
            try outgoing.json(JSONValue.self) == [
                ["jsonrpc": "2.0", "method": "sum", "params": [1, 2], "id": 1], ["jsonrpc": "2.0", "method": "note"],
                ["jsonrpc": "2.0", "method": "user", "id": "1"],
            ]
        )
    }

    @Test func equalIDsFailBeforeAnythingIsSent() async {
        let rig = Rig()
        let request = GeneralRequest("/rpc").calling(batch: sum, sum)
        await expect(kind: .invalidRequest) { try await rig.agent.send(request) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func responsesNeedTheirFilter() async {
        let request = GeneralRequest("/rpc").formatted(by: JSONRPCBatchFormatter())
        await expect(kind: .undecodable) { try await Rig(response: .json("[{}]")).agent.send(request) }
    }
}
