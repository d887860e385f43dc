import ErrandInspector
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct SendStatisticsTests {
    @Test func sendsAreCountedByTheirTypes() async throws {
        let statistics = SendStatistics()
        let rig = Rig(config: .test { $0.accessories = [statistics] }) { request in
            .json("[1]", status: request.url.path() == "/bad" ? 404 : 200)
        }
        for _ in 0..<3 { _ = try await rig.agent.send(GeneralRequest("/x")) }
        _ = try? await rig.agent.send(GeneralRequest("/bad"))
        _ = try? await rig.agent.send(GeneralRequest("/y").expecting(Int.self).tag("x"))
        let all = statistics.all
        #expect(all.map(\.typeName) == ["GeneralRequest"] && all.map(\.count) == [5])
        #expect(
            all[0].failures["unacceptableStatus"] == 1 && all[0].receivedByteCount == 15 && all[0].total.count == 3
        )
        #expect(statistics.table.hasPrefix("request         sends  failed  cancelled"))
        #expect(statistics.table.split(separator: "\n").count == 2)
        let json = try JSONValue(parsing: statistics.json)
        #expect(
            json[0]?["sends"] == 5 && json[0]?["failures"]?["unacceptableStatus"] == 1
                && json[0]?["total"]?["count"] == 3 && json[0]?["phases"] == [:]
        )
        statistics.clear()
        #expect(statistics.all.isEmpty)
    }

    @Test func aPercentileIsNearlyExact() throws {
        var times = Percentiles()
        #expect(times.percentile(0.5) == nil)
        for milliseconds in 1...1_000 { times.add(.milliseconds(milliseconds)) }
        for (part, exact) in [(0.5, 500.0), (0.9, 900), (0.99, 990), (1, 1_000)] {
            let found = try #require(times.percentile(part)) / .milliseconds(1)
            #expect(abs(found - exact) / exact < 0.04, "\(part): \(found)")
        }
        for hostile in [Duration.seconds(-1), .zero, .seconds(Int64.max), .nanoseconds(1)] { times.add(hostile) }
        #expect(times.count == 1_004 && times.percentile(.nan) == times.percentile(0))
    }
}
