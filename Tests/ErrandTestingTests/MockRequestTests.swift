import Errand
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct MockRequestTests {
    @Test(
        arguments: [
            ("/a/b", "/a/b", nil), ("/a?b=1?c", "/a", "b=1?c"), ("/?", "/", ""), ("*", "*", nil),
            ("http://host:80/a%20b?c", "/a%20b", "c"), ("http://host", "/", nil), ("http://host?q", "", "q"),
            ("host:443", "host:443", nil), ("/a?u=http://x/y", "/a", "u=http://x/y"),
        ] as [(String, String, String?)]
    )
    func theTargetIsSplitIntoPathAndQuery(target: String, path: String, query: String?) throws {
        let request = try Self.request("GET \(target) HTTP/1.1\r\n\r\n")
        #expect(request.target == target)
        #expect(request.path == path)
        #expect(request.query == query)
    }

    @Test func queryItemsAreDecodedAndAPlusStaysAPlus() throws {
        let request = try Self.request("GET /?a=1%2B1&b=x+y&&flag&c=d=e&%C3%A4=%zz HTTP/1.1\r\n\r\n")
        #expect(request.queryItems.map(\.name) == ["a", "b", "flag", "c", "ä"])
        #expect(request.queryItems.map(\.value) == ["1+1", "x+y", "", "d=e", "%zz"])
        #expect(try Self.request("GET / HTTP/1.1\r\n\r\n").queryItems.isEmpty)
    }

    @Test func formItemsComeFromTheBody() throws {
        let request = try Self.request("POST / HTTP/1.1\r\n\r\n", body: "a=1&b=%26")
        #expect(request.formItems.map(\.name) == ["a", "b"])
        #expect(request.formItems.map(\.value) == ["1", "&"])
    }

    @Test func formItemsAreThePartsOfAForm() async throws {
        let server = try MockServer()
        defer { server.stop() }
        var form = MultipartForm()
        form.append("Ada & Bob=1\r\n--x", name: "author")
        form.append(Data([0, 0xFF, 0x0D, 0x0A]), name: "photo", fileName: "a \"b\";c.jpg")
        form.append("", name: "na\"me;\n")
        var nested = MultipartForm()
        nested.append("inner", name: "")
        form.append(nested, name: "nested")
        let request = GeneralRequest("/x").method(.post).body(.multipart(form)).expecting(Void.self)
        server.enqueue(.status(204))
        try await Agent(config: NetworkConfig(baseURL: server.baseURL)).send(request)
        let items = try #require(server.requests.first).formItems
        #expect(items.map(\.name) == ["author", "photo", "na\"me;\n", "nested"])
        #expect(items.map(\.fileName) == [nil, "a \"b\";c.jpg", nil, nil])
        #expect(items.map { $0.contentType?.prefix(10) } == [nil, "image/jpeg", nil, "multipart/"])
        #expect(items.prefix(3).map(\.data) == [Data("Ada & Bob=1\r\n--x".utf8), Data([0, 0xFF, 0x0D, 0x0A]), Data()])
        #expect(items.first?.value == "Ada & Bob=1\r\n--x")
    }

    /// A body as other clients write it.
    @Test(arguments: [
        ("--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b--\r\n", ["a=1"]),
        ("preamble\r\n--b \r\ncontent-disposition:form-data; filename=f; name=\"a\"\r\n\r\n1\r\n--b--", ["a=1"]),
        ("--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b\r\nContent-Disposition: form-data\r\n\r\n2\r\n--b--", ["=2"]),
        ("--b\r\nContent-Disposition: form-data; name=a\r\n\r\ncut", []), ("--b--", []), ("a=1", []), ("", []),
    ])
    func partsOfAFormAreReadUpToItsEnd(body: String, items: [String]) throws {
        let head = "POST / HTTP/1.1\r\nContent-Type: Multipart/Form-Data; charset=utf-8; boundary=\"b\"\r\n\r\n"
        #expect(try Self.request(head, body: body).formItems.map { "\($0.name)=\($0.value)" } == items)
    }

    @Test func headersKeepOrderNamesAndRepetitions() throws {
        let request = try Self.request("PATCH / HTTP/1.1\r\nb: 1\r\nA:  2 \r\nB:\r\nC: x: y\r\n\r\n")
        #expect(request.method == .patch)
        #expect(request.headers.map(\.name) == ["b", "A", "B", "C"])
        #expect(request.headers.map(\.value) == ["1", "2", "", "x: y"])
        #expect(request.headBytes.starts(with: Data("PATCH / HTTP/1.1\r\nb: 1\r\n".utf8)))
    }

    @Test func theBodyIsDecodedAsJSON() throws {
        let request = try Self.request("POST / HTTP/1.1\r\n\r\n", body: #"{"a": 1}"#)
        #expect(try request.json([String: Int].self) == ["a": 1])
        #expect(throws: DecodingError.self) { try request.json([Int].self) }
    }

    private static func request(_ head: String, body: String = "") throws -> MockRequest {
        MockRequest(head: try RequestHead(Array(head.utf8)), body: Data(body.utf8), connection: 1)
    }
}
