import Errand
import ErrandTesting
import Foundation
import Testing

/// The server receives the declarations of a config and a service.
@Suite struct ServiceWireTests {
    struct PostOrder: Request, Encodable, Sendable {
        typealias Model = String
        var item = "a b"
        var tags = ["x", "y"]
        var date = Date(timeIntervalSince1970: 7)
        var service: Service
        var method: HTTPMethod { .post }
        var path: String { "/orders" }
        enum CodingKeys: CodingKey { case item, tags, date }
    }

    struct PostOwn: Request, Encodable, Sendable {
        typealias Model = String
        var item = "a b"
        var service: Service
        var method: HTTPMethod { .post }
        var path: String { "/orders" }
        var parameterEncoding: ParameterEncoding { .json }
        enum CodingKeys: CodingKey { case item }
    }

    struct PostStyled: Request, Encodable, Sendable {
        typealias Model = String
        var tags = ["x", "y"]
        var service: Service
        var method: HTTPMethod { .post }
        var path: String { "/orders" }
        var parameterEncoding: ParameterEncoding { .inherited.arrays(.repeated) }
        enum CodingKeys: CodingKey { case tags }
    }

    private let server: MockServer

    init() throws { server = try MockServer { .text("\($0.headers["Content-Type"] ?? "-") \($0.text)") } }

    /// A service's declaration for bodies does not change the query of a GET.
    @Test(arguments: [HTTPMethod.get, .delete, .post]) func inheritedFormsAreForBodies(method: HTTPMethod) async throws
    {
        server.on(method, "/x") { .text("\($0.target) \($0.text)") }
        let agent = server.agent { $0.parameterEncoding = .form.dates(.secondsSince1970) }
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let request = GeneralRequest("/x").method(method).parameters(["at": date]).expecting(String.self)
        let expected = method == .post ? "/x at=1700000000" : "/x?at=1700000000 "
        #expect(try await agent.send(request) == expected)
    }

    @Test func aServiceDeclaresOnceThatItsPOSTsAreForms() async throws {
        let forms = Service(id: "forms", parameterEncoding: .form.dates(.secondsSince1970))
        let agent = server.agent()
        let form = "application/x-www-form-urlencoded"
        #expect(
            try await agent.send(PostOrder(service: forms))
                == "\(form) item=a%20b&tags%5B%5D=x&tags%5B%5D=y&date=7"
        )
        #expect(
            try await agent.send(PostOrder(service: forms).tag("a").raw)
                == Data("\(form) item=a%20b&tags%5B%5D=x&tags%5B%5D=y&date=7".utf8)
        )
        #expect(try await agent.send(PostOwn(service: forms)) == #"application/json {"item":"a b"}"#)
        #expect(try await agent.send(PostStyled(service: forms)) == "\(form) tags=x&tags=y")
        let general = GeneralRequest("/x").method(.post).parameters(["at": Date(timeIntervalSince1970: 8)])
        #expect(try await agent.send(general.service(forms).expecting(String.self)) == "\(form) at=8")
    }

    @Test func requestsAndServicesWithoutAnEncodingInheritTheConfigs() async throws {
        let agent = server.agent { $0.parameterEncoding = .form.dates(.millisecondsSince1970) }
        let plain = try await agent.send(PostOrder(service: Service(id: "plain")))
        #expect(plain.hasSuffix("&date=7000"))
        let service = Service(id: "dates", parameterEncoding: .inherited.dates(.secondsSince1970))
        let styled = try await agent.send(PostOrder(service: service))
        #expect(styled.hasPrefix("application/x-www-form-urlencoded") && styled.hasSuffix("&date=7"))
        let json = try await agent.send(PostOrder(service: Service(id: "json", parameterEncoding: .json)))
        #expect(json == #"application/json {"item":"a b","tags":["x","y"],"date":"1970-01-01T00:00:07Z"}"#)
        #expect(try await server.agent().send(PostOrder(service: .default)) == json)
    }

    @Test func theConditionsForAcceptingAResponseAreInherited() async throws {
        server.on(.get, "/x", .text("old", status: 304))
        let wide = Acceptance(statusCodes: 200..<400)
        let service = Service(id: "wide", acceptance: wide)
        let request = GeneralRequest("/x").expecting(Void.self)
        try await server.agent().send(request.service(service))
        try await server.agent { $0.acceptance = wide }.send(request)
        let config = server.agent { $0.acceptance = wide }
        let strict = Service(id: "strict", acceptance: Acceptance())
        for refused in [
            request.service(strict), request.acceptance(Acceptance()), request.acceptance(.inherited.accepting(201)),
        ] {
            let error = await #expect(throws: NetworkError.self) { try await config.send(refused) }
            #expect(error?.statusCode == 304)
        }
        let plan = try await config.plan(for: request)
        #expect(plan["acceptance"]?.value == "status 200..<400" && plan["acceptance"]?.source == .config)
    }

    @Test func aPlanShowsWhatIsInheritedInWords() async throws {
        let service = Service(
            id: "shop",
            baseURL: "https://shop.example",
            parameterEncoding: .form.arrays(.repeated),
            acceptance: Acceptance(contentTypes: ["application/json"]).accepting(304)
        )
        let agent = Agent(config: NetworkConfig(parameterEncoding: .json))
        let plan = try await agent.plan(for: GeneralRequest("/x").service(service))
        #expect(plan["parameterEncoding"]?.value == "form, arrays: repeated")
        #expect(plan["parameterEncoding"]?.source == .service)
        #expect(plan["acceptance"]?.value == "status 200..<300, 304, type application/json")
        #expect(plan["cacheStorage"]?.value == "the config's cache" && plan["cacheStorage"]?.source == .library)
        let plain = try await agent.plan(for: GeneralRequest("https://a.example/x"))
        #expect(plain["parameterEncoding"]?.source == .config && plain["acceptance"]?.value == "status 200..<300")
        #expect(!plan.description.contains("nherited"))
    }

    @Test func aBaseURLIsCreatedFromATextAtRunTime() async throws {
        let text = " \(server.baseURL.absoluteString)/v1 \n"
        let agent = Agent(config: NetworkConfig(baseURL: try BaseURL(text)))
        _ = try await agent.send(GeneralRequest("/x").expecting(String.self))
        #expect(server.requests.last?.path == "/v1/x")
        for (text, words) in [
            ("example.com", "no scheme"), ("ftp://x", "ftp"), ("https://", "no host"), ("http://a:99999", "port"),
        ] {
            let error = #expect(throws: NetworkError.self) { _ = try BaseURL(text) }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
        }
        let error = #expect(throws: NetworkError.self) { _ = try BaseURL("ada:secret@host?key=secret" as String) }
        #expect(error?.description.contains("secret") == false)
    }
}
