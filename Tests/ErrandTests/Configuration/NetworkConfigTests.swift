import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct NetworkConfigTests {
    private static func values(of config: NetworkConfig) -> [String: String] {
        let children = Mirror(reflecting: config).children.map { ($0.label ?? "", String(describing: $0.value)) }
        return Dictionary(children) { first, _ in first }
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
            credentialOrigins: ["https://files.example"],
            headers: ["X-A": "1"],
            parameters: ["a": 1],
            authorization: .bearer("token"),
            authentication: .anonymous,
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
            secrets: Secrets(headers: ["X-A"]),
            environment: ["A": "1"]
        )
        let defaults = Self.values(of: NetworkConfig())
        for (name, value) in Self.values(of: config) {
            #expect(value != defaults[name], "the initializer does not set \(name)")
        }
        #expect(config.environment == ["A": "1"])
    }
}
