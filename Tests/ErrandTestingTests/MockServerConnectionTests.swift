import Errand
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct MockServerConnectionTests {
    @Test func pipelinedRequestsGetResponsesInOrder() throws {
        let server = try MockServer { .text($0.path + $0.text) }
        let client = try RawClient(port: server.port)
        let requests = (0..<20).map { number in
            number % 2 == 0
                ? "GET /\(number) HTTP/1.1\r\n\r\n" : "PUT /\(number) HTTP/1.1\r\nContent-Length: 2\r\n\r\nab"
        }
        try client.send(requests.joined())
        for number in 0..<20 {
            #expect(try client.readResponse().body == (number % 2 == 0 ? "/\(number)" : "/\(number)ab"))
        }
        #expect(server.connectionCount == 1)
    }

    @Test func requestThatArrivesByteByByteIsRead() throws {
        let server = try MockServer { .text($0.text) }
        let client = try RawClient(port: server.port)
        for byte
            in "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n"
            .utf8
        {
            try client.socket.send([byte])
        }
        #expect(try client.readResponse().body == "abc0123456789")
    }

    @Test func expectContinueGetsA100BeforeTheBody() throws {
        let server = try MockServer { .text($0.text) }
        let client = try RawClient(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        try client.send("body")
        #expect(try client.readResponse().body == "body")
    }

    @Test func aLargeBodyArrivesCompletely() throws {
        let server = try MockServer { .text("\($0.body.count) \($0.body.allSatisfy { $0 == 0x61 })") }
        let client = try RawClient(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nContent-Length: 3000000\r\n\r\n" + String(repeating: "a", count: 3_000_000))
        #expect(try client.readResponse().body == "3000000 true")
    }

    @Test func aLargeResponseArrivesCompletely() throws {
        let server = try MockServer()
        server.on(.get, "/", .data(Data(repeating: 0x62, count: 3_000_000)))
        let client = try RawClient(port: server.port)
        try client.get("/")
        let response = try client.readResponse()
        #expect(response.body.utf8.count == 3_000_000)
    }

    @Test func connectionIsNotCountedOnceItsClientSeesTheEnd() throws {
        let server = try MockServer { _ in .status(200) }
        for _ in 0..<200 {
            let client = try RawClient(port: server.port)
            try client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
            #expect(try client.readAll().ending == .closed)
            try #require(server.openConnectionCount == 0)
        }
    }

    @Test(arguments: ["Content-Length: 11\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nB\r\n0123456789a\r\n0\r\n\r\n"])
    func bodyBeyondTheLimitIsRejectedWith413(rest: String) throws {
        let server = try MockServer { _ in .status(200) }
        server.maximumBodyByteCount = 10
        let client = try RawClient(port: server.port)
        try client.send("PUT / HTTP/1.1\r\n" + rest)
        let (head, _) = try client.readResponse()
        #expect(head.hasPrefix("HTTP/1.1 413 Content Too Large\r\n") && head.contains("Connection: close\r\n"))
        #expect(try client.readAll().ending == .closed)
        #expect(server.requestCount == 0)
    }

    @Test func a413IsReceivedWhileTheClientKeepsSending() throws {
        let server = try MockServer { _ in .status(200) }
        server.maximumBodyByteCount = 10
        let client = try RawClient(port: server.port)
        try client.send("PUT / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + String(repeating: "a", count: 1_000_000))
        #expect(try client.readResponse().head.hasPrefix("HTTP/1.1 413 "))
    }

    @Test(arguments: [
        "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/1.1\r\nA : b\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    ])
    func malformedRequestIsRejectedWith400(request: String) throws {
        let server = try MockServer { _ in .status(200) }
        let client = try RawClient(port: server.port)
        try client.send(request)
        #expect(try client.readResponse().head.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(try client.readAll().ending == .closed)
        #expect(server.requestCount == 0)
    }

    @Test func headerSectionBeyondTheLimitIsRejectedWith431() throws {
        let server = try MockServer { _ in .status(200) }
        let client = try RawClient(port: server.port)
        try client.get("/", "A: \(String(repeating: "a", count: 66_000))")
        #expect(try client.readResponse().head.hasPrefix("HTTP/1.1 431 "))
        try client.get("/")
        #expect(try client.readAll().ending == .closed)
    }

    @Test(arguments: ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"])
    func connectionIsClosedIfTheClientRequestsIt(request: String) throws {
        let server = try MockServer { _ in .text("x") }
        let client = try RawClient(port: server.port)
        try client.send(request)
        let (text, ending) = try client.readText()
        #expect(text.contains("\r\nConnection: close\r\n") && text.hasSuffix("\r\n\r\nx"))
        #expect(ending == .closed)
    }

    @Test func delayPrecedesTheHeaderSection() throws {
        let server = try MockServer { _ in .text("x").delayed(by: .milliseconds(60)) }
        let client = try RawClient(port: server.port)
        let start = ContinuousClock.now
        try client.get("/")
        _ = try client.readResponse()
        #expect(ContinuousClock.now - start >= .milliseconds(60))
    }

    @Test func aDripSendsPiecesWithPauses() throws {
        let server = try MockServer { _ in .text("abcdefgh").dripping(3, every: .milliseconds(20)).chunked() }
        let client = try RawClient(port: server.port)
        let start = ContinuousClock.now
        try client.get("/")
        #expect(try client.readHead().contains("Transfer-Encoding: chunked\r\n"))
        #expect(try client.read(through: "0\r\n\r\n") == "3\r\nabc\r\n3\r\ndef\r\n2\r\ngh\r\n0\r\n\r\n")
        #expect(ContinuousClock.now - start >= .milliseconds(40))
    }

    @Test func aChunkedBodyIsCutIntoChunks() throws {
        let server = try MockServer()
        server.on(.get, "/whole", .text("abcdef").chunked())
        server.on(.get, "/cut", .text("abcdef").chunked(4))
        server.on(.get, "/empty", .text("").chunked())
        let client = try RawClient(port: server.port)
        for (path, body) in [
            ("/whole", "6\r\nabcdef\r\n"), ("/cut", "4\r\nabcd\r\n2\r\nef\r\n"), ("/empty", ""),
        ] {
            try client.get(path)
            #expect(try !client.readHead().contains("Content-Length"))
            #expect(try client.read(through: "0\r\n\r\n") == body + "0\r\n\r\n")
        }
    }

    @Test func closingTheConnectionIsAnnounced() throws {
        let server = try MockServer { _ in .text("x").closingConnection() }
        let client = try RawClient(port: server.port)
        try client.get("/")
        let (text, ending) = try client.readText()
        #expect(text.contains("\r\nConnection: close\r\n") && text.hasSuffix("\r\n\r\nx"))
        #expect(ending == .closed)
    }

    @Test func closingTheConnectionsLeavesTheServerListening() throws {
        let server = try MockServer { _ in .text("x") }
        let client = try RawClient(port: server.port)
        try client.get("/")
        _ = try client.readResponse()
        server.closeConnections()
        #expect(try client.readAll().ending == .closed)
        let next = try RawClient(port: server.port)
        try next.get("/")
        #expect(try next.readResponse().body == "x")
    }
}
