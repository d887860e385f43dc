import Errand
import Foundation
import Testing

@testable import ErrandTesting

@Suite(.ownThread) struct MockResponseTests {
    @Test(
        arguments: [
            (.json("{}"), 200, "application/json", "{}"),
            (.json("{}", status: 500), 500, "application/json", "{}"),
            (.text("ä"), 200, "text/plain; charset=utf-8", "ä"),
            (.html("<p>", status: 502), 502, "text/html; charset=utf-8", "<p>"),
            (.data(Data("x".utf8)), 200, "application/octet-stream", "x"),
            (.data(Data("x".utf8), contentType: "image/png"), 200, "image/png", "x"),
            (.data(Data("x".utf8), contentType: nil), 200, nil, "x"),
            (.json("{}", headers: ["content-type": "application/problem+json"]), 200, "application/problem+json", "{}"),
            (.status(204), 204, nil, ""),
            (.redirect(to: "/next", status: 308, body: "there"), 308, "text/plain; charset=utf-8", "there"),
        ] as [(MockResponse, Int, String?, String)]
    )
    func eachKindHasItsStatusTypeAndBody(response: MockResponse, status: Int, type: String?, body: String) {
        #expect(response.status == status)
        #expect(response.headers["Content-Type"] == type)
        #expect(String(decoding: response.body, as: UTF8.self) == body)
    }

    @Test func aRedirectNamesItsTarget() {
        #expect(MockResponse.redirect(to: "//host/a b").headers["Location"] == "//host/a b")
        #expect(MockResponse.redirect(to: "/").status == 302)
    }

    @Test func unknownStatusHasAReasonPhrase() {
        #expect(MockResponse.status(404).reason == "Not Found")
        #expect(MockResponse.status(299).reason == "Status 299")
        #expect(MockResponse(status: 200, reason: "Fine").reason == "Fine")
    }

    @Test func customContentLengthReplacesTheServers() {
        let response = MockResponse(headers: ["content-length": "3"], body: Data("abc".utf8))
        let text = ResponseWriter.wire(response).map { String(decoding: $0, as: UTF8.self) }
        #expect(text == "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc")
    }

    @Test func onlyAPlainResponseIsPreparedInAdvance() {
        let plain = MockResponse.text("x")
        #expect(ResponseWriter.wire(plain) != nil)
        let others = [
            plain.delayed(by: .milliseconds(1)), plain.dripping(0, every: .zero), plain.chunked(0),
            plain.closingConnection(), plain.faulted(.hang), .data(Data(count: 100_000)),
        ]
        for response in others { #expect(ResponseWriter.wire(response) == nil) }
        #expect(others[1].drip == MockResponse.Drip(byteCount: 1, interval: .zero))
        #expect(others[2].chunkByteCount == 1)
    }

    @Test func gzippedResponseHasItsContentEncoding() {
        let response = MockResponse.text("hello").gzipped()
        #expect(response.headers["Content-Encoding"] == "gzip")
        #expect(response.body == Gzip.stored(Data("hello".utf8)))
    }
}
