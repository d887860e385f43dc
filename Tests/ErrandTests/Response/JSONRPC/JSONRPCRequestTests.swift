import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct JSONRPCRequestTests {
    private struct Subtract: JSONRPCRequest {
        typealias Model = Int
        let numbers: [Int]
        var path: String { "/rpc" }
        var call: JSONRPCCall<Int> {
            JSONRPCCall("subtract", .array(numbers.map { .number(JSONNumber($0)) }), id: "s-1")
        }
    }

    private func rig(_ result: String = "19", id: String = #""s-1""#) -> Rig {
        Rig(response: .json(#"{"jsonrpc":"2.0","result":\#(result),"id":\#(id)}"#))
    }

    private func sent(_ request: some Request & Sendable, by rig: Rig) async throws -> JSONValue {
        let outgoing = try await rig.wire(request)
        #expect(outgoing.method == .post)
        #expect(outgoing.headers["Content-Type"] == "application/json")
        return try outgoing.json()
    }

    @Test func declaredCallIsSentWithAllItsMembers() async throws {
        let body = try await sent(Subtract(numbers: [42, 23]), by: rig())
        #expect(body == ["jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": "s-1"])
        #expect(try await rig().agent.send(Subtract(numbers: [1])) == 19)
    }

    @Test func identifiersAndKeysAreInterpolated() async throws {
        let (number, rig) = (7, rig(id: #""sum-7""#))
        let call = JSONRPCCall<Int>("sum", id: "sum-\(number)")
        #expect(call.id == .string("sum-7"))
        let request = GeneralRequest("/rpc").calling(call).idempotencyKey("order-\(number)")
        #expect(try await rig.wire(request).headers["Idempotency-Key"] == "order-7")
        #expect(try await rig.agent.send(request) == 19)
    }

    private struct Identified: JSONRPCRequest {
        typealias Model = Int
        var path: String { "/rpc" }
        var call: JSONRPCCall<Int> { JSONRPCCall("one", id: .string(UUID().uuidString)) }
    }

    @Test func callWithAnIDOfItsOwnIsReadOnceForASend() async throws {
        let rig = Rig { request in
            let id = try request.json(JSONValue.self)["id"] ?? .null
            return .json(#"{"jsonrpc":"2.0","result":1,"id":\#(id)}"#)
        }
        #expect(try await rig.agent.send(Identified()) == 1)
        #expect(try await rig.agent.send(Identified().tag("wrapped")) == 1)
    }

    private struct Built: JSONRPCRequest {
        typealias Model = Int
        let id: JSONRPCID
        var path: String { "/rpc" }
        var call: JSONRPCCall<Int> { JSONRPCCall("one", id: id) }
        func customURLRequest() throws -> URLRequest? {
            URLRequest(url: try #require(URL(string: "https://api.example/rpc")))
        }
    }

    @Test func idIsCheckedIfTheCallerHasBuiltTheRequest() async throws {
        #expect(try await rig("1", id: "1").agent.send(Built(id: 1)) == 1)
        await #expect(throws: NetworkError.self) { try await rig("1", id: "2").agent.send(Built(id: 1)) }
    }

    private struct Greet: JSONRPCRequest {
        typealias Model = String
        var path: String { "/rpc" }
        var call: JSONRPCCall<String> { JSONRPCCall("greet") }
    }

    @Test func textIsRead() async throws {
        let rig = rig(#""h\u0069""#, id: "1")
        #expect(try await rig.agent.send(Greet()) == "hi")
        #expect(try await rig.agent.send(GeneralRequest("/rpc").calling(JSONRPCCall<String>("greet"))) == "hi")
        #expect(try await rig.agent.send(GeneralRequest("/rpc").calling(JSONRPCCall<JSONValue>("greet"))) == "hi")
    }

    @Test func idOfTheResponseIsChecked() async {
        await #expect(throws: NetworkError.self) { try await rig(id: "2").agent.send(Subtract(numbers: [1])) }
    }

    @Test func callNeedsNoTypeDeclaration() async throws {
        let call = JSONRPCCall<[String]>("names", ["page": 2])
        let rig = rig(#"["a"]"#, id: "1")
        #expect(try await rig.agent.send(GeneralRequest("/rpc").calling(call)) == ["a"])
        let body = try await sent(GeneralRequest("/rpc").calling(call), by: rig)
        #expect(body == ["jsonrpc": "2.0", "method": "names", "params": ["page": 2], "id": 1])
    }

    @Test func argumentsMayBeTheStoredPropertiesOfAValue() async throws {
        struct Page: Encodable {
            let number: Int
            let filter: String?
        }
        let call = try JSONRPCCall<Int>("count", encoding: Page(number: 3, filter: nil))
        let body = try await sent(GeneralRequest("/rpc").calling(call), by: rig(id: "1"))
        #expect(body["params"] == ["number": 3])
    }

    @Test func aCallWithoutArgumentsHasNoParamsAndANotificationNoId() async throws {
        let rig = Rig(response: .status(204))
        let body = try await sent(GeneralRequest("/rpc").calling(JSONRPCCall<Void>("ping", id: .absent)), by: rig)
        #expect(body == ["jsonrpc": "2.0", "method": "ping"])
    }

    @Test func argumentsThatAreNoStructureFailBeforeSending() async {
        let rig = rig()
        let request = GeneralRequest("/rpc").calling(JSONRPCCall<Int>("x", 7))
        await expect(kind: .invalidRequest) { try await rig.agent.send(request) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func equalCallsAreEqualRequests() async throws {
        let rig = rig(id: "1")
        let first = try await sent(GeneralRequest("/rpc").calling(JSONRPCCall<Int>("a", [1])), by: rig)
        #expect(try await sent(GeneralRequest("/rpc").calling(JSONRPCCall<Int>("a", [1])), by: rig) == first)
    }

    @Test func aCallThatCannotBeMadeFailsBeforeAnythingIsSent() async {
        struct Broken: JSONRPCRequest {
            typealias Model = Int
            var path: String { "/rpc" }
            var call: JSONRPCCall<Int> { get throws { throw Boom(id: 4) } }
        }
        await #expect(throws: Boom(id: 4)) { try await rig().agent.send(Broken()) }
    }
}
