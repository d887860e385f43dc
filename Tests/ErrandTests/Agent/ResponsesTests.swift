import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite struct ResponsesTests {
    private let request = GeneralRequest("/x").expecting(Int.self)

    private func rig(_ policy: CachePolicy, constant: Bool = false) -> (CachedRig, ResponseCounter) {
        let counter = ResponseCounter()
        let rig = CachedRig(policy) { _ in
            let number = try counter.next()
            return .json(
                constant ? "7" : "\(number)",
                headers: ["Cache-Control": "max-age=60, stale-while-revalidate=60"]
            )
        }
        return (rig, counter)
    }

    private func collect(_ rig: CachedRig, omittingRepeats: Bool = false) async throws -> [String] {
        var found: [String] = []
        for try await response in rig.agent.responses(for: request, omittingRepeats: omittingRepeats) {
            found.append("\(response.model) \(response.source.isFromCache ? "cache" : "network")")
        }
        return found
    }

    @Test func storedResponseComesFirstAndThenAFreshOne() async throws {
        let (rig, _) = rig(.cacheThenNetwork(maxAge: .seconds(60)))
        #expect(try await collect(rig) == ["1 network"])
        #expect(try await collect(rig) == ["1 cache", "2 network"])
        rig.clock.advance(by: 61)
        #expect(try await collect(rig) == ["3 network"])
    }

    @Test(arguments: [CachePolicy.staleWhileRevalidate(maxAge: .seconds(60), maxStale: .seconds(60)), .http])
    func staleResponseIsFollowedByAFreshOne(policy: CachePolicy) async throws {
        let (rig, _) = rig(policy)
        #expect(try await collect(rig) == ["1 network"])
        #expect(try await collect(rig) == ["1 cache"])
        rig.clock.advance(by: 90)
        #expect(try await collect(rig) == ["1 cache", "2 network"])
        #expect(rig.count == 2)
    }

    @Test func everyOtherPolicyDeliversOne() async throws {
        for policy in [
            CachePolicy.networkOnly, .reload, .networkElseCache(maxStale: nil), .cacheElseNetwork(maxAge: .seconds(60)),
        ] {
            let (rig, _) = rig(policy)
            _ = try await collect(rig)
            #expect(try await collect(rig).count == 1)
        }
    }

    @Test func equalSecondResponseMayBeOmitted() async throws {
        let (rig, _) = rig(.cacheThenNetwork(maxAge: .seconds(60)), constant: true)
        _ = try await collect(rig)
        #expect(try await collect(rig) == ["7 cache", "7 network"])
        #expect(try await collect(rig, omittingRepeats: true) == ["7 cache"])
        #expect(rig.count == 3)
    }

    @Test func aFailureOfTheSecondIsThrownAfterTheFirst() async throws {
        let (rig, counter) = rig(.cacheThenNetwork(maxAge: .seconds(60)))
        _ = try await collect(rig)
        counter.failure = NetworkError(.noConnection)
        var found: [Int] = []
        await expect(throwing: .noConnection) {
            for try await response in rig.agent.responses(for: request) { found.append(response.model) }
        }
        #expect(found == [1])
    }

    @Test func nothingIsSentForAResponseThatIsNotAwaited() async throws {
        let (rig, _) = rig(.cacheThenNetwork(maxAge: .seconds(60)))
        _ = try await collect(rig)
        for try await _ in rig.agent.responses(for: request) { break }
        #expect(rig.count == 1)
    }

    /// Neither the request nor its model is Sendable, and both are only ever touched on the main actor.
    final class Plain: Request {
        final class Model: Decodable {
            let value: Int
            init(from decoder: any Decoder) throws {
                MainActor.assertIsolated()
                value = try decoder.singleValueContainer().decode(Int.self)
            }
        }
        var path: String {
            MainActor.assertIsolated()
            return "/x"
        }
    }

    @MainActor @Test func nonSendableRequestStaysOnItsCaller() async throws {
        let (rig, _) = rig(.cacheThenNetwork(maxAge: .seconds(60)))
        for expected in [[1], [1, 2]] {
            var found: [Int] = []
            for try await response in rig.agent.responses(for: Plain()) { found.append(response.model.value) }
            #expect(found == expected)
        }
    }
}
