import Errand
import ErrandTesting
import Foundation
import Testing

/// Request over service over config over library, for everything that is inherited.
@Suite struct PrecedenceTests {
    enum Level: String, CaseIterable, Sendable { case config, service, request }

    /// One member: how each level declares its own value, and how the plan names it.
    struct Member: Sendable, CustomTestStringConvertible {
        let name: String
        let library: String
        let values: [Level: String]
        let config: @Sendable (inout NetworkConfig) -> Void
        let service: @Sendable (inout Service) -> Void
        let request: @Sendable (inout GeneralRequest<JSONValueFormatter>) -> Void
        var testDescription: String { name }
    }

    private static func limit(
        _ name: String,
        _ library: String,
        _ words: [String],
        _ set: @escaping @Sendable (inout Limits, Int) -> Void
    ) -> Member {
        Member(
            name: "limits.\(name)",
            library: library,
            values: [.config: words[0], .service: words[1], .request: words[2]],
            config: { set(&$0.limits, 1) },
            service: { set(&$0.limits, 2) },
            request: { request in
                var limits = request.limits
                set(&limits, 3)
                request = request.limits(limits)
            }
        )
    }

    private static let seconds = (1...3).map { "\(Duration.seconds($0))" }

    static let members: [Member] = [
        limit("timeout", "\(Duration.seconds(60))", seconds) { $0.timeout = .seconds($1) },
        limit("deadline", "no limit", seconds) { $0.deadline = .seconds($1) },
        limit("maximumBodySize", "\(64 << 20)", ["1", "2", "3"]) { $0.maximumBodySize = $1 },
        limit("maximumHeaderSize", "\(300 << 10)", ["1", "2", "3"]) { $0.maximumHeaderSize = $1 },
        limit("maximumExpansion", "200", ["1", "2", "3"]) { $0.maximumExpansion = $1 },
        limit("minimumInterval", "no limit", seconds) { $0.minimumInterval = .seconds($1) },
        Member(
            name: "authorization",
            library: "none",
            values: [
                .config: "Bearer (credentials hidden)", .service: "Basic (credentials hidden)", .request: "anonymous",
            ],
            config: { $0.authorization = .bearer("t") },
            service: { $0.authorization = .basic(user: "u", password: "p") },
            request: { $0 = $0.authorization(.anonymous) }
        ),
        Member(
            name: "retryPolicy",
            library: "\(RetryPolicy.standard)",
            values: [
                .config: "\(RetryPolicy(maximumAttempts: 2))", .service: "\(RetryPolicy(maximumAttempts: 3))",
                .request: "\(RetryPolicy.never)",
            ],
            config: { $0.retryPolicy = RetryPolicy(maximumAttempts: 2) },
            service: { $0.retryPolicy = RetryPolicy(maximumAttempts: 3) },
            request: { $0 = $0.retryPolicy(.never) }
        ),
        Member(
            name: "redirectPolicy",
            library: "\(RedirectPolicy.follow)",
            values: [
                .config: "\(RedirectPolicy(maximumHops: 2))", .service: "\(RedirectPolicy(maximumHops: 3))",
                .request: "\(RedirectPolicy.refuse)",
            ],
            config: { $0.redirectPolicy = RedirectPolicy(maximumHops: 2) },
            service: { $0.redirectPolicy = RedirectPolicy(maximumHops: 3) },
            request: { $0 = $0.redirectPolicy(.refuse) }
        ),
        Member(
            name: "cachePolicy",
            library: "\(CachePolicy.networkOnly)",
            values: [
                .config: "\(CachePolicy.http)", .service: "\(CachePolicy.reload)",
                .request: "\(CachePolicy.networkOnly)",
            ],
            config: { $0.cachePolicy = .http },
            service: { $0.cachePolicy = .reload },
            request: { $0 = $0.cachePolicy(.networkOnly) }
        ),
        Member(
            name: "parameterEncoding",
            library: "automatic",
            values: [.config: "form", .service: "query", .request: "json, dates: secondsSince1970"],
            config: { $0.parameterEncoding = .form },
            service: { $0.parameterEncoding = .query },
            request: { $0 = $0.parameterEncoding(.json.dates(.secondsSince1970)) }
        ),
        Member(
            name: "acceptance",
            library: "status 200..<300",
            values: [
                .config: "status 200..<299", .service: "status 200..<300, type text/*", .request: "status 200..<400",
            ],
            config: { $0.acceptance = Acceptance(statusCodes: 200..<299) },
            service: { $0.acceptance = Acceptance(contentTypes: ["text/*"]) },
            request: { $0 = $0.acceptance(Acceptance(statusCodes: 200..<400)) }
        ),
        Member(
            name: "filter",
            library: "PassthroughFilter",
            values: [.config: "EnvelopeFilter", .service: "ClosureFilter", .request: "PassthroughFilter"],
            config: { $0.filter = EnvelopeFilter(code: "c", data: "d") },
            service: { $0.filter = ClosureFilter { response, _ in Payload(response.body) } },
            request: { $0 = $0.filter(PassthroughFilter()) }
        ),
    ]

    static let levels: [[Level]] = [
        [], [.config], [.service], [.config, .service], [.request], [.config, .request], [.service, .request],
        [.config, .service, .request],
    ]

    @Test(arguments: members, levels)
    func innermostLevelWithAValueApplies(member: Member, levels: [Level]) async throws {
        var config = NetworkConfig.test
        config.retryPolicy = .inherited
        var service = Service(id: "s")
        var request = GeneralRequest("/x")
        if levels.contains(.config) { member.config(&config) }
        if levels.contains(.service) { member.service(&service) }
        if levels.contains(.request) { member.request(&request) }
        let plan = try await Rig(config: config).agent.plan(for: request.service(service))
        let entry = try #require(plan[member.name])
        let last = levels.last
        #expect(entry.value == (last.flatMap { member.values[$0] } ?? member.library))
        #expect(entry.source == (last.flatMap { SettingSource(rawValue: $0.rawValue) } ?? .library))
    }

    @Test func stylesOfARequestReplaceTheInheritedStyles() async throws {
        let config = NetworkConfig.test { $0.parameterEncoding = .form.dates(.secondsSince1970).booleans(.digits) }
        let service = Service(id: "s", parameterEncoding: .inherited.arrays(.repeated).dates(.millisecondsSince1970))
        let request = GeneralRequest("/x").method(.post).service(service)
            .parameters(["a": [1, 2], "d": Date(timeIntervalSince1970: 1), "f": true, "n": ["b": 1]])
            .parameterEncoding(.inherited.nesting(.dots))
        let rig = Rig(config: config)
        #expect(try await rig.wire(request).bodyText() == "a=1&a=2&d=1000&f=1&n.b=1")
        #expect(
            try await rig.wire(request.parameterEncoding(.form)).bodyText()
                == "a%5B%5D=1&a%5B%5D=2&d=1970-01-01T00%3A00%3A01Z&f=true&n%5Bb%5D=1"
        )
        let plan = try await rig.agent.plan(for: request)
        #expect(plan["parameterEncoding"]?.source == .request)
    }

    @Test func theStorageIsTheRequestsElseTheServices() async throws {
        let service = Service(id: "s", cacheStorage: .named("s"))
        let agent = Rig().agent
        let request = GeneralRequest("/x")
        #expect(try await agent.plan(for: request)["cacheStorage"]?.source == .library)
        let inherited = try await agent.plan(for: request.service(service))["cacheStorage"]
        #expect(inherited?.value == "the cache 's'" && inherited?.source == .service)
        let own = try await agent.plan(for: request.service(service).cacheStorage(.memoryOnly))["cacheStorage"]
        #expect(own?.value == "the config's cache, in memory only" && own?.source == .request)
    }

    @Test func decodersAreTheFormattersElseTheServicesElseTheConfigs() async throws {
        struct Named: DataDecoder {
            let name: String
            func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
                try JSONDecoder().decode(type, from: Data("\"\(name)\"".utf8))
            }
        }
        struct Name: Decodable, Sendable, Equatable {
            let text: String
            init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
        }
        let config = NetworkConfig.test { $0.decoder = Named(name: "config") }
        var service = Service(id: "s")
        service.decoder = Named(name: "service")
        let agent = Rig(config: config).agent
        let request = GeneralRequest("/x").expecting(Name.self)
        #expect(try await agent.send(request).text == "config")
        #expect(try await agent.send(request.service(service)).text == "service")
        let own = GeneralRequest("/x", formatter: JSONFormatter<Name>(decoder: Named(name: "own"))).service(service)
        #expect(try await agent.send(own).text == "own")
        #expect(try await agent.response(for: own).decode(Name.self).text == "service")
    }

    @Test func accessoriesRunInTheOrderConfigServiceRequest() async throws {
        struct One: Accessory { func request(_ context: RequestContext, did event: AccessoryEvent) {} }
        struct Two: Accessory { func request(_ context: RequestContext, did event: AccessoryEvent) {} }
        struct Three: Accessory { func request(_ context: RequestContext, did event: AccessoryEvent) {} }
        var service = Service(id: "s")
        service.accessories = [Two()]
        let agent = Rig(config: .test { $0.accessories = [One()] }).agent
        let plan = try await agent.plan(for: GeneralRequest("/x").service(service).accessory(Three()))
        #expect(plan.accessories == ["One", "Two", "Three"])
        #expect(plan["accessories"]?.source == .request)
    }

    @Test func generalRequestCanInheritItsFilter() async throws {
        let envelope = EnvelopeFilter(code: "code", data: "data")
        let rig = Rig(config: .test { $0.filter = envelope }) { _ in .json(#"{"code":0,"data":7}"#) }
        let request = GeneralRequest("/x").filter(PassthroughFilter()).filter(InheritedFilter())
        #expect(try await rig.agent.send(request.expecting(Int.self)) == 7)
    }
}
