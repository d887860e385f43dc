#if DEBUG
import Errand
import ErrandTesting
import Foundation
import Testing

/// Stored members of another type than in `Request`, of a request without parameters of its own.
private struct StoredMembers: Request {
    typealias Model = String
    let path = "/stored"
    let method = "POST"
    let headers = ["a": "b"]
    let idempotencyKey = "k"
    let limits: Limits? = nil
    let body = Data()
    let filter: any ResponseFilter = PassthroughFilter()
}

/// Values of its own that other members are made from.
private struct OwnValues: Request {
    typealias Model = String
    let query: String
    let method: String
    let priority: Int
    let filter: String
    var retryPolicy: RetryPolicy = .never
    let attributes: [String: any Sendable] = ["a": 1]
    let accessories: [any Accessory] = []
    var path: String { "/\(method)" }
    var parameters: Parameters { ["q": query, "priority": priority, "filter": filter] }
}

private enum OneOfTwo: Request {
    typealias Model = String
    case headers(String)
    case limits(Int)
    var path: String { "/x" }
}

private struct SecretInHeaders: Request, Encodable {
    typealias Model = String
    var q = "x"
    var headers = ["X-Own": "1"]
    var authorization = "none"
    var limits: Limits?
    var path: String { "/notes" }
}

/// The names are listed, so these are parameters.
private struct ListedParameters: Request, Encodable {
    typealias Model = String
    var headers = ["a": "b"]
    var tag = "work"
    var authorization = "none"
    var path: String { "/hooks" }
    enum CodingKeys: String, CodingKey {
        case headers, tag
        case authorization = "auth"
    }
}

private struct RemoteCall: Request, Encodable {
    typealias Model = String
    var method = "reserve"
    var body: String
    var priority: Int?
    var tag: Int?
    var _headers = ["a": "b"]
    var path: String { "/rpc" }
}

private struct PostAsParameter: Request, Encodable {
    typealias Model = String
    var method = "POST"
    var path: String { "/rpc" }
}

private struct AddNote: Request, Encodable {
    typealias Model = String
    var text: String
    var tag: String
    var path: String { "/notes" }
    var method: HTTPMethod { .post }
}

private struct RenamedNote: Request, Encodable {
    typealias Model = String
    var _tag: String
    var tag: String { "notes" }
    var path: String
}

private struct OpaqueInheritedFilter: Request {
    typealias Model = String
    var path: String { "/opaque" }
    let filter: some ResponseFilter = InheritedFilter()
}

/// Swift ignores these too, and only their types would show it.
private struct ComputedMembers: Request {
    typealias Model = String
    var path: String { "/computed" }
    var headers: [String: String] { ["X-Own": "1"] }
    var method: String { "POST" }
}

/// The diagnostics of stored properties that have the name of a member.
@Suite struct IgnoredMembersTests {
    /// Sends a request, and returns what is reported and the request that was sent.
    private func report<R: Request>(_ request: R) async throws -> (lines: [String], sent: OutgoingRequest)
    where R.Model == String {
        let rig = Rig { _ in .text("x") }
        let lines = Record<String>()
        _ = try await rig.agent.send(
            request.accessory { if case .didDiagnose(let diagnostic) = $0 { lines.add("\(diagnostic)") } }
        )
        return (lines.all, try #require(rig.transport.requests.first))
    }

    @Test func storedMembersOfAnotherTypeAreReported() async throws {
        let lines = try await report(StoredMembers()).lines
        let spellings =
            "declare 'var body: RequestBody', 'var filter: some ResponseFilter', 'var headers: HTTPHeaders', "
            + "'var idempotencyKey: IdempotencyKey', 'var limits: Limits', 'var method: HTTPMethod', or"
        #expect(lines.count == 1 && lines.first?.contains(spellings) == true, "\(lines)")
    }

    @Test func valuesThatMembersAreMadeFromAreNotReported() async throws {
        let request = OwnValues(query: "a", method: "card", priority: 1, filter: "new")
        #expect(try await report(request).lines == [])
        #expect(try await report(OneOfTwo.headers("a")).lines == [])
    }

    @Test func membersThatAreSentAsParametersAreReported() async throws {
        let (lines, sent) = try await report(SecretInHeaders())
        #expect(sent.url.query() == "q=x&headers%5BX-Own%5D=1&authorization=none")
        let spellings = "sent as a parameter: declare 'var authorization: Authorization', 'var headers: HTTPHeaders';"
        #expect(lines.count == 2 && lines.last?.contains(spellings) == true, "\(lines)")
        // One that is nil is not sent.
        #expect(lines.first?.contains("has no effect: declare 'var limits: Limits', or") == true, "\(lines)")
        #expect(!lines.contains { $0.contains("X-Own") })
        let call = try await report(RemoteCall(body: "b"))
        #expect(call.sent.url.query() == "method=reserve&body=b&headers%5Ba%5D=b")
        #expect(call.lines == [])
        #expect(try await report(ListedParameters()).lines == [])
        let post = try await report(PostAsParameter()).lines
        #expect(post.count == 1 && post.first?.contains("'var method: HTTPMethod'") == true, "\(post)")
    }

    @Test func aParameterThatIsTheTagIsReported() async throws {
        let (lines, sent) = try await report(AddNote(text: "t", tag: "work"))
        #expect(try sent.bodyText() == #"{"text":"t"}"#)
        #expect(lines.count == 1 && lines.first?.contains("'_tag'") == true, "\(lines)")
        #expect(try await report(RenamedNote(_tag: "work", path: "/notes")).lines == [])
    }

    @Test func anInheritedFilterOfAnOpaqueTypeIsNotReported() async throws {
        #expect(try await report(OpaqueInheritedFilter()).lines == [])
    }

    @Test func computedMembersOfAnotherTypeAreNotReported() async throws {
        #expect(try await report(ComputedMembers()).lines == [])
    }

    @Test func thePlanShowsAllOfThem() async throws {
        let plan = try await Rig().agent.plan(for: AddNote(text: "t", tag: "work"))
        #expect(plan["ignoredMembers"]?.value.contains("'_tag'") == true)
    }
}
#endif
