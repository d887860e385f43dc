import ErrandCurl
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Runs the suites of TLS and HTTP/2 in a process that trusts their certificates.
@Suite(
    .enabled(if: TLSRig.obstacle == nil && TLSRig.folder == nil, "\(TLSRig.obstacle ?? "")"),
    .timeLimit(.minutes(20))
)
struct TLSTests {
    @Test(arguments: [
        "TLSFailureTests", "CurlTrustTests", "HTTP2UploadTests", "HTTP2StreamTests", "HTTP2RefusalTests",
        "TLSExitTests",
    ])
    func suitePassesInAProcessThatTrustsItsCertificates(_ suite: String) async throws {
        // The process is waited for on a thread of its own.
        let result = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try TLSRig.runTrusting(suite: suite) }) }
        }
        let output = result.output.split(separator: "\n").filter { $0.contains("✘") || $0.contains("HTTP/2 ") }
        print(output.joined(separator: "\n"))
        #expect(result.status == 0, "\(result.output.suffix(3000))")
        #expect(result.output.contains("Suite \(suite) passed"))
    }
}

let needsTrust: Comment = "run by TLSTests in a process of its own"

/// The error of a failure in TLS, in HTTP/2 or of a proxy.
@Suite(.serialized, .enabled(if: TLSRig.folder != nil, needsTrust), .timeLimit(.minutes(6)))
struct TLSFailureTests {
    private let servers: TLSServers
    private let late: LateFailures

    init() throws {
        servers = try TLSServers(in: #require(TLSRig.folder), adding: TLSServers.endings)
        late = LateFailures(servers: servers)
    }

    static let reasons: [(String, NetworkError.Reason)] = [
        ("expired", .certificateRefused("it has expired")),
        ("future", .certificateRefused("it is not valid yet")),
        ("self", .certificateRefused("it is self-signed")),
        ("unknown", .certificateRefused("its issuer is not known")),
        ("wrongname", .certificateRefused("it is for another host")),
        ("weak", .certificateRefused("its key or its signature is too weak")),
        ("plain", .tlsHandshakeFailed("the server does not use TLS on this port; is it an http port?")),
        ("client certificate", .tlsHandshakeFailed("the server requires a client certificate, and there is none")),
        ("handshake closed", .closedWithoutResponse),
        ("handshake reset", .connectionReset),
        ("closed", .closedWithoutResponse),
        ("stream reset", .connectionReset),
        ("stream cancelled", .connectionReset),
        ("stream reset in body", .closedInBody),
        ("goaway", .connectionReset),
    ]

    /// Whether an error is as listed.
    ///
    /// Newer versions of libcurl try a connection five times that ends with GOAWAY.
    static func allows(_ error: NetworkError?, _ name: String, _ reason: NetworkError.Reason) -> Bool {
        error?.reason == reason || name == "goaway" && error?.reason == .sendFailed
    }

    @Test
    func eachFailureHasItsReason() async throws {
        let transport = TransportUnderTest.make()
        for (name, reason) in Self.reasons {
            let request = OutgoingRequest(url: try servers.url(name))
            let error = await #expect(throws: NetworkError.self, "\(name)") {
                _ = try await transport.send(request, options: TransportOptions(idleTimeout: .seconds(10)))
            }
            #expect(Self.allows(error, name, reason), "\(name): \(String(describing: error))")
        }
        let good = try await transport.send(OutgoingRequest(url: servers.url("good")), options: TransportOptions())
        #expect(good.statusCode == 200)
    }

    @Test(arguments: ["damaged", "damaged body"])
    func aRecordThatCannotBeDecryptedIsALostConnection(_ server: String) async throws {
        try await late.aDamagedRecordIsALostConnection(server, over: TransportUnderTest.make())
    }

    @Test func aHeaderSectionThatIsTooLargeIsSentForOnce() async throws {
        try await late.aLargeHeaderSectionIsSentForOnce("many fields", isLater: false, over: TransportUnderTest.make())
    }

    @Test func oneLostConnectionCountsOnceInTheRetryBudget() async throws {
        try await late.oneLostConnectionCountsOnce(over: TransportUnderTest.make())
    }

    @Test func aServerThatLosesEachConnectionGetsFewRetries() async throws {
        try await late.aServerThatLosesEachConnectionGetsFewRetries(over: TransportUnderTest.make())
    }

    #if os(Linux)
    /// The median time of ten, in which 19 of 40 requests are sent again on a new connection.
    @Test func aGoawayToManyRequestsDelaysThemAsLittleAsWithURLSession() async throws {
        var times: [[Duration]] = [[], []]
        for round in 0..<20 {
            let transport: any Transport = round % 2 == 0 ? URLSessionTransport() : CurlTransport()
            times[round % 2].append(try await late.timeOfGoaway("leaving \(round)", over: transport))
        }
        let medians = times.map { $0.sorted()[5] }
        print("HTTP/2 goaway: \(medians[0]) over URLSession, \(medians[1]) over libcurl")
        #expect(medians[1] < medians[0] * 1.5)
    }
    #endif

    @Test
    func handshakeThatIsCutIsRetried() async throws {
        let config = NetworkConfig(retryPolicy: RetryPolicy(maximumAttempts: 2, baseDelay: .zero))
        let request = GeneralRequest(try servers.url("first handshake closed").absoluteString).expecting(String.self)
        let response = try await Agent(config: config).response(for: request)
        #expect(response.model == "ok")
        #expect(response.metrics.attempts.count == 2)
    }

    @Test(arguments: [
        ("proxy 407", NetworkError.Reason.proxyRefused(statusCode: 407)),
        ("proxy 502", .proxyRefused(statusCode: 502)),
        ("proxy closed", .closedWithoutResponse),
    ])
    func rejectionByAProxyHasItsReason(_ name: String, _ reason: NetworkError.Reason) async throws {
        let port = try #require(servers.ports[name])
        // Nothing else runs in this process.
        setenv("https_proxy", "http://127.0.0.1:\(port)", 1)
        defer { unsetenv("https_proxy") }
        let request = OutgoingRequest(url: try servers.url("good"))
        let error = await #expect(throws: NetworkError.self) {
            _ = try await TransportUnderTest.make().send(request, options: TransportOptions(idleTimeout: .seconds(10)))
        }
        #expect(error?.reason == reason, "\(String(describing: error?.underlying))")
    }

    /// A body that is given as data cannot be read again by URLSession: the transport sends the request anew.
    @Test(arguments: ["stale", "stale after body"], [HTTPMethod.put, .post])
    func bodyIsSentCompletelyOrNotAgainWhenAKeptConnectionDies(_ server: String, _ method: HTTPMethod) async throws {
        let transport = TransportUnderTest.make(maximumConnectionsPerHost: 1)
        var failures = 0
        for round in 0..<10 {
            for part in ["first", "second"] {
                let url = try servers.url(server, path: "/\(round)/\(part)")
                let body = Data("round \(round) \(part)".utf8) + Data(count: round * 20_000)
                let request = OutgoingRequest(method: method, url: url, body: .data(body))
                for attempt in 1...5 {
                    do {
                        let options = TransportOptions(idleTimeout: .seconds(10))
                        #expect(try await transport.send(request, options: options).statusCode == 200)
                        break
                    } catch let error as NetworkError where method == .post || attempt < 5 {
                        // The connection may also break in the middle of the content, which is an error for a PUT too.
                        #expect(error.kind == .connectionLost, "\(error)")
                        if method == .put { continue }
                        failures += 1
                        break
                    }
                }
            }
        }
        let url = try servers.url(server, path: "/bodies")
        let log = try await TransportUnderTest.make().send(OutgoingRequest(url: url), options: TransportOptions())
        let bodies = try JSONDecoder().decode([String: Int].self, from: await log.body.collect(upTo: 1 << 20))
        // One content for each path: no body is cut or mixed with another.
        #expect(Set(bodies.keys.map { $0.prefix { $0 != " " } }).count == bodies.count)
        if method == .post {
            #expect(failures > 0)
            #expect(bodies.values.allSatisfy { $0 == 1 })
        } else {
            #expect(bodies.count == 20)
            #expect(bodies.values.allSatisfy { $0 <= 2 })
        }
    }
}
