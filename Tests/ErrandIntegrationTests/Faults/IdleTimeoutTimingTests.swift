import Errand
import ErrandTesting
import Foundation
import Testing

/// Idle timeouts are kept to the millisecond, whoever else is watched and for how long.
@Suite(.timing, .serialized, .limit(seconds: 60))
struct IdleTimeoutTimingTests {
    @Test
    func eachExchangeEndsWithin100MillisecondsOfItsOwnTimeout() async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/hang", .text("x").faulted(.hang))
        let transport = TransportUnderTest.make(maximumConnectionsPerHost: 8)
        let request = OutgoingRequest(url: server.baseURL.appending(path: "hang"))
        await withTaskGroup { group in
            for milliseconds in [20_000, 900, 100, 500, 250, 1100] {
                group.addTask {
                    let timeout = Duration.milliseconds(milliseconds)
                    let began = ContinuousClock.now
                    _ = try? await transport.send(request, options: TransportOptions(idleTimeout: timeout))
                    let took = ContinuousClock.now - began
                    guard milliseconds < 20_000 else { return }
                    #expect(took >= timeout && took < timeout + .milliseconds(100), "\(timeout) took \(took)")
                }
            }
            for _ in 0..<5 { await group.next() }
            group.cancelAll()
        }
    }
}
