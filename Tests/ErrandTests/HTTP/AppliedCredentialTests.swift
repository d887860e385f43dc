import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What a session has added to a request is sent, and never shown or written.
@Suite(.limit(seconds: 60)) struct AppliedCredentialTests {
    private struct Tokens: Authenticator {
        func appliesTo(_ url: URL) -> Bool { url.host() == "api.example" }

        func apply(_ credential: String, to request: inout OutgoingRequest, for context: RequestContext) throws {
            var parts = try #require(URLComponents(url: request.url, resolvingAgainstBaseURL: false))
            parts.path = "/bot\(credential)" + parts.path
            parts.queryItems = (parts.queryItems ?? []) + [URLQueryItem(name: "key", value: credential)]
            request.url = try #require(parts.url)
            request.headers["X-Foo"] = credential
        }

        func refresh(_ credential: String, with agent: Agent) async throws -> String { credential }
        func scope(of credential: String) -> String? { "ada" }
    }

    private static func config(_ change: (inout NetworkConfig) -> Void = { _ in }) -> NetworkConfig {
        NetworkConfig.test { config in
            config.authentication = .session(AuthenticationSession(Tokens(), credential: "CANARY"))
            change(&config)
        }
    }

    @Test(arguments: ["/a", "/redirect", "/loop", "/b%20c?q=1"])
    func noTextContainsIt(path: String) async throws {
        let log = Record<String>()
        let config = Self.config { $0.accessories = [LoggingAccessory(level: .events) { log.add($0) }] }
        let rig = Rig(config: config) { request in
            switch request.url.lastPathComponent {
            case "redirect": .status(302, headers: ["Location": "x;y?\(request.url.query() ?? "")"])
            case "loop": .status(302, headers: ["Location": "loop"])
            default: .json("1", status: 404)
            }
        }
        let request = GeneralRequest(path)
        let error = try #require(await failure { try await rig.agent.send(request) } as? NetworkError)
        let plan = try await rig.agent.plan(for: request)
        for text in ["\(error)", error.path ?? "", "\(plan)", "\(plan.request)", plan.curl] { log.add(text) }
        if let response = error.response {
            log.add("\(response)")
            for redirect in response.redirects { log.add("\(redirect)") }
        }
        let accepted = request.acceptance(Acceptance(statusCodes: 200..<500))
        if path != "/loop" { log.add("\(try await rig.agent.response(for: accepted))") }
        #expect(rig.transport.requests.allSatisfy { $0.url.path().hasPrefix("/botCANARY/") })
        #expect(!log.all.contains { $0.contains("CANARY") }, "\(log.all)")
        #expect(error.path?.hasPrefix("/…/") == true)
        #expect(plan.curl.contains("https://api.example/•••\(path)"), "\(plan.curl)")
        #expect(plan.curl.contains("key=•••") && plan.curl.contains("X-Foo: •••"), "\(plan.curl)")
    }

    @Test func storedResponseDoesNotContainIt() async throws {
        let cache = ResponseCache(disk: nil)
        let config = Self.config { config in
            config.cache = cache
            config.cachePolicy = .http
        }
        let rig = Rig(config: config) { request in
            if request.headers.contains("If-None-Match") { return .status(304) }
            return .json("1", headers: ["ETag": "\"a\"", "Cache-Control": "max-age=0"])
        }
        let request = GeneralRequest("/a?q=1").expecting(Int.self)
        #expect(try await rig.agent.send(request) == 1)
        await cache.flush()
        #expect(await cache.entries.map(\.head.location) == ["https://api.example/a?q=1"])
        let second = try await rig.agent.response(for: request)
        #expect(second.model == 1 && second.source.isFromCache)
        #expect(rig.transport.requestCount == 2)
    }
}
