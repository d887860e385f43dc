#if os(Linux)
import Errand
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

/// How the transport on libcurl makes, uses and closes connections.
@Suite(.limit(seconds: 120))
struct CurlConnectionTests {
    @Test func connectionMetricsSayWhatWasMadeAndWhatWasReused() async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/x", .json("{}"))
        let agent = Agent(config: NetworkConfig(baseURL: server.baseURL), transport: CurlTransport())
        let first = try await agent.response(for: GeneralRequest("/x").expecting(Data.self))
        let second = try await agent.response(for: GeneralRequest("/x").expecting(Data.self))
        let made = try #require(first.metrics.attempts.first?.connection)
        let reused = try #require(second.metrics.attempts.first?.connection)
        #expect(!made.isReused && made.connect != nil && made.tls == nil)
        #expect(reused.isReused && reused.connect == nil && reused.nameLookup == nil)
        #expect(made.protocolName == "http/1.1")
        #expect(made.remoteAddress == "127.0.0.1:\(server.port)")
        #expect(made.sentByteCount > 20 && made.receivedByteCount > 20)
    }

    @Test func addressesReplaceTheLookupOfAHost() async throws {
        let server = try RawServer { .ok }
        defer { server.stop() }
        let transport = try CurlTransport.make {
            $0.addresses = [
                "Shop.example": ["127.0.0.1"], "pay.example.": ["127.0.0.1"], "bücher.example": ["127.0.0.1"],
            ]
        }
        let hosts = [
            "shop.example", "shop.example.", "pay.example", "pay.example.", "xn--bcher-kva.example", "bücher.example",
        ]
        for host in hosts {
            let url = try #require(URL(string: "http://\(host):\(server.port)/a"))
            #expect(try await transport.get(url).statusCode == 200)
        }
        #expect(server.requests[0].contains("\r\nHost: shop.example:\(server.port)\r\n"))
    }

    @Test func aUnixSocketServesEveryHost() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).sock").path
        let server = try RawServer(path: path) { .ok }
        defer {
            server.stop()
            unlink(path)
        }
        let transport = try CurlTransport.make { $0.unixSocket = path }
        let url = try #require(URL(string: "http://docker/containers"))
        #expect(try await transport.get(url).statusCode == 200)
        #expect(server.requests[0].hasPrefix("GET /containers HTTP/1.1\r\nHost: docker\r\n"))
    }

    @Test func connectionsAreMadeFromAnInterface() async throws {
        let server = try RawServer { .ok }
        defer { server.stop() }
        let transport = try CurlTransport.make { $0.interface = "127.0.0.9" }
        #expect(try await transport.get(server.url).statusCode == 200)
        let wrong = try CurlTransport.make { $0.interface = "no-such-interface" }
        let error = await #expect(throws: NetworkError.self) { try await wrong.get(server.url) }
        #expect(error?.description.contains("interface") == true)
    }

    @Test func aProxyIsAskedForAllHostsButThoseItIsBypassedFor() async throws {
        let (server, proxy) = (try RawServer { .ok }, try RawServer { .ok })
        defer {
            server.stop()
            proxy.stop()
        }
        let address = "http://127.0.0.1:\(proxy.port)"
        let transport = try CurlTransport.make {
            $0.proxy = .url(address, user: "ada", password: "p:w@d", bypass: ["127.0.0.1"])
        }
        _ = try await transport.get(server.url)
        #expect(proxy.requests.isEmpty && server.requests.count == 1)
        let url = try #require(URL(string: "http://shop.example/a"))
        _ = try await transport.get(url)
        let sent = try #require(proxy.requests.first)
        #expect(sent.hasPrefix("GET http://shop.example/a HTTP/1.1\r\n"))
        #expect(sent.contains("\r\nProxy-Authorization: Basic \(Data("ada:p:w@d".utf8).base64EncodedString())\r\n"))
        // One handle sends both.
        _ = try await transport.get(server.url)
        _ = try await transport.get(url)
        #expect(proxy.requests.count == 2 && server.requests.count == 2)
    }

    @Test func fieldsThatDifferOnlyInHowALetterIsWrittenAreSentAsTheyAre() async throws {
        let server = try RawServer { .ok }
        defer { server.stop() }
        let transport = CurlTransport()
        let values = ["\u{E9}", "e\u{301}", "\u{212B}", "\u{C5}"]
        for value in values { _ = try await transport.get(server.url, ["X-Name": value]) }
        let sent = server.requests.map { request in
            request.split(separator: "\r\n").first { $0.hasPrefix("X-Name: ") }.map { Array($0.utf8.dropFirst(8)) }
                ?? []
        }
        #expect(sent == values.map { Array($0.utf8) })
    }

    @Test func aProxyThatIsDownIsNotReportedAsTheOrigin() async throws {
        let transport = try CurlTransport.make { $0.proxy = .url("http://127.0.0.1:1", bypass: ["127.0.0.1"]) }
        for (text, reason) in [
            ("http://shop.example/", NetworkError.Reason.proxyConnectionRefused),
            ("https://shop.example/", .proxyConnectionRefused), ("http://127.0.0.1:1/", .connectionRefused),
        ] {
            let url = try #require(URL(string: text))
            let error = await #expect(throws: NetworkError.self, "\(text)") { try await transport.get(url) }
            #expect(error?.reason == reason, "\(text)")
        }
    }

    @Test func aSocketThatDoesNotExistIsNamed() async throws {
        let transport = try CurlTransport.make { $0.unixSocket = "/run/no-such.sock" }
        let url = try #require(URL(string: "http://docker/"))
        let error = await #expect(throws: NetworkError.self) { try await transport.get(url) }
        #expect(error?.reason == .connectionRefused)
        #expect(error?.description.contains("/run/no-such.sock: No such file") == true)
    }

    @Test func anIPv6LiteralIsReached() async throws {
        let request = GeneralRequest("http://[::1]:1/")
        let error = await #expect(throws: NetworkError.self) {
            try await Agent(config: NetworkConfig(), transport: CurlTransport()).send(request)
        }
        #expect(error.map { [.connectionRefused, .noConnection].contains($0.reason) } == true)
        let clear = await #expect(throws: NetworkError.self) {
            try await Agent(config: NetworkConfig(), transport: URLSessionTransport()).send(request)
        }
        #expect(clear?.kind == .invalidRequest)
        #expect(clear?.description.hasPrefix("GET [::1]:1/: the URL cannot be used: the host '[::1]:1' cannot") == true)
        #expect(clear?.description.hasSuffix("use a host name, or CurlTransport of ErrandCurl") == true)
    }

    @Test(arguments: [
        ("pinnedKeys", CurlTransport.Configuration(pinnedKeys: [Data("short".utf8)])),
        ("trust", CurlTransport.Configuration(trust: .file(path: "/no/such/file"))),
        ("trust", CurlTransport.Configuration(trust: .pem(Data("x".utf8)))),
        ("clientCertificate", CurlTransport.Configuration(clientCertificate: .init(certificate: Data(), key: Data()))),
        ("proxy", CurlTransport.Configuration(proxy: .url("proxy.example:3128"))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://ada:x@proxy.example:3128"))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example:3128/path"))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example:3128", password: "x"))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example:3128", user: "a:b"))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example:3128", bypass: ["*.example"]))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example:3128", bypass: ["10.0.0.1:80"]))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example:3128", bypass: ["10.0.0.0/33"]))),
        ("proxy", CurlTransport.Configuration(proxy: .url("http://proxy.example"))),
        ("proxy", CurlTransport.Configuration(proxy: .url("socks5://proxy.example:0"))),
        ("trust", CurlTransport.Configuration(trust: .file(path: "/etc/hostname"))),
        ("trust", CurlTransport.Configuration(trust: .file(path: "/tmp"))),
        ("unixSocket", CurlTransport.Configuration(unixSocket: "")),
        ("unixSocket", CurlTransport.Configuration(unixSocket: "/" + String(repeating: "a", count: 107))),
        ("maximumConnectionsPerHost", CurlTransport.Configuration(maximumConnectionsPerHost: 0)),
        ("maximumConnections", CurlTransport.Configuration(maximumConnections: 0)),
        ("maximumIdleConnections", CurlTransport.Configuration(maximumIdleConnections: 0)),
        ("addresses", CurlTransport.Configuration(addresses: ["a.example:80": ["127.0.0.1"]])),
        ("addresses", CurlTransport.Configuration(addresses: ["a.example": []])),
        ("addresses", CurlTransport.Configuration(addresses: ["a.example": ["localhost"]])),
        ("userAgent", CurlTransport.Configuration(userAgent: "a\r\nX: b")),
        ("idleConnectionLifetime", CurlTransport.Configuration(idleConnectionLifetime: .milliseconds(500))),
        ("connectionLifetime", CurlTransport.Configuration(connectionLifetime: .seconds(-1))),
    ])
    func aConfigurationThatCannotBeUsedIsRefused(_ property: String, _ configuration: CurlTransport.Configuration) {
        let error = #expect(throws: CurlTransport.Configuration.Invalid.self) {
            try CurlTransport(configuration: configuration)
        }
        #expect(error?.description.hasPrefix("\(property): ") == true)
    }

    @Test func identityDistinguishesUsersAndServersAndHoldsNoSecret() throws {
        func identity(_ change: (inout CurlTransport.Configuration) -> Void) throws -> String {
            var configuration = CurlTransport.Configuration()
            change(&configuration)
            return try CurlTransport(configuration: configuration).identity
        }
        func certificate(_ text: String) -> CurlTransport.Configuration.ClientCertificate {
            let key = Data("-----BEGIN PRIVATE KEY-----SECRET".utf8)
            return .init(certificate: Data("-----BEGIN CERTIFICATE-----\(text)".utf8), key: key, passphrase: "SECRET")
        }
        let identities = [
            try identity { $0.clientCertificate = certificate("ada") },
            try identity { $0.clientCertificate = certificate("bob") },
            try identity { $0.proxy = .url("http://proxy.example:3128", user: "ada", password: "SECRET") },
            try identity { $0.proxy = .url("http://proxy.example:3128", user: "bob") },
            try identity { $0.unixSocket = "/run/a.sock" }, try identity { $0.unixSocket = "/run/b.sock" },
            try identity { $0.addresses = ["api.example": ["10.0.0.1"]] },
            try identity { $0.addresses = ["api.example": ["10.0.0.2"]] },
        ]
        #expect(Set(identities).count == identities.count)
        #expect(!identities.contains { $0.isEmpty || $0.contains("SECRET") })
        let plain = try identity { ($0.httpVersion, $0.maximumConnections, $0.proxy) = (.http1, 1, .none) }
        #expect(plain.isEmpty)
    }

    @Test func sendsOneAfterTheOtherUseOneConnection() async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/x", .text("x"))
        server.on(.get, "/gap", .text("x").delayed(by: .milliseconds(2)))
        let transport = CurlTransport()
        // Most begin on this thread, while the transport's thread waits.
        for number in 0..<1_000 {
            let url = server.baseURL.appending(path: number.isMultiple(of: 50) ? "gap" : "x")
            let response = try await transport.get(url)
            #expect(response.connection?.isReused == (number > 0), "\(number)")
        }
    }

    @Test func anIdleTimeoutIsKeptByAThreadThatWaitsForLonger() async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/x", .text("x"))
        let quiet = try RawServer { RawServer.Reply("", isClosed: false) }
        defer { quiet.stop() }
        let transport = CurlTransport()
        _ = try await transport.get(server.baseURL.appending(path: "x"))
        // Without an exchange the thread waits for two seconds.
        try await Task.sleep(for: .milliseconds(100))
        let request = OutgoingRequest(url: quiet.url)
        let error = await #expect(throws: NetworkError.self) {
            try await transport.send(request, options: TransportOptions(idleTimeout: .milliseconds(200)))
        }
        #expect(error?.reason == .idleTimeout(.milliseconds(200)))
    }

    @Test func whatWaitsForAConnectionIsSentInOrderUnlessItEnds() async throws {
        let release = DispatchSemaphore(value: 0)
        let server = try MockServer { request in
            if request.path == "/0" { release.wait() }
            return .text(request.path)
        }
        defer {
            release.signal()
            server.stop()
        }
        let transport = try CurlTransport.make { $0.maximumConnectionsPerHost = 1 }
        func send(_ number: Int, _ idleTimeout: Duration = .seconds(50)) -> Task<Data?, any Error> {
            // Each begins on this thread, one after the other.
            Task.immediate {
                let request = OutgoingRequest(url: server.baseURL.appending(path: "\(number)"))
                let options = TransportOptions(idleTimeout: idleTimeout)
                return try await transport.send(request, options: options).body.whole
            }
        }
        let first = send(0)
        await server.waitForRequests(1)
        let impatient = send(1, .milliseconds(100))
        let cancelled = send(2)
        let others = (3..<12).map { number in send(number) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let error = await #expect(throws: NetworkError.self) { try await impatient.value }
        #expect(error?.reason == .idleTimeout(.milliseconds(100)))
        // Both have ended before the first one.
        #expect(server.requests.count == 1)
        release.signal()
        for (number, task) in zip([0] + (3..<12), [first] + others) {
            #expect(try await task.value == Data("/\(number)".utf8))
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.map(\.path) == ["/0"] + (3..<12).map { "/\($0)" })
    }

    // MARK: What is left

    @Test func transportsThatAreDroppedLeaveNoFileOpen() async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/x", .text("x").closingConnection())
        let count = ProcessInfo.processInfo.environment["ERRAND_AGENTS"].flatMap { Int($0) } ?? 200
        func agent() async throws {
            let agent = Agent(config: NetworkConfig(baseURL: server.baseURL), transport: CurlTransport())
            _ = try await agent.send(GeneralRequest("/x").expecting(Data.self))
        }
        for _ in 0..<20 { try await agent() }
        let before = openFiles
        for _ in 0..<count { try await agent() }
        let giveUp = ContinuousClock.now + .seconds(60)
        var left = openFiles
        while left > before + 40, ContinuousClock.now < giveUp {
            try await Task.sleep(for: .milliseconds(20))
            left = openFiles
        }
        // Not read again: other tests open files at the same time.
        #expect(left <= before + 40)
    }

    private var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }
}

extension CurlTransport {
    static func make(_ change: (inout Configuration) -> Void) throws -> CurlTransport {
        var configuration = Configuration()
        change(&configuration)
        return try CurlTransport(configuration: configuration)
    }

    func get(_ url: URL, _ headers: HTTPHeaders = [:]) async throws -> TransportResponse {
        try await send(OutgoingRequest(url: url, headers: headers), options: TransportOptions())
    }
}
#endif
