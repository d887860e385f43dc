import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite(.limit(seconds: 60))
struct ResponseTests {
    private final class Upload: BodySource {
        var byteCount: Int64? { 1 }
        func makeReader() throws -> any BodyReader { throw Boom() }
    }

    @Test func responseDoesNotKeepTheBodyOfItsRequest() async throws {
        let agent = Agent(config: .test, transport: ClosureTransport { _, _ in .json("7") })
        weak var body: Upload?
        let response: Response<Int>
        do {
            let own = Upload()
            body = own
            let request = GeneralRequest("/x").method(.post).body(.source(own)).expecting(Int.self)
            response = try await agent.response(for: request)
        }
        await wait { body == nil }
        #expect(body == nil)
        #expect(response.metrics.attempts.map { $0.url?.path() } == ["/x"])
        #expect(response.metrics.attempts.map(\.origin) == ["https://api.example"])
    }
}
