import Testing

@testable import Errand

@Suite struct TableTests {
    @Test func valuesAreFoundByTheirKeys() {
        var table = Table<String, Int>()
        #expect(table.isEmpty)
        table["a"] = 1
        table["b"] = 2
        #expect(table["a"] == 1)
        #expect(table["c"] == nil)
        #expect(table.count == 2)
        #expect(Set(table.values) == [1, 2])
        #expect(table.removeValue(forKey: "a") == 1)
        table["b"] = nil
        #expect(table.isEmpty)
    }

    @Test func aChangeBeginsWithTheDefaultAndReturnsItsResult() {
        var table = Table<String, [Int]>()
        table.change("a", default: [1]) { $0.append(2) }
        let count = table.change("a", default: []) { $0.count }
        #expect(table["a"] == [1, 2])
        #expect(count == 2)
    }

    @Test func matchingValuesAreRemoved() {
        var table = Table<Int, Int>()
        for number in 0..<10 { table[number] = number }
        table.removeAll { $0.isMultiple(of: 2) }
        #expect(table.entries.map(\.key).sorted() == [1, 3, 5, 7, 9])
    }

    @Test func aSetHoldsEachKeyOnce() {
        let set = Table(keys: ["a", "b", "a"])
        #expect(set.count == 2)
        #expect(set["a"] != nil)
        #expect(set["c"] == nil)
    }
}
