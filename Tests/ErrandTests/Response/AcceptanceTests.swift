import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct AcceptanceTests {
    private func send(_ response: TransportResponse, _ acceptance: Acceptance = Acceptance()) async throws -> Data {
        try await Rig(response: response).agent.send(GeneralRequest("/x").acceptance(acceptance).expecting(Data.self))
    }

    @Test(arguments: [
        (199, false), (200, true), (204, true), (299, true), (300, false), (304, false), (404, false), (500, false),
        (999, false),
        (0, false),
    ])
    func statusesFrom200To299AreAccepted(status: Int, isAccepted: Bool) async throws {
        if isAccepted {
            #expect(try await send(.status(status)).isEmpty)
        } else {
            await expect(throwing: .status(status)) { _ = try await send(.status(status)) }
        }
    }

    @Test(arguments: [(404, true), (409, true), (403, false), (200, true), (Int.max, false)])
    func furtherStatusesAreAccepted(status: Int, isAccepted: Bool) async throws {
        let acceptance = Acceptance().accepting(404, 409, .max)
        if isAccepted {
            _ = try await send(.status(status), acceptance)
        } else {
            await expect(throwing: .status(status)) { _ = try await send(.status(status), acceptance) }
        }
    }

    @Test(arguments: [
        ("application/json", ["application/json"], true),
        ("Application/JSON; charset=utf-8", ["application/json"], true),
        ("application/json", ["Application/JSON"], true), ("text/html", ["application/json", "text/*"], true),
        ("text/html", ["*/*"], true), ("text/html", ["application/json"], false), ("textual/x", ["text/*"], false),
        ("nonsense", ["*/*"], false), ("text/html", [], true),
    ])
    func contentTypesAreChecked(type: String, wanted: [String], isAccepted: Bool) async throws {
        let response = TransportResponse.data(Data("x".utf8), contentType: type)
        if isAccepted {
            _ = try await send(response, Acceptance(contentTypes: wanted))
        } else {
            let error = await expect(kind: .unacceptableContent) {
                try await send(response, Acceptance(contentTypes: wanted))
            }
            #expect(error?.response?.body == Data("x".utf8))
        }
    }

    @Test func responseWithoutATypeIsRejectedUnlessItIsEmpty() async throws {
        let acceptance = Acceptance(contentTypes: ["application/json"])
        await expect(throwing: .contentType("none")) {
            _ = try await send(.data(Data("x".utf8), contentType: nil), acceptance)
        }
        #expect(try await send(.status(204), acceptance).isEmpty)
    }

    @Test func descriptionNamesTheExpectedTypes() async throws {
        let acceptance = Acceptance(contentTypes: ["application/json", "text/*"])
        let error = await failure { try await send(.data(Data("x".utf8), contentType: "image/png"), acceptance) }
        let text = "the content type 'image/png' is not acceptable; expected application/json or text/*"
        #expect((error as? NetworkError)?.description.contains(text) == true, "\(String(describing: error))")
    }

    @Test func statusIsCheckedBeforeContentTypeAndParsing() async throws {
        let response = TransportResponse.html("<h1>Bad Gateway</h1>", status: 502)
        let rig = Rig(response: response)
        let request = GeneralRequest("/x").acceptance(Acceptance(contentTypes: ["application/json"]))
            .expecting([String: Int].self)
        let error = try #require(await expect(throwing: .status(502)) { try await rig.agent.send(request) })
        #expect(error.kind == .unacceptableStatus)
        #expect(error.statusCode == 502)
        #expect(error.response?.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(error.response?.body == Data("<h1>Bad Gateway</h1>".utf8))
        #expect(error.attempts == 1)
    }

    @Test(arguments: [(5, true), (4, false)])
    func sizeIsChecked(limit: Int, fits: Bool) async throws {
        let request = GeneralRequest("/x").limits(Limits(maximumBodySize: limit)).expecting(Data.self)
        let rig = Rig(response: .text("12345"))
        if fits {
            #expect(try await rig.agent.send(request).count == 5)
        } else {
            await expect(throwing: .bodyTooLarge(limit: limit)) { _ = try await rig.agent.send(request) }
        }
    }

    @Test(arguments: [true, false]) func theStatusIsCheckedBeforeTheSize(isObserved: Bool) async throws {
        var request = GeneralRequest("/x").limits(Limits(maximumBodySize: 100_000)).expecting(Data.self)
        if isObserved { request = request.accessory { _ in } }
        let rig = Rig(response: .html(String(repeating: "x", count: 200_000), status: 404))
        let error = await expect(throwing: .status(404)) { try await rig.agent.send(request) }
        #expect(error?.response?.body.count == NetworkError.maximumBodyByteCount)
        let accepted = request.acceptance(Acceptance().accepting(404))
        await expect(throwing: .bodyTooLarge(limit: 100_000)) { _ = try await rig.agent.send(accepted) }
    }

    // MARK: Shape

    private static let shape: JSONShape = ["code": .integer, "data": ["id": .integer(in: 1...)]]
    private let shaped = GeneralRequest("/x").acceptance(Acceptance(shape: AcceptanceTests.shape))

    @Test func aBodyOfTheShapeIsAccepted() async throws {
        let rig = Rig(response: .json(#"{"code":0,"data":{"id":7}}"#))
        #expect(try await rig.agent.send(shaped.expecting(Int.self, at: "data.id")) == 7)
        let enveloped = shaped.filter(EnvelopeFilter(code: "code", data: "data"))
        #expect(try await rig.agent.send(enveloped.expecting(Int.self, at: "id")) == 7)
        #expect(try await rig.agent.send(shaped.expecting(String.self)).count == 26)
    }

    @Test(arguments: [
        (#"{"code":0,"data":{"id":0}}"#, "data.id"), (#"{"code":0,"data":null}"#, "data"),
        (#"{"code":"0","data":{"id":1}}"#, "code"), (#"{"data":{"id":1}}"#, "code"), ("[]", nil),
    ])
    func bodyOfAnotherShapeIsRejectedWithThePath(body: String, path: String?) async throws {
        let rig = Rig(response: .json(body))
        for request in [shaped, shaped.filter(EnvelopeFilter(code: "code", data: "data", success: [0, "0"]))] {
            let error = await expect(kind: .unacceptableContent) { try await rig.agent.send(request) }
            guard case .shape(let cause) = error?.reason else { throw Unexpected(error) }
            #expect(cause.path == path)
            #expect(error?.response?.body == Data(body.utf8))
            #expect(error?.host == "api.example")
        }
    }

    @Test func errorOfTheServicePrecedesTheShape() async {
        let rig = Rig(response: .json(#"{"code":7,"data":null}"#))
        let request = shaped.filter(EnvelopeFilter(code: "code", data: "data"))
        #expect((await failure { try await rig.agent.send(request) } as? ServiceError)?.code == 7)
    }

    @Test func statusPrecedesTheShape() async {
        let rig = Rig(response: .html("<h1>", status: 502))
        await expect(throwing: .status(502)) { _ = try await rig.agent.send(shaped) }
    }

    @Test func bodyThatIsNoJSONHasNoShape() async throws {
        let error = await failure { try await Rig(response: .text("x")).agent.send(shaped.expecting(String.self)) }
        guard case .invalidJSON = (error as? NetworkError)?.reason else { throw Unexpected(error) }
        await expect(throwing: .shape(JSONError(.unexpectedEnd, offset: 0))) {
            try await Rig(response: .status(200)).agent.send(shaped.expecting(Void.self))
        }
    }

    @Test func responseWithoutABodyNeedsNoShape() async throws {
        try await Rig(response: .status(204)).agent.send(shaped.expecting(Void.self))
        try await Rig(response: .status(200)).agent.send(shaped.method(.head).expecting(Void.self))
    }
}
