import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// No response contains what belongs to another resource.
@Suite(.limit(seconds: 60)) struct CacheForeignResponseTests: CacheForeignSuite {
    let clock = CacheClock()

    private static func part(_ text: String, _ range: String) -> MockResponse? {
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
        switch range {
        case "bytes=0-4":
            return .text(
                String(text.prefix(5)),
                status: 206,
                headers: headers.merging(["Content-Range": "bytes 0-4/10"])
            )
        case "bytes=5-9", "bytes=5-":
            return .text(
                String(text.suffix(5)),
                status: 206,
                headers: headers.merging(["Content-Range": "bytes 5-9/10"])
            )
        default: return nil
        }
    }

    /// Two resources may have the same entity tag (RFC 9110, section 8.8.1).
    @Test func partsOfTwoTargetsOfARedirectAreNotCombined() async throws {
        let target = Lock("/v1")
        let server = try MockServer { request in
            if request.target == "/x" { return .redirect(to: target.withLock { $0 }) }
            let text = request.target == "/v1" ? "0123456789" : "abcdefghij"
            return Self.part(text, request.headers["Range"] ?? "") ?? .text(text, headers: ["ETag": "\"1\""])
        }
        defer { server.stop() }
        let agent = agent(server, Self.age)
        #expect(try await agent.send(request.header("Range", "bytes=0-4")) == "01234")
        target.withLock { $0 = "/v2" }
        #expect(try await agent.send(request.header("Range", "bytes=5-9")) == "fghij")
        #expect(try await agent.send(request) == "abcdefghij")
    }

    private struct Mirror: RequestAdapter {
        let path: Lock<String>
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            if let url = URL(string: path.withLock { $0 }, relativeTo: request.url) { request.url = url.absoluteURL }
        }
        func credentialScope(for context: RequestContext) -> String? { "mirror" }
    }

    @Test(arguments: [nil, "bytes=0-4"])
    func aStoredResponseIsNotContinuedOrValidatedByAnotherResource(range: String?) async throws {
        let path = Lock("/v1")
        let server = try MockServer { request in
            let text = request.target == "/v1" ? "0123456789" : "abcdefghij"
            if request.headers["If-None-Match"] == "\"1\"" { return .status(304, headers: ["ETag": "\"1\""]) }
            return Self.part(text, request.headers["Range"] ?? "")
                ?? .text(text, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=0"])
        }
        defer { server.stop() }
        let agent = agent(server) { $0.adapters = [Mirror(path: path)] }
        _ = try await agent.send(range.map { request.header("Range", $0) } ?? request)
        path.withLock { $0 = "/v2" }
        #expect(try await agent.send(request) == "abcdefghij")
    }

    @Test func aLargeContentIsContinuedOnce() async throws {
        let content = Data(repeating: 0x61, count: 34 << 20)
        let server = try MockServer { request in
            var headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
            guard let range = request.headers["Range"].flatMap({ ByteRange($0) })?.positions(in: content.count) else {
                return MockResponse(status: 200, headers: headers, body: content)
            }
            headers["Content-Range"] = ContentRange(range, of: content.count).description
            return MockResponse(status: 206, headers: headers, body: content[range])
        }
        defer { server.stop() }
        let (agent, request) = (agent(server), GeneralRequest("/x").expecting(Data.self))
        _ = try await agent.send(request.header("Range", "bytes=0-1023"))
        #expect(try await agent.send(request) == content)
        #expect(server.requests.map { $0.headers["Range"] } == ["bytes=0-1023", "bytes=1024-"])
    }

    private struct Signing: RequestAdapter {
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
            request.url.append(queryItems: [URLQueryItem(name: "signature", value: UUID().uuidString)])
        }
        func credentialScope(for context: RequestContext) -> String? { "" }
    }

    /// A signature in the query names no other resource.
    @Test func partsOfASignedURLAreCombinedAndReplaceNoCompleteContent() async throws {
        let server = try MockServer { request in
            Self.part("0123456789", request.headers["Range"] ?? "") ?? .text("0123456789", headers: ["ETag": "\"1\""])
        }
        defer { server.stop() }
        let agent = agent(server, Self.age) { $0.adapters = [Signing()] }
        #expect(try await agent.send(request.header("Range", "bytes=0-4")) == "01234")
        #expect(try await agent.send(request) == "0123456789")
        #expect(server.requests.map { $0.headers["Range"] } == ["bytes=0-4", "bytes=5-"])
        let part = request.header("Range", "bytes=0-4")
        #expect(try await agent.response(for: part, cachePolicy: .reload).model == "01234")
        #expect(try await agent.send(request.cachePolicy(.cacheOnly)) == "0123456789")
    }

    /// A response that depends on more than can be compared is like one that depends on everything.
    @Test func aResponseThatDependsOnTooManyFieldsIsNotShared() async throws {
        struct Language: RequestAdapter {
            func adapt(_ request: inout OutgoingRequest, for context: RequestContext) async throws {
                request.headers["X-Lang"] = context.tag
            }
            func credentialScope(for context: RequestContext) -> String? { "" }
        }
        let names = ["X-Lang"] + (0..<20).map { "X-\($0)" }
        let vary: HTTPHeaders = ["Vary": names.joined(separator: ",")]
        let server = try MockServer { .text($0.headers["X-Lang"] ?? "", headers: vary).delayed(by: .milliseconds(50)) }
        defer { server.stop() }
        let agent = agent(server, Self.age) { $0.adapters = [Language()] }
        let shared = request.duplicatePolicy(.share)
        async let one = agent.send(shared.tag("en"))
        async let other = agent.send(shared.tag("de"))
        #expect(try await [one, other] == ["en", "de"])
        let response = RawResponse(headers: vary, body: Data(), url: server.baseURL)
        #expect(throws: CacheMiss.varyMismatch) { try agent.store(response, for: request) }
    }

    @Test func aStoredPartOfAnotherResponseIsValidatedOnce() async throws {
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
        let server = try MockServer { request in
            request.headers.contains("If-None-Match") ? .status(304, headers: headers) : .text("item", headers: headers)
        }
        defer { server.stop() }
        let agent = agent(server)
        let list = server.baseURL.appending(path: "items")
        try agent.store(RawResponse(headers: headers, body: Data("item".utf8), url: list), for: request)
        #expect(try await agent.send(request) == "item")
        #expect(server.requestCount == 1)
    }
}
