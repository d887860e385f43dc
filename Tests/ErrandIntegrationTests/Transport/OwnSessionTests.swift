import Errand
import ErrandTesting
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Transports with a session configuration of their own.
@Suite struct OwnSessionTests {
    private static func get(_ path: String = "/x") -> GeneralRequest<DefaultFormatter<String>> {
        GeneralRequest(path).expecting(String.self)
    }

    /// Responds to requests whose path is `/stubbed`.
    final class Stub: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/stubbed" }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
            else { return }
            let text = request.allowsCellularAccess ? "cellular" : "no cellular"
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data(text.utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}
    }

    /// A transport whose session has that stub.
    private var stubbed: URLSessionTransport {
        let configuration = URLSessionTransport.configuration()
        configuration.protocolClasses = [Stub.self]
        return URLSessionTransport(configuration: configuration)
    }

    @Test func theConfigurationOfTheSessionApplies() async throws {
        let server = try MockServer { _ in .text("real") }
        defer { server.stop() }
        let agent = server.agent(transport: stubbed)
        #expect(try await agent.send(Self.get("/stubbed")) == "cellular")
        #expect(try await agent.send(Self.get("/x")) == "real")
        #expect(server.requestCount == 1)
    }

    @Test func cellularAccessOfARequestReachesTheSession() async throws {
        let server = try MockServer { _ in .text("real") }
        defer { server.stop() }
        let agent = server.agent(transport: stubbed)
        let request = Self.get("/stubbed").allowingCellularAccess(false)
        #expect(try await agent.send(request) == "no cellular")
        #expect(try await agent.urlRequest(for: request).allowsCellularAccess == false)
        #expect(try await agent.urlRequest(for: Self.get()).allowsCellularAccess)
    }

    @Test func theConfigurationSetsTheConnectionsPerHost() async throws {
        let server = try MockServer { _ in
            Thread.sleep(forTimeInterval: 0.02)
            return .text("x")
        }
        defer { server.stop() }
        let configuration = URLSessionTransport.configuration(maximumConnectionsPerHost: 2)
        #expect(configuration.httpMaximumConnectionsPerHost == 2)
        let agent = server.agent(transport: URLSessionTransport(configuration: configuration))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { _ = try await agent.send(Self.get()) } }
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 2)
    }

    @Test func whatTheLibraryDoesItselfIsSwitchedOff() async throws {
        let server = try MockServer { request in
            .text(
                "\(request.headers["Cookie"] ?? "-") \(request.headers["X-Additional"] ?? "-")",
                headers: ["Set-Cookie": "a=1; Path=/", "Cache-Control": "max-age=60"]
            )
        }
        defer { server.stop() }
        let configuration = URLSessionConfiguration.default
        configuration.httpAdditionalHeaders = ["X-Additional": "1"]
        configuration.requestCachePolicy = .returnCacheDataElseLoad
        configuration.timeoutIntervalForRequest = 0.001
        let agent = server.agent(transport: URLSessionTransport(configuration: configuration))
        for _ in 0..<3 { #expect(try await agent.send(Self.get()) == "- -") }
        #expect(server.requestCount == 3)
        #expect(configuration.httpAdditionalHeaders != nil)
    }

    @Test func closeIdleConnectionsClosesThem() async throws {
        let server = try MockServer { _ in .text("x") }
        defer { server.stop() }
        let transport = URLSessionTransport()
        let agent = server.agent(transport: transport)
        for _ in 0..<3 { _ = try await agent.send(Self.get()) }
        #expect(server.connectionCount == 1)
        transport.closeIdleConnections()
        let deadline = ContinuousClock.now + .seconds(10)
        while server.openConnectionCount > 0, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(server.openConnectionCount == 0)
        for _ in 0..<3 { _ = try await agent.send(Self.get()) }
        #expect(server.connectionCount == 2)
    }

    @Test func exchangesThatHaveBegunSurviveCloseIdleConnections() async throws {
        let server = try MockServer { _ in
            Thread.sleep(forTimeInterval: 0.005)
            return .text(String(repeating: "x", count: 100_000))
        }
        defer { server.stop() }
        let transport = URLSessionTransport()
        let agent = server.agent(transport: transport)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<200 {
                group.addTask {
                    if number % 10 == 0 { transport.closeIdleConnections() }
                    return try await agent.send(Self.get()).count
                }
            }
            for try await count in group { #expect(count == 100_000) }
        }
        #expect(server.requestCount == 200)
    }
}
