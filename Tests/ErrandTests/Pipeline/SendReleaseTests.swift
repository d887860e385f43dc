import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The references of a send are released when it has ended, however it ended.
@Suite struct SendReleaseTests {
    private final class Token: Sendable {}

    private struct Marked: Request {
        typealias Model = Data
        let token: Token
        var path: String { "x" }
        var attributes: [String: any Sendable] { ["token": token] }
    }

    enum Way: CaseIterable {
        case send, response, start, batch, chain, results, plan
    }

    @Test(arguments: Way.allCases, [200, 500])
    func endedSendRetainsNothing(way: Way, status: Int) async throws {
        for accessories in [[], [ClosureAccessory { _, _ in }]] {
            let rig = Rig(config: .test { $0.accessories = accessories }) { _ in .status(status) }
            weak let token = try await run(way, on: rig.agent)
            #expect(rig.transport.requests.isEmpty == (way == .plan))
            for _ in 0..<1_000 where token != nil { await Task.yield() }
            for _ in 0..<200 where token != nil { try await Task.sleep(for: .milliseconds(5)) }
            #expect(token == nil, "with \(accessories.count) accessories")
        }
    }

    private func run(_ way: Way, on agent: Agent) async throws -> Token {
        let token = Token()
        let request = Marked(token: token)
        // A failure releases everything, too.
        switch way {
        case .send: _ = try? await agent.send(request)
        case .response: _ = try? await agent.response(for: request).statusCode
        case .start:
            await withCheckedContinuation { continuation in
                _ = agent.start(request, on: .global()) { _ in continuation.resume() }
            }
        case .batch: _ = try? await agent.send(BatchRequest(request, request))
        case .chain: _ = try? await agent.send(ChainRequest(request).then { _ in request })
        case .results: _ = await agent.results(of: [request, request])
        case .plan: _ = try await agent.plan(for: request).entries.count
        }
        return token
    }
}
