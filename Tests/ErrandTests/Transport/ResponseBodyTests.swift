import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct ResponseBodyTests {
    @Test func aWholeBodyIsReadAnyNumberOfTimes() async throws {
        let body = ResponseBody(Data("abc".utf8))
        #expect(body.whole == Data("abc".utf8))
        #expect(try await body.collect(upTo: 3) == Data("abc".utf8))
        #expect(try await body.collect(upTo: 3) == Data("abc".utf8))
        let chunks = body.chunks
        #expect(try await chunks.next() == Data("abc".utf8))
        #expect(try await chunks.next() == nil)
        #expect(try await ResponseBody(Data()).chunks.next() == nil)
    }

    @Test(arguments: [(6, true), (5, false), (0, false)])
    func aBodyOverTheLimitIsAnError(limit: Int, fits: Bool) async throws {
        let cancels = Record<Void>()
        let chunks = SpillingChunks { cancels.add(()) }
        for text in ["ab", "cd", "ef"] { chunks.append(Data(text.utf8)) }
        chunks.finish(throwing: nil)
        let body = ResponseBody(chunks: SpillingChunksReader(chunks))
        #expect(body.whole == nil)
        if fits {
            #expect(try await body.collect(upTo: limit) == Data("abcdef".utf8))
        } else {
            await expect(throwing: .bodyTooLarge(limit: limit)) { _ = try await body.collect(upTo: limit) }
            #expect(cancels.all.count == 1)
        }
    }

    @Test func theBeginningOfABodyThatGoesOnEndsInTime() async throws {
        let (clock, body) = (ManualClock(), PushedBody())
        body.send("ab")
        async let bytes = body.response().body.beginning(on: Timeline(clock))
        while clock.sleeperCount == 0 { await Task.yield() }
        clock.advance(by: .milliseconds(999))
        #expect(!body.isCancelled)
        clock.advance(by: .milliseconds(1))
        #expect(try await bytes == Data("ab".utf8))
        #expect(body.isCancelled)
    }

    @Test func theBeginningOfABodyHasALimitedSize() async throws {
        let timeline = Timeline(ManualClock())
        let (long, short, cut) = (PushedBody(), PushedBody(), PushedBody())
        long.send("abc")
        long.send("def")
        #expect(try await long.response().body.beginning(upTo: 4, on: timeline) == Data("abcd".utf8))
        #expect(long.isCancelled)
        short.send("abc")
        short.end()
        #expect(try await short.response().body.beginning(upTo: 4, on: timeline) == Data("abc".utf8))
        #expect(!short.isCancelled)
        cut.send("abc")
        cut.end(throwing: NetworkError(.closedInBody))
        #expect(try await cut.response().body.beginning(on: timeline) == Data("abc".utf8))
    }

    @Test func aWholeBodyOverTheLimitIsAnError() async {
        await expect(throwing: .bodyTooLarge(limit: 2)) {
            _ = try await ResponseBody(Data("abc".utf8)).collect(upTo: 2)
        }
    }
}
