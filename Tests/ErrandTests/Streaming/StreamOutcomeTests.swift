import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The outcome of a send whose reader leaves before the end of the body.
@Suite(.limit(seconds: 60)) struct StreamOutcomeTests {
    /// The outcome of the first send that ends, by name.
    private func outcome(in log: EventLog) async -> String {
        while log.outcomes.isEmpty { await Task.yield() }
        switch log.outcomes[0] {
        case .success(let statusCode, _, _): return "success \(statusCode)"
        case .failure(let error): return (error as? NetworkError)?.kind.rawValue ?? "other"
        case .cancelled: return "cancelled"
        }
    }

    /// The ways to read a body.
    enum Way: CaseIterable, Sendable {
        case bytes, lines, jsonLines, events

        /// Reads one element, and calls a function before the next one.
        func read(_ agent: Agent, then act: () throws -> Bool) async throws {
            let request = GeneralRequest("/x")
            switch self {
            case .bytes: for try await _ in try await agent.bytes(for: request) where try act() { break }
            case .lines: for try await _ in try await agent.bytes(for: request).lines where try act() { break }
            case .jsonLines:
                for try await _ in try await agent.bytes(for: request).jsonLines(of: JSONValue.self)
                where try act() { break }
            case .events: for try await _ in agent.events(for: request) where try act() { break }
            }
        }

        var text: String { self == .events ? "data: 1\n\n" : "1\n" }
    }

    private func rig(_ body: PushedBody, _ log: EventLog) -> Rig {
        Rig(config: .test { $0.accessories = [log] }, response: body.events)
    }

    @Test(arguments: Way.allCases)
    func leavingTheLoopIsASuccess(way: Way) async throws {
        let (body, log) = (PushedBody(), EventLog())
        let rig = rig(body, log)
        body.send(way.text)
        try await way.read(rig.agent) { true }
        #expect(await outcome(in: log) == "success 200")
        await body.waitUntilCancelled()
    }

    @Test(arguments: Way.allCases)
    func leavingTheLoopWithAnErrorIsASuccessOfTheSend(way: Way) async throws {
        let (body, log) = (PushedBody(), EventLog())
        let rig = rig(body, log)
        body.send(way.text)
        await #expect(throws: Boom.self) { try await way.read(rig.agent) { throw Boom() } }
        #expect(await outcome(in: log) == "success 200")
    }

    @Test(arguments: Way.allCases)
    func aCancelledReaderIsACancelledSend(way: Way) async throws {
        for leavesTheLoop in [false, true] {
            let (body, log) = (PushedBody(), EventLog())
            let rig = rig(body, log)
            body.send(way.text)
            let task = Task {
                try await way.read(rig.agent) {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return leavesTheLoop
                }
            }
            _ = await task.result
            #expect(await outcome(in: log) == "cancelled")
        }
    }

    @Test func aStreamThatIsCancelledIsACancelledSend() async throws {
        let (body, log) = (PushedBody(), EventLog())
        let stream = try await rig(body, log).agent.bytes(for: GeneralRequest("/x"))
        stream.cancel()
        #expect(await outcome(in: log) == "cancelled")
    }

    @Test func contentThatCannotBeReadIsAFailureOfTheSend() async throws {
        for (text, isOfEvents) in [("{]\n", false), ("data: 0123456789\n\n", true)] {
            let (body, log) = (PushedBody(), EventLog())
            let agent = rig(body, log).agent
            body.send(text)
            let error = await #expect(throws: NetworkError.self) {
                if isOfEvents {
                    for try await _ in agent.events(for: GeneralRequest("/x"), maximumEventSize: 5) {}
                } else {
                    let stream = try await agent.bytes(for: GeneralRequest("/x"))
                    for try await _ in stream.jsonLines(of: JSONValue.self) {}
                }
            }
            #expect(await outcome(in: log) == error?.kind.rawValue)
        }
    }

    @Test func aStreamOfEventsThatTheServerEndsIsASuccess() async throws {
        let log = EventLog()
        let rig = Rig(config: .test { $0.accessories = [log] }, response: .status(204))
        for try await _ in rig.agent.events(for: GeneralRequest("/x")) {}
        #expect(await outcome(in: log) == "success 204")
    }
}
