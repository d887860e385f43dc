#if os(Linux)
import Errand
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

/// Trust, pins and client certificates of the transport on libcurl, against servers in Python.
@Suite(
    .serialized,
    .enabled(if: TLSRig.obstacleToServers == nil, "\(TLSRig.obstacleToServers ?? "")"),
    .timeLimit(.minutes(6))
)
struct CurlTLSTests {
    private let folder: URL
    private let servers: TLSServers

    init() async throws {
        folder = try await TLSRig.onThread { try TLSRig.madeFolder() }
        servers = try await TLSRig.onThread { [folder] in try TLSServers(in: folder) }
    }

    private func file(_ name: String) throws -> Data { try Data(contentsOf: folder.appending(path: name)) }

    private func status(
        _ server: String,
        _ change: (inout CurlTransport.Configuration) throws -> Void = { _ in }
    ) async throws -> Int {
        var configuration = CurlTransport.Configuration(trust: .pem(try file("ca.pem")))
        try change(&configuration)
        let request = OutgoingRequest(url: try servers.url(server))
        let options = TransportOptions(idleTimeout: .seconds(10))
        return try await CurlTransport(configuration: configuration).send(request, options: options).statusCode
    }

    @Test func eachBadServerIsRefusedForItsOwnReason() async throws {
        let rows: [(String, NetworkError.Reason)] =
            TLSFailureTests.reasons + [
                ("old", .tlsHandshakeFailed("the server supports no TLS version that this system allows"))
            ]
        for (name, reason) in rows {
            let error = await #expect(throws: NetworkError.self, "\(name)") { try await status(name) }
            #expect(TLSFailureTests.allows(error, name, reason), "\(name)")
        }
        #expect(try await status("good") == 200)
    }

    @Test func anAuthorityIsTrustedFromBytesAndFromAFileAndTheSystemsAreNot() async throws {
        #expect(try await status("good") { $0.trust = .file(path: folder.appending(path: "ca.pem").path) } == 200)
        let error = await #expect(throws: NetworkError.self) { try await status("good") { $0.trust = .system } }
        #expect(error?.kind == .insecureConnection)
        let stranger = await #expect(throws: NetworkError.self) {
            try await status("good") { $0.trust = .pem(try file("stranger.pem")) }
        }
        #expect(stranger?.reason == .certificateRefused("its issuer is not known"))
    }

    /// It is read once, and not for each connection.
    @Test func aTrustedFileIsReadAgainWhenItChanges() async throws {
        let own = FileManager.default.temporaryDirectory.appending(path: "errand-trust-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: own) }
        try file("ca.pem").write(to: own)
        let transport = try CurlTransport(configuration: .init(trust: .file(path: own.path)))
        let request = OutgoingRequest(url: try servers.url("good"))
        for _ in 0..<2 { #expect(try await transport.send(request, options: TransportOptions()).statusCode == 200) }
        try file("stranger.pem").write(to: own, options: .atomic)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, options: TransportOptions())
        }
        #expect(error?.reason == .certificateRefused("its issuer is not known"))
        try file("ca.pem").write(to: own, options: .atomic)
        #expect(try await transport.send(request, options: TransportOptions()).statusCode == 200)
        try FileManager.default.removeItem(at: own)
        let missing = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, options: TransportOptions())
        }
        #expect(missing?.reason == .certificateRefused("the certificates to trust cannot be read"))
    }

    @Test(.enabled(if: TLSRig.obstacle == nil, "\(TLSRig.obstacle ?? "")"))
    func http2WithoutTLSCarriesOneRequestAfterAnother() async throws {
        // Free a moment ago.
        let free = try MockServer()
        let port = free.port
        free.stop()
        let nginx = try Nginx(in: folder, upstream: 9, locations: "listen 127.0.0.1:\(port) http2;")
        defer { nginx.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/ready"))
        let transport = try CurlTransport(configuration: .init(httpVersion: .http2))
        for _ in 0..<200 {
            guard (try? await transport.send(OutgoingRequest(url: url), options: TransportOptions())) == nil else {
                break
            }
            try await Task.sleep(for: .milliseconds(25))
        }
        for _ in 0..<3 {
            let response = try await transport.send(OutgoingRequest(url: url), options: TransportOptions())
            #expect(response.statusCode == 204 && response.connection?.protocolName == "h2c")
        }
    }

    @Test func onlyAPinnedKeyIsAccepted() async throws {
        let command =
            "openssl x509 -in good.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary"
        let pin = try await TLSRig.onThread { [folder] in try TLSRig.output(of: ["sh", "-c", command], in: folder) }
        #expect(pin.count == 32)
        #expect(try await status("good") { $0.pinnedKeys = [Data(count: 32), pin] } == 200)
        let error = await #expect(throws: NetworkError.self) {
            try await status("good") { $0.pinnedKeys = [Data(count: 32)] }
        }
        #expect(error?.reason == .certificateRefused("its public key is none of those that are pinned"))
    }

    @Test(arguments: ["trust", "pinnedKeys"])
    func nothingIsSentIfLibcurlDoesNotAcceptWhatMustHold(_ property: String) async throws {
        // Longer than any option may be, as if libcurl did not have it.
        let error = await #expect(throws: NetworkError.self) {
            try await status("good") {
                if property == "trust" {
                    $0.trust = .pem(try file("ca.pem") + Data(repeating: UInt8(ascii: "\n"), count: 8_000_000))
                } else {
                    $0.pinnedKeys = Array(repeating: Data(count: 32), count: 160_000)
                }
            }
        }
        #expect(error?.kind == .insecureConnection)
        #expect(error?.description.contains("does not accept `\(property)` of the transport's configuration") == true)
    }

    @Test func aClientCertificateIsPresented() async throws {
        let certificate = CurlTransport.Configuration.ClientCertificate(
            certificate: try file("client.pem"),
            key: try file("client.key")
        )
        #expect(try await status("client certificate") { $0.clientCertificate = certificate } == 200)
        var wrong = certificate
        wrong.key = try file("good.key")
        let error = await #expect(throws: NetworkError.self) {
            try await status("client certificate") { $0.clientCertificate = wrong }
        }
        #expect(
            error?.description.contains("the client certificate or its key cannot be used; check the passphrase")
                == true
        )
    }

    @Test func anEncryptedKeyNeedsItsPassphrase() async throws {
        for format in ["pkcs8 -topk8 -v2 aes128", "rsa -aes128 -traditional", "ec -aes128"] {
            let command = "openssl \(format) -in client.key -passout pass:secret 2>/dev/null || true"
            let key = try await TLSRig.onThread { [folder] in
                try TLSRig.output(of: ["sh", "-c", command], in: folder)
            }
            // The key is either one of RSA or one of an elliptic curve.
            guard !key.isEmpty else { continue }
            var certificate = CurlTransport.Configuration.ClientCertificate(
                certificate: try file("client.pem"),
                key: key,
                passphrase: "secret"
            )
            #expect(try await status("client certificate") { $0.clientCertificate = certificate } == 200)
            certificate.passphrase = "other"
            let error = await #expect(throws: NetworkError.self) {
                try await status("client certificate") { $0.clientCertificate = certificate }
            }
            #expect(
                error?.description.contains("the client certificate or its key cannot be used; check the passphrase")
                    == true
            )
            certificate.passphrase = nil
            let invalid = await #expect(throws: CurlTransport.Configuration.Invalid.self) {
                try await status("client certificate") { $0.clientCertificate = certificate }
            }
            #expect(invalid?.description == "clientCertificate: the key is encrypted; pass its passphrase")
        }
    }

    @Test func aServerBelowTheFloorIsRefused() async throws {
        #expect(try await status("1.2") == 200)
        let error = await #expect(throws: NetworkError.self) {
            try await status("1.2") { $0.minimumTLSVersion = .tls13 }
        }
        #expect(error?.kind == .insecureConnection)
    }
}

/// Which authorities are trusted where one is in the system's folder of certificates only; run by ``TLSTests``.
@Suite(.serialized, .enabled(if: TLSRig.folder != nil, needsTrust), .timeLimit(.minutes(6)))
struct CurlTrustTests {
    private let folder: URL
    private let servers: TLSServers

    init() throws {
        folder = try #require(TLSRig.folder)
        servers = try TLSServers(in: folder)
    }

    private func error(
        of server: String,
        through proxy: String? = nil,
        trust: CurlTransport.Configuration.Trust
    ) async throws -> NetworkError? {
        var configuration = CurlTransport.Configuration(trust: trust, proxy: .none)
        if let proxy {
            let port = try #require(servers.ports[proxy])
            configuration.proxy = .url("https://localhost:\(port)")
        }
        let transport = try CurlTransport(configuration: configuration)
        let request = OutgoingRequest(url: try servers.url(server))
        let options = TransportOptions(idleTimeout: .seconds(10))
        do {
            _ = try await transport.send(request, options: options)
            return nil
        } catch let error as NetworkError {
            return error
        }
    }

    private func authorities() throws -> [CurlTransport.Configuration.Trust] {
        let file = folder.appending(path: "ca.pem")
        return [.pem(try Data(contentsOf: file)), .file(path: file.path)]
    }

    @Test func theSystemsFolderIsNotTrustedBesideAnAuthority() async throws {
        #expect(try await error(of: "folder", trust: .system) == nil)
        for trust in try authorities() {
            #expect(try await error(of: "good", trust: trust) == nil)
            let error = try await error(of: "folder", trust: trust)
            #expect(error?.reason == .certificateRefused("its issuer is not known"))
        }
    }

    @Test func theSystemsFolderIsNotTrustedForAProxyBesideAnAuthority() async throws {
        // The proxy refuses to connect, once it is trusted.
        let refused = NetworkError.Reason.proxyRefused(statusCode: 502)
        #expect(try await error(of: "good", through: "folder proxy", trust: .system)?.reason == refused)
        for trust in try authorities() {
            #expect(try await error(of: "good", through: "good proxy", trust: trust)?.reason == refused)
            let error = try await error(of: "good", through: "folder proxy", trust: trust)
            #expect(error?.reason == .certificateRefused("its issuer is not known"))
        }
    }
}
#endif
