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

    private static func gzip(_ data: Data) throws -> Data {
        let (tool, input, output) = (Process(), Pipe(), Pipe())
        tool.executableURL = URL(filePath: "/bin/gzip")
        (tool.standardInput, tool.standardOutput) = (input, output)
        try tool.run()
        try input.fileHandleForWriting.write(contentsOf: data)
        try input.fileHandleForWriting.close()
        defer { tool.waitUntilExit() }
        return output.fileHandleForReading.readDataToEndOfFile()
    }

    private static func encoded(_ data: Data) -> CurlBody {
        let body = CurlBody(
            beginning: Data(),
            decoder: nil,
            codings: ["gzip"],
            receivedByteCount: 0,
            limits: BodyLimits(TransportOptions()),
            onResume: {},
            onCancel: {}
        )
        _ = body.append(data)
        return body
    }

    @Test func nothingIsReadAfterACancellation() async throws {
        let content = try Self.gzip(Data((0..<2_000_000).map { UInt8($0 / 100 % 7) }))
        for isComplete in [false, true] {
            let body = Self.encoded(content)
            if isComplete { body.finish(throwing: nil) }
            #expect(try await body.next()?.isEmpty == false)
            body.cancel()
            await #expect(throws: CancellationError.self) { try await body.next() }
        }
        // Its own task is cancelled between two reads.
        let body = Self.encoded(content)
        _ = try await body.next()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await body.next()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// Without a length, nothing else shows it.
    @Test func aContentThatEndsInItsCodingLostItsConnection() async throws {
        let content = try Self.gzip(Data(count: 1_000))
        let body = Self.encoded(content.dropLast(4))
        body.finish(throwing: nil)
        let error = await #expect(throws: NetworkError.self) { while try await body.next() != nil {} }
        #expect(error?.reason == .closedInBody)
    }
}
#endif
