import Foundation
import Testing

@testable import Errand

@Suite struct CacheRemovalsTests {
    private let date = Date(timeIntervalSince1970: 1_800_000_000)
    private let key = CacheKey("https://api.example/x")

    private var entry: CacheEntry {
        var entry = CacheEntry.sample("a")
        (entry.scope, entry.user, entry.variant, entry.requested) = ("scope", "user", "variant", date)
        return entry
    }

    private static let own: [CacheRemovals.Extent] = [
        .all, .scope("scope"), .user("user"), .variant("variant"),
        .group(CacheGroup(url: "https://api.example/x").digest), .key(CacheKey("https://api.example/x")),
    ]

    @Test(arguments: own) func removalEndsWhatWasRequestedBefore(extent: CacheRemovals.Extent) {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.add(extent, at: date.addingTimeInterval(1))
        #expect(!removals.allow(entry, for: key, since: before) && removals.hide(entry, for: key))
        #expect(removals.allow(entry, for: key, since: removals.ticket(at: date)))
        var later = entry
        later.requested = date.addingTimeInterval(1)
        #expect(!removals.hide(later, for: key))
    }

    @Test(arguments: [
        CacheRemovals.Extent.scope("o"), .user("o"), .variant("o"), .group(1), .key(CacheKey("o")), .scope(""),
    ])
    func removalOfOthersHasNoEffect(extent: CacheRemovals.Extent) {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.add(extent, at: date.addingTimeInterval(1))
        #expect(removals.allow(entry, for: key, since: before) && !removals.hide(entry, for: key))
    }

    @Test func removalFromTheFutureHidesOnlyWhatIsRequestedBeforeTheClockIsSetBack() {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.add(.all, at: date.addingTimeInterval(86_400))
        removals.noteTime(date.addingTimeInterval(1))
        #expect(removals.hide(entry, for: key) && !removals.allow(entry, for: key, since: before))
        var later = entry
        later.requested = date.addingTimeInterval(1)
        #expect(!removals.hide(later, for: key))
        // What is recorded afterwards counts by the new time.
        removals.add(.key(key), at: date.addingTimeInterval(5))
        #expect(removals.hide(later, for: key))
        later.requested = date.addingTimeInterval(5)
        #expect(!removals.hide(later, for: key))
    }

    @Test func removalByAConditionEndsAllThatIsUnderWay() {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.addUnknown()
        #expect(!removals.allow(entry, for: key, since: before) && !removals.hide(entry, for: key))
        #expect(removals.allow(entry, for: key, since: removals.ticket(at: date)))
    }

    /// The oldest are forgotten; nothing from before them is stored.
    @Test func numberOfRemovalsIsBounded() {
        var removals = CacheRemovals()
        let before = removals.ticket(at: date)
        removals.add(.scope("scope"), at: date)
        for number in 0..<CacheRemovals.maximumCount { removals.add(.group(UInt64(number)), at: date) }
        #expect(!removals.allow(entry, for: key, since: before))
        let after = removals.ticket(at: date)
        for number in 0..<10 { removals.add(.group(UInt64(number)), at: date) }
        #expect(removals.allow(entry, for: key, since: after))
    }

    /// What sends replace is recorded too, and must not push out what a program has removed.
    @Test func removalsByTheProgramAreKeptBesideThoseOfSends() {
        var removals = CacheRemovals()
        removals.add(.user("user"), at: date.addingTimeInterval(1))
        for number in 0..<3 * CacheRemovals.maximumCount {
            let ticket = removals.ticket(at: date)
            removals.add(.key(CacheKey("\(number)")), at: date.addingTimeInterval(2), by: ticket)
        }
        var entry = CacheEntry.sample("x")
        (entry.user, entry.requested) = ("user", date)
        #expect(removals.hide(entry, for: key))
    }

    /// An earlier send has discarded something; the response to a later request is newer.
    @Test func aLaterRequestIsNotRefusedForWhatAnEarlierOneReplaced() {
        var removals = CacheRemovals()
        let early = removals.ticket(at: date)
        let late = removals.ticket(at: date)
        removals.add(.key(key), at: date, by: early)
        #expect(removals.allow(.sample("x"), for: key, since: late))
        removals.add(.key(key), at: date, by: late)
        #expect(!removals.allow(.sample("x"), for: key, since: early))
    }

    /// What a send replaces later must not make visible what another process had stored before.
    @Test func whatTheProgramRemovedStaysHiddenBehindARemovalByASend() {
        var removals = CacheRemovals()
        removals.add(.key(key), at: date.addingTimeInterval(1))
        let ticket = removals.ticket(at: date.addingTimeInterval(2))
        removals.add(.key(key), at: date.addingTimeInterval(3), by: ticket)
        #expect(removals.hide(entry, for: key))
        var later = entry
        later.requested = date.addingTimeInterval(2)
        #expect(!removals.hide(later, for: key))
    }

    @Test func whatWasReadBeforeARemovalIsNotKept() {
        var removals = CacheRemovals()
        let early = removals.ticket(at: date)
        let read = removals.ticket(at: date)
        #expect(removals.keep(entry, for: key, readAfter: read))
        removals.add(.key(key), at: date, by: early)
        #expect(removals.allow(entry, for: key, since: read) && !removals.keep(entry, for: key, readAfter: read))
    }
}
