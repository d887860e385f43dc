import ErrandTesting
import Testing

@testable import Errand

@Suite(.limit(seconds: 60)) struct CompositionStopTests {
    enum Kind: CaseIterable { case batch, onCaller, arrayBatch, chain, nested }

    private func send(_ kind: Kind, by agent: Agent) async throws {
        let (deaf, other) = (AdmissionBench.get("/x").tag("deaf"), AdmissionBench.get("/y"))
        switch kind {
        case .batch: _ = try await agent.send(BatchRequest(deaf, other).deadline(.seconds(1)))
        case .onCaller:
            _ = try await agent.send(BatchRequest(deaf.formattingContext(.caller), other).deadline(.seconds(1)))
        case .arrayBatch: _ = try await agent.send(ArrayBatchRequest([deaf, other]).deadline(.seconds(1)))
        case .chain: _ = try await agent.send(ChainRequest(deaf).then { _ in other }.deadline(.seconds(1)))
        case .nested:
            let inner = BatchRequest(deaf, other).deadline(.seconds(1))
            _ = try await agent.send(BatchRequest(inner, other))
        }
    }

    @Test(arguments: Kind.allCases)
    func theDeadlineEndsWhatConsistsOfRequestsWhileCodeOfOneIgnoresIt(_ kind: Kind) async throws {
        let (begun, end, events) = (Delivery<Void>(), Delivery<Void>(), EventLog())
        // It ignores its cancellation.
        let deaf = ClosureAdapter { _, context in
            guard context.tag == "deaf" else { return }
            begun.deliver(())
            await end.value()
        }
        let rig = AdmissionBench(config: .test { ($0.adapters, $0.accessories) = ([deaf], [events]) })
        let task = Task { try await send(kind, by: rig.agent) }
        await begun.value()
        var stopCount: Int { events.names.count { $0 == "didStop" } }
        let expected = kind == .chain ? 1 : kind == .nested ? 3 : 2
        await wait { stopCount == expected - 1 }
        rig.clock.advance(by: .seconds(1))
        await expect(throwing: .deadlineExceeded(.seconds(1))) { try await task.value }
        #expect(stopCount == expected - 1)
        // The send itself ends with its own code.
        end.deliver(())
        await wait { stopCount == expected }
        #expect(!Task.isCancelled)
    }
}
