import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct CustomURLRequestTests {
    struct Custom: Request, Sendable {
        typealias Model = String
        var change: @Sendable (inout URLRequest) throws -> Void = { _ in }
        var path: String { "/never" }
        var headers: HTTPHeaders { ["X-Never": "1"] }
        var parameters: Parameters { ["never": 1] }
        func customURLRequest() throws -> URLRequest? {
            var request = URLRequest(url: try #require(URL(string: "https://custom.example/made?by=hand")))
            try change(&request)
            return request
        }
    }

    private static let config = NetworkConfig.test {
        $0.headers = ["X-Base": "1"]
        $0.parameters = ["base": 1]
        $0.filter = EnvelopeFilter(code: "code", data: "data")
        $0.adapters = [ClosureAdapter { request, _ in request.headers["X-Adapter"] = "1" }]
    }

    @Test func itReplacesBuildingAndKeepsEverythingAfterIt() async throws {
        let rig = Rig(config: Self.config, response: .json(#"{"code":0,"data":"\"text\""}"#))
        let request = Custom { request in
            request.httpMethod = "POST"
            request.setValue("a", forHTTPHeaderField: "X-Own")
            request.httpBody = Data("body".utf8)
        }
        #expect(try await rig.agent.send(request) == #""\"text\"""#)
        let sent = try #require(rig.transport.requests.first)
        #expect(sent.url.absoluteString == "https://custom.example/made?by=hand")
        #expect(sent.method == .post)
        #expect(sent.headers["X-Own"] == "a")
        #expect(sent.headers["X-Adapter"] == "1")
        #expect(!sent.headers.contains("X-Base"))
        #expect(!sent.headers.contains("X-Never"))
        #expect(try sent.bodyText() == "body")
    }

    @Test func nilBuilds() async throws {
        struct Building: Request, Sendable {
            typealias Model = JSONValue
            var path: String { "/built" }
            func customURLRequest() throws -> URLRequest? { nil }
        }
        #expect(try await Rig().wire(Building()).url.path() == "/built")
    }

    @Test func itsErrorReachesTheCallerUnchangedAndNothingIsSent() async {
        let rig = Rig()
        await #expect(throws: Boom(id: 4)) { try await rig.agent.send(Custom { _ in throw Boom(id: 4) }) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test(arguments: [
        ("ftp://x/y", NetworkError.Reason.unsupportedScheme("ftp")), ("/relative", .invalidURL("it has no scheme")),
        ("http:///x", .invalidURL("it has no host")),
    ])
    func unsupportedSchemeIsAnError(text: String, reason: NetworkError.Reason) async {
        let rig = Rig()
        await expect(throwing: reason) { _ = try await rig.agent.send(Custom { $0.url = URL(string: text) }) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func withoutAURLItIsAnError() async {
        let rig = Rig()
        await expect(throwing: .invalidRequest("the custom URLRequest has no URL")) {
            _ = try await rig.agent.send(Custom { $0.url = nil })
        }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func aStreamIsAnError() async throws {
        let rig = Rig()
        let request = Custom { request in
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data("x".utf8))
        }
        let error = try #require(await failure { try await rig.agent.send(request) } as? NetworkError)
        #expect(error.description.contains("stream"))
        #expect(rig.transport.requestCount == 0)
    }

    @Test func userInformationIsStrippedAndTheSchemeLowered() async throws {
        let rig = Rig(response: .text("ok"))
        let sent = try await rig.wire(Custom { $0.url = URL(string: "HTTPS://u:p@custom.example") })
        #expect(sent.url.absoluteString == "https://custom.example/")
    }

    @Test func aPreviewIsWhatIsSent() async throws {
        let rig = Rig(config: Self.config)
        let request = GeneralRequest("/x").method(.post).header("X-A", "1").parameters(["a": 1])
        let preview = try await rig.agent.urlRequest(for: request)
        let sent = try await { () async throws in
            _ = await failure { try await rig.agent.send(request) }
            return try #require(rig.transport.requests.first)
        }()
        #expect(rig.transport.requestCount == 1)
        #expect(preview.url == sent.url)
        #expect(preview.httpMethod == "POST")
        #expect(preview.httpBody == (try sent.bodyData()))
        for field in sent.headers { #expect(preview.value(forHTTPHeaderField: field.name) == field.value) }
    }

    @Test func itsMethodIsTheSendsMethod() async throws {
        let methods = Record<HTTPMethod>()
        var config = NetworkConfig.test
        config.adapters = [ClosureAdapter { _, context in methods.add(context.method) }]
        config.filter = ClosureFilter { response, context in
            methods.add(context.method)
            return Payload(response.body)
        }
        let rig = Rig(config: config, response: .status(503))
        let error = await failure { try await rig.agent.send(Custom { $0.httpMethod = "DELETE" }) } as? NetworkError
        #expect(methods.all == [.delete, .delete])
        #expect(error?.method == .delete)
    }

    @Test func responseToItsHEADHasNoModel() async throws {
        struct Head: Request, Sendable {
            typealias Model = [Int]?
            var path: String { "/never" }
            func customURLRequest() throws -> URLRequest? {
                var request = URLRequest(url: try #require(URL(string: "https://custom.example/x")))
                request.httpMethod = "HEAD"
                return request
            }
        }
        let rig = Rig(response: .status(200, headers: ["Content-Type": "application/json"]))
        #expect(try await rig.agent.send(Head()) == nil)
    }
}
