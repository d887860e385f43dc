import Errand
import ErrandTesting
import Foundation
import Testing

@Suite(.ownThread) struct MockStreamTests {
    @Test(arguments: MockKind.allCases)
    func theTestSendsEventsWhenItLikes(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let stream = service.stream("/events")
        var events = agent.events(for: GeneralRequest("/events", formatter: DataFormatter())).makeAsyncIterator()
        stream.send(ServerSentEvent(event: "joined", data: "one\ntwo", id: "a", retry: .milliseconds(1)))
        let first = try await events.next()
        #expect(first?.event == "joined" && first?.data == "one\ntwo" && first?.id == "a")
        stream.send("data: 2\n\n")
        #expect(try await events.next()?.data == "2")
        stream.close(.reset)
        stream.send(ServerSentEvent(data: "3"))
        let third = try await events.next()
        #expect(third?.data == "3" && third?.connection == 2)
        #expect(stream.connectionCount == 2)
    }

    @Test(arguments: MockKind.allCases)
    func chunksAndLinesArriveWhileTheBodyIsOpen(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let stream = service.stream("/lines", contentType: "text/plain")
        let response = try await agent.bytes(for: GeneralRequest("/lines", formatter: DataFormatter()))
        var lines = response.lines.makeAsyncIterator()
        #expect(await stream.waitForConnections())
        for number in 0..<3 {
            stream.send("line \(number)\n")
            #expect(try await lines.next() == "line \(number)")
        }
        stream.send(Data())
        stream.send(Data("last".utf8))
        stream.close()
        #expect(try await lines.next() == "last")
        #expect(try await lines.next() == nil)
    }

    @Test(arguments: MockKind.allCases, [MockStream.Ending.cut, .reset])
    func aBodyThatIsCutFails(_ kind: MockKind, _ ending: MockStream.Ending) async throws {
        let (service, agent) = try kind.make()
        let stream = service.stream("/cut", contentType: "text/plain")
        stream.send("begun")
        stream.close(ending)
        let error = await failure { _ = try await agent.get("/cut", as: String.self) } as? NetworkError
        #expect(error?.kind == .connectionLost)
    }

    @Test(arguments: MockKind.allCases)
    func aClientThatLeavesEndsItsPart(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let stream = service.stream("/events")
        let task = Task { try await agent.get("/events", as: String.self) }
        #expect(await stream.waitForConnections())
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // A server sees it a moment later; the next client gets what follows.
        while let server = service as? MockServer, server.openConnectionCount > 0 { await Task.yield() }
        stream.send("a")
        stream.close()
        #expect(try await agent.get("/events", as: String.self) == "a")
    }
}
