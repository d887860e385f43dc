import Errand
import Foundation
import Testing

@Suite struct MemoryStoreTests {
    private func key(_ number: Int) -> CacheKey { CacheKey("\(number)") }

    @Test func theLeastRecentlyUsedIsRemovedFirst() {
        let store = MemoryStore(maximumCount: 3)
        for number in 1...3 { store.store(.sample("\(number)"), for: key(number)) }
        #expect(store.entry(for: key(1))?.text == "1")
        store.store(.sample("4"), for: key(4))
        #expect(store.entry(for: key(2)) == nil)
        #expect([1, 3, 4].allSatisfy { store.entry(for: key($0)) != nil })
    }

    @Test func bytesAreBounded() {
        let store = MemoryStore(maximumSize: 10_000)
        for number in 0..<100 { store.store(.sample(String(repeating: "x", count: 1_000)), for: key(number)) }
        #expect(store.totals().size <= 10_000)
        #expect(store.totals().count > 3)
        store.store(.sample(String(repeating: "x", count: 20_000)), for: key(200))
        #expect(store.entry(for: key(200)) == nil)
        #expect(store.entry(for: key(99)) != nil)
    }

    @Test func anEntryTakesThePlaceOfItsPredecessor() {
        let store = MemoryStore()
        store.store(.sample("old"), for: key(1))
        store.store(.sample("new"), for: key(1))
        #expect(store.entry(for: key(1))?.text == "new")
        #expect(store.totals().count == 1)
        store.remove(for: key(1))
        #expect(store.totals() == (0, 0))
    }

    @Test func trimmingKeepsTheMostRecentlyUsed() {
        let store = MemoryStore()
        for number in 0..<10 { store.store(.sample(String(repeating: "x", count: 1_000)), for: key(number)) }
        store.trim(toBytes: 3_000)
        #expect(store.entry(for: key(9)) != nil)
        #expect(store.entry(for: key(0)) == nil)
    }

    /// Against an array in which everything is moved.
    @Test func storeMatchesAReferenceList() {
        var generator = SeededGenerator()
        let store = MemoryStore(maximumCount: 8)
        var model: [(number: Int, text: String)] = []
        for step in 0..<5_000 {
            let number = Int.random(in: 0..<16, using: &generator)
            let place = model.firstIndex { $0.number == number }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                store.store(.sample("\(step)"), for: key(number))
                if let place { model.remove(at: place) }
                model.append((number, "\(step)"))
                if model.count > 8 { model.removeFirst() }
            case 1:
                #expect(store.entry(for: key(number))?.text == place.map { model[$0].text })
                if let place { model.append(model.remove(at: place)) }
            default:
                store.remove(for: key(number))
                if let place { model.remove(at: place) }
            }
        }
    }
}
