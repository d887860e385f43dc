import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct ResponseBodyTests {
    @Test func aCompleteBodyIsReadAnyNumberOfTimes() async throws {
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
        async let beginning = body.response().body.beginning(on: Timeline(clock))
        while clock.sleeperCount == 0 { await Task.yield() }
        clock.advance(by: .milliseconds(999))
        #expect(!body.isCancelled)
        clock.advance(by: .milliseconds(1))
        let (bytes, failure) = try await beginning
        #expect(bytes == Data("ab".utf8) && (failure as? NetworkError)?.reason == .closedInBody)
        #expect(body.isCancelled)
    }

    @Test func theBeginningOfABodyHasALimitedSize() async throws {
        typealias Reason = NetworkError.Reason
        func check(_ chunks: [String], end: Reason? = nil, _ text: String, _ reason: Reason?) async throws {
            let body = PushedBody()
            for chunk in chunks { body.send(chunk) }
            body.end(throwing: end.map { NetworkError($0) })
            let (bytes, failure) = try await body.response().body.beginning(upTo: 4, on: Timeline(ManualClock()))
            #expect(bytes == Data(text.utf8) && (failure as? NetworkError)?.reason == reason)
            #expect(body.isCancelled == (reason == .bodyTooLarge(limit: 4)))
        }
        try await check(["abc", "def"], "abcd", .bodyTooLarge(limit: 4))
        try await check(["abc", "d"], "abcd", nil)
        try await check(["abc"], "abc", nil)
        try await check(["abc"], end: .closedInBody, "abc", .closedInBody)
    }

    @Test func aBodyThatHasFailedIsItsBeginningAndThenTheError() async throws {
        let text = Data(repeating: 1, count: 100_000)
        for (limit, count) in [(Int.max, NetworkError.maximumBodyByteCount), (9, 9), (-1, 0)] {
            let body = ResponseBody(text, failing: NetworkError(.invalidContentCoding), upTo: limit)
            #expect(body.whole == nil)
            await expect(throwing: .invalidContentCoding) { _ = try await body.collect(upTo: .max) }
            let again = ResponseBody(text, failing: NetworkError(.invalidContentCoding), upTo: limit)
            let (bytes, failure) = try await again.beginning(within: nil, on: Timeline(ManualClock()))
            #expect(bytes.count == count && (failure as? NetworkError)?.reason == .invalidContentCoding)
        }
    }

    @Test func aCompleteBodyOverTheLimitIsAnError() async {
        await expect(throwing: .bodyTooLarge(limit: 2)) {
            _ = try await ResponseBody(Data("abc".utf8)).collect(upTo: 2)
        }
    }
}
