#if os(Linux)
import Errand
import ErrandCurl
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// OpenSSL's cleanup at exit does not run: other threads may still be using what it would free.
@Suite(.limit(seconds: 60), .enabled(if: dlsym(nil, "OPENSSL_atexit") != nil, "libcurl has another TLS library"))
struct ExitTests {
    @Test func openSSLDoesNotCleanUpWhileTheProcessExits() async {
        await #expect(processExitsWith: .exitCode(3)) {
            let transport = URLSessionTransport()
            typealias Register = @convention(c) (@convention(c) () -> Void) -> Int32
            let register = unsafeBitCast(try #require(dlsym(nil, "OPENSSL_atexit")), to: Register.self)
            #expect(register { _exit(4) } == 1)
            withExtendedLifetime(transport) { exit(3) }
        }
    }

    @Test func openSSLDoesNotCleanUpIfURLSessionHasInitializedIt() async {
        await #expect(processExitsWith: .exitCode(3)) {
            let session = URLSession(configuration: .ephemeral)
            let transport = CurlTransport()
            typealias Register = @convention(c) (@convention(c) () -> Void) -> Int32
            let register = unsafeBitCast(try #require(dlsym(nil, "OPENSSL_atexit")), to: Register.self)
            #expect(register { _exit(4) } == 1)
            withExtendedLifetime((session, transport)) { exit(3) }
        }
    }
}

/// Processes that exit during handshakes; without ``SessionPlatform/prepareForExit()`` every fifth of them crashed.
@Suite(.serialized, .enabled(if: TLSRig.folder != nil, needsTrust), .timeLimit(.minutes(6)))
struct TLSExitTests {
    @Test func processExitsDuringHandshakes() async throws {
        let servers = try TLSServers(in: #require(TLSRig.folder))
        let url = try servers.url("good").absoluteString
        for round in 0..<20 {
            await #expect(processExitsWith: .success, "after \(round) ms") {
                [url = url as String, round = round as Int] in
                let agent = Agent(config: NetworkConfig())
                // Each on a connection of its own.
                for _ in 0..<6 {
                    _ = agent.start(GeneralRequest(url).method(.post).expecting(Data.self))
                }
                usleep(UInt32(round * 1_000))
                exit(0)
            }
        }
    }
}
#endif
