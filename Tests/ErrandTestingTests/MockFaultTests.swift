import Errand
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct MockFaultTests {
    /// What a fault sends in response to GET with the body "0123456789", and how the stream ends.
    ///
    /// In each row, the connection ends by `Connection: close` or by the fault.
    @Test(
        arguments: [
            (.resetBeforeHead, "", .reset),
            (.closeBeforeHead, "", .closed),
            (.closeInHead(after: 0), "", .closed),
            (.closeInHead(after: 17), "HTTP/1.1 200 OK\r\n", .closed),
            (.closeInHead(after: 1_000), head("Content-Length: 10") + "\r", .closed),
            (.resetInBody(after: 4), head("Content-Length: 10") + "\r\n0123", .reset),
            (.closeInBody(after: 4), head("Content-Length: 10") + "\r\n0123", .closed),
            (.closeInBody(after: 0), head("Content-Length: 10") + "\r\n", .closed),
            (.closeInBody(after: 99), head("Content-Length: 10") + "\r\n012345678", .closed),
            (.closeAfterResponse, head("Content-Length: 10") + "\r\n0123456789", .closed),
            (.wrongLength(5), head("Content-Length: 15") + "\r\n0123456789", .closed),
            (.negativeContentLength, head("Content-Length: -5") + "\r\n0123456789", .closed),
            (.wordContentLength, head("Content-Length: many") + "\r\n0123456789", .closed),
            (.hugeContentLength, head("Content-Length: 99999999999999999999") + "\r\n0123456789", .closed),
            (.duplicateContentLength, head("Content-Length: 10", "Content-Length: 11") + "\r\n0123456789", .closed),
            (
                .lengthAndChunks,
                head("Content-Length: 10", "Transfer-Encoding: chunked") + "\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n",
                .closed
            ),
            (.badChunk, head("Transfer-Encoding: chunked") + "\r\n5\r\n01234\r\n5\r\n56789\r\nzz\r\n", .closed),
            (.unterminatedChunks, head("Transfer-Encoding: chunked") + "\r\n5\r\n01234\r\n5\r\n56789\r\n", .closed),
            (.http09, "0123456789", .closed),
            (
                .switchingProtocols,
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: mock\r\n\r\n", .closed
            ),
        ] as [(MockFault, String, RawClient.Ending)]
    )
    func aFaultThatEndsTheConnectionSendsTheseBytes(fault: MockFault, text: String, ending: RawClient.Ending) throws {
        let server = try Self.server(fault)
        let client = try RawClient(port: server.port)
        try client.get("/")
        let (received, end) = try client.readText()
        #expect(received == text)
        #expect(end == ending)
        #expect(server.requestCount == 1)
    }

    /// What a fault sends in response to GET with the body "0123456789" and `Connection: close` in the request.
    @Test(
        arguments: [
            (.wrongLength(-3), head("Content-Length: 7") + "\r\n0123456789"),
            (
                .trailers,
                head("Transfer-Encoding: chunked", "Connection: close", "Trailer: X-Trailer")
                    + "\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\nX-Trailer: late\r\n\r\n"
            ),
            (.bodyOn204, "HTTP/1.1 204 No Content\r\n" + rest(10)),
            (.garbageStatusLine, "!!! this is no status line !!!\r\n" + rest(10)),
            (.http2StatusLine, "HTTP/2 200 OK\r\n" + rest(10)),
            (.statusBelow100, "HTTP/1.1 099 Low\r\n" + rest(10)),
            (.noReason, "HTTP/1.1 200\r\n" + rest(10)),
            (.badHeaderLine, ok(rest(10, "X-No-Colon"))),
            (.emptyHeaderName, ok(rest(10, ": no name"))),
            (.latin1Header, ok(rest(10, "X-Name: J\u{F6}rg"))),
            (.nulInHeader, ok(rest(10, "X-Nul: a\0b"))),
            (.foldedHeader, ok(rest(10, "X-Folded: one", "  two"))),
            (.bareLF, ok(rest(0)).replacing("\r\n", with: "\n").replacing(": 0", with: ": 10") + "0123456789"),
            (.hugeHeaderLine(20), ok(rest(10, "X-Huge: hhhhhhhhhhhh"))),
            (.manyHeaders(2), ok(rest(10, "X-Many-0: value", "X-Many-1: value"))),
            (.slowHead(byteCount: 20, every: .milliseconds(1)), ok(rest(10))),
            (
                .earlyHints,
                "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n" + ok(rest(10))
            ),
            (.continueThenFinal, "HTTP/1.1 100 Continue\r\n\r\n" + ok(rest(10))),
        ] as [(MockFault, String)]
    )
    func aFaultThatCanStayOpenSendsTheseBytes(fault: MockFault, text: String) throws {
        let server = try Self.server(fault)
        let client = try RawClient(port: server.port)
        try client.get("/", "Connection: close")
        let (bytes, ending) = try client.readAll()
        // Latin-1, so that each byte is one character.
        #expect(String(bytes.map { Character(Unicode.Scalar($0)) }) == text)
        #expect(ending == .closed)
    }

    @Test(
        arguments: [
            .wrongLength(-10), .trailers, .noReason, .badHeaderLine, .latin1Header, .bareLF, .manyHeaders(3),
            .truncatedGzip,
            .badGzip, .unknownContentEncoding, .gzipBomb(decodedByteCount: 5_000), .earlyHints, .continueThenFinal,
            .slowHead(byteCount: 99, every: .milliseconds(1)), .bodyOn204,
        ] as [MockFault]
    )
    func faultThatLeavesTheConnectionOpenPrecedesTheNextResponse(fault: MockFault) throws {
        let server = try Self.server(fault)
        server.enqueue(.text("0123456789").faulted(fault), .text("next"))
        let client = try RawClient(port: server.port)
        try client.get("/")
        try client.get("/")
        #expect(try client.read(through: "\r\n\r\nnext").isEmpty == false)
        #expect(server.connectionCount == 1)
    }

    @Test func aHangSendsNothingAndAHangInTheBodyItsBeginning() async throws {
        let server = try MockServer()
        server.enqueue(.text("0123456789").faulted(.hang), .text("0123456789").faulted(.hangInBody(after: 3)))
        let silent = try RawClient(port: server.port)
        try silent.get("/")
        await server.waitForRequests(1)
        let client = try RawClient(port: server.port)
        try client.get("/")
        #expect(try client.read(through: "\r\n\r\n012").hasSuffix("Content-Length: 10\r\n\r\n012"))
        server.stop()
        #expect(try silent.readText() == ("", .closed))
        #expect(try client.readText() == ("", .closed))
    }

    @Test func endlessResponsesContinueUntilTheClientCloses() throws {
        let server = try MockServer()
        server.enqueue(
            .text("0123456789").faulted(.endlessBody),
            .text("0123456789").chunked(1_000).faulted(.endlessBody),
            .text("0123456789").faulted(.endlessHeaders)
        )
        let marks = ["56789012345678901", "\r\n3e8\r\n0123456789", "\r\nX-Endless-20000: value\r\n"]
        for mark in marks {
            let client = try RawClient(port: server.port)
            try client.get("/")
            #expect(try client.readAll(limit: 1_000_000).bytes.firstRange(of: Array(mark.utf8)) != nil)
        }
    }

    @Test func contentCodingsAreCorrectOrBrokenAsDeclared() throws {
        let server = try MockServer()
        server.enqueue(
            .text("0123456789").faulted(.unknownContentEncoding),
            .text("0123456789").faulted(.badGzip),
            .text("0123456789").faulted(.truncatedGzip),
            .text("0123456789").faulted(.gzipBomb(decodedByteCount: 1 << 20))
        )
        let client = try RawClient(port: server.port)
        var encodings: [String] = []
        var lengths: [Int] = []
        for _ in 0..<4 {
            try client.get("/")
            let head = try client.readHead()
            let lines = head.split(separator: "\r\n").map { $0.split(separator: ": ") }
            encodings.append(lines.first { $0[0] == "Content-Encoding" }.map { String($0[1]) } ?? "")
            let length = lines.first { $0[0] == "Content-Length" }.flatMap { Int($0[1]) } ?? 0
            lengths.append(length)
            _ = try client.readBytes(length)
        }
        #expect(encodings == ["x-unknown", "gzip", "gzip", "gzip"])
        #expect(lengths == [10, 42, 16, ZeroBomb(decodedByteCount: 1 << 20).byteCount])
    }

    @Test(arguments: MockFault.all)
    func everyFaultRespondsToHEADAndEndsWithTheServer(fault: MockFault) async throws {
        let server = try Self.server(fault)
        let client = try RawClient(port: server.port)
        // In one piece: the fault may close the connection before a second one is sent.
        try client.send("HEAD / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        await server.waitForRequests()
        if !fault.isEndless { _ = try client.readAll(limit: 10) }
        server.stop()
        #expect(server.openConnectionCount == 0)
    }

    @Test func theListHoldsEveryFaultUnderItsOwnDescription() {
        #expect(Set(MockFault.all.map(\.description)).count == MockFault.all.count)
        #expect(MockFault.all.filter(\.killsURLSessionBefore64).map(\.name) == ["closeInHead", "trailers"])
        #expect(MockFault.closeInBody(after: 3).description == "closeInBody(3)")
        #expect(MockFault.hang.description == "hang")
        for fault in MockFault.all { #expect(String(reflecting: fault).contains(fault.name)) }
    }

    private static func server(_ fault: MockFault) throws -> MockServer {
        try MockServer { _ in MockResponse(body: Data("0123456789".utf8)).faulted(fault) }
    }
}

/// A header section with status 200, without its empty line.
private func head(_ lines: String...) -> String { "HTTP/1.1 200 OK\r\n" + lines.map { $0 + "\r\n" }.joined() }

private func ok(_ rest: String) -> String { "HTTP/1.1 200 OK\r\n" + rest }

/// What follows the status line of a ten byte response that closes.
private func rest(_ count: Int, _ lines: String...) -> String {
    let more = lines.map { $0 + "\r\n" }.joined()
    return "Content-Length: \(count)\r\nConnection: close\r\n\(more)\r\n" + "0123456789".prefix(count)
}
