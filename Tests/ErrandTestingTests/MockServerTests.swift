import Errand
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct MockServerTests {
    @Test func routeRespondsWithStatusFieldsAndBody() throws {
        let server = try MockServer()
        server.on(.get, "/users", .json("[1,2]", status: 201, headers: ["X-Page": "1"]))
        let client = try RawClient(port: server.port)
        try client.get("/users?page=1")
        let response = try client.readResponse()
        #expect(
            response.head
                == "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nX-Page: 1\r\nContent-Length: 5\r\n\r\n"
        )
        #expect(response.body == "[1,2]")
        #expect(server.baseURL.absoluteString == "http://127.0.0.1:\(server.port)")
    }

    @Test func anUnknownPathIsA404InJSONThatNamesMethodAndPath() throws {
        let server = try MockServer()
        let client = try RawClient(port: server.port)
        try client.get("/a\"b?x=1", method: "DELETE")
        let response = try client.readResponse()
        #expect(response.head.hasPrefix("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"))
        let body = try JSONDecoder().decode([String: String].self, from: Data(response.body.utf8))
        #expect(body["method"] == "DELETE")
        #expect(body["path"] == "/a\"b")
    }

    @Test func theLaterRouteWinsAndAStarMatchesAPrefix() throws {
        let server = try MockServer { _ in .text("fallback") }
        server.on(.get, "/a/*", .text("any"))
        server.on(.get, "/a/b") { _ in .text("exact") }
        server.on(.post, "/a/*", .text("posted"))
        let client = try RawClient(port: server.port)
        func body(_ method: String, _ path: String) throws -> String {
            try client.get(path, method: method)
            return try client.readResponse().body
        }
        #expect(try body("GET", "/a/b") == "exact")
        #expect(try body("GET", "/a/c") == "any")
        #expect(try body("POST", "/a/b") == "posted")
        #expect(try body("GET", "/a") == "fallback")
        server.on(.get, "/a/*", .text("later"))
        #expect(try body("GET", "/a/b") == "later")
    }

    @Test func aRouteMayHaveAQueryAndOmitTheFirstSlash() throws {
        let server = try MockServer { _ in .text("fallback") }
        server.on(.get, "/users", .text("all"))
        server.on(.get, "/users?page=2", .text("second"))
        server.on(.get, "people/1", .text("person"))
        server.on(.get, "search?q=*", .text("found"))
        server.on(.options, "*", .text("any"))
        let client = try RawClient(port: server.port)
        func body(_ path: String, method: String = "GET") throws -> String {
            try client.get(path, method: method)
            return try client.readResponse().body
        }
        #expect(try body("/users?page=2") == "second")
        #expect(try body("/users?page=3") == "all")
        #expect(try body("/users") == "all")
        #expect(try body("/people/1?x=1") == "person")
        #expect(try body("/search?q=a") == "found")
        #expect(try body("/search") == "fallback")
        #expect(try body("*", method: "OPTIONS") == "any")
    }

    @Test func scriptedResponsesPrecedeRoutesAndAreUsedInOrder() throws {
        let server = try MockServer()
        server.on(.get, "/", .text("route"))
        server.enqueue(.status(503), .text("second"))
        let client = try RawClient(port: server.port)
        var responses: [String] = []
        for _ in 0..<3 {
            try client.get("/")
            let response = try client.readResponse()
            responses.append(response.head.prefix(12) + " " + response.body)
        }
        #expect(responses == ["HTTP/1.1 503 ", "HTTP/1.1 200 second", "HTTP/1.1 200 route"])
    }

    @Test func headHasTheLengthOfGetAndNoBody() throws {
        let server = try MockServer()
        server.on(.get, "/", .text("four"))
        let client = try RawClient(port: server.port)
        try client.get("/", method: "HEAD")
        #expect(try client.readHead().contains("Content-Length: 4\r\n"))
        try client.get("/")
        #expect(try client.readResponse().body == "four")
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: [204, 304]) func aStatusWithoutBodySendsNone(status: Int) throws {
        let server = try MockServer()
        server.on(.get, "/", .text("dropped", status: status).chunked())
        let client = try RawClient(port: server.port)
        try client.get("/")
        let head = try client.readHead()
        #expect(head.hasPrefix("HTTP/1.1 \(status) "))
        #expect(!head.contains("Content-Length") && !head.contains("Transfer-Encoding"))
        try client.get("/")
        #expect(try client.readHead() == head)
    }

    @Test func theLogHoldsRequestsInOrderWithBodiesAndConnections() throws {
        let server = try MockServer { _ in .status(200) }
        let first = try RawClient(port: server.port)
        try first.send("POST /one?a=1 HTTP/1.1\r\nHost: mock\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello")
        _ = try first.readResponse()
        let second = try RawClient(port: server.port)
        try second.get("/two")
        _ = try second.readResponse()
        let requests = server.requests
        #expect(requests.map(\.target) == ["/one?a=1", "/two"])
        #expect(requests.map(\.method) == [.post, .get])
        #expect(requests.map(\.connection) == [1, 2])
        #expect(requests[0].text == "hello")
        #expect(requests[0].headers["X-A"] == "1, 2")
        #expect(requests[0].receivedAt <= requests[1].receivedAt)
    }

    @Test func logIsBoundedAndCountingContinues() throws {
        let server = try MockServer { _ in .status(200) }
        server.maximumLogCount = 3
        let client = try RawClient(port: server.port)
        for number in 0..<10 {
            try client.get("/\(number)")
            _ = try client.readResponse()
        }
        #expect(server.requests.map(\.path) == ["/7", "/8", "/9"])
        #expect(server.requestCount == 10)
        server.keepsLog = false
        try client.get("/10")
        _ = try client.readResponse()
        #expect(server.requests.map(\.path) == ["/7", "/8", "/9"])
        #expect(server.requestCount == 11)
    }

    @Test func resetRemovesLogScriptAndRoutesAndKeepsTheHandler() throws {
        let server = try MockServer { _ in .text("handler") }
        server.on(.get, "/", .text("route"))
        let client = try RawClient(port: server.port)
        try client.get("/")
        #expect(try client.readResponse().body == "route")
        server.enqueue(.text("script"))
        server.reset()
        #expect(server.requests.isEmpty && server.requestCount == 0)
        try client.get("/")
        #expect(try client.readResponse().body == "handler")
        #expect(server.connectionCount == 1)
    }

    @Test func aHandlerMayUseItsServer() throws {
        let server = try MockServer()
        server.on(.get, "/") { [weak server] request in
            server?.enqueue(.text("enqueued"))
            return .text("\(server?.requests.count ?? 0) \(request.path)")
        }
        let client = try RawClient(port: server.port)
        try client.get("/")
        #expect(try client.readResponse().body == "1 /")
        try client.get("/")
        #expect(try client.readResponse().body == "enqueued")
    }

    @Test func waitingForRequestsEndsWithTheRequest() async throws {
        let server = try MockServer()
        server.on(.get, "/", .status(200).faulted(.hang))
        async let waited = server.waitForRequests(2)
        let client = try RawClient(port: server.port)
        let other = try RawClient(port: server.port)
        try client.get("/")
        try other.get("/")
        #expect(await waited)
        #expect(server.requestCount == 2)
        #expect(await !server.waitForRequests(3, within: .milliseconds(1)))
        let cancelled = Task { await server.waitForRequests(3) }
        cancelled.cancel()
        #expect(await !cancelled.value)
    }

    @Test func aPortInUseIsAnErrorWithTheSystemsText() throws {
        let server = try MockServer()
        let error = #expect(throws: MockServerError.self) { try MockServer(port: server.port) }
        #expect(error?.operation == "bind to 127.0.0.1:\(server.port)")
        #expect(error?.description.contains("in use") == true)
        #expect((error as (any Error)?)?.localizedDescription == error?.description)
    }
}
