import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// The index of the variants of one cache key (RFC 9111, section 4.1).
@Suite struct VariantIndexTests {
    private let primary = CacheKey("https://api.example/x")

    private func place(_ request: HTTPHeaders, counted: Set<String> = []) -> CachePlace {
        CachePlace(primary: primary, request: request, counted: counted)
    }

    @Test func aKeyFollowsFromTheNominatedFieldsOfTheRequest() throws {
        let index = VariantIndex(names: ["f", "g"])
        let key = try #require(index.key(at: place(["F": "1", "G": "2", "H": "3"])))
        #expect(index.key(at: place(["G": "2", "F": "1"])) == key)
        #expect(index.key(at: place(["F": "1"])) != key && index.key(at: place(["F": "1", "G": "3"])) != key)
        #expect(index.key(at: place(["F": "12", "G": ""])) != index.key(at: place(["F": "1", "G": "2"])))
        // Without nominated fields, or with fields of the key only, it is the cache key.
        #expect(index.key(at: place(["H": "3"])) == nil)
        #expect(index.key(at: place(["F": "1"], counted: ["f"])) == nil)
        // All keys of a URL are in its group.
        #expect(key.group == primary.group && primary.variantIndex.group == primary.group)
        #expect(primary.variantIndex != primary && key != primary && key != primary.variantIndex)
    }

    @Test func anotherIndexFindsNoneOfTheVariants() {
        let request = place(["F": "1"])
        #expect(VariantIndex(names: ["f"]).key(at: request) != VariantIndex(names: ["f"]).key(at: request))
    }

    @Test func theLeastRecentlyUsedExceedsTheMaximum() {
        var index = VariantIndex(names: ["f"])
        let keys = (0...VariantIndex.maximumCount).map { CacheKey("\($0)") }
        for key in keys.dropLast() { #expect(index.use(key).isEmpty) }
        #expect(index.use(keys[0]).isEmpty)
        #expect(index.use(keys[VariantIndex.maximumCount]) == [keys[1]])
        #expect(index.keys.count == VariantIndex.maximumCount && index.keys.contains(keys[0]))
    }

    @Test func tooManyNominatedFieldsReplaceTheEarlierOnes() {
        var index = VariantIndex(names: ["a"])
        index.nominate(["b"])
        #expect(index.names == ["a", "b"])
        let many = (0..<VariantIndex.maximumNameCount).map { "n\($0)" }
        index.nominate(many)
        #expect(Set(index.names) == Set(many))
    }

    @Test func itIsReadAsItWasWritten() throws {
        var index = VariantIndex(names: ["f", "g"])
        for number in 0..<3 { _ = index.use(CacheKey("\(number)")) }
        let entry = index.entry(like: .sample("body"))
        #expect(entry.isVariantIndex && entry.body.isEmpty && entry.headers.isEmpty)
        let read = try #require(entry.metadata.withUnsafeBytes { CacheEntry(metadata: $0, body: Data()) })
        #expect(VariantIndex(read) == index)
        #expect(VariantIndex(.sample("body")) == nil)
    }

    /// A variant that is being received when all are removed is not stored.
    @Test func removingARequestsResponsesConcernsThoseUnderWay() async throws {
        let agent = Lock<Agent?>(nil)
        let request = GeneralRequest("/x").expecting(Int.self).header("F", "1")
        let isRemoving = Lock(true)
        let rig = CachedRig(.http) { _ in
            if isRemoving.withLock({ $0 }) { try agent.withLock { $0 }?.removeStored(for: request) }
            return .json("1", headers: ["Cache-Control": "max-age=60", "Vary": "F"])
        }
        agent.withLock { $0 = rig.agent }
        _ = try await rig.agent.send(request)
        isRemoving.withLock { $0 = false }
        #expect(try await !rig.agent.response(for: request).source.isFromCache)
        #expect(try await rig.agent.response(for: request).source.isFromCache)
    }
}
