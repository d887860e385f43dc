#if os(Linux)
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// What an exchange says of a request is what a server receives.
@Suite(.limit(seconds: 60))
struct ExchangeWireTests {
    private final class Log: Accessory {
        let exchangeBodyLimit: Int? = 64
        private let exchanges = Lock<[Exchange]>([])
        var last: Exchange? { exchanges.withLock { $0.last } }
        func request(_ context: RequestContext, did event: AccessoryEvent) {}
        func request(_ context: RequestContext, exchanged exchange: Exchange) {
            exchanges.withLock { $0.append(exchange) }
        }
    }

    private let server: MockServer
    private let log = Log()

    init() throws { server = try MockServer { _ in .json("{}") } }

    private func agent(_ place: Int) -> Agent {
        server.agent(transport: Self.transports[place]) { $0.accessories = [log] }
    }

    private static var transports: [any Transport] { [URLSessionTransport(), CurlTransport()] }

    private static var requests: [GeneralRequest<JSONValueFormatter>] {
        [
            GeneralRequest("/a/.b/c?list[]=1&c={d}&token=x'y"),
            GeneralRequest("/text").method(.post).body(.text("line 1\n\tit's line 2\n")).header("X-Empty", ""),
            GeneralRequest("/json").method(.put).body(.json(["name": "Zoë", "secret": "$HOME `x`"])).header(
                "Accept",
                "*/*"
            ),
            GeneralRequest("/none").method(.delete).header("User-Agent", "test"),
            GeneralRequest("/empty").method(.post),
        ]
    }

    /// The fields of a message, without those whose value depends on the connection.
    private func fields(_ headers: HTTPHeaders) -> [String: String] {
        let others = headers.filter { !["connection", "keep-alive"].contains($0.name.lowercased()) }
        return Dictionary(others.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
    }

    private func shell(_ line: String) throws {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", line]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0, "\(line)")
    }

    @Test(arguments: 0..<2) func anExchangeAndItsLineForCurlAreWhatTheServerReceives(_ place: Int) async throws {
        let agent = agent(place)
        // curl would ask before it sends as much.
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID())")
        try Data(count: 1_500_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let large = GeneralRequest("/large").method(.put).body(.file(file))
        for request in Self.requests + [large] {
            _ = try await agent.send(request)
            let (exchange, received) = (try #require(log.last), try #require(server.requests.last))
            #expect(exchange.isExact == (place == 1))
            let (told, seen) = (fields(exchange.requestHeaders), fields(received.headers))
            if exchange.isExact {
                #expect(told == seen)
            } else {
                #expect(told.allSatisfy { seen[$0.key] == $0.value }, "\(told) and \(seen)")
            }
            #expect(exchange.statusCode == 200 && exchange.responseBody.bytes == Data("{}".utf8))
            #expect(place == 0 || exchange.connection != nil && exchange.phases.firstByte != nil)

            let (line, count) = (exchange.curl(hiding: nil), server.requests.count)
            try shell(line + " --silent --output /dev/null")
            try #require(server.requests.count == count + 1, "\(line)")
            let printed = try #require(server.requests.last)
            #expect(printed.method == received.method && printed.target == received.target)
            #expect(printed.body == received.body)
            let again = fields(printed.headers)
            #expect(told.allSatisfy { again[$0.key] == $0.value }, "\(told) and \(again)")
            #expect(Set(again.keys).subtracting(told.keys).isSubset(of: ["host", "content-length"]), "\(line)")
        }
    }

    @Test(arguments: 0..<2) func anExchangeThatFailsOrIsAStreamIsToldAtItsEnd(_ place: Int) async throws {
        server.on(.get, "/stream", .text("0123456789"))
        let agent = agent(place)
        var count = 0
        for try await chunk in try await agent.bytes(for: GeneralRequest("/stream")) { count += chunk.count }
        while log.last == nil { await Task.yield() }
        let stream = try #require(log.last)
        #expect(count == 10 && stream.responseBody == Exchange.Body(Data(), of: 10, upTo: 0) && stream.failure == nil)
        server.stop()
        await #expect(throws: NetworkError.self) { try await agent.send(GeneralRequest("/x")) }
        let failed = try #require(log.last)
        #expect(failed.statusCode == nil && failed.failure is NetworkError && failed.connection == nil)
    }
}
#endif
