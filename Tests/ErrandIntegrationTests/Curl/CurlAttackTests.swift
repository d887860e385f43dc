#if os(Linux)
import Errand
import Foundation
import Testing

@testable import ErrandCurl

/// Servers that break the rules, and the transport on libcurl.
@Suite(.limit(seconds: 60))
struct CurlAttackTests {
    private static func send(
        _ reply: String,
        _ options: TransportOptions = TransportOptions(idleTimeout: .seconds(20))
    ) async throws -> TransportResponse { try await send(Data(reply.utf8), options) }

    private static func send(_ reply: Data, _ options: TransportOptions) async throws -> TransportResponse {
        let server = try RawServer { RawServer.Reply(reply, isClosed: false) }
        defer { server.stop() }
        var response = try await CurlTransport().send(OutgoingRequest(url: server.url), options: options)
        response.body = ResponseBody(try await response.body.collect(upTo: 1 << 20))
        return response
    }

    @Test(arguments: ["HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "x"])
    func whatNoRequestAskedForIsNotTheResponseToTheNext(_ text: String) async throws {
        let server = try RawServer { .ok }
        defer { server.stop() }
        let transport = CurlTransport()
        for _ in 0..<3 {
            let response = try await transport.send(OutgoingRequest(url: server.url), options: TransportOptions())
            #expect(response.statusCode == 200 && response.connection?.isReused == false)
            server.push(text)
            while server.connectionCount > 0 { await Task.yield() }
        }
    }

    /// The header section is received apart from the end of the body, so libcurl receives no more of the body than stated.
    @Test func whatFollowsABodyIsNotTheResponseToARequestThatWaits() async throws {
        let (body, isFirst) = (String(repeating: "a", count: 40_000), Lock(true))
        let other = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
        let release = DispatchSemaphore(value: 0)
        let server = try RawServer {
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if isFirst { release.wait() }
            let reply = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            return RawServer.Reply(reply + other, isClosed: false)
        }
        defer { server.stop() }
        let transport = try CurlTransport.make { $0.maximumConnectionsPerHost = 1 }
        // Each begins on this thread, so that all others wait for the first one.
        let sends = (0..<4).map { _ in Task.immediate { try await transport.get(server.url) } }
        release.signal()
        for send in sends {
            let response = try await send.value
            #expect(response.statusCode == 200 && response.connection?.isReused == false)
            #expect(response.body.whole?.count == body.utf8.count)
        }
    }

    @Test func aBodyThatIsCutByAResetIsNotCompleteAlthoughItsReaderLetItWait() async throws {
        // The pause begins with the last byte, so that the reset is all that is left.
        let body = Data(count: CurlBody.pauseLevel)
        let server = try RawServer { RawServer.Reply(Data("HTTP/1.1 200 OK\r\n\r\n".utf8) + body, isReset: true) }
        let other = try RawServer { .ok }
        defer {
            server.stop()
            other.stop()
        }
        let transport = CurlTransport()
        let options = TransportOptions(idleTimeout: .seconds(20), readAhead: 0)
        let response = try await transport.send(OutgoingRequest(url: server.url), options: options)
        while server.connectionCount > 0 { await Task.yield() }
        // With its response the event loop has also seen the reset.
        _ = try await transport.get(other.url)
        let error = await #expect(throws: NetworkError.self) { try await response.body.collect(upTo: 1 << 20) }
        #expect(error?.reason == .closedInBody)
    }

    @Test(arguments: [0, Int.max])
    func trailersCountAmongTheHeaderSection(_ readAhead: Int) async throws {
        let trailers = String(repeating: "X-T: \(String(repeating: "a", count: 1000))\r\n", count: 2000)
        let reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\(trailers)\r\n"
        let error = await #expect(throws: NetworkError.self) {
            try await Self.send(reply, TransportOptions(readAhead: readAhead))
        }
        #expect(error?.reason == .headerSectionTooLarge)
    }

    @Test(arguments: ["gzip, chunked", "gzip", "deflate", "br", "x", "chunked, chunked"])
    func transferCodingsThatNoRequestOffersAreRefused(_ coding: String) async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await Self.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: \(coding)\r\n\r\n0\r\n\r\n")
        }
        #expect(error?.reason == .malformedHeader)
    }

    @Test(arguments: [0, 3, Int.max])
    func aSwitchToAnotherProtocolIsNoResponse(_ readAhead: Int) async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await Self.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello",
                TransportOptions(idleTimeout: .seconds(20), readAhead: readAhead)
            )
        }
        #expect(error?.reason == .malformedStatusLine)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nX: 1\r\nHTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: a\rb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: a\r\r\n\r\n",
        "HTTP/1.1 200 OK\r\n:\r\nContent-Length: 0\r\n\r\n",
    ])
    func linesThatAreNoFieldsAreMalformed(_ reply: String) async throws {
        let error = await #expect(throws: NetworkError.self) { try await Self.send(reply) }
        #expect(error?.reason == .malformedHeader)
    }

    /// Three gzip codings of a content without a byte: 621 bytes, which become 500 kB, and these 100 MB, and these nothing.
    @Test(arguments: [0, Int.max])
    func theExpansionOfACodingWithinAnotherIsLimited(_ readAhead: Int) async throws {
        let body = try #require(Data(base64Encoded: Self.nested))
        let fields = "Content-Encoding: gzip, gzip, gzip\r\nContent-Length: \(body.count)"
        let error = await #expect(throws: NetworkError.self) {
            try await Self.send(
                Data("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n".utf8) + body,
                TransportOptions(readAhead: readAhead)
            )
        }
        #expect(error?.reason == .decompressionRatio(limit: 200))
    }

    private static let nested =
        "H4sIAAAAAAACA+3dPUtbYRzG4WOa0jhEfBkUVGpQcO4itlmCDjrZD9DBZNYOLhkKrVZCRAolncWtu1nSVYIOunUztZMvS6ku"
        + "QgfB+pRzvkUfrh/XcOZ7/cN5nn8qJGm5JzfH3WKS5JMXr9+M9b43Xr477by62htPJEmSJEmSJElSVFV/7C7m0o+psFpeaL/9"
        + "+Q0AAAAAAIhLe2Qnnx4DKo+H9UbVIAAAAAAAEJ3a7EB/egzYeti8LXQNAgAAAAAA0TlamRjOfhh0H86Htg0CAAAAAADRae7P"
        + "z2THgLvQmc4bBAAAAAAAolMsbyxnx4DrsLZUMAgAAAAAAERnvH7Zyo4BJ+Hs8+C6QQAAAAAAIDZzN8elvvQY0AoHk6WeQQAA"
        + "AAAAIDq93cVcegyYCqvlhbZBAAAAAAAgOu2RnXx6DKg8HtYbVYMAAAAAAEB0arMD/ekxYOth87bQNQgAAAAAAETnaGViOHtB"
        + "+D6cD20bBAAAAAAAotPcn5/JjgF3oTOdNwgAAAAAAESnWN5Yzo4B12FtqWAQAAAAAACIznj9spUdA07C2efBdYMAAAAAAEBs"
        + "5m6OS33pMaAVDiZLPYMAAAAAAEB0eruLufQYMBVWywttgwAAAAAAQHTaIzv59BhQeTysN6oGAQAAAACA6NRmB/rTY8DWw+Zt"
        + "oWsQAAAAAACIztHKxHD2gvB9OB/aNggAAAAAAESnuT8/kx0D7kJnOm8QAAAAAACITrG8sZwdA67D2lLBIAAAAAAAEJ29+lUv"
        + "nyTN2tjf8KtyOvrlWS2RJEmSJEn/W9WPv9/3fb36cDF68efpP55L/DItOQIA"
}
#endif
