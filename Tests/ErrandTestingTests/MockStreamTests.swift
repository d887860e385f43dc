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

    /// Reads one line and leaves.
    private func line(_ agent: Agent) async throws -> String? {
        for try await line in try await agent.bytes(for: GeneralRequest("/lines")).lines { return line }
        return nil
    }

    @Test func whatAClientDidNotReadIsForTheNext() async throws {
        let (service, agent) = try MockKind.stub.make()
        let stream = service.stream("/lines", contentType: "text/plain")
        for number in 0..<3 { stream.send("\(number)\n") }
        for number in 0..<3 { #expect(try await line(agent) == "\(number)") }
        for number in 0..<100 {
            // The last client may not have been seen to leave.
            stream.send("\(number)\n")
            #expect(try await line(agent) == "\(number)")
        }
    }

    @Test(arguments: MockKind.allCases)
    func allClientsReadWhatIsSent(_ kind: MockKind) async throws {
        let (service, agent) = try kind.make()
        let stream = service.stream("/lines", contentType: "text/plain")
        async let one = agent.get("/lines", as: String.self)
        async let two = agent.get("/lines", as: String.self)
        #expect(await stream.waitForConnections(2))
        for text in ["a", "b", "c"] { stream.send(text) }
        stream.close()
        stream.send("d")
        stream.close()
        #expect(try await [one, two] == ["abc", "abc"])
        #expect(try await agent.get("/lines", as: String.self) == "d")
    }

    @Test(arguments: MockKind.allCases, ["a\r\nb", "a\rb", "a\nb"])
    func everyEndOfALineOfAnEventIsOne(_ kind: MockKind, _ data: String) async throws {
        let (service, agent) = try kind.make()
        let stream = service.stream("/events")
        stream.send(ServerSentEvent(data: data))
        var events = agent.events(for: GeneralRequest("/events", formatter: DataFormatter())).makeAsyncIterator()
        #expect(try await events.next()?.data == "a\nb")
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
