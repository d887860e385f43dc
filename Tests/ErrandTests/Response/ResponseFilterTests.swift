import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct ResponseFilterTests {
    private let request = GeneralRequest("/x")

    @Test func itsErrorReachesTheCallerUnchanged() async {
        let filter = ClosureFilter { _, _ in throw Boom(id: 8) }
        for config in [NetworkConfig.test, .test { $0.filter = filter }] {
            let rig = Rig(config: config)
            await #expect(throws: Boom(id: 8)) { try await rig.agent.send(request.filter(filter)) }
        }
    }

    @Test func itsOwnDecodingErrorIsUnchanged() async {
        let filter = ClosureFilter { response, _ in
            Payload(Data(try JSONDecoder().decode(String.self, from: response.body).utf8))
        }
        await #expect(throws: DecodingError.self) { try await Rig().agent.send(request.filter(filter)) }
    }

    @Test func itMayReplaceTheErrorOfARejectedResponse() async throws {
        let filter = ClosureFilter { response, _ in
            guard response.failure == nil else { throw Boom(id: response.statusCode) }
            return Payload(response.body)
        }
        await #expect(throws: Boom(id: 422)) {
            try await Rig(response: .json(#"{"reason":"x"}"#, status: 422)).agent.send(request.filter(filter))
        }
    }

    @Test func payloadOfARejectedResponseDoesNotHideTheFailure() async {
        let filter = ClosureFilter { response, _ in Payload(response.body) }
        await expect(throwing: .status(404)) {
            _ = try await Rig(response: .json("{}", status: 404)).agent.send(request.filter(filter))
        }
    }

    struct Recovering: ResponseFilter {
        func filter(_ response: RawResponse, for context: RequestContext) throws -> Payload {
            Payload(Data((response.failure == nil ? #""fine""# : #""recovered""#).utf8))
        }
        func recovers(from failure: any Error, in response: RawResponse) -> Bool {
            (failure as? NetworkError)?.reason == .status(404) && response.statusCode == 404
        }
    }

    @Test func recoveringFilterTurnsAFailureIntoASuccess() async throws {
        #expect(try await Rig(response: .json("{}")).agent.send(request.filter(Recovering())) == "fine")
        let full = try await Rig(response: .json("{}", status: 404)).agent.response(for: request.filter(Recovering()))
        #expect(full.model == "recovered")
        #expect(full.statusCode == 404)
        await expect(throwing: .status(500)) {
            _ = try await Rig(response: .json("{}", status: 500)).agent.send(request.filter(Recovering()))
        }
    }

    @Test func itSeesTheContextOfTheSend() async throws {
        let seen = Record<String>()
        let filter = ClosureFilter { response, context in
            seen.add("\(context.typeName) \(context.method) \(context.url?.absoluteString ?? "") \(context.attempt)")
            seen.add("\(context.serviceID) \(context.tag) \(response.url.absoluteString)")
            return Payload(response.body)
        }
        _ = try await Rig().agent.send(request.tag("t").filter(filter).service(Service(id: "s")))
        #expect(
            seen.all == [
                "GeneralRequest GET https://api.example/x 1", "s t https://api.example/x",
            ]
        )
    }

    @Test func itsMediaTypeTakesPrecedenceOverTheResponse() async throws {
        let bytes = Data([0xE9])
        let latin = MediaType("text/plain; charset=iso-8859-1")
        let filter = ClosureFilter { _, _ in Payload(bytes, mediaType: latin) }
        let rig = Rig(response: .json("{}"))
        #expect(try await rig.agent.send(request.filter(filter).expecting(String.self)) == "é")
    }

    @Test func serviceErrorHasCodeMessageAndPath() throws {
        let url = try #require(URL(string: "https://api.example:8443/users/7?token=secret"))
        let big = RawResponse(statusCode: 200, body: Data(count: NetworkError.maximumBodyByteCount + 1), url: url)
        let error = ServiceError(code: 40001, message: "no such user", response: big)
        #expect(error.description == "api.example:8443: the service reported 40001: no such user (status 200)")
        #expect(error.response.body.count == NetworkError.maximumBodyByteCount)
        func words(_ code: ServiceCode, _ message: String?) -> String {
            ServiceError(code: code, message: message, response: big).detail
        }
        #expect(words("E1", nil) == #"the service reported "E1" (status 200)"#)
        #expect(words("0", nil) != words(0, nil))
        for empty in ["", " ", "\n\t"] { #expect(words(1, empty) == "the service reported 1 (status 200)") }
    }

    @Test(arguments: [
        ("no such user", "no such user"), ("", "api.example: the service reported 1 (status 200)"),
        (nil, "api.example: the service reported 1 (status 200)"),
    ])
    func localizedDescriptionOfAServiceErrorIsItsMessage(message: String?, text: String) throws {
        let response = RawResponse(url: try #require(URL(string: "https://api.example/x")))
        let error: any Error = ServiceError(code: 1, message: message, response: response)
        #expect(error.localizedDescription == text)
    }

    @Test func serviceErrorOfASendHasMethodAndPort() async throws {
        let rig = Rig(
            config: .test {
                $0.baseURL = "https://api.example:8443"
                $0.filter = EnvelopeFilter(code: "code", message: "msg", data: "data")
            },
            response: .json(#"{"code":"7","msg":""}"#, status: 200)
        )
        let error = await failure { try await rig.agent.send(GeneralRequest("/users/7").method(.put)) }
        #expect(
            (error as? ServiceError)?.description
                == #"PUT api.example:8443/users/7: the service reported "7" (status 200)"#
        )
    }
}
