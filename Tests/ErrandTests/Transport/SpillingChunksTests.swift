import Foundation
import Testing

@testable import Errand

@Suite struct SpillingChunksTests {
    private let cancels = Record<Void>()

    private func makeChunks() -> SpillingChunks { SpillingChunks { [cancels] in cancels.add(()) } }

    @Test func chunksComeInOrderAndEnd() async throws {
        let chunks = makeChunks()
        for text in ["a", "", "b", "c"] { chunks.append(Data(text.utf8)) }
        chunks.finish(throwing: nil)
        #expect(try await chunks.next() == Data("abc".utf8))
        #expect(try await chunks.next() == nil)
        #expect(try await chunks.next() == nil)
        #expect(cancels.all.isEmpty)
    }

    @Test func unreadBytesGoToAFileAndBack() async throws {
        let chunks = makeChunks()
        let piece = 100_000
        let total = 3 * SpillingChunks.memoryLimit
        let bytes = Data((0..<total).map { UInt8(truncatingIfNeeded: $0 / 1021) })
        for start in stride(from: 0, to: total, by: piece) { chunks.append(bytes[start..<min(start + piece, total)]) }
        var read = Data()
        while read.count < total { read.append(try #require(try await chunks.next())) }
        #expect(read == bytes)
        chunks.append(Data("more".utf8))
        chunks.finish(throwing: nil)
        #expect(try await chunks.next() == Data("more".utf8))
        #expect(try await chunks.next() == nil)
    }

    @Test func waitingReaderGetsTheNextChunk() async throws {
        let chunks = makeChunks()
        async let first = chunks.next()
        await Task.yield()
        chunks.append(Data("late".utf8))
        #expect(try await first == Data("late".utf8))
        async let end = chunks.next()
        await Task.yield()
        chunks.finish(throwing: nil)
        #expect(try await end == nil)
    }

    @Test func anErrorComesAfterTheBytesBeforeIt() async throws {
        let chunks = makeChunks()
        chunks.append(Data("a".utf8))
        chunks.finish(throwing: Boom())
        chunks.append(Data("ignored".utf8))
        chunks.finish(throwing: nil)
        #expect(try await chunks.next() == Data("a".utf8))
        await #expect(throws: Boom()) { try await chunks.next() }
        await #expect(throws: Boom()) { try await chunks.next() }
    }

    @Test func cancelDropsTheRestAndNotifiesTheExchange() async throws {
        let chunks = makeChunks()
        chunks.append(Data(count: 2 * SpillingChunks.memoryLimit))
        chunks.cancel()
        await #expect(throws: CancellationError.self) { try await chunks.next() }
        #expect(cancels.all.count == 1)
    }

    @Test func cancelAfterTheLastByteArrivedIsNotTheEndOfTheBody() async throws {
        let chunks = makeChunks()
        chunks.append(Data("a".utf8))
        chunks.append(Data(count: 2 * SpillingChunks.memoryLimit))
        chunks.finish(throwing: nil)
        #expect(try await chunks.next() == Data("a".utf8))
        chunks.cancel()
        await #expect(throws: CancellationError.self) { try await chunks.next() }
        let read = makeChunks()
        read.finish(throwing: nil)
        #expect(try await read.next() == nil)
        read.cancel()
        #expect(try await read.next() == nil)
    }

    @Test func aCancelledReaderEndsAtOnce() async throws {
        let chunks = makeChunks()
        let reader = Task { try await chunks.next() }
        await Task.yield()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(cancels.all.count == 1)
    }

    @Test func readerThatIsDeallocatedEndsTheExchangeThatStillWrites() async throws {
        let chunks = makeChunks()
        do {
            let body = ResponseBody(chunks: SpillingChunksReader(chunks))
            chunks.append(Data("a".utf8))
            #expect(try await body.chunks.next() == Data("a".utf8))
            #expect(cancels.all.isEmpty)
        }
        #expect(cancels.all.count == 1)
        // Later bytes are not kept.
        chunks.append(Data(count: 10))
        await #expect(throws: CancellationError.self) { try await chunks.next() }
    }

    @Test func chunksOfOneByteAreJoined() async throws {
        let chunks = makeChunks()
        let count = 200_000
        for index in 0..<count { chunks.append(Data([UInt8(truncatingIfNeeded: index)])) }
        chunks.finish(throwing: nil)
        var (read, pieces) = (Data(), 0)
        while let piece = try await chunks.next() {
            read.append(piece)
            pieces += 1
        }
        #expect(read == Data((0..<count).map { UInt8(truncatingIfNeeded: $0) }))
        #expect(pieces <= count / 1000)
    }

    /// A reception that notes what it is asked to do.
    private final class FakeReception: PausableReception {
        let calls = Record<String>()
        let wanted = Record<@Sendable () -> Bool>()

        func pause() { calls.add("pause") }
        func resume(if isWanted: @escaping @Sendable () -> Bool) {
            calls.add("resume")
            wanted.add(isWanted)
        }
    }

    @Test func fullBufferPausesTheReceptionUntilItIsRead() async throws {
        let reception = FakeReception()
        let chunks = SpillingChunks(pausing: reception) {}
        let piece = 64 << 10
        for _ in 0..<11 { chunks.append(Data(count: piece)) }
        #expect(reception.calls.all.isEmpty)
        #expect(chunks.pausedUntil == nil)
        chunks.append(Data(count: piece))
        #expect(reception.calls.all == ["pause"])
        let before = Moment.now
        #expect(try #require(chunks.pausedUntil) >= before)
        // Bytes that were decoded already arrive nevertheless.
        chunks.append(Data(count: 24 * piece))
        #expect(reception.calls.all == ["pause", "pause"])
        var read = 0
        while read < 31 * piece { read += try #require(try await chunks.next()).count }
        #expect(reception.calls.all == ["pause", "pause"])
        while read < 32 * piece { read += try #require(try await chunks.next()).count }
        #expect(reception.calls.all == ["pause", "pause", "resume"])
        #expect(reception.wanted.all[0]())
        // The time while it was paused counts as activity.
        #expect(try #require(chunks.pausedUntil) < .now)
        #expect(try #require(chunks.pausedUntil) >= before)
    }

    @Test func receptionThatIsFullAgainIsNotResumed() async throws {
        let reception = FakeReception()
        let chunks = SpillingChunks(pausing: reception) {}
        chunks.append(Data(count: SpillingChunks.memoryLimit))
        _ = try await chunks.next()
        chunks.append(Data(count: SpillingChunks.memoryLimit))
        #expect(reception.calls.all == ["pause", "resume", "pause"])
        #expect(!reception.wanted.all[0]())
        chunks.cancel()
        #expect(!reception.wanted.all[0]())
    }

    @Test func readerThatIsAlwaysBehindDoesNotFillTheFile() async throws {
        let reception = FakeReception()
        let chunks = SpillingChunks(pausing: reception, fileLimit: 8 << 20) {}
        let piece = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 / 3) })
        var (sent, received) = (Data(), Data())
        // More than the memory limit, so that the rest is in the file; then again whenever the reception is resumed.
        for round in 0..<20 {
            for _ in 0..<(round == 0 ? 2 : 1) {
                chunks.append(piece)
                sent += piece
            }
            while reception.calls.all.count(where: { $0 == "resume" }) <= round {
                received += try #require(try await chunks.next())
            }
            #expect(received.count < sent.count)
        }
        chunks.finish(throwing: nil)
        while let data = try await chunks.next() { received += data }
        #expect(received == sent)
    }

    @Test func receptionWhoseReaderHasEndedIsPaused() async throws {
        let reception = FakeReception()
        let chunks = SpillingChunks(pausing: reception) {}
        chunks.cancel()
        chunks.append(Data(count: 10))
        #expect(reception.calls.all == ["pause"])
    }
}
