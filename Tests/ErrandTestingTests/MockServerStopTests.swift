import Errand
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct MockServerStopTests {
    /// Long enough for a busy machine, far shorter than the 5 seconds after which `stop()` gives up on a thread.
    private static let soon = Duration.seconds(30)

    @Test(arguments: [
        MockResponse.status(200).faulted(.hang),
        .text("body").faulted(.hangInBody(after: 1)),
        .text("body").delayed(by: .seconds(600)),
        .text("body").dripping(1, every: .seconds(600)),
        .text("body").faulted(.slowHead(byteCount: 1, every: .seconds(600))),
        .text("body").faulted(.endlessBody),
        .text("body").faulted(.endlessHeaders),
        .data(Data(count: 50_000_000)),
    ])
    func stoppingEndsAResponseInProgress(response: MockResponse) async throws {
        let server = try MockServer { _ in response }
        let client = try RawClient(port: server.port, receiveBufferByteCount: 4_096)
        try client.get("/")
        await server.waitForRequests()
        let start = ContinuousClock.now
        server.stop()
        #expect(ContinuousClock.now - start < Self.soon)
        #expect(server.openConnectionCount == 0)
        #expect(try client.readAll(limit: 60_000_000).ending != .timedOut)
    }

    @Test func stoppingEndsIdleConnectionsAndFreesThePort() throws {
        let server = try MockServer { _ in .text("x") }
        let clients = try (0..<5).map { _ in try RawClient(port: server.port) }
        for client in clients {
            try client.get("/")
            _ = try client.readResponse()
        }
        #expect(server.openConnectionCount == 5)
        server.stop()
        server.stop()
        #expect(server.openConnectionCount == 0)
        #expect(server.connectionCount == 5)
        #expect(server.requests.count == 5)
        for client in clients { #expect(try client.readAll().ending == .closed) }
        #expect(throws: RawClient.Failure.self) { try RawClient(port: server.port) }
        let next = try MockServer(port: server.port)
        #expect(next.port == server.port)
    }

    @Test func releasedServerStops() throws {
        let client: RawClient
        do {
            let server = try MockServer { _ in .text("x") }
            client = try RawClient(port: server.port)
            try client.get("/")
            _ = try client.readResponse()
        }
        #expect(try client.readAll().ending == .closed)
    }

    @Test func aHandlerMayStopItsServer() throws {
        let server = try MockServer()
        server.on(.get, "/") { _ in
            server.stop()
            return .text("never sent")
        }
        let client = try RawClient(port: server.port)
        try client.get("/")
        #expect(try client.readAll().bytes.isEmpty)
        server.stop()
        #expect(server.openConnectionCount == 0)
    }

    @Test func aPauseEndsWhenTheClientCloses() async throws {
        let server = try MockServer { _ in .status(200).faulted(.hang) }
        var client: RawClient? = try RawClient(port: server.port)
        try client?.get("/")
        await server.waitForRequests()
        #expect(server.openConnectionCount == 1)
        client = nil
        // There is no event for the end of a thread's work on a connection, so this polls.
        let start = ContinuousClock.now
        while server.openConnectionCount > 0, ContinuousClock.now - start < Self.soon {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(server.openConnectionCount == 0)
    }

    @Test func pauseDoesNotEndForAPipelinedRequest() throws {
        let server = try MockServer()
        server.enqueue(.text("late").delayed(by: .milliseconds(50)), .text("next"))
        let client = try RawClient(port: server.port)
        try client.get("/1")
        try client.get("/2")
        #expect(try client.readResponse().body == "late")
        #expect(try client.readResponse().body == "next")
    }

    @Test func twoHundredConnectionsAreServedAtOnce() async throws {
        let server = try MockServer { request in
            request.path == "/hang" ? .text("x").faulted(.hangInBody(after: 0)) : .text(request.path)
        }
        let clients = try (0..<200).map { _ in try RawClient(port: server.port) }
        for client in clients { try client.get("/hang") }
        await server.waitForRequests(200)
        #expect(server.openConnectionCount == 200)
        let others = try (0..<20).map { _ in try RawClient(port: server.port) }
        for (number, client) in others.enumerated() { try client.get("/\(number)") }
        for (number, client) in others.enumerated() { #expect(try client.readResponse().body == "/\(number)") }
        let start = ContinuousClock.now
        server.stop()
        #expect(ContinuousClock.now - start < Self.soon)
        #expect(server.openConnectionCount == 0)
    }

    @Test func stoppedServersLeaveNoDescriptorOpen() async {
        // A process of its own: other tests open descriptors at the same time.
        await #expect(processExitsWith: .success) {
            func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count }
            func serveOnce() throws {
                let server = try MockServer { _ in .text("x") }
                let clients = try (0..<10).map { _ in try RawClient(port: server.port) }
                for client in clients { try client.get("/") }
                for client in clients { _ = try client.readResponse() }
                server.stop()
            }
            // The system libraries open some of their own at the first use and keep them.
            try serveOnce()
            let before = try descriptors()
            for _ in 0..<30 { try serveOnce() }
            try #require(descriptors() == before)
        }
    }
}
