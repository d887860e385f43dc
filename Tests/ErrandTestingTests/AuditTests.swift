import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct AuditTests {
    private func rules(
        _ request: some Request & Sendable,
        _ change: (inout NetworkConfig) -> Void = { _ in }
    ) async throws -> [AuditFinding.Rule] {
        var config = NetworkConfig(baseURL: "http://api.example", environment: [:])
        change(&config)
        let agent = Agent(config: config, transport: StubTransport())
        let findings = try await agent.audit(request)
        for finding in findings { #expect(finding.description.hasPrefix("\(finding.request): \(finding.reason)")) }
        return findings.map(\.rule)
    }

    private let request = GeneralRequest("/users/7")

    @Test func aCommonRequestHasNoFinding() async throws {
        #expect(try await rules(request).isEmpty)
        #expect(try await rules(GeneralRequest("/users/6F9619FF-8B86-D011-B42D-00C04FC964FF").method(.post)).isEmpty)
        #expect(try await rules(GeneralRequest("/files/d41d8cd98f00b204e9800998ecf8427e")).isEmpty)
    }

    @Test func aRepeatedPostNeedsAKey() async throws {
        let post = request.method(.post).retryPolicy(RetryPolicy(maximumAttempts: 3))
        #expect(try await rules(post) == [.retryWithoutKey])
        #expect(try await rules(post.idempotencyKey(.automatic)).isEmpty)
        #expect(try await rules(post.retryPolicy(.never)).isEmpty)
        #expect(try await rules(request.method(.post)).isEmpty)
    }

    @Test func aSecretInAPathIsMarked() async throws {
        let token = "Zk3x9QpLw7VbNm2RtY5s"
        #expect(try await rules(GeneralRequest("/bot/\(token)/send")) == [.secretInPath])
        #expect(try await rules(GeneralRequest("/bot/\(secret: token)/send")).isEmpty)
        #expect(try await rules(GeneralRequest("/token/abc12345")) == [.secretInPath])
    }

    @Test(arguments: [
        "/auth/login", "/token/refresh", "/session/7", "/code/DE", "/auth/v2", "/pin/board", "/token/abc",
        "/articles/how-to-train-your-dragon-2", "/files/2024-annual-report-final.pdf",
        "/events/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    ])
    func aNameOrASlugIsNoSecret(_ path: String) async throws {
        #expect(try await rules(GeneralRequest<DataFormatter>(path, formatter: DataFormatter())).isEmpty)
    }

    @Test(arguments: [
        ("localhost:8080", true), ("127.0.0.1", true), ("[::1]:80", true), ("[0:0:0:0:0:0:0:1]", true),
        ("a.localhost", true), ("evillocalhost", false), ("localhost.evil.example", false), ("127.evil.example", false),
        ("[::10]", false), ("[2001:db8::1]", false), ("0.0.0.0", false),
    ])
    func onlyLoopbackNeedsNoTLS(_ host: String, _ isLoopback: Bool) async throws {
        let baseURL = try #require(URL(string: "http://\(host)"))
        let found = try await rules(request.authorization(.bearer("t"))) { $0.baseURL = BaseURL(baseURL) }
        #expect(found == (isLoopback ? [] : [.credentialsOverHTTP]))
    }

    @Test func credentialsNeedTLS() async throws {
        let authorized = request.authorization(.bearer("t"))
        #expect(try await rules(authorized) == [.credentialsOverHTTP])
        #expect(try await rules(request.query(["access_token": "t"])) == [.credentialsOverHTTP])
        #expect(try await rules(authorized) { $0.baseURL = "https://api.example" }.isEmpty)
        #expect(try await rules(authorized) { $0.baseURL = "http://localhost:8080" }.isEmpty)
    }

    @Test func limitsFitEachOther() async throws {
        #expect(try await rules(request.timeout(.seconds(30)).deadline(.seconds(10))) == [.deadlineBelowTimeout])
        #expect(try await rules(request.deadline(.seconds(10))).isEmpty)
    }

    @Test func whatAnAgentReportsIsFound() async throws {
        #expect(try await rules(request.cachePolicy(.cacheElseNetwork(maxAge: .seconds(60)))) == [.diagnostic])
        let key = request.duplicatePolicy(.cancelPrevious).duplicateKey("search")
        #expect(try await rules(key).isEmpty)
        #expect(try await rules(key) { $0.adapters = [Stamp()] } == [.duplicateKeyOfAllUsers])
    }

    @Test func whatCannotBeSentIsFound() async throws {
        #expect(try await rules(request.body(.text("a"))) == [.invalid])
    }

    @Test func severalRequestsAreAuditedAtOnce() async throws {
        let agent = Agent(config: NetworkConfig(baseURL: "https://api.example"), transport: StubTransport())
        let findings = try await agent.audit(GetUser(id: 1), request.body(.text("a")), DeleteUser(id: 2))
        #expect(findings.map(\.request) == ["GeneralRequest"])
    }
}

/// An adapter whose user the library does not know.
private struct Stamp: RequestAdapter {
    func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {}
}
