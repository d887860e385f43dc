import ErrandTesting
import Foundation
import Testing

@testable import Errand

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Every member that determines how a request is sent and which response is accepted, in the spelling of
/// its documentation.
@Suite struct RequestResponseMembersTests {
    /// The transport sees the idle time.
    struct WithLimits: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var limits: Limits { Limits(timeout: .seconds(5)) }
    }

    @Test func limitsReachTheTransport() async throws {
        struct Probe: Transport {
            let seen: Record<TransportOptions>
            func send(_ request: OutgoingRequest, options: TransportOptions) async throws -> TransportResponse {
                seen.add(options)
                return .json("{}")
            }
        }
        let seen = Record<TransportOptions>()
        _ = try await Agent(config: .test, transport: Probe(seen: seen)).send(WithLimits())
        #expect(seen.all == [TransportOptions(idleTimeout: .seconds(5))])
    }

    struct WithDeadline: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var limits: Limits { Limits(deadline: .seconds(30)) }
    }

    @Test func theDeadlineEndsTheSend() async throws {
        let clock = ManualClock()
        let transport = Rig.silent().transport
        let agent = Agent(config: .test, transport: transport, clock: clock)
        let task = Task { try await agent.send(WithDeadline()) }
        await transport.waitForRequests()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        await expect(throwing: .deadlineExceeded(.seconds(30))) { _ = try await task.value }
    }

    struct WithRedirectPolicy: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/old" }
        var redirectPolicy: RedirectPolicy { .refuse }
    }

    @Test func redirectPolicyDecidesWhichAreFollowed() async throws {
        let rig = Rig { $0.url.path() == "/old" ? .status(302, headers: ["Location": "/new"]) : .json("1") }
        await expect(throwing: .status(302)) { _ = try await rig.agent.send(WithRedirectPolicy()) }
        #expect(rig.transport.requestCount == 1)
        #expect(try await rig.agent.send(GeneralRequest("/old")) == 1)
        #expect(rig.transport.requests.map { $0.url.path() } == ["/old", "/old", "/new"])
    }

    /// Members that the wire does not show, as the plan shows them.
    struct WithPolicies: Request, Sendable {
        typealias Model = JSONValue
        let userID = "u7"
        var path: String { "/x" }
        var priority: RequestPriority { .high }
        var allowsCellularAccess: Bool { false }
        var retryPolicy: RetryPolicy { .never }
        var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }
        var cacheStorage: CacheStorage { .memoryOnly }
        var cacheIdentity: CacheIdentity { CacheIdentity(user: userID) }
        func shouldCache(_ payload: Payload, of response: RawResponse) -> Bool { false }
    }

    @Test(arguments: [
        ("priority", "\(RequestPriority.high)"), ("allowsCellularAccess", "false"),
        ("retryPolicy", "\(RetryPolicy.never)"),
        ("cachePolicy", "\(CachePolicy.cacheElseNetwork(maxAge: .seconds(60)))"),
        ("cacheStorage", "\(CacheStorage.memoryOnly)"), ("cacheIdentity", "\(CacheIdentity(user: "u7"))"),
    ])
    func policiesAreSeenInThePlan(name: String, value: String) async throws {
        let entry = try #require(try await Rig().agent.plan(for: WithPolicies())[name])
        #expect(entry.value == value)
        #expect(entry.source == .request)
    }

    struct WithDuplicatePolicy: Request, Sendable {
        typealias Model = JSONValue
        var page = 1
        var path: String { "/x" }
        var query: Parameters { ["page": page] }
        var duplicatePolicy: DuplicatePolicy { .share }
        var duplicateKey: String { "search" }
    }

    @Test func duplicatePolicyAndKeyDecideWhatIsShared() async throws {
        let door = ManualClock()
        let rig = Rig { _ in
            try await door.sleep(until: ManualClock.Instant(offset: .seconds(1)))
            return .json("1")
        }
        async let first = rig.agent.send(WithDuplicatePolicy())
        await rig.transport.waitForRequests()
        async let second = rig.agent.send(WithDuplicatePolicy(page: 2))
        await wait { rig.agent.pipeline.admission.fetches.waiterCount == 2 }
        door.advance(by: .seconds(1))
        let values = try await [first, second]
        #expect(values == [1, 1])
        #expect(rig.transport.requestCount == 1)
        let plan = try await rig.agent.plan(for: WithDuplicatePolicy())
        #expect(plan["duplicatePolicy"]?.value == "share" && plan["duplicateKey"]?.value == Secrets.mask)
    }

    struct WithoutVeto: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var cachePolicy: CachePolicy { .cacheElseNetwork(maxAge: .seconds(60)) }
    }

    @Test func shouldCachePreventsStoringAResponse() async throws {
        let config = NetworkConfig.test { $0.cache = ResponseCache(disk: nil) }
        let (with, without) = (Rig(config: config), Rig(config: config))
        for _ in 0..<2 { _ = try await with.agent.send(WithPolicies()) }
        for _ in 0..<2 { _ = try await without.agent.send(WithoutVeto()) }
        #expect(with.transport.requestCount == 2)
        #expect(without.transport.requestCount == 1)
    }

    struct WithAcceptance: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var acceptance: Acceptance { Acceptance(statusCodes: 200..<400) }
    }

    @Test func acceptanceDecidesWhichResponsesAreAccepted() async throws {
        #expect(try await Rig(response: .json("1", status: 304)).agent.send(WithAcceptance()) == 1)
        await expect(throwing: .status(400)) {
            _ = try await Rig(response: .json("1", status: 400)).agent.send(WithAcceptance())
        }
    }

    struct WithFilter: Request, Sendable {
        typealias Model = String
        var path: String { "/x" }
        var filter: PassthroughFilter { .passthrough }
    }

    @Test func filterReplacesTheInherited() async throws {
        let config = NetworkConfig.test { $0.filter = EnvelopeFilter(code: "code", data: "data") }
        #expect(try await Rig(config: config, response: .text("plain")).agent.send(WithFilter()) == "plain")
    }

    struct User: Decodable, Sendable, Equatable { var id: Int }
    struct WithFormatter: Request, Sendable {
        var path: String { "/x" }
        var formatter: JSONFormatter<User> { JSONFormatter(at: "list[0]") }
    }

    @Test func formatterCreatesTheModel() async throws {
        let rig = Rig(response: .json(#"{"list":[{"id":7}]}"#))
        #expect(try await rig.agent.send(WithFormatter()) == User(id: 7))
    }

    struct WithFormattingContext: Request, Sendable {
        struct Model: Decodable, Sendable {
            init(from decoder: any Decoder) throws { MainActor.assertIsolated() }
        }
        var path: String { "/x" }
        var formattingContext: FormattingContext { .caller }
    }

    @MainActor @Test func formattingContextDecidesWhereTheModelIsCreated() async throws {
        _ = try await Rig().agent.send(WithFormattingContext())
    }

    struct Printer: Accessory {
        let seen = Record<Int>()
        func request(_ context: RequestContext, did event: AccessoryEvent) { seen.add(context.id) }
    }
    struct WithAccessories: Request, Sendable {
        typealias Model = JSONValue
        let printer = Printer()
        var path: String { "/x" }
        var accessories: [any Accessory] { [printer] }
    }

    @Test func accessoriesAreNotified() async throws {
        let request = WithAccessories()
        _ = try await Rig().agent.send(request)
        #expect(request.printer.seen.all.count == 3)
    }

    struct WithHooks: Request, Sendable {
        typealias Model = User
        let seen: Record<String>
        var path: String { "/x" }
        func check() throws { seen.add("check") }
        func didProduce(_ model: User, from response: RawResponse) throws {
            seen.add("didProduce \(model.id) \(response.statusCode)")
        }
    }

    @Test func hooksAreCalledInOrder() async throws {
        let seen = Record<String>()
        _ = try await Rig(response: .json(#"{"id":7}"#, status: 201)).agent.send(WithHooks(seen: seen))
        #expect(seen.all == ["check", "didProduce 7 201"])
    }

    struct WithCustomURLRequest: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        func customURLRequest() throws -> URLRequest? {
            URLRequest(url: try #require(URL(string: "https://custom.example/y")))
        }
    }

    @Test func customURLRequestReplacesBuilding() async throws {
        #expect(try await Rig().wire(WithCustomURLRequest()).url.absoluteString == "https://custom.example/y")
    }

    struct WithMarks: Request, Sendable {
        typealias Model = JSONValue
        var path: String { "/x" }
        var tag: String { "feed" }
        var attributes: [String: any Sendable] { ["screen": "home"] }
    }

    @Test func tagAndAttributesAreInTheContextOfEveryStage() async throws {
        let seen = Record<String>()
        @Sendable func add(_ stage: String, _ context: RequestContext) {
            seen.add("\(stage) \(context.tag) \(context.attributes["screen"] as? String ?? "")")
        }
        struct Seeing: Accessory, URLFilter {
            let add: @Sendable (String, RequestContext) -> Void
            func request(_ context: RequestContext, did event: AccessoryEvent) {
                if case .willStart = event { add("accessory", context) }
            }
            func filter(_ url: URL, for context: RequestContext) throws -> URL {
                add("url", context)
                return url
            }
        }
        let config = NetworkConfig.test {
            $0.accessories = [Seeing(add: add)]
            $0.urlFilters = [Seeing(add: add)]
            $0.adapters = [ClosureAdapter { _, context in add("adapter", context) }]
            $0.filter = ClosureFilter { response, context in
                add("filter", context)
                return Payload(response.body)
            }
        }
        _ = try await Rig(config: config).agent.send(WithMarks())
        #expect(seen.all == ["accessory", "url", "adapter", "filter"].map { "\($0) feed home" })
    }
}
