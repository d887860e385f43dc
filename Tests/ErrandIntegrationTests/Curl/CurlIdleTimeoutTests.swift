#if os(Linux)
import Errand
import ErrandCurl
import ErrandTesting
import Foundation
import Testing

/// Idle timeouts of exchanges that share the thread of the transport on libcurl with others.
@Suite(.serialized, .limit(seconds: 60))
struct CurlIdleTimeoutTests {
    /// A body of one byte that is read for five seconds, longer than the short timeout.
    private struct SlowSource: BodySource {
        let onRead: @Sendable () -> Void
        var byteCount: Int64? { 1 }

        func makeReader() -> any BodyReader { Reader(onRead: onRead) }

        final class Reader: BodyReader {
            let onRead: @Sendable () -> Void
            var isRead = false

            init(onRead: @escaping @Sendable () -> Void) { self.onRead = onRead }

            func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
                guard !isRead else { return 0 }
                isRead = true
                onRead()
                Thread.sleep(forTimeInterval: 5)
                buffer[0] = 0
                return 1
            }
        }
    }

    private static let short = TransportOptions(idleTimeout: .seconds(3))

    @Test func anExchangeIsNotIdleBeforeItBegins() async throws {
        let server = try RawServer { .ok }
        defer { server.stop() }
        let transport = CurlTransport()
        let (reads, read) = AsyncStream.makeStream(of: Void.self)
        let body = OutgoingBody.source(SlowSource { read.finish() })
        async let slow = transport.send(
            OutgoingRequest(method: .put, url: server.url, body: body),
            options: TransportOptions()
        )
        for await _ in reads {}
        let response = try await transport.send(OutgoingRequest(url: server.url), options: Self.short)
        #expect(response.statusCode == 200)
        #expect(try await slow.statusCode == 200)
    }

    @Test func aResponseThatArrivedInTimeIsReceivedHoweverLongABodyIsRead() async throws {
        let (server, other) = (try MockServer(), try RawServer { .ok })
        defer {
            server.stop()
            other.stop()
        }
        server.on(.get, "/x", .text("x").delayed(by: .milliseconds(60)))
        let transport = CurlTransport()
        async let waiting = transport.send(
            OutgoingRequest(url: server.baseURL.appending(path: "x")),
            options: Self.short
        )
        while server.requests.isEmpty { await Task.yield() }
        let request = OutgoingRequest(method: .put, url: other.url, body: .source(SlowSource {}))
        #expect(try await transport.send(request, options: TransportOptions()).statusCode == 200)
        #expect(try await waiting.statusCode == 200)
    }

    @Test func anExchangeThatContinuesHasItsTimeoutAgainWhateverOthersHave() async throws {
        let header = Data("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n".utf8)
        let half = try RawServer { RawServer.Reply(header + Data(count: 2 << 20), isClosed: false) }
        let quiet = try RawServer { RawServer.Reply("", isClosed: false) }
        defer {
            half.stop()
            quiet.stop()
        }
        let transport = CurlTransport()
        let waiting = Task { [url = quiet.url] in
            try await transport.send(OutgoingRequest(url: url), options: TransportOptions(idleTimeout: .seconds(40)))
        }
        while quiet.requests.isEmpty { await Task.yield() }
        let options = TransportOptions(idleTimeout: .seconds(2), readAhead: 0)
        let response = try await transport.send(OutgoingRequest(url: half.url), options: options)
        // Meanwhile its timeout is checked, and is not in effect.
        try await Task.sleep(for: .seconds(3))
        let error = await #expect(throws: NetworkError.self) {
            while try await response.body.chunks.next() != nil {}
        }
        #expect(error?.reason == .idleTimeout(.seconds(2)))
        waiting.cancel()
        // It ends by its cancellation, and not because its own timeout woke the thread.
        let result = await waiting.result
        #expect(throws: CancellationError.self) { try result.get() }
    }

    /// The loop is notified of 64 sockets at once.
    @Test func manyResponsesThatArrivedInTimeAreReceived() async throws {
        let (server, other) = (try MockServer(), try RawServer { .ok })
        defer {
            server.stop()
            other.stop()
        }
        server.on(.get, "/x", .text("x").delayed(by: .milliseconds(1_500)))
        var configuration = CurlTransport.Configuration()
        configuration.maximumConnectionsPerHost = 128
        let transport = try CurlTransport(configuration: configuration)
        let request = OutgoingRequest(url: server.baseURL.appending(path: "x"))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask { try await transport.send(request, options: Self.short).statusCode }
            }
            while server.requestCount < 100 { await Task.yield() }
            // Until libcurl has no timers for the connections any more.
            try await Task.sleep(for: .milliseconds(300))
            let put = OutgoingRequest(method: .put, url: other.url, body: .source(SlowSource {}))
            #expect(try await transport.send(put, options: TransportOptions()).statusCode == 200)
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 100))
    }
}
#endif
