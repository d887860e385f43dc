#if os(Linux)
import Errand
import Foundation
import Testing

@testable import ErrandCurl

/// A body between the event loop and its reader.
@Suite(.limit(seconds: 30))
struct CurlBodyTests {
    @Test func aPausedBodyContinuesWhateverArrivesAfterThePause() async throws {
        let resumes = AsyncStream<Void>.makeStream()
        let body = CurlBody(
            beginning: Data(),
            decoder: nil,
            codings: [],
            receivedByteCount: 0,
            limits: BodyLimits(TransportOptions()),
            onResume: { resumes.continuation.yield() },
            onCancel: {}
        )
        let chunk = Data(count: CurlBody.pauseLevel / 4)
        #expect((0..<4).map { _ in body.append(chunk) } == [false, false, false, true])
        // Below the level of the pause, and above that of its end.
        _ = try await body.next()
        #expect(body.append(Data(count: 1)))
        for _ in 0..<4 { _ = try await body.next() }
        resumes.continuation.finish()
        var count = 0
        for await _ in resumes.stream { count += 1 }
        #expect(count == 1)
        body.cancel()
    }

    @Test func chunksOfOneByteAreJoined() async throws {
        let body = CurlBody(
            beginning: Data(),
            decoder: nil,
            codings: [],
            receivedByteCount: 0,
            limits: BodyLimits(TransportOptions()),
            onResume: {},
            onCancel: {}
        )
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        for byte in bytes { _ = body.append(Data([byte])) }
        body.finish(throwing: nil)
        var (count, content) = (0, Data())
        while let chunk = try await body.next() {
            count += 1
            content += chunk
        }
        #expect(count <= 200 && content == Data(bytes))
    }
}
#endif
