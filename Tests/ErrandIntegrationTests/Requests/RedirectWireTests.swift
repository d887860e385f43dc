import Errand
import ErrandTesting
import Foundation
import Testing

/// Redirects on a real wire: URLSession's own following never gets a hand on them.
@Suite(.serialized, .limit(seconds: 60))
struct RedirectWireTests {
    private let server: MockServer
    private let other: MockServer

    init() throws { (server, other) = (try MockServer(), try MockServer()) }

    /// RFC 9110, sections 15.4.2 to 15.4.9.
    @Test(arguments: [301, 302, 303, 307, 308], [HTTPMethod.get, .head, .post, .put, .delete])
    func methodAndBodyFollowTheStandard(_ status: Int, _ method: HTTPMethod) async throws {
        server.on(method, "/from", .redirect(to: "../to?x=1", status: status))
        for target in [HTTPMethod.get, .head, .post, .put, .delete] { server.on(target, "/to", .status(204)) }
        let hasBody = method == .post || method == .put
        let request = GeneralRequest("/from").method(method).body(hasBody ? .data(Data("body".utf8)) : .empty)
        let response = try await server.agent().response(for: request.expecting(Void.self))
        let becomesGet = status == 303 && method != .head || status < 303 && method == .post
        let last = try #require(server.requests.last)
        #expect(last.method == (becomesGet ? .get : method))
        #expect(last.target == "/to?x=1")
        #expect(last.text == (hasBody && !becomesGet ? "body" : ""))
        #expect(last.headers.contains("Content-Type") == (hasBody && !becomesGet))
        #expect(response.redirects.map(\.statusCode) == [status])
        #expect(response.url.path() == "/to")
    }

    @Test(arguments: [307, 308])
    func aStreamedBodyIsReadAgainFromItsStart(_ status: Int) async throws {
        server.on(.put, "/from", .redirect(to: "/to", status: status))
        server.on(.put, "/to", .status(204))
        let adapter = StreamingAdapter(body: .source(PatternSource(count: 200_000, statesCount: true)))
        let agent = server.agent { $0.adapters = [adapter] }
        try await agent.send(GeneralRequest("/from").method(.put).expecting(Void.self))
        let bodies = server.requests.map(\.body)
        #expect(bodies.map(\.count) == [200_000, 200_000])
        #expect(bodies.first == bodies.last)
    }

    private struct StreamingAdapter: RequestAdapter {
        let body: OutgoingBody
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) { request.body = body }
    }

    @Test
    func credentialsAndSecretsAreNotSentToAnotherOrigin() async throws {
        server.on(.get, "/near", .redirect(to: "/here"))
        server.on(.get, "/here", .status(204))
        server.on(.get, "/far", .redirect(to: other.baseURL.appending(path: "there").absoluteString))
        other.on(.get, "/there", .status(204))
        let agent = server.agent { $0.secrets.headers.append("X-Tenant") }
        let headers: HTTPHeaders = ["X-Api-Key": "k", "X-Tenant": "t", "Cookie": "c=1", "Accept-Language": "en"]
        for path in ["/near", "/far"] {
            let request = GeneralRequest(path).headers(headers).authorization(.bearer("token"))
            try await agent.send(request.expecting(Void.self))
        }
        let near = try #require(server.requests.first { $0.path == "/here" })
        let far = try #require(other.requests.first)
        for name in ["Authorization", "X-Api-Key", "X-Tenant", "Cookie"] {
            #expect(near.headers.contains(name))
            #expect(!far.headers.contains(name))
        }
        #expect(far.headers["Accept-Language"] == "en")
    }

    /// RFC 9110, section 15.4: a strict server compares a digest with the empty body.
    @Test(arguments: [301, 302, 303], [false, true])
    func fieldsThatDescribeTheBodyEndWithIt(_ status: Int, _ leavesOrigin: Bool) async throws {
        let target = leavesOrigin ? other : server
        server.on(.post, "/from", .redirect(to: target.baseURL.appending(path: "to").absoluteString, status: status))
        target.on(.get, "/to", .status(204))
        let fields: HTTPHeaders = [
            "Last-Modified": "Sun, 01 Mar 2026 12:00:40 GMT", "Content-Digest": "sha-256=:AA==:", "Content-MD5": "AA==",
            "Repr-Digest": "sha-256=:AA==:", "Digest": "sha-256=AA==", "Content-Disposition": "inline",
            "Content-Range": "bytes 0-3/4", "Content-Language": "en", "Accept-Language": "en",
        ]
        let request = GeneralRequest("/from").method(.post).headers(fields).body(.data(Data("body".utf8)))
        try await server.agent().send(request.expecting(Void.self))
        let names = try #require(target.requests.last).headers.map { $0.name.lowercased() }
        #expect(names.contains("accept-language"))
        #expect(names.filter { $0.hasPrefix("content-") || $0.hasSuffix("digest") || $0 == "last-modified" } == [])
    }

    @Test
    func timingOfAnAttemptIncludesItsRedirects() async throws {
        server.on(.get, "/a", .redirect(to: "/b").delayed(by: .milliseconds(60)))
        server.on(.get, "/b", .redirect(to: "/c").delayed(by: .milliseconds(60)))
        server.on(.get, "/c", .json("1"))
        let response = try await server.agent().response(for: GeneralRequest("/a"))
        let times = try #require(response.metrics.attempts.first)
        #expect(times.total >= .milliseconds(120))
        #expect(times.firstByte ?? .zero >= .milliseconds(120))
        #expect(times.total <= response.metrics.total)
    }

    @Test
    func redirectLoopEndsAfterTenHopsAndEachIsReported() async throws {
        server.on(.get, "/a", .redirect(to: "/b"))
        server.on(.get, "/b", .redirect(to: "/a"))
        let hops = Hops()
        let agent = server.agent { $0.accessories = [hops] }
        let error = await #expect(throws: NetworkError.self) { try await agent.send(GeneralRequest("/a")) }
        #expect(error?.reason == .invalidRedirect("there were more than 10"))
        #expect(hops.all.count == 10)
        #expect(server.requestCount == 11)
    }

    @Test(
        arguments: [
            ("ftp://127.0.0.1/x", NetworkError.Kind.redirectRefused), ("file:///etc/passwd", .redirectRefused),
            ("javascript:alert(1)", .redirectRefused), ("data:text/plain,x", .redirectRefused),
            ("http://", .redirectRefused), ("http://[::1", .redirectRefused),
        ]
    )
    func redirectsToOtherTargetsAreRejected(_ target: String, _ kind: NetworkError.Kind) async throws {
        server.on(.get, "/x", .redirect(to: target))
        let error = await #expect(throws: NetworkError.self) { try await server.agent().send(GeneralRequest("/x")) }
        #expect(error?.kind == kind, "\(String(describing: error))")
        #expect(server.requestCount == 1)
    }

    @Test
    func redirectNotFollowedIsTheResponseAndAVetoIsItsError() async throws {
        struct No: Error {}
        server.on(.get, "/x", .redirect(to: "/y", body: "moved"))
        let agent = server.agent()
        let refused = GeneralRequest("/x").redirectPolicy(.refuse).acceptance(Acceptance(statusCodes: 300..<400))
        #expect(try await agent.send(refused.expecting(String.self)) == "moved")
        let vetoed = GeneralRequest("/x").redirectPolicy(.follow.vetoing { _ in throw No() })
        await #expect(throws: No.self) { try await agent.send(vetoed) }
        #expect(server.requestCount == 2)
    }
}

/// Records the redirects that an accessory is notified of.
final class Hops: Accessory {
    private let list = Lock<[Redirect]>([])
    var all: [Redirect] { list.withLock { $0 } }

    func request(_ context: RequestContext, did event: AccessoryEvent) {
        if case .didRedirect(let redirect) = event { list.withLock { $0.append(redirect) } }
    }
}
