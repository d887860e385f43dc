import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// A stale response is revalidated once, however many callers find it stale.
///
/// `ERRAND_REFRESH_ROUNDS` sets the number of rounds.
@Suite(.limit(seconds: 600)) struct CacheRefreshWireTests {
    private struct Sent: Request, Sendable {
        typealias Model = Int
        let path = "/count"
    }

    private struct Plain: Request {
        typealias Model = Int
        final class NotSendable {}
        let path = "/count"
        let thing = NotSendable()
    }

    private static let stale = CachePolicy.staleWhileRevalidate(maxAge: .seconds(1), maxStale: .seconds(1_000_000))

    /// How a hundred callers use agents.
    enum Way: String, CaseIterable, Sendable {
        case oneAgent, fourAgents, http, notSendable
    }

    @Test(arguments: Way.allCases)
    func hundredCallersRevalidateOnce(way: Way) async throws {
        let rounds = OtherProcess.number("ERRAND_REFRESH_ROUNDS", default: 40)
        let (count, clock) = (Lock(0), CacheClock())
        let server = try MockServer { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let fields: HTTPHeaders = ["Cache-Control": "max-age=1, stale-while-revalidate=1000000"]
            return .json("\(number)", headers: fields)
        }
        defer { server.stop() }
        server.keepsLog = false
        let cache = ResponseCache(disk: nil) { clock.now }
        let agents = (0..<(way == .fourAgents ? 4 : 1)).map { _ in
            server.agent(cache, way == .http ? .http : Self.stale)
        }
        #expect(try await agents[0].send(Sent()) == 1)
        var wrong = 0
        for round in 1...rounds {
            clock.advance(by: 2)
            let seen = try await withThrowingTaskGroup(of: Int.self) { group in
                for caller in 0..<100 {
                    let agent = agents[caller % agents.count]
                    if way == .notSendable {
                        group.addTask { try await agent.send(Plain()) }
                    } else {
                        group.addTask { try await agent.send(Sent()) }
                    }
                }
                return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            await agents[0].waitForRevalidations()
            // Each caller sees the response of the round before, or already the response of this one.
            if count.withLock({ $0 }) != round + 1 || !seen.isSubset(of: [round, round + 1]) { wrong += 1 }
        }
        #expect(wrong == 0 && count.withLock { $0 } == rounds + 1, "\(count.withLock { $0 } - 1) in \(rounds) rounds")
    }
}
