import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The events of one response.
@Suite(.limit(seconds: 60)) struct ResponseEventsTests {
    private func rig(_ text: String, type: String = "text/event-stream; charset=utf-8") -> Rig {
        Rig(response: .data(Data(text.utf8), contentType: type, headers: ["X-RateLimit-Remaining": "3"]))
    }

    @Test func eventsComeFromOneResponseWithItsHeaderFields() async throws {
        let rig = rig("data: a\n\nid: 7\nevent: e\ndata: b\n\ndata: half")
        let stream = try await rig.agent.bytes(for: GeneralRequest("/x").method(.post))
        #expect(stream.headers["X-RateLimit-Remaining"] == "3")
        var events: [ServerSentEvent] = []
        for try await event in stream.events { events.append(event) }
        #expect(events == [ServerSentEvent(data: "a"), ServerSentEvent(event: "e", data: "b", id: "7")])
        #expect(rig.transport.requestCount == 1)
        for try await _ in stream.events { Issue.record("the body was read twice") }
    }

    @Test func anErrorComesAfterTheEventsBeforeIt() async throws {
        let rig = Rig()
        let body = rig.transport.stream("/x")
        var events = try await rig.agent.bytes(for: GeneralRequest("/x")).events.makeAsyncIterator()
        body.send(ServerSentEvent(data: "a"))
        body.close(.cut)
        #expect(try await events.next()?.data == "a")
        await expect(throwing: .closedInBody) { _ = try await events.next() }
        #expect(try await events.next() == nil)
    }

    @Test func contentOfAnotherTypeIsRejected() async throws {
        let rig = rig(#"{"data": 1}"#, type: "application/json")
        let error = await expect(throwing: .contentType("application/json")) {
            for try await _ in try await rig.agent.bytes(for: GeneralRequest("/x")).events {}
        }
        #expect(error?.host == "api.example" && error?.statusCode == 200)
    }

    @Test func aResponseWithoutContentHasNoEvents() async throws {
        let rig = Rig(response: .status(204))
        for try await _ in try await rig.agent.bytes(for: GeneralRequest("/x")).events { Issue.record("an event") }
    }

    @Test func anEventThatIsTooLargeEndsTheExchange() async throws {
        let body = PushedBody()
        let rig = Rig(response: body.events)
        let stream = try await rig.agent.bytes(for: GeneralRequest("/x"))
        var events = stream.events(maximumEventSize: 10).makeAsyncIterator()
        body.send("data: a\n\ndata: 0123456789")
        #expect(try await events.next()?.data == "a")
        await expect(throwing: .eventTooLarge(limit: 10)) { _ = try await events.next() }
        #expect(try await events.next() == nil)
        await body.waitUntilCancelled()
    }
}
