#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// How much memory a large body needs, measured in a process of its own.
@Suite(.serialized, .timeLimit(.minutes(8)))
struct LargeBodyMemoryTests {
    private static let size = 200 << 20

    /// The server stays in the process of the test; its URL is passed to the process of the client.
    @Test func bytesOfALargeResponseAreHeldOnce() async throws {
        let server = try MockServer()
        server.on(.get, "/small", .text("small"))
        server.on(.get, "/large", .data(Data(count: Self.size)))
        await #expect(processExitsWith: .success) { [baseURL = server.baseURL as URL] in
            var config = NetworkConfig(baseURL: BaseURL(baseURL))
            config.limits = Limits(maximumBodySize: LargeBodyMemoryTests.size)
            let agent = Agent(config: config)
            // Everything that a first send loads.
            _ = try await agent.send(GeneralRequest("/small").expecting(Data.self))
            let before = try ThisProcess.peak()
            let body = try await agent.send(GeneralRequest("/large").expecting(Data.self))
            let grown = try ThisProcess.peak() - before
            print("LargeBodyMemoryTests: \(grown >> 20) MiB for \(body.count >> 20) MiB")
            guard body.count == LargeBodyMemoryTests.size, grown < LargeBodyMemoryTests.size + (40 << 20) else {
                exit(EXIT_FAILURE)
            }
        }
    }
}
#endif
