#if os(Linux)
import Errand
import Foundation
import Testing

@testable import ErrandCurl

/// A body between the event loop and its reader.
@Suite(.limit(seconds: 30))
struct CurlBodyTests {
    private static func body(
        codings: [String] = [],
        marksEnd: Bool = false,
        onResume: @escaping @Sendable () -> Void = {}
    ) -> CurlBody {
        CurlBody(
            beginning: Data(),
            decoder: nil,
            codings: codings,
            marksEnd: marksEnd,
            receivedByteCount: 0,
            limits: BodyLimits(TransportOptions()),
            onResume: onResume,
            onCancel: {}
        )
    }

    @Test func aPausedBodyContinuesWhateverArrivesAfterThePause() async throws {
        let resumes = AsyncStream<Void>.makeStream()
        let body = Self.body { resumes.continuation.yield() }
        let chunk = Data(count: CurlBody.pauseLevel / 4)
        #expect((0..<4).map { _ in body.append(chunk) } == [false, false, false, true])
        // Below the level at which a pause begins, and above the level at which it ends.
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
        let body = Self.body()
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

    private static func encoded(_ data: Data, marksEnd: Bool = false) -> CurlBody {
        let body = body(codings: ["gzip"], marksEnd: marksEnd)
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

    /// All of it has arrived, so that another attempt would receive the same.
    @Test func aContentWithALengthThatEndsInItsCodingIsDamaged() async throws {
        let content = try Self.gzip(Data(count: 1_000))
        let body = Self.encoded(content.dropLast(4), marksEnd: true)
        body.finish(throwing: nil)
        let error = await #expect(throws: NetworkError.self) { while try await body.next() != nil {} }
        #expect(error?.reason == .invalidContentCoding)
    }

    @Test func aConnectionThatIsLostInACodingIsRetried() async throws {
        let (content, count) = (try Self.gzip(Data("0123456789".utf8)), Lock(0))
        let head = Data("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n".utf8)
        let server = try RawServer {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            return RawServer.Reply(head + (isFirst ? content.prefix(content.count / 2) : content))
        }
        defer { server.stop() }
        let agent = Agent(config: NetworkConfig(), transport: CurlTransport())
        let request = GeneralRequest(server.url.absoluteString).expecting(String.self)
        #expect(try await agent.send(request) == "0123456789")
        #expect(server.requests.count == 2)
    }
}
#endif
