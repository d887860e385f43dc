#if os(Linux)
import Errand
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

/// What TLS connections of the transport on libcurl cost.
@Suite(
    .timing,
    .serialized,
    .enabled(if: TLSRig.obstacleToServers == nil, "\(TLSRig.obstacleToServers ?? "")"),
    .timeLimit(.minutes(2))
)
struct CurlTLSTimingTests {
    private let folder: URL
    private let servers: TLSServers

    init() async throws {
        folder = try await TLSRig.onThread { try TLSRig.madeFolder() }
        servers = try await TLSRig.onThread { [folder] in try TLSServers(in: folder) }
    }

    /// The processor time of this process in seconds.
    private static var processorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// The servers' authority is none of the system's, so that each handshake ends where it looks for it.
    @Test func theSystemsAuthoritiesAreReadForTheFirstConnectionOnly() async throws {
        let transport = try CurlTransport(configuration: .init(trust: .system, proxy: .none))
        let request = OutgoingRequest(url: try servers.url("good"))
        func connect() async {
            await #expect(throws: NetworkError.self) {
                _ = try await transport.send(request, options: TransportOptions())
            }
        }
        await connect()
        let before = Self.processorTime
        for _ in 0..<20 { await connect() }
        let each = (Self.processorTime - before) / 20
        #expect(each < 0.004, "\(each) s")
    }

    @Test func anUploadThatWaitsForTheServersWindowUsesNoProcessorTime() async throws {
        let trust = CurlTransport.Configuration.Trust.file(path: folder.appending(path: "ca.pem").path)
        let transport = try CurlTransport(configuration: .init(trust: trust, proxy: .none))
        let body = OutgoingBody.data(Data(count: 1 << 20))
        let request = OutgoingRequest(method: .post, url: try servers.url("no window"), body: body)
        let (before, began) = (Self.processorTime, ContinuousClock.now)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await transport.send(request, options: TransportOptions(idleTimeout: .seconds(3)))
        }
        #expect(error?.kind == .timedOut)
        let share = (Self.processorTime - before) / ((ContinuousClock.now - began) / .seconds(1))
        #expect(share < 0.05, "\(share)")
    }
}
#endif
