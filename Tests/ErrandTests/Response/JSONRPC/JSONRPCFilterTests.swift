import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct JSONRPCFilterTests {
    private let call = JSONRPCCall<Int>("subtract", [42, 23], id: 7)

    private func send<T>(_ call: JSONRPCCall<T>, _ response: TransportResponse) async throws -> T {
        let rig = Rig(response: response)
        return try await rig.agent.send(GeneralRequest("/rpc").calling(call))
    }

    private func error(_ response: TransportResponse) async -> (any Error)? {
        await failure { try await send(call, response) }
    }

    @Test func theResultBecomesTheModel() async throws {
        #expect(try await send(call, .json(#"{"jsonrpc":"2.0","result":19,"id":7}"#)) == 19)
        #expect(try await send(call, .json(#"{"id":7.0,"error":null,"result":19,"jsonrpc":"\u0032.0"}"#)) == 19)
    }

    @Test func aResultMayBeNull() async throws {
        let response = TransportResponse.json(#"{"jsonrpc":"2.0","result":null,"id":1}"#)
        #expect(try await send(JSONRPCCall<Int?>("x"), response) == nil)
        try await send(JSONRPCCall<Void>("x"), response)
    }

    @Test(arguments: [200, 400, 404, 500, 503])
    func anErrorObjectCountsUnderEveryStatus(status: Int) async throws {
        let body = #"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params","data":{"at":1}},"id":7}"#
        let error = try #require(await error(.json(body, status: status)) as? ServiceError)
        #expect(error.code == -32602)
        #expect(error.message == "Invalid params")
        #expect(try error.decode(Int.self, at: "at") == 1)
        #expect(error.response.statusCode == status)
    }

    @Test func errorBeforeTheIDWasReadHasNoID() async throws {
        for id in [#","id":null"#, ""] {
            let body = #"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}\#(id)}"#
            #expect((await error(.json(body)) as? ServiceError)?.code == -32700)
        }
    }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","result":19,"id":8}"#, #"{"jsonrpc":"2.0","result":19,"id":"7"}"#,
        #"{"jsonrpc":"2.0","result":19,"id":null}"#, #"{"jsonrpc":"2.0","result":19}"#,
        #"{"jsonrpc":"2.0","result":19,"id":7.5}"#, #"{"jsonrpc":"2.0","result":19,"id":[7]}"#,
        #"{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":8}"#,
        #"{"result":19,"id":7}"#, #"{"jsonrpc":"1.0","result":19,"id":7}"#, #"{"jsonrpc":2.0,"result":19,"id":7}"#,
        #"{"jsonrpc":"2.0","id":7}"#, #"{"jsonrpc":"2.0","result":19,"error":{"code":1,"message":""},"id":7}"#,
        #"{"jsonrpc":"2.0","error":{"message":"no code"},"id":7}"#, #"{"jsonrpc":"2.0","error":"text","id":7}"#,
        "[]", "19", "{}", #"[{"jsonrpc":"2.0","result":19,"id":7}]"#,
    ])
    func bodyThatIsNoResponseToTheCallIsAnError(body: String) async {
        #expect((await error(.json(body)) as? NetworkError)?.kind == .undecodable, "\(body)")
        #expect((await error(.json(body, status: 500)) as? NetworkError)?.reason == .status(500), "\(body)")
    }

    @Test(arguments: [
        "", "x", #"{"jsonrpc":"2.0","result":19,"id":7"#, #"{"jsonrpc":"2.0","result":19,"result":20,"id":7}"#,
        #"{"jsonrpc":"2.0","result":19,"id":8,"\u0069d":7}"#,
        #"{"jsonrpc":"2.0","error":{"code":1,"code":2,"message":""},"id":7}"#, String(repeating: "[", count: 513),
        #"{"result":"# + String(repeating: "[", count: 512),
    ])
    func invalidJSONIsAnError(body: String) async {
        #expect((await error(.json(body)) as? NetworkError)?.kind == .unacceptableContent, "\(body)")
        #expect((await error(.html(body, status: 502)) as? NetworkError)?.reason == .status(502), "\(body)")
    }

    @Test func versionNeedNotBeRequired() async throws {
        var filter = JSONRPCFilter(ignorable: [5])
        filter.requiresVersion = false
        let request = GeneralRequest("/rpc").calling(call).filter(filter)
        #expect(try await Rig(response: .json(#"{"result":19,"id":7}"#)).agent.send(request) == 19)
        let error = await failure {
            try await Rig(response: .json(#"{"error":{"code":5,"message":""},"id":7}"#)).agent.send(request)
        }
        #expect((error as? ServiceError)?.isIgnorable == true)
    }

    @Test func anyIDIsAcceptedWithoutOneInTheContext() throws {
        let url = try #require(URL(string: "https://api.example/rpc"))
        let response = RawResponse(body: Data(#"{"jsonrpc":"2.0","result":19,"id":99}"#.utf8), url: url)
        #expect(try JSONRPCFilter().filter(response, for: RequestContext()).decode(Int.self) == 19)
        let context = RequestContext(attributes: [JSONRPCID.attribute: JSONRPCID.integer(98)])
        #expect(throws: NetworkError.self) { try JSONRPCFilter().filter(response, for: context) }
    }

    @Test(arguments: [200, 202, 204])
    func notificationNeedsNoResponse(status: Int) async throws {
        try await send(JSONRPCCall<Void>("ping", id: .absent), .status(status))
        await expect(kind: .unacceptableContent) { try await send(call, .status(200)) }
    }

    @Test func parseErrorOfANotificationIsAServiceError() async throws {
        let response = TransportResponse.json(#"{"jsonrpc":"2.0","error":{"code":-32700,"message":""},"id":null}"#)
        let call = JSONRPCCall<Void>("ping", id: .absent)
        #expect((await failure { try await send(call, response) } as? ServiceError)?.code == -32700)
    }
}
