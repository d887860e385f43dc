import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct NetworkConfigTests {
    /// The names of all properties, read from the source.
    private static func names(of type: String = "NetworkConfig") throws -> [String] {
        let source = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Errand/Configuration/\(type).swift")
        return try String(contentsOf: source, encoding: .utf8).matches(of: #/    public var (\w+):/#)
            .map { String($0.output.1) }
    }

    private static var properties: [PartialKeyPath<NetworkConfig>] {
        [
            \.baseURL, \.cdnURL, \.cdnFallbacks, \.credentialOrigins, \.headers, \.parameters, \.parameterEncoding,
            \.authorization, \.authentication, \.acceptance, \.filter,
            \.decoder, \.urlFilters, \.adapters, \.interceptors, \.sendInterceptors, \.accessories, \.limits,
            \.retryPolicy,
            \.retryBudget, \.redirectPolicy, \.cachePolicy, \.sendGates, \.throttle, \.cache, \.namedCaches,
            \.secrets, \.environment,
        ]
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

    @Test func initializerSetsEveryProperty() throws {
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
        let (names, defaults) = (try Self.names(), NetworkConfig())
        #expect(names.count == Self.properties.count)
        for (name, property) in zip(names, Self.properties) {
            let values = (
                String(describing: config[keyPath: property]), String(describing: defaults[keyPath: property])
            )
            #expect(values.0 != values.1, "the initializer does not set \(name)")
        }
    }

    private static var serviceProperties: [(name: String, path: PartialKeyPath<Service>)] {
        [
            ("baseURL", \.baseURL), ("cdnURL", \.cdnURL), ("cdnFallbacks", \.cdnFallbacks),
            ("baseURLVariable", \.baseURLVariable), ("credentialOrigins", \.credentialOrigins), ("headers", \.headers),
            ("parameters", \.parameters), ("parameterEncoding", \.parameterEncoding),
            ("authorization", \.authorization), ("authentication", \.authentication), ("acceptance", \.acceptance),
            ("filter", \.filter), ("decoder", \.decoder), ("urlFilters", \.urlFilters), ("adapters", \.adapters),
            ("interceptors", \.interceptors), ("sendInterceptors", \.sendInterceptors),
            ("accessories", \.accessories), ("limits", \.limits), ("retryPolicy", \.retryPolicy),
            ("redirectPolicy", \.redirectPolicy), ("cachePolicy", \.cachePolicy), ("cacheStorage", \.cacheStorage),
            ("sendGates", \.sendGates), ("throttle", \.throttle),
        ]
    }

    @Test func initializerOfAServiceSetsEveryProperty() throws {
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
        #expect(try Self.names(of: "Service") == ["id"] + Self.serviceProperties.map(\.name))
        for (name, property) in Self.serviceProperties {
            let values = (
                String(describing: service[keyPath: property]), String(describing: Service(id: "d")[keyPath: property])
            )
            #expect(values.0 != values.1, "the initializer does not set \(name)")
        }
    }
}
