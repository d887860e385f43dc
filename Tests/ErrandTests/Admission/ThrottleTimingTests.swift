import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The processor time of sends that wait; the time of the process counts what runs beside them.
@Suite(.timing, .serialized, .limit(seconds: 60))
struct ThrottleTimingTests: ThrottleSuite {
    let clock = ManualClock()

    /// Each host has one send; the slots are fewer.
    @Test func costOfASendDoesNotGrowWithTheHosts() async throws {
        func time(_ count: Int) async throws -> Double {
            let gate = Gate()
            let (agent, wire) = rig(Throttle(maximumInTotal: 4)) { _ in
                try await gate.pass()
                return .json("7")
            }
            let tasks = (0..<count).map { start(agent, AdmissionBench.get("https://h\($0).example/x")) }
            await waitForQueue(agent, count - 4)
            _ = wire
            let began = processTime()
            gate.open()
            for task in tasks { #expect(try await task.value == 7) }
            return processTime() - began
        }
        let (few, many) = (try await time(1_250), try await time(10_000))
        print("a send with 1,250 waiting hosts: \(few / 1_250 * 1e6) us, with 10,000: \(many / 10_000 * 1e6) us")
        #expect(many < 24 * few)
    }
}
