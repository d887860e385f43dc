import Errand
import ErrandTesting
import Foundation
import Testing

/// The result of a send for each fault of `MockServer`.
struct FaultVerdict: Sendable, CustomTestStringConvertible {
    enum Expectation: Sendable {
        /// The response arrives, with so many bytes of body.
        case value(byteCount: Int)
        case error(NetworkError.Reason)
    }

    let fault: MockFault
    let expected: Expectation
    var testDescription: String { fault.name }

    init(_ fault: MockFault, _ expected: Expectation) {
        (self.fault, self.expected) = (fault, expected)
    }

    /// The body that the faults work on: 39 bytes.
    static let body = #"{"id": 7, "name": "a long enough name"}"#

    /// The rows for the transport under test.
    static let table =
        TransportUnderTest.isCurl
        ? common.filter { row in !curl.contains { $0.fault.name == row.fault.name } } + curl : common

    /// The differences with libcurl: `Documentation` "Choosing a transport" has the reasons.
    private static let curl: [FaultVerdict] = [
        FaultVerdict(.closeInHead(after: 17), .error(.closedWithoutResponse)),
        FaultVerdict(.truncatedGzip, .error(.invalidContentCoding)),
        FaultVerdict(.unknownContentEncoding, .value(byteCount: 39)),
        FaultVerdict(.duplicateContentLength, .error(.invalidContentLength)),
        FaultVerdict(.noReason, .value(byteCount: 39)),
        FaultVerdict(.latin1Header, .value(byteCount: 39)),
        FaultVerdict(.switchingProtocols, .error(.malformedStatusLine)),
    ]

    private static let common: [FaultVerdict] = [
        FaultVerdict(.resetBeforeHead, .error(.connectionReset)),
        FaultVerdict(.closeBeforeHead, .error(.closedWithoutResponse)),
        FaultVerdict(.trailers, .value(byteCount: 39)),
        FaultVerdict(.resetInBody(after: 5), .error(.closedInBody)),
        FaultVerdict(.closeInBody(after: 5), .error(.closedInBody)),
        FaultVerdict(.closeAfterResponse, .value(byteCount: 39)),
        FaultVerdict(.wrongLength(10), .error(.closedInBody)),
        // The length rules: what comes after it is not part of the message (RFC 9112, section 6.3).
        FaultVerdict(.wrongLength(-3), .value(byteCount: 36)),
        FaultVerdict(.negativeContentLength, .error(.invalidContentLength)),
        FaultVerdict(.wordContentLength, .error(.invalidContentLength)),
        // libcurl reads the 0, drops the rest and reports success.
        FaultVerdict(.hexadecimalContentLength, .error(.invalidContentLength)),
        // libcurl reads to the end of the connection and reports success.
        FaultVerdict(.hugeContentLength, .error(.invalidContentLength)),
        FaultVerdict(.duplicateContentLength, .error(.closedInBody)),
        FaultVerdict(.lengthAndChunks, .value(byteCount: 39)),
        FaultVerdict(.badChunk, .error(.malformedChunk)),
        FaultVerdict(.unterminatedChunks, .error(.closedInBody)),
        FaultVerdict(.bodyOn204, .value(byteCount: 0)),
        FaultVerdict(.garbageStatusLine, .error(.malformedStatusLine)),
        FaultVerdict(.http09, .error(.malformedStatusLine)),
        FaultVerdict(.http2StatusLine, .value(byteCount: 39)),
        FaultVerdict(.statusBelow100, .error(.malformedStatusLine)),
        FaultVerdict(.noReason, .error(.malformedHeader)),
        FaultVerdict(.badHeaderLine, .error(.malformedHeader)),
        FaultVerdict(.emptyHeaderName, .error(.malformedHeader)),
        FaultVerdict(.latin1Header, .error(.malformedHeader)),
        FaultVerdict(.nulInHeader, .error(.malformedHeader)),
        FaultVerdict(.foldedHeader, .value(byteCount: 39)),
        FaultVerdict(.bareLF, .error(.malformedHeader)),
        FaultVerdict(.hugeHeaderLine(110_000), .error(.headerSectionTooLarge)),
        FaultVerdict(.manyHeaders(1000), .value(byteCount: 39)),
        FaultVerdict(.endlessHeaders, .error(.headerSectionTooLarge)),
        FaultVerdict(.endlessBody, .error(.bodyTooLarge(limit: 1 << 20))),
        FaultVerdict(.gzipBomb(decodedByteCount: 64 << 20), .error(.bodyTooLarge(limit: 1 << 20))),
        // libcurl does not tell that the coding ended early; JSON decoding would.
        FaultVerdict(.truncatedGzip, .value(byteCount: 16)),
        FaultVerdict(.badGzip, .error(.invalidContentCoding)),
        // A success only: StatusFirstTests. libcurl knows no coding of this name, and nobody else does.
        FaultVerdict(.unknownContentEncoding, .error(.invalidContentCoding)),
        FaultVerdict(.hang, .error(.idleTimeout(.seconds(1)))),
        FaultVerdict(.hangInBody(after: 5), .error(.idleTimeout(.seconds(1)))),
        FaultVerdict(.slowHead(byteCount: 8, every: .milliseconds(5)), .value(byteCount: 39)),
        FaultVerdict(.earlyHints, .value(byteCount: 39)),
        FaultVerdict(.continueThenFinal, .value(byteCount: 39)),
        FaultVerdict(.switchingProtocols, .error(.closedWithoutResponse)),
    ]
}

@Suite(.serialized, .limit(seconds: 120))
struct FaultTableTests {
    @Test
    func everyFaultThatAProcessSurvivesHasARow() {
        let named = Set(FaultVerdict.table.map(\.fault.name))
        let faults = MockFault.all.map(\.name).filter { TransportUnderTest.isCurl || $0 != "closeInHead" }
        #expect(named == Set(faults))
    }

    @Test(arguments: FaultVerdict.table)
    func faultHasItsDocumentedError(_ verdict: FaultVerdict) async throws {
        let server = try MockServer()
        defer { server.stop() }
        server.on(.get, "/x", .json(FaultVerdict.body).closingConnection().faulted(verdict.fault))
        let agent = server.agent()
        // Only what is expected to time out does so on a loaded machine.
        var timeout = Duration.seconds(30)
        if case .error(.idleTimeout(let expected)) = verdict.expected { timeout = expected }
        let request = GeneralRequest("/x").limits(Limits(timeout: timeout, maximumBodySize: 1 << 20))
            .expecting(Data.self)
        let result = await Task { try await agent.send(request) }.result
        switch (verdict.expected, result) {
        case (.value(let byteCount), .success(let body)):
            #expect(body.count == byteCount)
        case (.value, .failure(let error as NetworkError)) where verdict.fault.name == MockFault.http2StatusLine.name:
            // libcurl 8.14 and newer.
            #expect(error.reason == .malformedStatusLine)
        case (.error(let reason), .failure(let error as NetworkError)):
            #expect(error.reason == reason)
            #expect(error.host == "127.0.0.1:\(server.port)")
            #expect(error.path == "/x")
            #expect(error.attempts == 1)
        default:
            Issue.record("expected \(verdict.expected), got \(result)")
        }
        // Nothing of the fault is left for the next request.
        server.on(.get, "/next", .text("still here"))
        #expect(try await agent.send(GeneralRequest("/next").expecting(String.self)) == "still here")
    }

    @Test
    func aBodyCutAtAnyByteIsAnErrorAndNeverAValue() async throws {
        let server = try MockServer()
        defer { server.stop() }
        let agent = server.agent()
        for cut in 0..<FaultVerdict.body.utf8.count {
            for fault in [MockFault.closeInBody(after: cut), .resetInBody(after: cut)] {
                server.enqueue(.json(FaultVerdict.body).faulted(fault))
                let error = await #expect(throws: NetworkError.self) {
                    try await agent.send(GeneralRequest("/x").expecting(Data.self))
                }
                #expect(error?.kind == .connectionLost, "cut at \(cut): \(String(describing: error))")
            }
        }
    }

    @Test
    func aRefusedConnectionNamesHostAndPort() async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await Agent(config: NetworkConfig()).send(GeneralRequest("http://127.0.0.1:1/users"))
        }
        #expect(error?.reason == .connectionRefused)
        #expect(error?.description.contains("127.0.0.1:1/users") == true)
    }

    @Test
    func anUnknownHostIsItsOwnError() async throws {
        let error = await #expect(throws: NetworkError.self) {
            try await Agent(config: NetworkConfig()).send(GeneralRequest("http://no-such-host.invalid/x"))
        }
        #expect(error?.reason == .hostNotFound)
    }

    #if os(Linux)
    /// What ends the process over URLSession alone: trailers, and lengths that it converts.
    static let fatal: [(String, NetworkError.Reason?)] = [
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n", nil),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", nil),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nok", .invalidContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775296\r\n\r\nok", .invalidContentLength),
    ]

    @Test(arguments: fatal) func noResponseEndsTheProcess(_ bytes: String, _ reason: NetworkError.Reason?) async throws
    {
        let server = try RawServer { RawServer.Reply(bytes) }
        defer { server.stop() }
        let transport = TransportUnderTest.make()
        for _ in 0..<10 {
            var found: NetworkError?
            do {
                let response = try await transport.send(OutgoingRequest(url: server.url), options: TransportOptions())
                _ = try await response.body.collect(upTo: 1 << 20)
            } catch {
                found = error as? NetworkError
            }
            // libcurl alone accepts such a length, and finds that the body does not have it.
            #expect((found == nil) == (reason == nil))
            #expect(TransportUnderTest.isCurl || found?.reason == reason)
        }
    }
    #endif
}
