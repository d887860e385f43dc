import Foundation
import Testing

@testable import Errand

@Suite struct CacheRemovalsTests {
    private let date = Date(timeIntervalSince1970: 1_800_000_000)
    private let key = CacheKey("https://api.example/x")

    private var entry: CacheEntry { entry(at: 0) }

    private func entry(at seconds: Double) -> CacheEntry {
        var entry = CacheEntry.sample("a")
        (entry.scope, entry.user, entry.variant) = ("scope", "user", "variant")
        entry.requested = date + seconds
        return entry
    }

    private enum Removal: Sendable {
        case extent(CacheRemovals.Extent)
        case url(String)

        func add(to removals: inout CacheRemovals, at date: Date) {
            switch self {
            case .extent(let extent): removals.add(extent, at: date)
            case .url(let url): removals.add(urlOf: CacheKey(url), at: date)
            }
        }
    }

    private static let own: [Removal] = [
        .extent(.all), .extent(.scope("scope")), .extent(.user("user")), .extent(.variant("variant")),
        .url("https://api.example/x"),
    ]

    @Test(arguments: own) private func removalEndsWhatWasRequestedBefore(removal: Removal) {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removal.add(to: &removals, at: date + 1)
        #expect(!removals.allow(entry, for: key, since: before))
        #expect(removals.hide(entry, for: key, at: date + 1))
        #expect(removals.allow(entry, for: key, since: removals.ticket(at: date)))
        #expect(!removals.hide(entry(at: 1), for: key, at: date + 1))
    }

    @Test(arguments: [
        Removal.extent(.scope("o")), .extent(.user("o")), .extent(.variant("o")), .extent(.scope("")), .url("o"),
    ])
    private func removalOfOthersHasNoEffect(removal: Removal) {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removal.add(to: &removals, at: date + 1)
        #expect(removals.allow(entry, for: key, since: before))
        #expect(!removals.hide(entry, for: key, at: date + 1))
    }

    /// Another URL in the same place of the table costs a response that is under way, and hides nothing.
    @Test func aCollisionCostsAMiss() {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        let other = CacheKey(words: (key.group &+ 1024, 0, 0, 0))
        removals.add(urlOf: other, at: date + 1)
        #expect(!removals.allow(entry, for: key, since: before))
        #expect(!removals.hide(entry, for: key, at: date + 1))
    }

    @Test func removalFromTheFutureHidesNothingOnceTheClockIsSetBack() {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.add(.all, at: date + 86_400)
        #expect(removals.hide(entry, for: key, at: date + 86_400))
        #expect(!removals.hide(entry, for: key, at: date + 1))
        #expect(!removals.allow(entry, for: key, since: before))
    }

    @Test func removalByAConditionEndsAllThatIsUnderWay() {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.addUnknown()
        #expect(!removals.allow(entry, for: key, since: before) && !removals.hide(entry, for: key, at: date))
        #expect(removals.allow(entry, for: key, since: removals.ticket(at: date)))
    }

    /// When a removal is forgotten, no earlier response is stored; a removal of everything is not forgotten.
    @Test func numberOfRemovalsIsBounded() {
        var removals = CacheRemovals()
        removals.add(.all, at: date + 1)
        let before = removals.ticket(at: date + 1)
        removals.add(.scope("scope"), at: date + 2)
        for number in 0..<1_024 { removals.add(.user("\(number)"), at: date + 2) }
        #expect(!removals.allow(entry(at: 1), for: key, since: before))
        #expect(removals.hide(entry, for: key, at: date + 2) && !removals.hide(entry(at: 1), for: key, at: date + 2))
        #expect(removals.allow(entry, for: key, since: removals.ticket(at: date)))
    }

    /// A response to POST follows its own invalidation, but no other removal.
    @Test(
        arguments: [([], true), ([.url("https://api.example/x")], false), ([.extent(.all)], false)]
            as [([Removal], Bool)]
    )
    private func aResponseToPostFollowsItsOwnInvalidationOnly(others: [Removal], isStored: Bool) {
        for isBefore in [true, false] {
            var removals = CacheRemovals()
            removals.add(urlOf: key, at: date)
            let (lookup, ticket) = (removals.ticket(at: date), removals.ticket(at: date))
            if isBefore { for removal in others { removal.add(to: &removals, at: date + 1) } }
            for _ in 0..<2 { removals.add(urlOf: key, at: date + 1, by: ticket) }
            if !isBefore { for removal in others { removal.add(to: &removals, at: date + 1) } }
            let own = ticket.noLater(than: lookup, includesURL: false)
            #expect(removals.allow(entry, for: key, since: own) == isStored)
            #expect(removals.hide(entry, for: key, at: date + 1) == !isStored)
        }
    }

    /// A response in flight during a removal is not stored; a request that waited to be sent is newer than an invalidation of
    /// its URL.
    @Test func aRequestThatWaitedIsNewerThanAnInvalidation() {
        var removals = CacheRemovals()
        let lookup = removals.ticket(at: date)
        removals.add(urlOf: key, at: date + 1)
        let sent = removals.ticket(at: date + 2)
        #expect(removals.allow(entry, for: key, since: sent.noLater(than: lookup, includesURL: false)))
        #expect(!removals.allow(entry, for: key, since: sent.noLater(than: lookup, includesURL: true)))
        removals.add(.user("user"), at: date + 3)
        #expect(!removals.allow(entry, for: key, since: sent.noLater(than: lookup, includesURL: false)))
    }
}
