import Errand
import ErrandTesting
import Foundation
import Testing

/// The bytes that the transport sends and receives.
@Suite(.limit(seconds: 120))
struct TransportTests {
    private let server: MockServer
    private let transport = TransportUnderTest.make()

    init() throws { server = try MockServer() }

    private func send(
        _ method: HTTPMethod = .get,
        _ path: String,
        headers: HTTPHeaders = [:],
        body: OutgoingBody = .empty,
        options: TransportOptions = TransportOptions()
    ) async throws -> TransportResponse {
        let request = OutgoingRequest(
            method: method,
            url: server.baseURL.appending(path: path),
            headers: headers,
            body: body
        )
        return try await transport.send(request, options: options)
    }

    @Test
    func aBodyIsSentWithItsLengthAndWithoutChunks() async throws {
        server.on(.post, "/x", .status(204))
        _ = try await send(.post, "/x", headers: ["Content-Type": "text/plain"], body: .data(Data("hello".utf8)))
        let request = try #require(server.requests.first)
        #expect(request.text == "hello")
        #expect(request.headers.values(for: "Content-Length") == ["5"])
        #expect(!request.headers.contains("Transfer-Encoding"))
        #expect(!request.headers.contains("Expect"))
        #expect(request.headers["Content-Type"] == "text/plain")
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch, .delete])
    func aRequestWithoutBodyIsSentWithoutOne(_ method: HTTPMethod) async throws {
        server.on(method, "/x", .status(204))
        _ = try await send(method, "/x")
        let request = try #require(server.requests.first)
        #expect(request.body.isEmpty)
        #expect(["0", nil].contains(request.headers["Content-Length"]))
    }

    @Test
    func aSourceOfKnownLengthIsStreamedWithThatLength() async throws {
        server.on(.put, "/x", .status(204))
        let source = PatternSource(count: 3_000_000, statesCount: true)
        _ = try await send(.put, "/x", body: .source(source))
        let request = try #require(server.requests.first)
        #expect(request.headers["Content-Length"] == "3000000")
        #expect(!request.headers.contains("Transfer-Encoding"))
        #expect(request.body == source.bytes)
    }

    @Test
    func aSourceOfUnknownLengthIsSentInChunks() async throws {
        server.on(.put, "/x", .status(204))
        let source = PatternSource(count: 200_000, statesCount: false)
        _ = try await send(.put, "/x", body: .source(source))
        let request = try #require(server.requests.first)
        #expect(request.headers["Transfer-Encoding"]?.lowercased() == "chunked")
        #expect(request.body == source.bytes)
    }

    @Test
    func aSourceThatFailsEndsTheExchange() async throws {
        server.on(.put, "/x", .status(204))
        await #expect(throws: PatternSource.Broken.self) {
            _ = try await send(
                .put,
                "/x",
                body: .source(PatternSource(count: 500_000, statesCount: true, failsAt: 100_000))
            )
        }
    }

    @Test
    func aBodyIsSentCompletelyAfterAnIdleConnectionDied() async throws {
        server.on(.put, "/x", .json("{}").faulted(.closeAfterResponse))
        for round in 0..<20 {
            let body = Data("round \(round)".utf8)
            _ = try await send(.put, "/x", body: .data(body))
            #expect(server.requests.last?.body == body)
            // Until the server has closed the connection, it is not idle but in use, and the next request may be lost.
            while server.openConnectionCount > 0, !Task.isCancelled { await Task.yield() }
        }
        #expect(server.requestCount == 20)
    }

    /// URLSession omits a field whose value is a single space.
    @Test(arguments: ["", " ", "\t", "  "])
    func aFieldWithoutAValueIsSent(_ value: String) async throws {
        server.on(.get, "/x", .text("x"))
        _ = try await send(.get, "/x", headers: ["X-Empty": value, "X-Full": " a "])
        #expect(server.requests.last?.headers["X-Empty"] == "")
        #expect(server.requests.last?.headers["X-Full"] == "a")
    }

    @Test(arguments: [301, 302, 303, 305, 307, 308])
    func redirectIsReturnedUnchanged(_ status: Int) async throws {
        server.on(.get, "/x", .redirect(to: "/y", status: status, body: "moved"))
        server.on(.get, "/y", .text("followed"))
        let response = try await send(.get, "/x")
        #expect(response.statusCode == status)
        #expect(response.headers["Location"] == "/y")
        #expect(server.requestCount == 1)
    }

    @Test(arguments: ["Basic realm=\"x\"", "basic realm=x", "Digest realm=\"x\", nonce=\"1\"", "Bearer", "Basic"])
    func challengeIsHandledAndThe401IsReturned(_ challenge: String) async throws {
        server.on(.get, "/x", .text("who are you?", status: 401, headers: ["WWW-Authenticate": challenge]))
        let response = try await send(.get, "/x")
        #expect(response.statusCode == 401)
        #expect(try await response.body.collect(upTo: 100) == Data("who are you?".utf8))
    }

    @Test
    func fieldsOfOneNameInTwoSpellingsAreOneField() async throws {
        server.on(.get, "/x", .text("x", headers: ["X-Dup": "a", "x-dup": "b"]))
        let values = try await send(.get, "/x").headers.values(for: "X-DUP").sorted()
        #expect(values == ["a", "b"])
    }

    @Test
    func aLargeBodyIsReadInChunksAtTheReadersPace() async throws {
        let bytes = PatternSource(count: 5_000_000, statesCount: true).bytes
        server.on(.get, "/x", .data(bytes))
        let response = try await send(.get, "/x", options: TransportOptions(readAhead: 0))
        #expect(response.body.whole == nil)
        let chunks = response.body.chunks
        var collected = Data()
        while let chunk = try await chunks.next() {
            collected.append(chunk)
            if collected.count < 100_000 { await server.waitForRequests(1) }
        }
        #expect(collected == bytes)
    }

    @Test
    func aReaderThatStartsLateStillGetsEveryByte() async throws {
        // Far more than is held in memory: the server waits for the reader with the rest.
        let bytes = PatternSource(count: 30_000_000, statesCount: true).bytes
        server.on(.get, "/x", .data(bytes).closingConnection())
        let response = try await send(.get, "/x", options: TransportOptions(readAhead: 0))
        try await Task.sleep(for: .milliseconds(300))
        #expect(server.openConnectionCount == 1)
        #expect(try await response.body.collect(upTo: 30_000_000) == bytes)
    }

    @Test
    func bodyThatBreaksWhileBeingReadThrows() async throws {
        let body = String(repeating: "x", count: 200_000)
        server.on(.get, "/x", .text(body).faulted(.closeInBody(after: 150_000)))
        let response = try await send(.get, "/x", options: TransportOptions(readAhead: 0))
        let error = await #expect(throws: NetworkError.self) { try await response.body.collect(upTo: .max) }
        #expect(error?.reason == .closedInBody)
    }

    @Test
    func aReaderThatCancelsClosesTheConnection() async throws {
        server.on(.get, "/x", .text("x").faulted(.endlessBody))
        let response = try await send(.get, "/x", options: TransportOptions(readAhead: 0, maximumBodySize: 1 << 30))
        response.body.chunks.cancel()
        while server.openConnectionCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test(arguments: [true, false])
    func bodyThatIsDroppedEndsItsExchange(_ isReadBefore: Bool) async throws {
        server.on(.get, "/x", .text("x").faulted(.endlessBody))
        let options = TransportOptions(readAhead: 0, maximumBodySize: .max)
        var response: TransportResponse? = try await send(.get, "/x", options: options)
        if isReadBefore { #expect(try await response?.body.chunks.next() != nil) }
        #expect(response?.statusCode == 200)
        response = nil
        while server.openConnectionCount > 0 { await Task.yield() }
    }

    @Test
    func bodyOfTheLimitIsAcceptedAndOneByteMoreIsNot() async throws {
        server.on(.get, "/x", .data(Data(repeating: 1, count: 1000)))
        let whole = try await send(.get, "/x", options: TransportOptions(maximumBodySize: 1000))
        #expect(try await whole.body.collect(upTo: 1000).count == 1000)
        let error = await #expect(throws: NetworkError.self) {
            _ = try await send(.get, "/x", options: TransportOptions(maximumBodySize: 999)).body.collect(upTo: .max)
        }
        #expect(error?.reason == .bodyTooLarge(limit: 999))
    }

    @Test
    func contentLengthAboveTheLimitIsRejectedBeforeTheBodyIsRead() async throws {
        server.on(.get, "/x", .data(Data(repeating: 1, count: 2000)).faulted(.hangInBody(after: 5)))
        let options = TransportOptions(idleTimeout: .seconds(5), maximumBodySize: 1999)
        let error = await #expect(throws: NetworkError.self) {
            try await send(.get, "/x", options: options).body.collect(upTo: .max)
        }
        #expect(error?.reason == .bodyTooLarge(limit: 1999))
    }

    @Test
    func contentLengthOfResponsesWithoutContentIsNotLimited() async throws {
        server.on(.head, "/x", .data(Data(repeating: 1, count: 2000)))
        server.on(.get, "/x", .status(304, headers: ["Content-Length": "2000"]))
        let options = TransportOptions(maximumBodySize: 10)
        let head = try await send(.head, "/x", options: options)
        #expect(head.headers["Content-Length"] == "2000")
        #expect(try await send(.get, "/x", options: options).statusCode == 304)
    }

    @Test
    func contentLengthOfACodedBodyIsNotLimited() async throws {
        let bytes = Data((0..<100).map { UInt8(truncatingIfNeeded: $0 &* 151 ^ $0 >> 3) })
        server.on(.get, "/x", .data(bytes).gzipped())
        let response = try await send(.get, "/x", options: TransportOptions(maximumBodySize: 100))
        #expect(response.headers["Content-Length"].flatMap { Int($0) } ?? 0 > 100)
        #expect(response.body.whole == bytes)
    }

    @Test
    func aCancelledTaskIsNotSentAtAll() async throws {
        server.on(.get, "/x", .text("x"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await send(.get, "/x")
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.requestCount == 0)
    }
}

/// Bytes that follow from their place, so that a lost or doubled one shows.
struct PatternSource: BodySource {
    struct Broken: Error {}

    let count: Int
    let statesCount: Bool
    var failsAt: Int?

    var byteCount: Int64? { statesCount ? Int64(count) : nil }
    var bytes: Data {
        var bytes = Data(capacity: count)
        while bytes.count < count { bytes += Self.period.prefix(count - bytes.count) }
        return bytes
    }
    /// All there are, after which they begin again.
    private static let period = Data((0..<1 << 16).map(byte))

    static func byte(at index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 31 ^ index >> 8) }

    func makeReader() throws -> any BodyReader { Reader(source: self) }

    private final class Reader: BodyReader {
        let source: PatternSource
        var position = 0

        init(source: PatternSource) { self.source = source }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            if let failsAt = source.failsAt, position >= failsAt { throw Broken() }
            let count = min(buffer.count, source.count - position, 10_000)
            for offset in 0..<count { buffer[offset] = PatternSource.byte(at: position + offset) }
            position += count
            return count
        }
    }
}
