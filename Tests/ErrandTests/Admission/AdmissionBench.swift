import ErrandTesting
import Foundation

@testable import Errand

/// An agent on a clock that stands still, over a server that responds when the test lets it.
struct AdmissionBench: Sendable {
    let clock = ManualClock()
    let gate: Gate
    let transport: StubTransport
    let agent: Agent

    init(
        isOpen: Bool = true,
        config: NetworkConfig = .test,
        responding handler: @escaping StubTransport.Handler = { _ in .json("7") }
    ) {
        let gate = Gate()
        if isOpen { gate.open() }
        self.gate = gate
        transport = StubTransport(maximumLogCount: 100_000) { request in
            try await gate.pass()
            return try await handler(request)
        }
        agent = Agent(config: config, transport: transport, clock: clock)
    }

    static func get(_ path: String = "/x", _ policy: DuplicatePolicy = .allow) -> GeneralRequest<DefaultFormatter<Int>>
    {
        GeneralRequest(path).expecting(Int.self).duplicatePolicy(policy)
    }

    func start(_ request: GeneralRequest<DefaultFormatter<Int>>) -> Task<Int, any Error> {
        Task { [agent] in try await agent.send(request) }
    }

    /// Waits until so many sends wait for in-flight fetches.
    func waitForFlightWaiters(_ count: Int) async {
        await wait { agent.pipeline.admission.fetches.waiterCount == count }
    }
}

/// Waits until a condition is true, or the test's time is over.
///
/// It polls at intervals, because a thousand yields a millisecond would starve the tasks that it waits for.
func wait(until isSo: () -> Bool) async {
    while !isSo(), !Task.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }  // Ends early when cancelled.
}
