#if os(Linux)
import Errand
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

/// Exchanges that wait for a connection of the transport on libcurl.
@Suite(.limit(seconds: 60))
struct CurlQueueTests {
    /// A body of one byte that calls a closure when it is deallocated.
    private final class CountedSource: BodySource {
        let onEnd: @Sendable () -> Void
        var byteCount: Int64? { 1 }

        init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }
        deinit { onEnd() }

        func makeReader() -> any BodyReader { Reader() }

        final class Reader: BodyReader {
            var isRead = false

            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                defer { isRead = true }
                if !isRead { buffer[0] = 0 }
                return isRead ? 0 : 1
            }
        }
    }

    @Test func aRequestWithABodyIsNotOvertakenByOneWithout() async throws {
        let server = try MockServer { .text($0.path) }
        defer { server.stop() }
        let put = OutgoingRequest(method: .put, url: server.baseURL.appending(path: "1"), body: .data(Data("x".utf8)))
        let transport = try CurlTransport.make { $0.maximumConnectionsPerHost = 1 }
        _ = try await transport.get(server.baseURL)
        // The first one is passed to the transport's thread, and the second one begins on this one if it may.
        for _ in 0..<100 {
            let first = Task.immediate { try await transport.send(put, options: TransportOptions()) }
            let second = Task.immediate { try await transport.get(server.baseURL.appending(path: "2")) }
            _ = try await (first.value, second.value)
        }
        #expect(server.requests.dropFirst().map(\.path) == (0..<200).map { $0.isMultiple(of: 2) ? "/1" : "/2" })
    }

    @Test func whatHasEndedIsNotKeptByThoseThatWait() async throws {
        let (release, endedCount) = (DispatchSemaphore(value: 0), Lock(0))
        let server = try MockServer { request in
            if request.path == "/0" || request.path == "/last" { release.wait() }
            return .text("x")
        }
        defer {
            release.signal()
            server.stop()
        }
        let transport = try CurlTransport.make { $0.maximumConnectionsPerHost = 1 }
        func send(_ path: String) -> Task<Int, any Error> {
            let body = OutgoingBody.source(CountedSource { endedCount.withLock { $0 += 1 } })
            let request = OutgoingRequest(method: .put, url: server.baseURL.appending(path: path), body: body)
            return Task.immediate { try await transport.send(request, options: TransportOptions()).statusCode }
        }
        func waitForEnds(_ count: Int) async throws {
            let giveUp = ContinuousClock.now + .seconds(5)
            while endedCount.withLock({ $0 }) < count, ContinuousClock.now < giveUp {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(endedCount.withLock { $0 } == count)
        }
        let first = send("0")
        await server.waitForRequests(1)
        let cancelled = (0..<10).map { _ in send("no") }
        let others = (0..<10).map { _ in send("x") }
        let last = send("last")
        for task in cancelled { task.cancel() }
        try await waitForEnds(10)
        release.signal()
        #expect(try await first.value == 200)
        for task in others { #expect(try await task.value == 200) }
        // The last one is running.
        try await waitForEnds(21)
        release.signal()
        #expect(try await last.value == 200)
    }
}
#endif
