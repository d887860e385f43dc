import Errand
import ErrandTesting
import Foundation
import Testing

@Suite struct AgentTests {
    private static func service(_ name: String, code: String) -> Service {
        Service(
            id: name,
            headers: ["X-\(name)": name],
            parameters: Parameters(["from\(name)": name]),
            filter: EnvelopeFilter(code: JSONPath(names: [code]), data: JSONPath(names: ["\(name)Data"]))
        )
    }

    @Test func twoServicesInFlightDoNotMixTheirSettings() async throws {
        let rig = Rig { request in
            await Task.yield()
            let name = request.url.host() == "a.example" ? "A" : "B"
            return .json(#"{"code\#(name)":0,"\#(name)Data":"\#(name)"}"#)
        }
        var (a, b) = (Self.service("A", code: "codeA"), Self.service("B", code: "codeB"))
        (a.baseURL, b.baseURL) = ("https://a.example", "https://b.example")
        let requests = [a, b].map { GeneralRequest("/x").service($0).expecting(String.self) }
        try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for round in 0..<200 { group.addTask { (round % 2, try await rig.agent.send(requests[round % 2])) } }
            for try await (index, text) in group { #expect(text == (index == 0 ? #""A""# : #""B""#)) }
        }
        #expect(rig.transport.requestCount == 200)
        for sent in rig.transport.requests {
            let name = sent.url.host() == "a.example" ? "A" : "B"
            #expect(sent.headers.map(\.name) == ["X-\(name)"])
            #expect(sent.url.query() == "from\(name)=\(name)")
        }
    }

    @Test func aConfigReplacedMidFlightChangesOnlyLaterSends() async throws {
        let gate = Record<CheckedContinuation<Void, Never>>()
        let rig = Rig(config: .test { $0.filter = EnvelopeFilter(code: "old", data: "data") }) { request in
            if request.url.path() == "/old" { await withCheckedContinuation { gate.add($0) } }
            return .json(#"{"old":0,"data":"before","new":0,"other":"after"}"#)
        }
        let before = Task { try await rig.agent.send(GeneralRequest("/old")) }
        await rig.transport.waitForRequests()
        var config = rig.agent.config
        config.baseURL = "https://new.example"
        config.headers = ["X-New": "1"]
        config.filter = EnvelopeFilter(code: "new", data: "other")
        rig.agent.config = config
        #expect(try await rig.agent.send(GeneralRequest("/new")) == "after")
        await wait { !gate.all.isEmpty }
        gate.all.first?.resume()
        #expect(try await before.value == "before")
        #expect(rig.transport.requests.map { $0.url.host() } == ["api.example", "new.example"])
        #expect(rig.transport.requests.map(\.headers.isEmpty) == [true, false])
    }

    @Test func sendsAreNumbered() async throws {
        let log = EventLog()
        let rig = Rig(config: .test { $0.accessories = [log] })
        await withTaskGroup { group in
            for _ in 0..<100 { group.addTask { _ = try? await rig.agent.send(GeneralRequest("/x")) } }
        }
        #expect(Set(log.events.all.map(\.context.id)).count == 100)
    }

    @Test func planAndPreviewSendAndNotifyNothing() async throws {
        let events = Record<String>()
        let rig = Rig(config: .test { $0.accessories = [AccessoryPathsTests.Recorder(events: events)] })
        _ = try await rig.agent.plan(for: GeneralRequest("/x"))
        _ = try await rig.agent.urlRequest(for: GeneralRequest("/x"))
        #expect(rig.transport.requestCount == 0)
        #expect(events.all.isEmpty)
    }

    @Test func planDescriptionIsOnePage() async throws {
        let request = GeneralRequest("/users?page=1").method(.post).parameters(["name": "secret"])
            .authorization(.bearer("secret")).limits(Limits(timeout: .seconds(5))).tag("feed")
        let plan = try await Rig().agent.plan(for: request)
        let lines = plan.description.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.first == "GeneralRequest: POST api.example/users")
        #expect(lines.contains("path /users (request)"))
        #expect(lines.contains("method POST (request)"))
        #expect(lines.contains("parameters name (request)"))
        #expect(lines.contains("body 17 bytes (request)"))
        #expect(lines.contains("authorization Bearer (credentials hidden) (request)"))
        #expect(lines.contains("limits.timeout 5.0 seconds (request)"))
        #expect(lines.contains("formattingContext \(Metrics.Formatting.background.rawValue)"))
        #expect(lines.contains("tag feed (request)"))
        #expect(lines.contains("headers Authorization, Content-Type (request)"))
        // The library's defaults follow the declared settings; empty settings are omitted.
        let defaults = try #require(lines.firstIndex(of: "defaults of the library:"))
        #expect(lines[..<defaults].dropFirst().allSatisfy { $0.hasSuffix(")") || $0.hasPrefix("cache: ") })
        #expect(lines[defaults...].contains("limits.deadline no limit"))
        #expect(!lines.contains { $0.hasPrefix("accessories") || $0.hasSuffix("[]") || $0.hasPrefix("formatted") })
        #expect(!plan.description.contains("secret"))
    }
}
