import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Guarantee G13: a clock that jumps makes nothing stale fresh, and no age negative.
@Suite struct CacheClockTests {
    private static let days400 = 400.0 * 86_400
    private let request = GeneralRequest("/x").expecting(Int.self)

    /// Sends after each jump; the policy allows 60 s.
    private func sources(_ policy: CachePolicy, jumps: [Double]) async throws -> [String] {
        let folder = try TemporaryDirectory()
        let counter = ResponseCounter()
        let disk = DiskStore(directory: folder.url)
        let rig = CachedRig(policy, disk: disk, memory: nil, patience: 600_000) { _ in
            .json("\(try counter.next())", headers: ["Cache-Control": "max-age=60"])
        }
        var sources: [String] = []
        for jump in jumps {
            rig.clock.advance(by: jump)
            let response = try await rig.agent.response(for: request)
            await rig.cache.flush()
            switch response.source {
            case .cache(let age), .stale(let age, _):
                #expect(age >= .zero)
                sources.append("\(response.model) cache")
            default: sources.append("\(response.model)")
            }
        }
        return sources
    }

    @Test(arguments: [CachePolicy.cacheElseNetwork(maxAge: .seconds(60)), .http])
    func nothingStaleIsServedAsFresh(policy: CachePolicy) async throws {
        #expect(try await sources(policy, jumps: [0, 1, Self.days400]) == ["1", "1 cache", "2"])
        #expect(try await sources(policy, jumps: [0, 1, -Self.days400]) == ["1", "1 cache", "2"])
        #expect(try await sources(policy, jumps: [0, -Self.days400, Self.days400 + 61]) == ["1", "2", "3"])
        #expect(try await sources(policy, jumps: [Self.days400, -Self.days400, 1]) == ["1", "2", "2 cache"])
        // An hour for daylight saving, either way.
        #expect(try await sources(policy, jumps: [0, 3600, -3600, -3600]) == ["1", "2", "3", "4"])
    }

    @Test func removalBeforeTheClockIsSetBackDoesNotHideLaterResponses() async throws {
        let folder = try TemporaryDirectory()
        let counter = ResponseCounter()
        let disk = DiskStore(directory: folder.url)
        let rig = CachedRig(disk: disk, memory: nil, patience: 600_000) { _ in .json("\(try counter.next())") }
        _ = try await rig.agent.send(request)
        await rig.cache.flush()
        rig.clock.advance(by: 86_400)
        await rig.cache.removeAll()
        rig.clock.advance(by: -86_400)
        for _ in 0..<3 {
            #expect(try await rig.agent.send(request) == 2)
            await rig.cache.flush()
            rig.clock.advance(by: 1)
        }
    }

    @Test func ageIsNeverNegativeIfAnyAgeIsAccepted() async throws {
        let rig = CachedRig(.networkElseCache(maxStale: nil)) { _ in .json("1") }
        _ = try await rig.agent.send(request)
        rig.clock.advance(by: -Self.days400)
        let response = try await rig.agent.response(for: request, cachePolicy: .cacheOnly)
        guard case .cache(let age) = response.source else { throw Boom() }
        #expect(age == .zero)
    }
}
