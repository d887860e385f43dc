import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The request after a redirect, as a table.
@Suite struct RedirectPolicyTests {
    private struct Vetoed: Error {}

    private func next(
        _ policy: RedirectPolicy = .follow,
        after status: Int,
        to location: String?,
        from method: HTTPMethod = .get,
        url: String = "https://api.example/a/b?c=1",
        body: OutgoingBody = .empty,
        hops: Int = 0
    ) throws -> OutgoingRequest? {
        let request = OutgoingRequest(
            method: method,
            url: try #require(URL(string: url)),
            headers: ["Content-Type": "text/plain", "X-Own": "1"],
            body: body
        )
        let headers: HTTPHeaders = location.map { ["Location": $0] } ?? [:]
        let response = RawResponse(statusCode: status, headers: headers, url: request.url)
        return try policy.next(
            after: response,
            to: request,
            hops: hops,
            credentials: RedirectCredentials(ownHeaders: request.headers, ownBody: body)
        )?.request
    }

    @Test func aRedirectWhoseBodyGoesOnIsFollowed() async throws {
        let (clock, body) = (ManualClock(), PushedBody())
        let rig = Rig(clock: clock) { request in
            request.url.path() == "/new" ? .json("1") : body.response(headers: ["Location": "/new"], status: 302)
        }
        async let bytes = rig.agent.send(GeneralRequest("/old").expecting(Data.self))
        while !body.isCancelled {
            if let next = clock.nextDeadline { clock.advance(to: next) }
            await Task.yield()
        }
        #expect(try await bytes == Data("1".utf8))
        #expect(clock.now.offset == .seconds(1))
    }

    @Test(arguments: [200, 204, 300, 304, 305, 306, 400])
    func onlyFiveStatusesRedirect(status: Int) throws { #expect(try next(after: status, to: "/x") == nil) }

    @Test(arguments: [nil, ""])
    func withoutALocationItIsAnOrdinaryResponse(location: String?) throws {
        #expect(try next(after: 302, to: location) == nil)
    }

    @Test(arguments: [
        (301, HTTPMethod.post, HTTPMethod.get), (302, .post, .get), (301, .put, .put), (302, .delete, .delete),
        (303, .post, .get), (303, .put, .get), (303, .head, .head), (307, .post, .post), (308, .patch, .patch),
        (301, .get, .get), (303, .get, .get),
    ])
    func methodFollowsTheStandard(status: Int, before: HTTPMethod, after: HTTPMethod) throws {
        let body: OutgoingBody = before == .get || before == .head ? .empty : .data(Data("x".utf8))
        let found = try #require(try next(after: status, to: "/x", from: before, body: body))
        #expect(found.method == after)
        #expect(found.body.isEmpty == (body.isEmpty || after != before))
        #expect(found.headers.contains("Content-Type") == (after == before))
        #expect(found.headers["X-Own"] == "1")
    }

    @Test(arguments: [
        ("/x", "https://api.example/x"), ("x", "https://api.example/a/x"), ("../x?d=2", "https://api.example/x?d=2"),
        ("/x#\u{301}y", "https://api.example/x"), ("?d=2", "https://api.example/a/b?d=2"),
        ("//other.example/x", "https://other.example/x"),
        ("https://other.example", "https://other.example/"), ("/ü x", "https://api.example/%C3%BC%20x"),
        ("/x#part", "https://api.example/x"),
    ])
    func locationIsResolved(location: String, url: String) throws {
        #expect(try next(after: 302, to: location)?.url.absoluteString == url)
    }

    @Test func insecureTargetIsRejected() throws {
        let error = #expect(throws: NetworkError.self) { try next(after: 302, to: "http://api.example/x") }
        #expect(error?.reason == .invalidRedirect("it leads from https to http"))
        #expect(try next(after: 302, to: "https://api.example/x", url: "http://api.example/") != nil)
    }

    @Test func hopsAreCounted() throws {
        #expect(try next(RedirectPolicy(maximumHops: 2), after: 302, to: "/x", hops: 1) != nil)
        let error = #expect(throws: NetworkError.self) {
            try next(RedirectPolicy(maximumHops: 2), after: 302, to: "/x", hops: 2)
        }
        #expect(error?.reason == .invalidRedirect("there were more than 2"))
        #expect(try next(.refuse, after: 302, to: "/x") == nil)
        #expect(try next(RedirectPolicy(maximumHops: -1), after: 302, to: "/x") == nil)
    }

    /// RFC 9110, section 15.4, item 5, and the registry of field names.
    @Test(arguments: [301, 302, 303, 307, 308])
    func fieldsThatDescribeTheBodyEndWithIt(status: Int) throws {
        let describing = [
            "Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-MD5", "Content-Range",
            "content-disposition", "Content-Digest", "Repr-Digest", "Digest", "Last-Modified", "Content-Whatever",
        ]
        let kept = ["Accept", "Want-Repr-Digest", "If-Unmodified-Since", "X-Content"]
        let request = OutgoingRequest(
            method: .post,
            url: try #require(URL(string: "https://api.example/")),
            headers: HTTPHeaders((describing + kept).map { HTTPHeaders.Field(name: $0, value: "1") }),
            body: .data(Data("x".utf8))
        )
        for target in ["/x", "https://b.example/x"] {
            let response = RawResponse(statusCode: status, headers: ["Location": target], url: request.url)
            let next = try RedirectPolicy.follow.next(
                after: response,
                to: request,
                hops: 0,
                credentials: RedirectCredentials(ownHeaders: request.headers, ownBody: request.body)
            )
            let names = try #require(next).request.headers.map(\.name)
            #expect(names == (status > 303 ? describing : []) + kept)
        }
    }

    @Test func aVetoEndsTheSendAndKeepsTheHops() throws {
        #expect(throws: Vetoed.self) { try next(.follow.vetoing { _ in throw Vetoed() }, after: 302, to: "/x") }
        #expect(try next(.refuse.vetoing { _ in throw Vetoed() }, after: 302, to: "/x") == nil)
        #expect(RedirectPolicy(maximumHops: 3).vetoing { _ in }.maximumHops == 3)
    }

    @Test func vetoOnAnInheritedPolicyKeepsTheStandardHops() throws {
        let policy = RedirectPolicy.inherited.vetoing { if $0.to.path() == "/no" { throw Vetoed() } }
        #expect(policy.maximumHops == 10 && policy != .inherited)
        #expect(try next(policy, after: 302, to: "/x") != nil)
        #expect(throws: Vetoed.self) { try next(policy, after: 302, to: "/no") }
    }

    @Test func aBodyThatCanBeReadOnceIsNotSentAgain() throws {
        struct Once: BodySource {
            final class Reader: BodyReader { func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { 0 } }
            var byteCount: Int64? { 3 }
            var isReplayable: Bool { false }
            func makeReader() throws -> any BodyReader { Reader() }
        }
        #expect(throws: NetworkError.self) { try next(after: 307, to: "/x", from: .post, body: .source(Once())) }
        #expect(try next(after: 303, to: "/x", from: .post, body: .source(Once()))?.body.isEmpty == true)
    }

    @Test func cookiesAndOriginAreNotSentToAnotherOrigin() throws {
        var request = OutgoingRequest(
            url: try #require(URL(string: "https://api.example/")),
            headers: ["Cookie": "a=1"]
        )
        request.headers["Authorization"] = "Bearer t"
        let response = RawResponse(statusCode: 302, headers: ["Location": "https://b.example/"], url: request.url)
        let found = try RedirectPolicy.follow.next(
            after: response,
            to: request,
            hops: 0,
            credentials: RedirectCredentials(ownHeaders: request.headers, ownBody: .empty)
        )
        #expect(found?.request.headers.isEmpty == true && found?.redirect.leavesOrigin == true)
    }
}
