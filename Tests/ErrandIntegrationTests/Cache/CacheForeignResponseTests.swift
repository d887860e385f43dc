import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// No response contains what belongs to another resource.
@Suite(.limit(seconds: 60)) struct CacheForeignResponseTests: CacheForeignSuite {
    let clock = CacheClock()
    let server: MockServer

    init() throws { server = try MockServer() }

    private static func part(_ text: String, _ range: String) -> MockResponse? {
        let part: (text: Substring, place: String)
        switch range {
        case "bytes=0-4": part = (text.prefix(5), "0-4")
        case "bytes=5-9", "bytes=5-": part = (text.suffix(5), "5-9")
        default: return nil
        }
        let headers: HTTPHeaders = [
            "ETag": "\"1\"", "Cache-Control": "max-age=60", "Content-Range": "bytes \(part.place)/10",
        ]
        return .text(String(part.text), status: 206, headers: headers)
    }

    /// Two resources may have the same entity tag (RFC 9110, section 8.8.1).
    @Test func partsOfTwoTargetsOfARedirectAreNotCombined() async throws {
        let target = Lock("/v1")
        server.on(.get, "*") { request in
            let text = request.target == "/v1" ? "0123456789" : "abcdefghij"
            return Self.part(text, request.headers["Range"] ?? "") ?? .text(text, headers: ["ETag": "\"1\""])
        }
        server.on(.get, "/x") { _ in .redirect(to: target.withLock { $0 }) }
        let agent = agent(Self.age)
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
        server.on(.get, "*") { request in
            let text = request.target == "/v1" ? "0123456789" : "abcdefghij"
            if request.headers["If-None-Match"] == "\"1\"" { return .status(304, headers: ["ETag": "\"1\""]) }
            return Self.part(text, request.headers["Range"] ?? "")
                ?? .text(text, headers: ["ETag": "\"1\"", "Cache-Control": "max-age=0"])
        }
        let agent = agent { $0.adapters = [Mirror(path: path)] }
        _ = try await agent.send(range.map { request.header("Range", $0) } ?? request)
        path.withLock { $0 = "/v2" }
        #expect(try await agent.send(request) == "abcdefghij")
    }

    @Test func aLargeContentIsContinuedOnce() async throws {
        let content = Data(repeating: 0x61, count: 34 << 20)
        server.on(.get, "/x") { request in
            var headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=60"]
            guard let range = request.headers["Range"].flatMap({ ByteRange($0) })?.positions(in: content.count) else {
                return MockResponse(status: 200, headers: headers, body: content)
            }
            headers["Content-Range"] = ContentRange(range, of: content.count).description
            return MockResponse(status: 206, headers: headers, body: content[range])
        }
        let (agent, request) = (agent(), GeneralRequest("/x").expecting(Data.self))
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
        server.on(.get, "/x") { request in
            Self.part("0123456789", request.headers["Range"] ?? "") ?? .text("0123456789", headers: ["ETag": "\"1\""])
        }
        let agent = agent(Self.age) { $0.adapters = [Signing()] }
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
        server.on(.get, "/x") { .text($0.headers["X-Lang"] ?? "", headers: vary).delayed(by: .milliseconds(50)) }
        let agent = agent(Self.age) { $0.adapters = [Language()] }
        let shared = request.duplicatePolicy(.share)
        async let one = agent.send(shared.tag("en"))
        async let other = agent.send(shared.tag("de"))
        #expect(try await [one, other] == ["en", "de"])
        let response = RawResponse(headers: vary, body: Data(), url: server.baseURL)
        #expect(throws: CacheMiss.varyMismatch) { try agent.store(response, for: request) }
    }

    @Test func aStoredPartOfAnotherResponseIsValidatedOnce() async throws {
        let headers: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
        server.on(.get, "/x") { request in
            request.headers.contains("If-None-Match") ? .status(304, headers: headers) : .text("item", headers: headers)
        }
        let agent = agent()
        let list = server.baseURL.appending(path: "items")
        try agent.store(RawResponse(headers: headers, body: Data("item".utf8), url: list), for: request)
        #expect(try await agent.send(request) == "item")
        #expect(server.requestCount == 1)
    }
}
