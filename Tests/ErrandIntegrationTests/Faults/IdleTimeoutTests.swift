import Errand
import ErrandTesting
import Foundation
import Testing

/// The idle timeout of an exchange, kept by the transport itself: exact, whatever the fraction of a second.
@Suite(.serialized, .limit(seconds: 60))
struct IdleTimeoutTests {
    private let server: MockServer

    /// Never stopped: a header section that is cut short ends the process, and a task is cancelled shortly after its
    /// caller returns.
    private static let slowHeads = Result { try MockServer() }

    init() throws {
        server = try MockServer()
        server.on(.get, "/hang", .text("x").faulted(.hang))
        server.on(.post, "/hang", .text("x").faulted(.hang))
    }

    private func send(
        _ request: OutgoingRequest,
        timeout: Duration,
        by transport: any StoppableTransport = TransportUnderTest.make()
    ) async throws -> TransportResponse {
        try await transport.send(request, options: TransportOptions(idleTimeout: timeout))
    }

    private func outgoing(_ path: String, method: HTTPMethod = .get, body: OutgoingBody = .empty) -> OutgoingRequest {
        OutgoingRequest(method: method, url: server.baseURL.appending(path: path), body: body)
    }

    @Test(arguments: [Duration.milliseconds(150), .milliseconds(1200), .zero, .seconds(-1)])
    func idleExchangeEndsAfterTheTimeoutAndNotEarlier(_ timeout: Duration) async {
        let began = ContinuousClock.now
        let error = await #expect(throws: NetworkError.self) {
            try await send(outgoing("hang"), timeout: timeout)
        }
        #expect(error?.reason == .idleTimeout(timeout))
        #expect(ContinuousClock.now - began >= timeout)
    }

    @Test
    func eachExchangeHasItsOwnTimeout() async {
        let transport = TransportUnderTest.make()
        await withTaskGroup { group in
            for milliseconds in [900, 100, 500] {
                group.addTask {
                    let timeout = Duration.milliseconds(milliseconds)
                    let began = ContinuousClock.now
                    let error = await #expect(throws: NetworkError.self) {
                        try await send(outgoing("hang"), timeout: timeout, by: transport)
                    }
                    #expect(error?.reason == .idleTimeout(timeout))
                    #expect(ContinuousClock.now - began >= timeout)
                }
            }
        }
    }

    @Test
    func bodyThatKeepsArrivingIsNotIdle() async throws {
        let text = String(repeating: "x", count: 12)
        server.on(.get, "/drip", .text(text).dripping(1, every: .milliseconds(300)))
        let response = try await send(outgoing("drip"), timeout: .seconds(3))
        let body = try await response.body.collect(upTo: 100)
        #expect(String(decoding: body, as: UTF8.self) == text)
    }

    /// URLSession reports a header section when it is complete.
    @Test
    func headerSectionMustBeCompleteWithinTheTimeout() async throws {
        let server = try Self.slowHeads.get()
        server.on(.get, "/slow", .text("x").faulted(.slowHead(byteCount: 1, every: .milliseconds(50))))
        let slow = OutgoingRequest(url: server.baseURL.appending(path: "slow"))
        let error = await #expect(throws: NetworkError.self) { try await send(slow, timeout: .milliseconds(300)) }
        #expect(error?.reason == .idleTimeout(.milliseconds(300)))
    }

    @Test(arguments: [0, 10])
    func postTimesOutOnAnyConnection(_ byteCount: Int) async {
        let post = outgoing("hang", method: .post, body: .data(Data(count: byteCount)))
        let error = await #expect(throws: NetworkError.self) { try await send(post, timeout: .milliseconds(150)) }
        #expect(error?.reason == .idleTimeout(.milliseconds(150)))
    }

    @Test
    func exchangeTimesOutAfterItsTransportIsReleased() async {
        let error = await #expect(throws: NetworkError.self) {
            try await send(outgoing("hang"), timeout: .milliseconds(150), by: TransportUnderTest.make())
        }
        #expect(error?.reason == .idleTimeout(.milliseconds(150)))
    }

    /// The greatest durations there are must not overflow.
    @Test(arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max)])
    func infiniteTimeoutDoesNotTrap(_ timeout: Duration) async throws {
        server.on(.get, "/x", .text("x"))
        #expect(try await send(outgoing("x"), timeout: timeout).statusCode == 200)
    }
}
