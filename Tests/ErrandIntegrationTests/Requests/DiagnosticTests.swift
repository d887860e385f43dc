import Errand
import ErrandTesting
import Foundation
import Testing

class BaseRequest: Request {
    typealias Model = String
    let name: String
    init(_ name: String) { self.name = name }
    var path: String { "/\(name)" }
    var tag: String { "base" }
}

class Middle: BaseRequest {
    override var tag: String { "middle" }
    let headers: HTTPHeaders = ["X-Own": "1"]
}

final class ForgetfulRequest: Middle {
    let method = HTTPMethod.post
    override var path: String { "/forgetful" }
    let unrelated = 1
}

final class GoodRequest: BaseRequest {
    override var path: String { "/good" }
    override var tag: String { "good" }
}

/// A class that shows more than it stores.
final class DescribedRequest: BaseRequest, CustomReflectable {
    var customMirror: Mirror {
        Mirror(self, children: ["path": "/shown", "headers": 1], ancestorRepresentation: .suppressed)
    }
}

struct DiagnosedItem: Decodable, Sendable { var id: Int }

struct AnyFilterRequest: Request {
    typealias Model = String
    var path: String { "/any" }
    let filter: any ResponseFilter = PassthroughFilter()
}

struct OpaqueFormatterRequest: Request {
    typealias Model = [DiagnosedItem]
    var path: String { "/opaque" }
    let formatter: some ResponseFormatter = JSONFormatter<[DiagnosedItem]>(at: "items")
}

struct OtherFormatterRequest: Request {
    typealias Model = DiagnosedItem
    var path: String { "/other" }
    let formatter = JSONFormatter<[DiagnosedItem]>()
}

struct TypedFilterRequest: Request {
    typealias Model = [DiagnosedItem]
    var path: String { "/typed" }
    let filter: some ResponseFilter = PassthroughFilter()
    let formatter: some ResponseFormatter<[DiagnosedItem]> = JSONFormatter(at: "items")
}

struct DefaultFormatterRequest: Request {
    typealias Model = [DiagnosedItem]
    var path: String { "/default" }
    let filter = InheritedFilter()
    let formatter = DefaultFormatter<[DiagnosedItem]>()
}

struct InferredModelRequest: Request {
    var path: String { "/inferred" }
    let formatter: some ResponseFormatter = JSONFormatter<[DiagnosedItem]>(at: "items")
}

/// Own values that have the names of members: parameters, and a part of the path.
struct SearchWithNames: Request, Encodable {
    typealias Model = String
    var query: String
    var method: Int
    let tag: Int? = nil
    var path: String { "/search" }
}

enum TypedRequest: Request {
    typealias Model = String
    case query(String)
    var path: String { "/typed" }
    var method: HTTPMethod { .post }
    var headers: HTTPHeaders { ["X-Own": "1"] }
    var attributes: [String: any Sendable] { ["a": 1] }
    var limits: Limits { Limits(timeout: .seconds(5)) }
    func check() {}
}

/// The diagnostics of declarations without an effect.
@Suite struct DiagnosticTests {
    final class Recorder: Accessory {
        let lines = Lock<[String]>([])
        func request(_ context: RequestContext, did event: AccessoryEvent) {
            if case .didDiagnose(let diagnostic) = event {
                lines.withLock { $0.append("\(context.typeName): \(diagnostic)") }
            }
        }
        var all: [String] { lines.withLock { $0 } }
    }

    private let server: MockServer
    private let recorder = Recorder()

    init() throws { server = try MockServer { .text("\($0.method) \($0.target)") } }

    private func agent(_ change: (inout NetworkConfig) -> Void = { _ in }) -> Agent {
        server.agent {
            $0.accessories = [recorder]
            change(&$0)
        }
    }

    struct Cached: Request, Sendable {
        typealias Model = String
        var path: String { "/x" }
        var cachePolicy: CachePolicy { .http }
    }

    struct WithoutModel: Request, Sendable {
        var path: String { "/x" }
    }

    struct Ignoring: Request, Sendable {
        var path: String { "/x" }
        var formatter: VoidFormatter { VoidFormatter() }
    }

    @Test func aCachePolicyWithoutACacheIsReportedOnce() async throws {
        server.on(.get, "/x", .text("x"))
        let lines = Lock<[String]>([])
        let log = LoggingAccessory(level: .failures) { line in lines.withLock { $0.append(line) } }
        let agent = agent { $0.accessories.append(log) }
        for _ in 0..<3 { #expect(try await agent.send(Cached()) == "x") }
        _ = try await agent.send(Cached().tag("modified"))
        #expect(recorder.all.count == 1 && lines.withLock { $0.count } == 1)
        #expect(lines.withLock { $0 }.first?.contains("Cached GET") == true)
        #expect(recorder.all.first?.hasPrefix("Cached: the cache policy has no effect") == true)
        _ = try await agent.send(GeneralRequest("/x").cachePolicy(.reload).expecting(String.self))
        _ = try await agent.send(GeneralRequest("/x").expecting(String.self))
        #expect(recorder.all.count == 2)
        let plan = try await agent.plan(for: Cached())
        #expect(plan["cache"]?.value.contains("no effect") == true)
        #expect(plan.description.contains("cache: not used: there is no cache"))
        agent.updateConfig { $0.cache = ResponseCache(disk: nil) }
        #expect(try await agent.plan(for: Cached())["cache"] == nil)
        let named = Cached().cacheStorage(.named("nowhere"))
        #expect(try await agent.plan(for: named)["cache"]?.value.contains("there is no cache 'nowhere'") == true)
        _ = try await agent.send(named)
        #expect(recorder.all.last?.contains("no cache 'nowhere': add it to NetworkConfig.namedCaches") == true)
    }

    private struct Traced: RequestAdapter {
        var scope: String?
        func adapt(_ request: inout OutgoingRequest, for context: RequestContext) { request.headers["X-Device"] = "1" }
        func credentialScope(for context: RequestContext) -> String? { scope }
    }

    @Test(arguments: [String?.none, "", "u7"])
    func anAdapterThatKeepsResponsesFromBeingStoredIsReportedOnce(scope: String?) async throws {
        server.on(.get, "/x", .text("x"))
        let agent = agent {
            $0.adapters = [Traced(scope: scope)]
            $0.cache = ResponseCache(disk: nil)
        }
        for _ in 0..<2 { _ = try await agent.send(GeneralRequest("/x").expecting(String.self)) }
        #expect(recorder.all == [])
        for _ in 0..<2 { _ = try await agent.response(for: Cached(), cachePolicy: .reload) }
        #expect(recorder.all.count == (scope == nil ? 1 : 0))
        for _ in 0..<2 { _ = try await agent.send(WithoutModel().duplicatePolicy(.share)) }
        #expect(recorder.all.count { $0.contains("Traced") } == (scope == nil ? 2 : 0))
        #expect(recorder.all.allSatisfy { !$0.contains("Traced") || $0.contains("implement credentialScope(for:)") })
    }

    @Test func aRequestThatDeclaresNoModelIsReportedAtItsFirstContent() async throws {
        server.on(.get, "/x", .json(#" {"id": 7}"#))
        server.enqueue(.status(204), .json("{}"), .json("[ ]"), .text("OK"), .json("null"))
        let agent = agent()
        for _ in 0..<5 { try await agent.send(WithoutModel()) }
        #expect(recorder.all == [])
        for _ in 0..<3 { try await agent.send(WithoutModel()) }
        #expect(recorder.all.count == 1)
        #expect(recorder.all.first?.contains("WithoutModel: the response has content, and the model is Void") == true)
        try await agent.send(Ignoring())
        try await agent.send(GeneralRequest("/x").expecting(Void.self))
        _ = try await agent.send(GeneralRequest("/x"))
        #expect(recorder.all.count == 1)
        #expect(try await agent.plan(for: WithoutModel())["formatter"]?.value.contains("the model is Void") == true)
    }

    #if DEBUG
    @Test func membersThatOnlyASubclassStoresAreReported() async throws {
        let agent = agent()
        for _ in 0..<2 {
            #expect(try await agent.send(ForgetfulRequest("a")) == "GET /forgetful")
            _ = try await agent.send(ForgetfulRequest("b").header("X-A", "1"))
        }
        #expect(recorder.all.count == 1)
        #expect(
            recorder.all.first?.contains(
                "headers, method of ForgetfulRequest ignored, because BaseRequest"
            ) == true,
            "\(recorder.all)"
        )
        #expect(try await agent.plan(for: ForgetfulRequest("d"))["ignoredMembers"] != nil)
    }

    @Test func overriddenMembersOfAClassAreNotReported() async throws {
        let agent = agent()
        #expect(try await agent.send(GoodRequest("a")) == "GET /good")
        #expect(try await agent.send(BaseRequest("b")) == "GET /b")
        #expect(recorder.all == [])
    }

    @Test func whatAMirrorOfItsOwnShowsIsNotReported() async throws {
        let agent = agent()
        #expect(try await agent.send(DescribedRequest("b")) == "GET /b")
        #expect(recorder.all == [])
    }

    @Test func filtersAndFormattersOfAnotherTypeAreReported() async throws {
        server.on(.get, "*", .json("[]"))
        server.on(.get, "/other", .json(#"{"id": 1}"#))
        let agent = agent()
        #expect(try await agent.send(AnyFilterRequest()) == "[]")
        #expect(recorder.all.last?.contains("declare 'var filter: some ResponseFilter', or") == true)
        #expect(try await agent.send(OpaqueFormatterRequest()).isEmpty)
        let opaque = "declare 'var formatter: some ResponseFormatter<Array<DiagnosedItem>>', or"
        #expect(recorder.all.last?.contains(opaque) == true)
        #expect(try await agent.send(OtherFormatterRequest()).id == 1)
        let other = "declare 'var formatter: some ResponseFormatter<DiagnosedItem>', or"
        #expect(recorder.all.last?.contains(other) == true)
        #expect(recorder.all.last?.contains("its Output is not declared to be the Model") == true)
        #expect(recorder.all.count == 3)
    }

    @Test func filtersAndFormattersOfTheRightTypeAreNotReported() async throws {
        server.on(.get, "*", .json(#"{"items": []}"#))
        server.on(.get, "/default", .json("[]"))
        let agent = agent()
        #expect(try await agent.send(TypedFilterRequest()).isEmpty)
        #expect(try await agent.send(DefaultFormatterRequest()).isEmpty)
        _ = try await agent.send(InferredModelRequest())
        #expect(recorder.all == [])
    }

    @Test func storedPropertiesAndRightTypesAreNotReported() async throws {
        let agent = agent()
        let text = try await agent.send(SearchWithNames(query: "a", method: 1))
        #expect(text == "GET /search?query=a&method=1")
        #expect(try await agent.send(TypedRequest.query("a")) == "POST /typed")
        #expect(recorder.all == [])
    }
    #endif
}
