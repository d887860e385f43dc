import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// When a stream of events reconnects, on a clock of the test.
@Suite(.limit(seconds: 60)) struct ServerSentEventsTests {
    let clock = ManualClock()

    static func events(_ text: String, type: String = "text/event-stream; charset=utf-8") -> TransportResponse {
        .data(Data(text.utf8), contentType: type)
    }

    static func lost(after text: String) -> TransportResponse {
        let body = PushedBody()
        body.send(text)
        body.end(throwing: NetworkError(.closedInBody))
        return body.events
    }

    /// A rig that returns these responses in turn, and then 204.
    func rig(_ responses: [@Sendable () throws -> TransportResponse], config: NetworkConfig = .test) -> Rig {
        let rest = Lock(responses[...])
        return Rig(config: config, clock: clock) { _ in try rest.withLock { $0.popFirst() }?() ?? .status(204) }
    }

    func request(_ method: HTTPMethod = .get) -> GeneralRequest<JSONValueFormatter> {
        GeneralRequest("/events").method(method)
    }

    /// All events and the error that ended them, and the delays before the reconnections.
    func run<R: Request & Sendable>(
        _ events: ServerSentEvents<R>,
        jitter: Double? = 0
    ) async -> (data: [String], error: (any Error)?, delays: [Duration]) {
        var events = events
        if let jitter { events.unit = { jitter } }
        let isDone = Lock(false)
        async let delays = {
            var delays: [Duration] = []
            while !isDone.withLock({ $0 }) {
                let before = clock.now
                if let next = clock.nextDeadline {
                    delays.append(before.duration(to: next))
                    clock.advance(to: next)
                }
                await Task.yield()
            }
            return delays
        }()
        var data: [String] = []
        var error: (any Error)?
        do {
            for try await event in events { data.append(event.data) }
        } catch let failure {
            error = failure
        }
        isDone.withLock { $0 = true }
        return (data, error, await delays)
    }

    @Test func aConnectionThatIsLostIsReplacedByAnotherToTheSameURLOfTheCDN() async throws {
        let config = NetworkConfig.test {
            $0.cdnURL = "https://a.example"
            $0.cdnFallbacks = ["https://b.example"]
        }
        let count = Lock(0)
        let rig = Rig(config: config, clock: clock) { _ in
            switch count.next() {
            case 1: Self.lost(after: "id: 1\ndata: a\n\n")
            case 2: Self.events("data: b\n\n")
            default: .status(204)
            }
        }
        let (data, error, delays) = await run(rig.agent.events(for: request().usingCDN()))
        #expect(data == ["a", "b"] && error == nil && delays.count == 2)
        #expect(rig.transport.requests.map { $0.url.host() } == ["a.example", "a.example", "a.example"])
        #expect(rig.transport.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "1"])
    }

    @Test func theRequestAcceptsEventsAndResumesAfterTheLastOne() async throws {
        let rig = rig([
            { Self.events("id: 1\ndata: a\n\ndata: b\n\nid: 7\n\ndata: half") }, { Self.events("data: c\n\n") },
        ])
        let (data, error, delays) = await run(rig.agent.events(for: request(), lastEventID: "0"))
        #expect(data == ["a", "b", "c"])
        #expect(error == nil)
        #expect(delays == [.seconds(3), .seconds(3)])
        #expect(rig.transport.requests.map { $0.headers["Last-Event-ID"] } == ["0", "7", "7"])
        #expect(rig.transport.requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(rig.transport.requests.allSatisfy { $0.headers["Cache-Control"] == "no-cache" })
    }

    @Test(arguments: ["1\r\n\r\nDELETE /users/7 HTTP/1.1\r\nX: ", "1\nX: 1", "1\u{0}"])
    func aLastEventIDThatIsNoFieldValueIsAWrongCall(id: String) async throws {
        let rig = rig([{ Self.events("data: a\n\n") }])
        let (data, error, delays) = await run(rig.agent.events(for: request(), lastEventID: id))
        #expect(data.isEmpty && delays.isEmpty)
        #expect("\(String(describing: error))".contains("the value of the header 'Last-Event-ID' holds"))
        #expect(rig.transport.requestCount == 0)
    }

    @Test func fieldsOfTheRequestAreKept() async throws {
        let rig = rig([])
        _ = await run(rig.agent.events(for: request().header("Accept", "text/event-stream, */*")))
        #expect(rig.transport.requests.first?.headers["Accept"] == "text/event-stream, */*")
        #expect(rig.transport.requests.first?.headers.contains("Last-Event-ID") == false)
    }

    @Test func theServerSetsTheReconnectionTime() async throws {
        let rig = rig([
            { Self.events("retry: 500\n\n") }, { throw NetworkError(.connectionReset) },
            { throw NetworkError(.connectionReset) },
        ])
        let (_, error, delays) = await run(rig.agent.events(for: request()), jitter: 0.5)
        #expect(error == nil)
        #expect(delays == [.milliseconds(750), .milliseconds(750), .milliseconds(1500)])
    }

    @Test func anAcceptedResponseResetsTheFailures() async throws {
        let lost: @Sendable () throws -> TransportResponse = { throw NetworkError(.connectionRefused) }
        let rig = rig([
            { Self.events("") }, lost, lost, { Self.events("data: a\n\n") }, lost, lost, { Self.events("data: b\n\n") },
        ])
        let policy = ReconnectionPolicy(maximumFailures: 3, initialDelay: .seconds(1))
        let (data, error, delays) = await run(rig.agent.events(for: request(), reconnection: policy))
        #expect(data == ["a", "b"])
        #expect(error == nil)
        #expect(delays == [1, 1, 2, 1, 1, 2, 1].map { .seconds($0) })
    }

    @Test func tooManyFailuresInSuccessionEndTheStream() async throws {
        let lost: @Sendable () throws -> TransportResponse = { throw NetworkError(.connectionRefused) }
        let rig = rig([{ Self.events("") }, lost, lost, lost, lost])
        let policy = ReconnectionPolicy(maximumFailures: 3, initialDelay: .seconds(1))
        let (_, error, delays) = await run(rig.agent.events(for: request(), reconnection: policy))
        #expect((error as? NetworkError)?.reason == .connectionRefused)
        #expect(delays == [.seconds(1), .seconds(1), .seconds(2)])
        #expect(rig.transport.requestCount == 4)
    }

    @Test(arguments: [400, 401, 404, 429, 201, 304])
    func otherStatusesAreFinal(status: Int) async throws {
        let rig = rig([{ .data(Data("data: a\n\n".utf8), contentType: "text/event-stream", status: status) }])
        let (data, error, delays) = await run(rig.agent.events(for: request()))
        #expect(data.isEmpty)
        #expect((error as? NetworkError)?.reason == .status(status))
        #expect(delays.isEmpty)
    }

    @Test(arguments: [(200, "text/plain"), (404, "text/event-stream")])
    func aRejectedResponseWhoseBodyGoesOnIsFinal(status: Int, type: String) async throws {
        let body = PushedBody()
        body.send("data: a\n\n")
        let rig = rig([{ body.response(headers: ["Content-Type": type], status: status) }])
        let (data, error, delays) = await run(rig.agent.events(for: request()))
        #expect(data.isEmpty && body.isCancelled)
        #expect((error as? NetworkError)?.reason == (status == 200 ? .contentType(type) : .status(status)))
        #expect((error as? NetworkError)?.response?.body == Data("data: a\n\n".utf8))
        #expect(delays == [.seconds(1)])
    }

    @Test(arguments: ["application/json", "text/plain", "text/event-streams"])
    func anotherContentTypeIsFinal(type: String) async throws {
        let rig = rig([{ Self.events("data: a\n\n", type: type) }])
        let (data, error, _) = await run(rig.agent.events(for: request()))
        #expect(data.isEmpty)
        #expect((error as? NetworkError)?.reason == .contentType(type))
    }

    @Test func aStreamWithoutReconnectionEndsWithItsResponse() async throws {
        let rig = rig([{ Self.events("data: a\n\n") }])
        let (data, error, delays) = await run(rig.agent.events(for: request(), reconnection: .never))
        #expect(data == ["a"])
        #expect(error == nil)
        #expect(delays.isEmpty)
        #expect(rig.transport.requestCount == 1)
    }

    @Test func aRequestThatMayNotBeSentTwiceIsSentOnce() async throws {
        let body = PushedBody()
        let rig = rig([{ Self.events("data: a\n\n") }, { throw NetworkError(.connectionReset) }, { body.events }])
        #expect(await run(rig.agent.events(for: request(.post))).error == nil)
        #expect(await run(rig.agent.events(for: request(.post))).error != nil)
        body.send("data: a\n\n")
        body.end(throwing: NetworkError(.connectionReset))
        let (data, error, _) = await run(rig.agent.events(for: request(.post)))
        #expect(data == ["a"])
        #expect((error as? NetworkError)?.reason == .connectionReset)
        #expect(rig.transport.requestCount == 3)
        let keyed = await run(rig.agent.events(for: request(.post).idempotencyKey("k")))
        #expect(keyed.error == nil)
    }

    @Test func anEventThatIsTooLargeIsFinalAndEndsTheExchange() async throws {
        let body = PushedBody()
        let rig = rig([{ body.events }])
        body.send("data: a\n\ndata: 0123456789")
        let (data, error, delays) = await run(rig.agent.events(for: request(), maximumEventSize: 10))
        #expect(data == ["a"])
        #expect((error as? NetworkError)?.reason == .eventTooLarge(limit: 10))
        #expect(delays.isEmpty)
        await body.waitUntilCancelled()
    }

    @Test func cancellationEndsAStreamThatWaitsToReconnect() async throws {
        let rig = Rig(clock: clock) { _ in Self.events("data: a\n\n") }
        let task = Task { [clock] in
            _ = clock
            for try await _ in rig.agent.events(for: request()) {}
        }
        await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(rig.transport.requestCount == 1)
    }

    @Test func cancelAllEndsAStreamThatWaitsToReconnect() async throws {
        let rig = Rig(clock: clock) { _ in Self.events("data: a\n\n") }
        let task = Task { for try await _ in rig.agent.events(for: request().tag("prices")) {} }
        await clock.waitForSleepers()
        rig.agent.cancelAll { $0.tag == "other" }
        #expect(!rig.agent.pipeline.sends.isEmpty)
        rig.agent.cancelAll { $0.tag == "prices" }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(rig.transport.requestCount == 1)
        #expect(rig.agent.pipeline.sends.isEmpty)
    }

    /// A request that calls a function when it is about to be sent.
    private struct Noticed: Request {
        let willBegin: @Sendable () -> Void
        var path: String { "/events" }
        var tag: String { "prices" }
        var formatter: VoidFormatter { VoidFormatter() }
        var formattingContext: FormattingContext {
            willBegin()
            return .background
        }
    }

    @Test(arguments: [1, 2])
    func cancelAllBetweenTwoConnectionsEndsAStream(place: Int) async throws {
        let wasOpen = Lock(false)
        let rig = Rig(clock: clock) { _ in
            wasOpen.withLock { $0 = true }
            return Self.events("data: a\n\n")
        }
        let request = Noticed { [agent = rig.agent] in
            if place == 1, wasOpen.withLock({ $0 }) { agent.cancelAll { $0.tag == "prices" } }
        }
        var events = rig.agent.events(for: request)
        if place == 2 {
            events.unit = { [agent = rig.agent] in
                agent.cancelAll { $0.tag == "prices" }
                return 0
            }
        }
        let (data, error, _) = await run(events, jitter: nil)
        #expect(data == ["a"])
        #expect(error is CancellationError)
        #expect(rig.transport.requestCount <= place.distance(to: 3))
        #expect(rig.agent.pipeline.sends.isEmpty)
    }

    @Test func aSequenceMayBeIteratedInAnotherTask() async throws {
        let rig = Rig(clock: clock) { _ in Self.events("data: a\n\ndata: b\n\n") }
        let events = rig.agent.events(for: request(), reconnection: .never)
        let texts = AsyncThrowingStream<String, any Error> { continuation in
            let task = Task {
                do {
                    for try await event in events { continuation.yield(event.data) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
        var all: [String] = []
        for try await text in texts { all.append(text) }
        #expect(all == ["a", "b"])
    }

    @Test func eachIterationConnectsAgain() async throws {
        let rig = Rig(clock: clock) { _ in Self.events("data: a\n\n") }
        let events = rig.agent.events(for: request(), reconnection: .never)
        #expect(await run(events).data == ["a"])
        #expect(await run(events).data == ["a"])
        #expect(rig.transport.requestCount == 2)
    }
}
