import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What is sent again for a stream of events: before its first response, after a clean end, and after a lost connection.
extension ServerSentEventsTests {
    private static let retrying = NetworkConfig.test { $0.retryPolicy = .standard }

    private func keys(_ rig: Rig) -> Set<String?> { Set(rig.transport.requests.map { $0.headers["Idempotency-Key"] }) }

    // MARK: The first connection

    @Test(arguments: [429, 503])
    func theRetryPolicyAppliesToTheFirstConnection(status: Int) async throws {
        let busy: @Sendable () throws -> TransportResponse = { .status(status, headers: ["Retry-After": "20"]) }
        let rig = rig([busy, busy, { Self.events("data: a\n\n") }], config: Self.retrying)
        let (data, error, delays) = await run(rig.agent.events(for: request()))
        #expect(data == ["a"] && error == nil)
        func isAfterRetryAfter(_ delay: Duration) -> Bool { delay >= .seconds(20) && delay <= .seconds(22) }
        #expect(delays.count == 3 && delays.prefix(2).allSatisfy(isAfterRetryAfter) && delays.last == .seconds(3))
        let keyed = self.rig([busy, { Self.events("data: a\n\n") }], config: Self.retrying)
        let post = request(.post).idempotencyKey(.automatic)
        let (postData, postError, postDelays) = await run(keyed.agent.events(for: post, reconnection: .never))
        #expect(postData == ["a"] && postError == nil)
        #expect(postDelays.count == 1 && postDelays.allSatisfy(isAfterRetryAfter))
        #expect(keyed.transport.requestCount == 2 && keys(keyed).count == 1)
    }

    @Test func aFailureOfTheFirstConnectionIsFinalAfterTheRetries() async throws {
        let rig = Rig(config: Self.retrying, clock: clock) { _ in throw NetworkError(.connectionRefused) }
        let (_, error, delays) = await run(rig.agent.events(for: request()))
        #expect((error as? NetworkError)?.reason == .connectionRefused)
        #expect(rig.transport.requestCount == 3)
        #expect(delays.count <= 2 && delays.allSatisfy { $0 < .seconds(1) })
    }

    @Test(arguments: [429, 503])
    func anErrorStatesWhyAPostIsNotSentAgain(status: Int) async throws {
        let rig = Rig(config: Self.retrying, clock: clock) { _ in .status(status, headers: ["Retry-After": "20"]) }
        let (_, error, delays) = await run(rig.agent.events(for: request(.post)))
        let text = (error as? NetworkError)?.description ?? ""
        #expect(text.contains("not retried: a retry of a POST needs an idempotencyKey"))
        #expect(rig.transport.requestCount == 1 && delays.isEmpty)
    }

    // MARK: Reconnections

    @Test(arguments: [429, 503])
    func aReconnectionWaitsForRetryAfter(status: Int) async throws {
        let rig = rig([
            { Self.events("data: a\n\n") }, { .status(status, headers: ["Retry-After": "20"]) },
            { Self.events("data: b\n\n") },
        ])
        let (data, error, delays) = await run(rig.agent.events(for: request()))
        #expect(data == ["a", "b"] && error == nil)
        #expect(delays == [.seconds(3), .seconds(20), .seconds(3)])
    }

    @Test func aReconnectionIsNotRetried() async throws {
        let lost: @Sendable () throws -> TransportResponse = { throw NetworkError(.connectionRefused) }
        let rig = rig([{ Self.events("data: a\n\n") }, lost, lost, lost], config: Self.retrying)
        let policy = ReconnectionPolicy(maximumFailures: 2)
        _ = await run(rig.agent.events(for: request(), reconnection: policy))
        #expect(rig.transport.requestCount == 3)
    }

    @Test(arguments: [HTTPMethod.post, .put, .delete])
    func aRequestThatIsNotSafeEndsWithItsCompleteResponse(method: HTTPMethod) async throws {
        let rig = rig([{ Self.events("data: a\n\n") }, { Self.events("data: a\n\n") }])
        let (data, error, delays) = await run(rig.agent.events(for: request(method).idempotencyKey(.automatic)))
        #expect(data == ["a"] && error == nil && delays.isEmpty)
        #expect(rig.transport.requestCount == 1)
    }

    @Test func everyConnectionHasTheSameIdempotencyKey() async throws {
        let rig = rig([
            { Self.lost(after: "data: a\n\n") }, { throw NetworkError(.connectionReset) },
            { Self.lost(after: "data: b\n\n") }, { Self.events("data: c\n\n") },
        ])
        let events = rig.agent.events(for: request(.post).idempotencyKey(.automatic))
        let (data, error, _) = await run(events)
        #expect(data == ["a", "b", "c"] && error == nil)
        #expect(rig.transport.requestCount == 4)
        #expect(keys(rig).count == 1 && keys(rig).first != .some(nil))
    }

    @Test func anEventHasTheNumberOfItsConnection() async throws {
        let rig = rig([
            { Self.lost(after: "data: a\n\ndata: b\n\n") }, { throw NetworkError(.connectionRefused) },
            { Self.events("data: a\n\n") },
        ])
        let events = rig.agent.events(for: request())
        let connections = Task {
            var connections: [Int] = []
            for try await event in events { connections.append(event.connection) }
            return connections
        }
        for _ in 0..<3 {
            await clock.waitForSleepers()
            clock.advanceToNextSleeper()
        }
        #expect(try await connections.value == [1, 1, 2])
    }

    @Test func eachIterationHasAnIdempotencyKeyOfItsOwn() async throws {
        let rig = Rig(clock: clock) { _ in Self.events("data: a\n\n") }
        let events = rig.agent.events(for: request(.post).idempotencyKey(.automatic))
        _ = await run(events)
        _ = await run(events)
        #expect(keys(rig).count == 2)
    }

    @Test func anErrorStatesWhyALostPostIsNotSentAgain() async throws {
        let rig = rig([{ Self.lost(after: "data: a\n\n") }])
        let (data, error, _) = await run(rig.agent.events(for: request(.post)))
        #expect(data == ["a"])
        let description = (error as? NetworkError)?.description ?? ""
        #expect(description.contains("not retried: a retry of a POST needs an idempotencyKey"))
    }
}
