import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct ServiceTests {
    private let config = NetworkConfig.test { $0.cdnURL = "https://cdn.example" }

    private func url(_ service: Service, cdn: Bool = false, environment: [String: String] = [:]) async throws -> String
    {
        var config = config
        config.environment = environment
        let request = GeneralRequest("/x").service(service).usingCDN(cdn)
        return try await Rig(config: config).agent.plan(for: request).request.url.absoluteString
    }

    @Test func aServiceWithoutABaseTakesTheConfigs() async throws {
        #expect(try await url(.default) == "https://api.example/x")
        #expect(try await url(Service(id: "s", baseURL: "https://s.example/v2")) == "https://s.example/v2/x")
    }

    @Test func theCDNIsTheServicesElseTheConfigs() async throws {
        #expect(try await url(.default, cdn: true) == "https://cdn.example/x")
        let own = Service(id: "s", baseURL: "https://s.example", cdnURL: "https://cdn.s.example/a")
        #expect(try await url(own, cdn: true) == "https://cdn.s.example/a/x")
        #expect(try await url(own) == "https://s.example/x")
        #expect(try await url(Service(id: "s", cdnURL: "https://c.example"), cdn: true) == "https://c.example/x")
    }

    @Test func serviceWithItsOwnBaseNeverUsesAnotherCDN() async throws {
        let service = Service(id: "s", baseURL: "https://s.example")
        let error = await expect(kind: .invalidRequest) { try await url(service, cdn: true) }
        #expect(error?.description.contains("CDN") == true)
    }

    @Test(arguments: [
        (["S_BASE": "http://127.0.0.1:8080/dev"], "http://127.0.0.1:8080/dev/x"),
        (["S_BASE": ""], "https://s.example/x"),
        ([:], "https://s.example/x"), (["OTHER": "http://o.example"], "https://s.example/x"),
        (["S_BASE": "HTTPS://u:p@o.example"], "https://o.example/x"),
    ])
    func theEnvironmentReplacesTheBase(environment: [String: String], expected: String) async throws {
        var service = Service(id: "s", baseURL: "https://s.example")
        service.baseURLVariable = "S_BASE"
        #expect(try await url(service, environment: environment) == expected)
    }

    @Test(arguments: ["localhost", "ftp://x", "/v1"])
    func invalidBaseInTheEnvironmentIsAnError(text: String) async throws {
        var service = Service(id: "s", baseURL: "https://s.example")
        service.baseURLVariable = "S_BASE"
        await expect(kind: .invalidRequest) { try await url(service, environment: ["S_BASE": text]) }
    }

    @Test func headersAreMergedRequestOverServiceOverConfig() async throws {
        let config = NetworkConfig.test { $0.headers = ["A": "config", "B": "config", "C": "config"] }
        let service = Service(id: "s", headers: ["b": "service", "C": "service"])
        let request = GeneralRequest("/x").service(service).header("c", "request").header("D", "request")
        let sent = try await Rig(config: config).wire(request).headers
        #expect(sent.map { "\($0.name)=\($0.value)" } == ["A=config", "b=service", "c=request", "D=request"])
    }

    @Test func aRequestOptsOutOfBaseHeaders() async throws {
        var request = GeneralRequest("/x").service(Service(id: "s", headers: ["B": "service"])).header("C", "request")
        request = request.usingBaseHeaders(false)
        let sent = try await Rig(config: .test { $0.headers = ["A": "config"] }).wire(request).headers
        #expect(sent.map(\.name) == ["C"])
    }

    @Test func parametersAreMergedRequestOverServiceOverConfig() async throws {
        let config = NetworkConfig.test { $0.parameters = ["a": "config", "b": "config", "c": "config"] }
        let service = Service(id: "s", parameters: ["b": "service", "c": "service"])
        let request = GeneralRequest("/x").service(service).parameters(["c": "request", "d": "request"])
        #expect(try await Rig(config: config).wire(request).url.query() == "a=config&b=service&c=request&d=request")
    }

    @Test func aRequestOptsOutOfBaseParameters() async throws {
        var request = GeneralRequest("/x").service(Service(id: "s", parameters: ["b": 1])).parameters(["c": 2])
        request = request.usingBaseParameters(false)
        #expect(try await Rig(config: .test { $0.parameters = ["a": 0] }).wire(request).url.query() == "c=2")
    }

    @Test func baseParametersGoWhereTheRequestsGo() async throws {
        let config = NetworkConfig.test { $0.parameters = ["a": 1] }
        let post = try await Rig(config: config).wire(GeneralRequest("/x").method(.post))
        #expect(try post.bodyText() == #"{"a":1}"#)
        let form = GeneralRequest("/x").method(.post).parameterEncoding(.form).parameters(["b": 2])
        #expect(try await Rig(config: config).wire(form).bodyText() == "a=1&b=2")
        let explicit = try await Rig(config: config).wire(GeneralRequest("/x").method(.post).body(.json([1])))
        #expect(try explicit.bodyText() == "[1]")
        #expect(explicit.url.query() == nil)
    }
}
