import ErrandInspector
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct JSONDriftTests {
    private struct User: Decodable {
        enum State: String, Decodable { case on, off }
        struct Pet: Decodable { let name: String }
        let id: Int
        let nick: String?
        let age: Int?
        let state: State?
        let pets: [Pet]?
    }

    private func drift(_ secrets: Secrets? = nil, _ bodies: String...) async -> JSONDrift {
        let (drift, left) = (JSONDrift(secrets: secrets), Lock(bodies))
        let rig = Rig(config: .test { $0.accessories = [drift] }) { _ in .json(left.withLock { $0.removeFirst() }) }
        for _ in bodies { _ = try? await rig.agent.send(GeneralRequest("/x").expecting(User.self)) }
        return drift
    }

    @Test func aModelThatFitsHasNoFindings() async {
        let body = #"{"id":1,"nick":"a","age":2,"state":"on","pets":[{"name":"x"}]}"#
        let drift = await drift(nil, body, #"{"id":1}"#)
        #expect(drift.isEmpty, "\(drift)")
    }

    @Test func membersThatNoModelReadsAndThatNeverComeAreFound() async {
        let body =
            #"{"id":1,"age":null,"new":"s3cret","state":"on","pets":[{"name":"x","kind":1},{"name":"y","kind":2}]}"#
        let drift = await drift(nil, body, body)
        let found = drift.findings.map { "\($0.path) \($0.kind.rawValue) \($0.count)" }
        #expect(found == ["nick never there 2", "new not read 2", "pets[*].kind not read 4", "age null 2"])
        #expect(drift.description.contains("GeneralRequest") && !drift.description.contains("s3cret"))
    }

    @Test func valuesThatAnEnumDoesNotKnowAreFound() async {
        let body = #"{"id":1,"nick":"","age":1,"pets":[],"state":"paused"}"#
        let masked = await drift(nil, body)
        #expect(masked.findings.map(\.value) == [Secrets.mask] && masked.findings.first?.kind == .unknownValue)
        let empty = await drift(Secrets(shown: ["state"]), #"{"id":1,"nick":"","age":1,"pets":[],"state":""}"#)
        #expect(empty.findings.map(\.value) == [""])
        let shown = await drift(Secrets(shown: ["state"]), body, body)
        #expect(shown.findings.map { "\($0.path) \($0.value ?? "") \($0.count)" } == ["state paused 2"])
    }

    /// Each key of a dictionary is a member of another name.
    @Test func manyMembersThatAreReadHideNoOther() async throws {
        let (drift, number) = (JSONDrift(), Lock(0))
        let rig = Rig(config: .test { $0.accessories = [drift] }) { _ in
            let first = (number.next() - 1) * 4_000
            let pets = (first..<first + 4_000).map { #""\#($0)":{"name":"x"}"# }.joined(separator: ",")
            return .json("{\(first == 12_000 ? #""0":{"name":"x","new":1}"# : pets)}")
        }
        for _ in 0..<4 { _ = try await rig.agent.send(GeneralRequest("/x").expecting([String: User.Pet].self)) }
        #expect(drift.findings.map { "\($0.path) \($0.kind.rawValue)" } == ["0.new not read"])
    }

    /// An observer that takes ten seconds for what a model has read.
    private struct Slow: ReadingAccessory {
        let clock: ManualClock
        let exchangeBodyLimit: Int? = 0
        func request(_ context: RequestContext, did event: AccessoryEvent) {}
        func request(_ context: RequestContext, read reads: JSONReads) { clock.advance(by: .seconds(10)) }
    }

    @Test func whoReportsWhatAModelReadsUsesNoTimeOfTheSend() async throws {
        let clock = ManualClock()
        let config = NetworkConfig.test { $0.accessories = [Slow(clock: clock)] }
        let rig = Rig(config: config, clock: clock) { _ in .json("1") }
        let response = try await rig.agent.response(for: GeneralRequest("/x").expecting(Int.self).deadline(.seconds(1)))
        #expect(response.model == 1 && response.metrics.total < .seconds(1))
    }
}
