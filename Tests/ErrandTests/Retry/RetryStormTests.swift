import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The requests to a server that fails all of them.
@Suite(.limit(seconds: 300))
struct RetryStormTests {
    /// On a virtual clock: 10,000 sends, so many at once, one wave after the other.
    @Test(arguments: [1, 16, 1000])
    func tenThousandRequestsBecomeAtMostATenthMoreAndTenForEachWindow(_ concurrency: Int) async throws {
        let rig = RetryRig { _, _ in RetryRig.status(503) }
        let failed = await failures(of: 10_000, rig, concurrency: concurrency)
        let windows = Int(rig.clock.now.offset / .seconds(10)) + 1
        let limit = 11_000 + 10 * windows
        print("retry storm, \(concurrency) at once: \(rig.transport.requestCount) on the wire, \(windows) windows")
        #expect(failed.count == 10_000)
        #expect(failed.allSatisfy { $0 == .status(503) })
        #expect(rig.transport.requestCount > 10_000)
        #expect(rig.transport.requestCount <= limit)
        #expect(rig.transport.requestCount == 10_000 + rig.events.retries.count)
    }

    @Test
    func anotherHostHasABudgetOfItsOwn() async throws {
        let rig = RetryRig { _, request in RetryRig.status(request.url.host() == "bad.example" ? 503 : 200) }
        _ = await failures(of: 100, rig, concurrency: 100, url: "https://bad.example/x")
        #expect(rig.events.retries.count <= 20)
        let other = RetryRig { number, _ in RetryRig.status(number == 1 ? 503 : 200) }
        try await other.agent.send(GeneralRequest("https://good.example/x").expecting(Void.self))
        #expect(other.events.retries.count == 1)
    }

    private func failures(
        of count: Int,
        _ rig: RetryRig,
        concurrency: Int,
        url: String = "/x"
    ) async -> [NetworkError.Reason] {
        let next = Lock(0)
        return await withTaskGroup(of: [NetworkError.Reason].self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    var reasons: [NetworkError.Reason] = []
                    while next.next() <= count {
                        let error = await failure { try await rig.agent.send(GeneralRequest(url).expecting(Void.self)) }
                        if let error { reasons.append((error as? NetworkError)?.reason ?? .other("\(error)")) }
                    }
                    return reasons
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
