import Errand
import ErrandTesting
import Foundation
import Testing

/// All exchanges of a process share one queue of URLSession; what waits for it is not silent.
@Suite(.timing, .serialized, .limit(seconds: 60))
struct BusyQueueTimingTests {
    @Test(arguments: [true, false])
    func responseOrStartThatWaitsForTheQueueDoesNotTimeOut(_ isSentBefore: Bool) async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.post, "/slow", .status(204))
        server.on(.get, "/x", .text("x").delayed(by: .milliseconds(200)))
        let transport = URLSessionTransport()
        let get = OutgoingRequest(url: server.baseURL.appending(path: "x"))
        let url = server.baseURL.appending(path: "slow")
        let post = OutgoingRequest(method: .post, url: url, body: .source(SleepyBody()))
        async let before = isSentBefore ? transport.send(get, options: .brief) : nil
        if isSentBefore { try await Task.sleep(for: .milliseconds(50)) }
        async let blocking = transport.send(post, options: TransportOptions())
        if !isSentBefore {
            try await Task.sleep(for: .milliseconds(50))
            #expect(try await transport.send(get, options: .brief).statusCode == 200)
        }
        #expect(try await before?.statusCode ?? 200 == 200)
        #expect(try await blocking.statusCode == 204)
    }
}

extension TransportOptions {
    fileprivate static var brief: TransportOptions { TransportOptions(idleTimeout: .milliseconds(400)) }
}

/// A body of one byte that takes a second to read.
private struct SleepyBody: BodySource {
    let byteCount: Int64? = 1

    func makeReader() -> any BodyReader { Reader() }

    private final class Reader: BodyReader {
        private var isDone = false

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            guard !isDone else { return 0 }
            isDone = true
            Thread.sleep(forTimeInterval: 1)
            buffer[0] = 1
            return 1
        }
    }
}
