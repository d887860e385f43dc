#if os(Linux)
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Failures of TLS and HTTP/2 after the handshake, over libcurl.
@Suite(
    .serialized,
    .enabled(if: TLSRig.obstacleToServers == nil, "\(TLSRig.obstacleToServers ?? "")"),
    .timeLimit(.minutes(6))
)
struct CurlTLSFailureTests {
    private let folder: URL
    private let failures: LateFailures

    init() async throws {
        folder = try await TLSRig.onThread { try TLSRig.madeFolder() }
        let servers = try await TLSRig.onThread { [folder] in
            try TLSServers(in: folder, adding: TLSServers.endings)
        }
        failures = LateFailures(servers: servers)
    }

    private func transport(_ change: (inout CurlTransport.Configuration) -> Void = { _ in }) throws -> CurlTransport {
        try CurlTransport.make {
            $0.trust = .file(path: folder.appending(path: "ca.pem").path)
            $0.proxy = .none
            change(&$0)
        }
    }

    @Test(arguments: ["damaged", "damaged body"])
    func aRecordThatCannotBeDecryptedIsALostConnection(_ server: String) async throws {
        try await failures.aDamagedRecordIsALostConnection(server, over: transport())
    }

    @Test(arguments: ["many fields", "large field"], [false, true])
    func aHeaderSectionThatIsTooLargeIsSentForOnce(_ server: String, isLater: Bool) async throws {
        try await failures.aLargeHeaderSectionIsSentForOnce(server, isLater: isLater, over: transport())
    }

    @Test func oneLostConnectionCountsOnceInTheRetryBudget() async throws {
        try await failures.oneLostConnectionCountsOnce(over: transport())
    }

    @Test func aServerThatLosesEachConnectionGetsFewRetries() async throws {
        try await failures.aServerThatLosesEachConnectionGetsFewRetries(over: transport())
    }

    @Test func aRefusedPostIsNotSaidToHaveTakenEffect() async throws {
        let agent = Agent(config: NetworkConfig(), transport: try transport())
        let url = try failures.servers.url("refusing").absoluteString
        try await agent.send(GeneralRequest(url).expecting(Void.self))
        let error = await #expect(throws: NetworkError.self) {
            try await agent.send(GeneralRequest(url).method(.post).body(.text("x")).expecting(Void.self))
        }
        #expect(error?.description.contains("twice") == false)
        #expect(error?.description.contains("a retry of a POST needs an idempotencyKey") == true)
        #expect(try await failures.servers.requestCount("refusing", over: agent.pipeline.transport) == 2)
        // One that may be repeated is.
        let key = GeneralRequest(url).method(.put).body(.text("x")).expecting(Void.self)
        try await agent.send(key)
    }

    /// The alert of TLS 1.3 races with the request: the first of them that libcurl notices differs.
    @Test(arguments: ["certificate", "certificate h2"], [false, true])
    func aClientCertificateThatIsMissingOrRefusedHasOneReason(_ server: String, isRefused: Bool) async throws {
        let transport = try transport {
            guard isRefused, let certificate = try? Data(contentsOf: folder.appending(path: "unknown.pem")),
                let key = try? Data(contentsOf: folder.appending(path: "unknown.key"))
            else { return }
            $0.clientCertificate = .init(certificate: certificate, key: key)
        }
        let config = NetworkConfig(retryPolicy: RetryPolicy(maximumAttempts: 3, baseDelay: .zero))
        let agent = Agent(config: config, transport: transport)
        let url = try failures.servers.url(server).absoluteString
        var reasons: Set<NetworkError.Reason> = []
        var texts: Set<String> = []
        for number in 0..<40 {
            var request = GeneralRequest(url)
            if number % 2 == 1 { request = request.method(.put).body(.text(String(repeating: "x", count: 100_000))) }
            let sent = request.expecting(Void.self)
            let error = await #expect(throws: NetworkError.self) { try await agent.send(sent) }
            if let error {
                reasons.insert(error.reason)
                texts.insert("\(error) \(String(describing: error.underlying))")
            }
        }
        let words = isRefused ? "the server rejected the client certificate" : CurlMessage.needsClientCertificate
        #expect(reasons == [.tlsHandshakeFailed(words)], "\(texts.sorted().joined(separator: "\n"))")
        #expect(try await failures.servers.requestCount(server, over: transport) == 40)
    }
}
#endif
