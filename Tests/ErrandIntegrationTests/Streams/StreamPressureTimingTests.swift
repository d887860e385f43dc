#if os(Linux)
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A slow reader of a stream: the sender waits, and neither memory, disk nor other sends are affected.
@Suite(.timing, .serialized, .timeLimit(.minutes(2)))
struct StreamPressureTimingTests {
    /// The bytes that the sender may send to a slow reader: 1 MiB of ours and the buffers of both sockets.
    private static let buffers = 12 << 20

    private static let bombByteCount = 256 << 20

    /// The bytes of files that this process has open without a name.
    @Sendable private static func spilledByteCount() -> Int {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return descriptors.reduce(0) { sum, name in
            let path = "/proc/self/fd/\(name)"
            let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) ?? ""
            guard target.contains("errand-") else { return sum }
            var information = stat()
            return stat(path, &information) == 0 ? sum + Int(information.st_size) : sum
        }
    }

    /// Prints the figures that a client has printed.
    private static func show(_ result: ExitTest.Result?) {
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        for line in output.split(separator: "\n") where line.hasPrefix("StreamPressureTimingTests") { print(line) }
    }

    @Sendable private static func median(_ values: [Duration]) -> Duration { values.sorted()[values.count / 2] }

    /// Returns the times that sends of another agent take.
    @Sendable private static func times(_ count: Int, _ agent: Agent) async throws -> [Duration] {
        var times: [Duration] = []
        for _ in 0..<count {
            let began = ContinuousClock.now
            _ = try await agent.send(GeneralRequest("/small").expecting(Data.self))
            times.append(ContinuousClock.now - began)
        }
        return times
    }

    /// The servers stay in the process of the test; their URLs are passed to the process of the client.
    @Test func slowReaderStallsTheSenderAndNothingElse() async throws {
        let small = try MockServer()
        small.on(.get, "/small", .text("small"))
        let endless = try ByteServer()
        defer { endless.stop() }
        let counter = Task.detached {
            // The client reads nothing in its third and fourth second.
            var counts: [Int] = []
            while !Task.isCancelled {
                counts.append(endless.sentByteCount)
                try? await Task.sleep(for: .milliseconds(100))
            }
            return counts
        }
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [base = small.baseURL as URL, url = endless.url as URL] in
            let other = Agent(config: NetworkConfig(baseURL: BaseURL(base)))
            _ = try await StreamPressureTimingTests.times(50, other)
            let alone = try await StreamPressureTimingTests.times(300, other)
            let before = try ThisProcess.peak()
            let stream = try await Agent(config: NetworkConfig()).bytes(for: GeneralRequest(url.absoluteString))
            var read = 0
            var iterator = stream.makeAsyncIterator()
            while read < 4 << 20 { read += try await iterator.next()?.count ?? 0 }
            try await Task.sleep(for: .seconds(1))
            let beside = try await StreamPressureTimingTests.times(300, other)
            // A slow reader: a chunk each 10 milliseconds.
            for _ in 0..<100 {
                read += try await iterator.next()?.count ?? 0
                try await Task.sleep(for: .milliseconds(10))
            }
            let grown = try ThisProcess.peak() - before
            let spilled = StreamPressureTimingTests.spilledByteCount()
            let (one, two) = (StreamPressureTimingTests.median(alone), StreamPressureTimingTests.median(beside))
            print(
                "StreamPressureTimingTests: RSS +\(grown >> 10) KiB, on disk \(spilled) bytes, sends \(one) alone, \(two) beside, \(read >> 10) KiB read"
            )
            guard grown < 16 << 20, spilled == 0, two < one * 3 + .milliseconds(10) else { exit(EXIT_FAILURE) }
        }
        Self.show(result)
        counter.cancel()
        let counts = await counter.value
        print("StreamPressureTimingTests: the sender sent \((counts.last ?? 0) >> 10) KiB")
        #expect(try #require(counts.last) < (4 << 20) + (2 << 20) + Self.buffers)
    }

    @Test func bytesAreIntactAfterManyPauses() async throws {
        let size = 40 << 20
        let server = try ByteServer(byteCount: size)
        defer { server.stop() }
        let stream = try await Agent(config: NetworkConfig()).bytes(for: GeneralRequest(server.url.absoluteString))
        var (read, next) = (0, 0)
        for try await chunk in stream {
            let isRight = chunk.enumerated().allSatisfy { $0.element == UInt8((read + $0.offset) % 251) }
            #expect(isRight, "from \(read)")
            read += chunk.count
            if read >= next {
                next += 2 << 20
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        #expect(read == size)
    }

    @Test func pausedStreamIsNotIdleAndEndsAtOnce() async throws {
        let server = try ByteServer()
        defer { server.stop() }
        let request = GeneralRequest(server.url.absoluteString).timeout(.milliseconds(800))
        let stream = try await Agent(config: NetworkConfig()).bytes(for: request)
        try await Task.sleep(for: .seconds(2))
        var iterator = stream.makeAsyncIterator()
        var read = 0
        while read < 8 << 20 { read += try #require(try await iterator.next()).count }
        try await Task.sleep(for: .milliseconds(1_600))
        let sent = server.sentByteCount
        #expect(sent < read + Self.buffers)
        let began = ContinuousClock.now
        stream.cancel()
        while server.endedCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(ContinuousClock.now - began < StreamTests.allowance)
        await #expect(throws: CancellationError.self) { while try await iterator.next() != nil {} }
    }

    @Test func compressedBodyIsPausedToo() async throws {
        let server = try MockServer()
        server.on(.get, "/bomb", .data(Data([0])).faulted(.gzipBomb(decodedByteCount: Self.bombByteCount)))
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [base = server.baseURL as URL] in
            var config = NetworkConfig(baseURL: BaseURL(base))
            config.limits.maximumExpansion = 10_000
            let before = try ThisProcess.peak()
            let stream = try await Agent(config: config).bytes(for: GeneralRequest("/bomb"))
            var (read, spilled) = (0, 0)
            var next = 0
            for try await chunk in stream {
                read += chunk.count
                guard read >= next else { continue }
                next += 64 << 20
                try await Task.sleep(for: .milliseconds(500))
                spilled = max(spilled, StreamPressureTimingTests.spilledByteCount())
            }
            let grown = try ThisProcess.peak() - before
            print(
                "StreamPressureTimingTests: RSS +\(grown >> 10) KiB for a bomb of \(read >> 20) MiB, on disk \(spilled >> 10) KiB"
            )
            // The status is all that is known of a process that fails.
            guard read == StreamPressureTimingTests.bombByteCount else { exit(10) }
            guard grown < 80 << 20 else { exit(11) }
            guard spilled < 64 << 20 else { exit(12) }
        }
        Self.show(result)
    }

    /// A stream has a connection of its own, so that paused ones don't occupy the few to a host.
    @Test func pausedStreamsLeaveConnectionsToOthers() async throws {
        let server = try MockServer()
        server.on(.get, "/endless", .data(Data(count: 65_536)).faulted(.endlessBody))
        server.on(.get, "/small", .text("small"))
        defer { server.stop() }
        let agent = server.agent(transport: TransportUnderTest.make(maximumConnectionsPerHost: 1))
        var streams: [ResponseStream] = []
        let began = ContinuousClock.now
        for _ in 0..<8 { streams.append(try await agent.bytes(for: GeneralRequest("/endless"))) }
        #expect(try await agent.send(GeneralRequest("/small").expecting(String.self)) == "small")
        #expect(ContinuousClock.now - began < .seconds(5))
        #expect(streams.count == 8)
    }
}
#endif
