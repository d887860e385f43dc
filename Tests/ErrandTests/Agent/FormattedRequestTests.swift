import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct FormattedRequestTests {
    struct Order: Decodable, Sendable { let id: Int }
    struct GetOrder: Request, Encodable, Sendable {
        typealias Model = Order
        var number = 7
        var path: String { "/orders" }
        var headers: HTTPHeaders { ["X-A": "1"] }
    }

    private let rig = Rig(
        config: .test { $0.filter = EnvelopeFilter(code: "code", data: "data") },
        response: .json(#"{"code":0,"data":{"id":9,"name":"tea"}}"#)
    )

    @Test func oneCallMayUseAnotherFormatter() async throws {
        let name = try await rig.agent.send(GetOrder(), formattedBy: JSONFormatter<String>(at: "name"))
        #expect(name == "tea")
        #expect(rig.transport.requests.last?.url.query() == "number=7")
        #expect(rig.transport.requests.last?.headers["X-A"] == "1")
        let count = try await rig.agent.send(GetOrder(), formattedBy: ClosureFormatter { $0.data.count })
        #expect(count == 21)
    }

    @Test func rawIsTheCompleteBody() async throws {
        let response = try await rig.agent.response(for: GetOrder().raw)
        #expect(String(decoding: response.model, as: UTF8.self) == #"{"code":0,"data":{"id":9,"name":"tea"}}"#)
        #expect(response.statusCode == 200)
        #expect(rig.transport.requests.last?.url.query() == "number=7")
    }

    @Test func rawStillChecksTheStatus() async throws {
        let rig = Rig(response: .status(500))
        let error = await #expect(throws: NetworkError.self) { _ = try await rig.agent.send(GetOrder().raw) }
        #expect(error?.statusCode == 500)
    }

    @Test func aResponseIsMapped() async throws {
        let response = try await rig.agent.response(for: GetOrder()).map { "order \($0.id)" }
        #expect(response.model == "order 9" && response.statusCode == 200)
        let error = await failure(of: { try await rig.agent.response(for: GetOrder()).map { _ in throw Boom() } })
        #expect(error as? Boom == Boom())
    }
}
