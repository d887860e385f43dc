import Errand
import Foundation
import Testing

@testable import ErrandTesting

/// Bodies in many chunks; with a copy of the rest for each, their time would be quadratic.
@Suite(.timing, .serialized) struct ChunkTimingTests {
    private func time(_ chunks: any ResponseChunks, count expected: Int, of size: Int) async throws -> Duration {
        let start = ContinuousClock.now
        var count = 0
        while let chunk = try await chunks.next(), chunk.count == size { count += 1 }
        #expect(count == expected)
        return ContinuousClock.now - start
    }

    private let request: OutgoingRequest

    init() throws { request = OutgoingRequest(url: try #require(URL(string: "https://api.example/x"))) }

    @Test func aStubSendsManyChunksInLinearTime() async throws {
        let stub = StubTransport()
        stub.on(.get, "*", .data(Data(count: 8 << 20)).chunked(64))
        let response = try await stub.send(request, options: TransportOptions())
        #expect(try await time(response.body.chunks, count: 128 << 10, of: 64) < .seconds(10))
    }

    @Test func aCassetteReplaysManyChunksInLinearTime() async throws {
        var entry = try CassetteEntry(request)
        let sizes = Array(repeating: 1024, count: 32 << 10)
        entry.set(TransportResponse(statusCode: 200), Data(count: 32 << 20), chunks: sizes)
        #expect(try await time(entry.transported.body.chunks, count: 32 << 10, of: 1024) < .seconds(20))
    }
}
