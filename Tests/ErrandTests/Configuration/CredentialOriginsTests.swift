import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct CredentialOriginsTests {
    struct Case: Sendable {
        var base: BaseURL?
        var cdn: BaseURL?
        var listed: [BaseURL] = []
        var own: [String] = []
        var foreign: [String] = []
    }

    @Test(arguments: [
        Case(
            base: "https://api.example/v1",
            own: ["https://api.example", "https://API.example:443/x", "HTTPS://api.example/v2"],
            foreign: [
                "http://api.example", "https://api.example:8443", "https://api.example.evil.example",
                "https://evil.example", "https://api.example@evil.example/", "https://evil.example/api.example",
                "https://xapi.example",
                "https://api.example.",
            ]
        ),
        Case(base: "https://api.example", cdn: "https://cdn.example", own: ["https://cdn.example"]),
        Case(
            base: "https://api.example",
            listed: ["https://files.example/path", "http://b.example:8080"],
            own: ["https://api.example", "https://files.example/other", "http://b.example:8080"],
            foreign: ["http://b.example", "http://request.example"]
        ),
        Case(own: ["https://request.example"], foreign: ["https://other.example"]),
        Case(
            listed: ["https://a.example"],
            own: ["https://a.example"],
            foreign: ["https://request.example", "https://other.example"]
        ),
    ])
    func credentialsAreBoundToTheOrigins(it: Case) throws {
        let origins = try CredentialOrigins(
            base: it.base,
            cdn: it.cdn.map { [$0] } ?? [],
            listed: it.listed,
            requestOrigin: Origin("https://request.example")
        )
        for text in it.own { #expect(origins.contains(try #require(URL(string: text))), "\(text)") }
        for text in it.foreign { #expect(!origins.contains(try #require(URL(string: text))), "\(text)") }
    }

    /// Returns the URL that it gets, as a URL.
    private struct SameURL: URLFilter {
        func filter(_ url: URL, for context: RequestContext) -> URL { url }
    }

    @Test func internationalizedHostKeepsItsCredentials() async throws {
        let host = "https://b\u{FC}cher.example"
        let rig = Rig(
            config: .test {
                $0.baseURL = BaseURL(text: host)
                $0.authorization = .bearer("t")
                $0.urlFilters = [SameURL()]
            }
        )
        _ = try await rig.agent.send(GeneralRequest("/x"))
        _ = try await rig.agent.send(GeneralRequest("https://xn--bcher-kva.example/x"))
        _ = try await rig.agent.send(GeneralRequest("https://b\u{FC}cher.test/x"))
        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t", nil])
    }

    @Test func aListedOriginThatIsNoURLIsAnError() async throws {
        let rig = Rig(config: .test { $0.credentialOrigins = ["files.example"] })
        await expect(kind: .invalidRequest) { try await rig.agent.send(GeneralRequest("https://files.example/x")) }
        #expect(rig.transport.requestCount == 0)
    }

    @Test func aServiceReceivesTheCredentialsOfTheConfigUnlessItHasItsOwn() async throws {
        let rig = Rig(
            config: .test {
                $0.baseURL = "https://api.example"
                $0.headers = ["X-Api-Key": "key"]
                $0.parameters = ["access_token": "token"]
                $0.authorization = .bearer("secret")
            }
        )
        let inheriting = Service(id: "inheriting", baseURL: "https://pay.example")
        let own = Service(
            id: "own",
            baseURL: "https://pay.example",
            headers: ["X-Api-Key": "own"],
            parameters: ["access_token": "own"],
            authorization: .anonymous
        )
        for service in [inheriting, own] { _ = try await rig.agent.send(GeneralRequest("/x").service(service)) }
        // A request of the config's own host does not lend them to an absolute URL.
        _ = try await rig.agent.send(GeneralRequest("https://pay.example/x"))
        let sent = rig.transport.requests
        #expect(sent.map { $0.headers["Authorization"] } == ["Bearer secret", nil, nil])
        #expect(sent.map { $0.headers["X-Api-Key"] } == ["key", "own", nil])
        #expect(sent.map { $0.url.query() } == ["access_token=token", "access_token=own", nil])
    }

    // MARK: `.anonymous`

    @Test func anonymousRemovesAnAuthorizationFieldOfConfigAndService() async throws {
        let config = NetworkConfig.test { $0.headers = ["authorization": "Bearer config", "X-Other": "1"] }
        var service = Service(id: "s", headers: ["AUTHORIZATION": "Bearer service"])
        for service in [Service.default, service] {
            let request = GeneralRequest("/x").service(service).authorization(.anonymous)
            let sent = try await Rig(config: config).wire(request)
            #expect(!sent.headers.contains("Authorization"))
            #expect(sent.headers["X-Other"] == "1")
            let own = try await Rig(config: config).wire(request.header("Authorization", "own"))
            #expect(own.headers.values(for: "Authorization") == ["own"])
        }
        let inherited = try await Rig(config: config).wire(GeneralRequest("/x"))
        #expect(inherited.headers["Authorization"] == "Bearer config")
        service.headers = [:]
        service.authorization = .anonymous
        let sent = try await Rig(config: config).wire(GeneralRequest("/x").service(service))
        #expect(!sent.headers.contains("Authorization"))
    }

    // MARK: What hooks learn

    private struct TokenFilter: URLFilter {
        let seen: Record<Bool>
        var host = ""
        func filter(_ url: URL, for context: RequestContext) throws -> URL {
            seen.add(context.allowsCredentials)
            let items = [URLQueryItem(name: "token", value: "secret"), URLQueryItem(name: "v", value: "2")]
            var url = url.appending(queryItems: items)
            if !host.isEmpty {
                url = try #require(URL(string: url.absoluteString.replacing("api.example", with: host)))
            }
            return url
        }
    }

    @Test(arguments: [
        ("/x", "", "https://api.example/x?token=secret&v=2", [true, true]),
        ("https://other.example/x", "", "https://other.example/x?v=2", [false, false]),
        ("https://other.example/x?token=own", "", "https://other.example/x?token=own&v=2", [false, false]),
        ("/x", "moved.example", "https://moved.example/x?v=2", [true, false]),
    ])
    func urlFiltersReceiveTheOriginAndTheirSecretsStayThere(
        path: String,
        host: String,
        url: String,
        flags: [Bool]
    ) async throws {
        let seen = Record<Bool>()
        let rig = Rig(
            config: .test {
                $0.urlFilters = [TokenFilter(seen: seen, host: host)]
                $0.adapters = [ClosureAdapter { _, context in seen.add(context.allowsCredentials) }]
            }
        )
        let sent = try await rig.wire(GeneralRequest(path))
        #expect(sent.url.absoluteString == url)
        #expect(seen.all == flags)
    }

    @Test func credentialsAddedByAdaptersStayAtTheOrigin() async throws {
        let adapter = ClosureAdapter { request, _ in
            request.headers["Authorization"] = "Bearer adapter"
            request.headers["X-Trace"] = "1"
            request.url.append(queryItems: [URLQueryItem(name: "access_token", value: "secret")])
        }
        let rig = Rig(config: .test { $0.adapters = [adapter] })
        let own = try await rig.wire(GeneralRequest("/x"))
        #expect(own.headers["Authorization"] == "Bearer adapter")
        #expect(own.url.query() == "access_token=secret")
        let foreign = try await rig.wire(GeneralRequest("https://other.example/x?q=1"))
        #expect(foreign.headers.map(\.name) == ["X-Trace"])
        #expect(foreign.url.absoluteString == "https://other.example/x?q=1")
    }

    @Test func credentialsAreRemovedIfAnAdapterChangesTheOrigin() async throws {
        let adapter = ClosureAdapter { request, _ in
            request.url = try #require(URL(string: "https://other.example/x?api_key=k&q=1"))
        }
        var config = NetworkConfig.test {
            $0.authorization = .bearer("config")
            $0.adapters = [adapter]
        }
        let sent = try await Rig(config: config).wire(GeneralRequest("/x"))
        #expect(sent.headers.isEmpty)
        #expect(sent.url.absoluteString == "https://other.example/x?q=1")
        config.credentialOrigins = ["https://other.example"]
        #expect(try await Rig(config: config).wire(GeneralRequest("/x")).headers["Authorization"] == "Bearer config")
    }

    @Test func aBaseURLOfTheEnvironmentReplacesTheOriginOfTheService() async throws {
        var config = NetworkConfig.test { $0.environment = ["SHOP": "http://staging.example"] }
        config.authorization = .bearer("t")
        var service = Service(id: "shop", baseURL: "https://shop.example")
        service.baseURLVariable = "SHOP"
        for (path, isSent) in [("/x", true), ("http://staging.example/y", true), ("https://shop.example/x", false)] {
            let sent = try await Rig(config: config).wire(GeneralRequest(path).service(service))
            #expect(sent.headers.contains("Authorization") == isSent, "\(path)")
        }
    }

    @Test func planShowsWhereCredentialsAreSentAndWhy() async throws {
        let rig = Rig(
            config: .test {
                $0.authorization = .bearer("t")
                $0.parameters = ["api_key": "k"]
            }
        )
        let own = try await rig.agent.plan(for: GeneralRequest("/x"))
        #expect(own["credentials"]?.value == "sent to https://api.example")
        #expect(own["credentials"]?.source == .library)
        let request = GeneralRequest("https://other.example/x")
        let foreign = try await rig.agent.plan(for: request)
        #expect(foreign["credentials"]?.value == "withheld from https://other.example, which is another origin")
        #expect(foreign["authorization"]?.value == "withheld: another origin")
        #expect(foreign["baseParameters"]?.value == "withheld: another origin")
        let opted = try await rig.agent.plan(for: request.credentialPolicy(.requestOrigin))
        #expect(opted["credentials"]?.value == "sent to https://other.example")
        #expect(opted["credentials"]?.source == .request)
        #expect(opted["credentialPolicy"]?.value == "the request's origin")
    }
}
