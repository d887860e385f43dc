#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// Streams over HTTP/2 from nginx, which passes on what it receives.
@Suite(.serialized, .enabled(if: TLSRig.folder != nil, needsTrust), .timeLimit(.minutes(2)))
struct HTTP2StreamTests {
    private static let size = 40 << 20

    @Test
    func slowReaderStallsTheSenderAndLosesNothing() async throws {
        let upstream = try ByteServer(byteCount: Self.size)
        defer { upstream.stop() }
        let port = UInt16(try #require(upstream.url.port))
        let nginx = try Nginx(in: #require(TLSRig.folder), upstream: port)
        defer { nginx.stop() }
        try await nginx.waitUntilReady()
        let before = upstream.sentByteCount
        let stream = try await Agent(config: NetworkConfig()).bytes(for: GeneralRequest(nginx.url.absoluteString))
        var (read, pauses) = (0, 0)
        for try await chunk in stream {
            let isRight = chunk.enumerated().allSatisfy { $0.element == UInt8((read + $0.offset) % 251) }
            #expect(isRight, "from \(read)")
            read += chunk.count
            guard read > (pauses + 1) << 22 else { continue }
            pauses += 1
            try await Task.sleep(for: .milliseconds(pauses == 1 ? 1_000 : 20))
            if pauses == 1 {
                let sent = upstream.sentByteCount - before
                print("HTTP/2 stream: \(sent >> 10) KiB sent while the reader stands at \(read >> 10) KiB")
                #expect(sent < read + 14 << 20)
            }
        }
        #expect(read == Self.size)
    }
}
#endif
