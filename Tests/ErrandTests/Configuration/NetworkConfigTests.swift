import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct NetworkConfigTests {
    private static var inherited: [PartialKeyPath<InheritedSettings>] {
        [
            \.baseURL, \.cdnURL, \.cdnFallbacks, \.credentialOrigins, \.headers, \.parameters, \.parameterEncoding,
            \.authorization, \.authentication, \.acceptance, \.filter, \.urlFilters, \.adapters, \.interceptors,
            \.sendInterceptors, \.accessories, \.limits, \.retryPolicy, \.redirectPolicy, \.cachePolicy, \.sendGates,
            \.throttle,
        ]
    }

    /// Checks that a value differs from the default in each property of a list.
    private func expectChanges<Value>(_ value: Value, _ initial: Value, of properties: [PartialKeyPath<Value>]) {
        for property in properties {
            let values = ("\(value[keyPath: property])", "\(initial[keyPath: property])")
            #expect(values.0 != values.1, "the initializer does not set \(property)")
        }
    }

    /// Without `cacheStorage`, which only a service has.
    @Test func theListOfInheritedSettingsIsComplete() {
        #expect(Mirror(reflecting: InheritedSettings()).children.count == Self.inherited.count + 1)
    }

    private struct Hook: URLFilter, RequestAdapter, Interceptor, SendInterceptor, SendGate, Accessory, DataDecoder {
        func filter(_ url: URL, for context: RequestContext) throws -> URL { url }
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {}
        func intercept(
            _ request: OutgoingRequest,
            for context: RequestContext,
            next: AttemptChain
        ) async throws -> RawResponse { try await next(request) }
        func intercept(_ context: RequestContext, next: SendChain) async throws { try await next() }
        func admit(_ context: RequestContext) async throws {}
        func request(_ context: RequestContext, did event: AccessoryEvent) {}
        func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
            try JSONDecoder().decode(type, from: data)
        }
    }

    @Test func initializerSetsEveryProperty() {
        let config = NetworkConfig(
            baseURL: "https://api.example",
            cdnURL: "https://cdn.example",
            cdnFallbacks: ["https://cdn2.example"],
            credentialOrigins: ["https://files.example"],
            headers: ["X-A": "1"],
            parameters: ["a": 1],
            parameterEncoding: .form,
            authorization: .bearer("token"),
            authentication: .anonymous,
            acceptance: Acceptance(),
            filter: PassthroughFilter(),
            decoder: Hook(),
            urlFilters: [Hook()],
            adapters: [Hook()],
            interceptors: [Hook()],
            sendInterceptors: [Hook()],
            accessories: [Hook()],
            limits: Limits(timeout: .seconds(7)),
            retryPolicy: .never,
            retryBudget: .unlimited,
            redirectPolicy: .refuse,
            cachePolicy: .reload,
            sendGates: [Hook()],
            throttle: Throttle(maximumPerHost: 1),
            cache: ResponseCache(memory: nil, disk: nil),
            namedCaches: ["a": ResponseCache(disk: nil)],
            secrets: Secrets(headers: ["X-A"]),
            environment: ["A": "1"]
        )
        expectChanges(ConfigSnapshot(config).inherited, InheritedSettings(), of: Self.inherited)
        let own: [PartialKeyPath<NetworkConfig>] = [
            \.decoder, \.retryBudget, \.cache, \.namedCaches, \.secrets, \.environment,
        ]
        expectChanges(config, NetworkConfig(), of: own)
    }

    @Test func initializerOfAServiceSetsEveryProperty() {
        let service = Service(
            id: "s",
            baseURL: "https://api.example",
            cdnURL: "https://cdn.example",
            cdnFallbacks: ["https://cdn2.example"],
            baseURLVariable: "S_BASE",
            credentialOrigins: ["https://files.example"],
            headers: ["X-A": "1"],
            parameters: ["a": 1],
            parameterEncoding: .form,
            authorization: .bearer("token"),
            authentication: .anonymous,
            acceptance: Acceptance(),
            filter: PassthroughFilter(),
            decoder: Hook(),
            urlFilters: [Hook()],
            adapters: [Hook()],
            interceptors: [Hook()],
            sendInterceptors: [Hook()],
            accessories: [Hook()],
            limits: Limits(timeout: .seconds(7)),
            retryPolicy: .never,
            redirectPolicy: .refuse,
            cachePolicy: .reload,
            cacheStorage: .memoryOnly,
            sendGates: [Hook()],
            throttle: Throttle(maximumPerHost: 1)
        )
        expectChanges(service.inherited, InheritedSettings(), of: Self.inherited)
        expectChanges(service, Service(id: "d"), of: [\.baseURLVariable, \.decoder, \.cacheStorage])
    }

    @Test func aCopyIsChangedAlone() {
        var (config, service) = (NetworkConfig(headers: ["X-A": "1"]), Service(id: "s", headers: ["X-A": "1"]))
        let (oldConfig, oldService) = (config, service)
        config.headers["X-A"] = "2"
        service.headers["X-A"] = "2"
        #expect(oldConfig.headers["X-A"] == "1" && config.headers["X-A"] == "2")
        #expect(oldService.headers["X-A"] == "1" && service.headers["X-A"] == "2")
        let path: WritableKeyPath<NetworkConfig, HTTPHeaders> = \.headers
        config[keyPath: path]["X-B"] = "3"
        #expect(config.headers["X-B"] == "3")
    }

    @Test func aRunningSendKeepsTheConfigThatItStartedWith() async throws {
        let door = Gate()
        let rig = Rig { request in
            guard request.headers["X-A"] == "old" else { return .json("2") }
            try await door.pass()
            return .status(503)
        }
        rig.agent.config.headers["X-A"] = "old"
        rig.agent.config.retryPolicy = RetryPolicy(maximumAttempts: 2, baseDelay: .zero)
        let running = Task { try await rig.agent.send(GeneralRequest("/x")) }
        await rig.transport.waitForRequests()
        rig.agent.config.headers["X-A"] = "new"
        rig.agent.updateConfig { $0.retryPolicy = .never }
        door.open()
        await #expect(throws: NetworkError.self) { try await running.value }
        #expect(rig.transport.requests.map { $0.headers["X-A"] } == ["old", "old"])
        #expect(try await rig.agent.send(GeneralRequest("/x")) == 2)
    }
}
