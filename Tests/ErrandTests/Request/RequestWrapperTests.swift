import ErrandTesting
import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request in another one loses nothing that it declares.
@Suite struct RequestWrapperTests {
    @Test func hooksOfAWrappedRequestAreCalled() throws {
        struct Hooked: Request {
            typealias Model = [Int]
            let path = "/list"
            func check() throws { throw CancellationError() }
            func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { false }
            func customURLRequest() throws -> URLRequest? { URLRequest(url: URL(filePath: "/own")) }
        }
        let raw = Hooked().raw
        #expect(throws: CancellationError.self) { try raw.check() }
        #expect(try raw.customURLRequest()?.url?.path() == "/own")
        let response = RawResponse(statusCode: 200, url: URL(filePath: "/own"))
        #expect(!raw.shouldCache(Payload(response.body), of: response))
    }

    /// Declares what a plan shows, each with another value than the default.
    struct Special: Request, Sendable {
        typealias Model = [Int]
        var path: String { "/list" }
        var service: Service { Service(id: "special", baseURL: "https://special.example") }
        var query: Parameters { ["page": 1] }
        var parameterEncoding: ParameterEncoding { .query }
        var headers: HTTPHeaders { ["X-A": "1"] }
        var limits: Limits { Limits(timeout: .seconds(7), minimumInterval: .seconds(0)) }
        var priority: RequestPriority { .high }
        var retryPolicy: RetryPolicy { .never }
        var cachePolicy: CachePolicy { .reload }
        var cacheStorage: CacheStorage { .memoryOnly }
        var cacheIdentity: CacheIdentity { CacheIdentity(variant: "v") }
        var duplicatePolicy: DuplicatePolicy { .share }
        var duplicateKey: String { "list" }
        var acceptance: Acceptance { Acceptance(statusCodes: 200..<300, contentTypes: ["application/json"]) }
        var tag: String { "tagged" }
    }

    @Test func planOfAWrapperIsItsRequestsPlan() async throws {
        let agent = Rig().agent
        let own = try await agent.plan(for: Special())
        let raw = try await agent.plan(for: Special().raw)
        let left = ["filter", "formatter"]
        #expect(own.entries.filter { !left.contains($0.name) } == raw.entries.filter { !left.contains($0.name) })
        #expect(own["duplicateKey"]?.value == Secrets.mask && raw.context.tag == "tagged")
    }

    /// Implementations in the library's own protocols are used outside the library too, not the defaults of `Request`.
    @Test func membersReadFromOutsideAreTheRequests() {
        let raw = Special().raw
        #expect(raw.path == "/list" && raw.priority == .high && raw.duplicateKey == "list" && raw.tag == "tagged")
        #expect(BatchRequest(Special()).tag("batch").tag == "batch")
        #expect(throws: NetworkError.self) { try ChainRequest(Special()).check() }
    }

    @Test func wrappedRequestsAreSharedByTheirOwnKey() async throws {
        struct Search: Request, Sendable {
            typealias Model = [Int]
            var text: String
            var path: String { "/list" }
            var query: Parameters { ["q": text] }
            var duplicatePolicy: DuplicatePolicy { .share }
            var duplicateKey: String { "search" }
        }
        let door = Gate()
        let rig = Rig { _ in
            try await door.pass()
            return .json("[1]")
        }
        async let first = rig.agent.send(Search(text: "a").raw)
        await rig.transport.waitForRequests()
        async let second = rig.agent.send(Search(text: "b").raw)
        async let other = rig.agent.send(Search(text: "a"), formattedBy: StringFormatter())
        await rig.transport.waitForRequests(2)
        async let last = rig.agent.send(Search(text: "b"), formattedBy: StringFormatter())
        await wait { rig.agent.pipeline.admission.fetches.waiterCount == 4 }
        door.open()
        #expect(try await [first, second].map { String(decoding: $0, as: UTF8.self) } == ["[1]", "[1]"])
        #expect(try await [other, last] == ["[1]", "[1]"])
        #expect(rig.transport.requestCount == 2)
    }

    @Test func pagesOfOneKeyAreNotDuplicates() async throws {
        struct List: Request, Sendable {
            typealias Model = [Int]
            var page = 0
            var path: String { "/list" }
            var query: Parameters { ["page": page] }
            var duplicatePolicy: DuplicatePolicy { .share }
            var duplicateKey: String { "list" }
        }
        let door = Gate()
        let rig = Rig { request in
            if request.url.query() != "page=0" { try await door.pass() }
            return .json("[\((request.url.query() ?? "").filter(\.isNumber))]")
        }
        @Sendable func second(after first: Int) async throws -> [Int]? {
            let rule = PageRule<[Int]>.number("page", from: first)
            var pages = rig.agent.pages(of: List(), by: rule).makeAsyncIterator()
            _ = try await pages.next()
            return try await pages.next()?.model
        }
        async let one = second(after: 0)
        await rig.transport.waitForRequests(2)
        async let other = second(after: 5)
        await rig.transport.waitForRequests(4)
        door.open()
        let all = try await [one, other]
        #expect(all == [[1], [6]])
    }
}
